"""The published schemas: frozen, sound, and 2.0.0 takes all that 1.0.0 takes."""

import json
import subprocess
import sys
from copy import deepcopy
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from documents.samples import at, decoded, every_file, rich_instance, rich_team
from encoding.plain_data import values
from runcard.documents import schema
from runcard.documents.kinds import PUBLISHED
from runcard.documents.reader import parse_document
from runcard.documents.session.roles import ROLES
from runcard.encoding import encode_json, join_pointer
from runcard.errors import EncodingError, UsageError

FOLDER = Path(schema.__file__).parent / "schemas"

# What was published never changes: a new version is a new file, with a new line here.
DIGESTS = {
    "anchor-1.0.0.json": "569b7580182dafd73836a183efbcc3aa65614b20df72926291de286d179bf7cd",
    "anchor-proof-1.0.0.json": "ec2175901c5430ddd44c0eb46d397956dd28ded1920aaf570335a8730bdf3cbb",
    "archive-index-1.0.0.json": "59bd41987f9112e44220c2e225ad0a77e960fbced958137c9637c2932306554f",
    "generation-1.0.json": "6ba8d177e57634bfaa41e9b64dca93c8968a96fd5d4db233064c0f8e89fc14c3",
    "instance-1.0.0+2.0.0.json": "8c72d1e1a455c782d7c1a1d7e5b7edee4af6beef71486d632d95a9aa4919b09a",
    "instance-1.0.0.json": "71814d31041523169846cac4d5a9d51c0b71fb615fc968d7fd975bf1602d04f5",
    "instance-2.0.0.json": "9fe0e7b969b569161f0b563f4e28985ad166bc26d9401537640ccedb97b67f4d",
    "ledger-statement-1.json": "ce41dfab03ee67bc085caca5564dadc0e7f9e6e44a2cb94895fd4e36e9450e77",
    "manifest-1.0.0.json": "b8dd3b5a24283d66cdd638f4308c5efd435fe0246b84db94ed433fa9828e6532",
    "record-statement-1.json": "6476bf37b1f9546f6583e90b7368d9f83ea901282909ea2e1ba08a5650a13abf",
    "session-spec-1.0.0.json": "95f1265a1fe1d9482391a42d76679126c2b23334c074748e46ced411f3a751d7",
    "team-1.0.0.json": "52e67d231982c6bf5af2632ee601491bf11922080cc40e547f29f255d52c8657",
    "team-2.0.0.json": "fd28016cda95286264f49199e46ddb31f6e5ee27f9f5a921eb8c5bec1c964fff",
    "testplan-1.3.json": "46d278705abdd06ca16ad513f7595fd0db6fc8d131229d4579dd07f6f9e7ed17",
    "testplan-2.0.json": "923432b6e25d5bbdffc38b26485b1ad1824e64c9be7687a6153d957f60224de4",
}


def test_the_published_schemas_are_frozen() -> None:
    assert {path.name: sha256(path.read_bytes()).hexdigest() for path in FOLDER.iterdir()} == DIGESTS


def test_every_version_has_its_schema_and_no_other_is_there() -> None:
    assert {f"{kind.name}-{version}.json" for kind in PUBLISHED.values() for version in kind.schemas} == set(
        DIGESTS
    )


@pytest.mark.parametrize("name", DIGESTS)
def test_a_schema_is_draft_07_and_satisfies_it(name: str) -> None:
    content = json.loads((FOLDER / name).read_bytes())
    assert content["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert jsonschema_rs.meta.is_valid(content)


def test_another_tool_finds_the_schemas_sound() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--check-metaschema", *map(str, FOLDER.iterdir())]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_another_tool_judges_the_corpus_as_ours_does() -> None:
    other = import_module("jsonschema").Draft7Validator
    verdicts = set()
    for name in DIGESTS:
        kind, _, version = name.removesuffix(".json").rpartition("-")
        schema_of_its_own = json.loads((FOLDER / name).read_bytes())
        ours = jsonschema_rs.Draft7Validator(schema_of_its_own, validate_formats=False)
        for path in (*every_file("valid"), *every_file("warnings"), *every_file("invalid")):
            if "newline" in path.name:
                continue  # to which the other one is blind: Python's `$` matches before a last newline
            try:
                data = decoded(path)
            except EncodingError:
                continue
            verdicts.add(ours.is_valid(data))
            assert other(schema_of_its_own).is_valid(data) == ours.is_valid(data), (kind, version, path.name)
    assert verdicts == {True, False}


def test_a_schema_is_given_out_as_it_was_published() -> None:
    assert schema.schema_bytes("team") == (FOLDER / "team-2.0.0.json").read_bytes()
    assert schema.schema_bytes("team", "1.0.0") == (FOLDER / "team-1.0.0.json").read_bytes()


@pytest.mark.parametrize(
    ("kind", "version", "said"),
    [
        (
            "teams",
            None,
            "archive-index, generation, instance, ledger-statement, manifest, record-statement, session-spec, team, testplan",
        ),
        ("team", "3.0.0", "1.0.0, 2.0.0"),
        ("instance", "1.0.0+3.0.0", "1.0.0, 2.0.0, 1.0.0+2.0.0"),
    ],
)
def test_a_schema_that_was_never_published_is_an_error_that_says_which_were(
    kind: str, version: str | None, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        schema.schema_bytes(kind, version)
    assert refused.value.hint is not None
    assert said in refused.value.hint


def validator(name: str) -> jsonschema_rs.Draft7Validator:
    return jsonschema_rs.Draft7Validator((FOLDER / f"{name}.json").read_text(), validate_formats=True)


def _properties(name: str, definition: str | None) -> set[str]:
    content = json.loads((FOLDER / name).read_bytes())
    return set((content["definitions"][definition] if definition else content)["properties"])


LEVELS = {
    "": None,
    "/instances/3": "InstanceMetadata",
    "/execution_summary": "ExecutionSummary",
    "/system_info": "SystemInfo",
}
ADDED = {
    pointer: _properties("team-2.0.0.json", definition) - _properties("team-1.0.0.json", definition)
    for pointer, definition in LEVELS.items()
}


def test_2_0_0_takes_nothing_away_and_adds_what_is_documented() -> None:
    for definition in LEVELS.values():
        assert _properties("team-1.0.0.json", definition) <= _properties("team-2.0.0.json", definition)
    both = {"performance", "resources", "price_rows", "token_source", "labels", "trace"}
    of_instances = both | {
        *("cost_source", "known_cost", "tokens", "error_details", "role_title", "terminated_at_source"),
        *("server_tools", "calls", "models", "tool_uses", "errors_by_category"),
    }
    imports = {"origin_session", "recorded_by", "usage_incomplete", "metered_runs", "sources"}
    records = {"producer", "relations", "symlinks", "event_chains", "ledger_head", "audit", "checksums"}
    assert {
        "": both | records | imports,
        "/instances/3": of_instances,
        "/execution_summary": {"status_counts", "known_cost", "known_tokens"},
        "/system_info": {"runcard_version"},
    } == ADDED
    added = _properties("instance-2.0.0.json", None) - _properties("instance-1.0.0.json", None)
    assert added == of_instances | {"producer", "checksums", "origin", "sources"}
    both_versions = _properties("instance-1.0.0+2.0.0.json", None)
    assert both_versions == _properties("instance-2.0.0.json", None) | {"format_version"}


def test_the_schema_for_format_version_differs_from_2_0_0_in_nothing_but_the_versions() -> None:
    earlier, newer = (
        json.loads((FOLDER / f"instance-{name}.json").read_bytes()) for name in ("2.0.0", "1.0.0+2.0.0")
    )
    assert newer["properties"].pop("format_version")["enum"] == ["2.0.0"]
    assert newer["properties"].pop("version")["enum"] == ["1.0.0"]
    assert earlier["properties"].pop("version")["enum"] == ["2.0.0"]
    newer["required"].remove("format_version")
    assert newer.pop("$id") != earlier.pop("$id")
    assert newer == earlier


def test_the_rich_documents_use_every_addition() -> None:
    for pointer, names in ADDED.items():
        assert names <= at(rich_team(), pointer).keys()
    added = _properties("instance-2.0.0.json", None) - _properties("instance-1.0.0.json", None)
    assert added - rich_instance().keys() == {"origin"}
    assert "format_version" in rich_instance()


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.text("=+-01~/a \u0663", max_size=4), st.integers() | st.just("good"), max_size=4))
@example({"": 1, "0": 1, "00": 1, "+0": 1, "=": 1, "=0": 1, "==": 1, "~1": 1, "/": 1})
def test_a_fault_is_found_under_its_key_whatever_the_key_looks_like(labels: dict[str, Any]) -> None:
    report = parse_document(encode_json(rich_team() | {"labels": labels})).report
    wrong = {join_pointer(["labels", key]) for key, value in labels.items() if value != "good"}
    assert {(found.rule, found.path) for found in report.findings} == {
        ("schema.type", path) for path in wrong
    }


def test_what_the_schema_finds_fault_with_is_set_to_none_without_touching_the_data() -> None:
    data = {"a": {"b": [1, {"c": 2}]}, "d": 3}
    assert schema._with_none_at(data, [["a", "b", 1, "c"], ["d"], []]) == {
        "a": {"b": [1, {"c": None}]},
        "d": None,
    }
    assert schema._with_none_at(data, [["a", "b", 0], ["a"], ["a", "b", 1]]) == {"a": None, "d": 3}
    assert schema._with_none_at(data, [["d"], ["d", "e", "f"]]) == {"a": {"b": [1, {"c": 2}]}, "d": None}
    assert data == {"a": {"b": [1, {"c": 2}]}, "d": 3}


times = st.sampled_from(["2025-11-06T14:00:00Z", "2025-11-06t14:00:00.5z", "1999-12-31T23:59:59+05:30"])
roles = st.sampled_from(ROLES)
statuses = st.sampled_from(["completed", "error", "timeout", "terminated", "running"])
counts = st.integers(0, 10**30) | st.just(3.0)
amounts = st.floats(0, 1e9) | counts
names = st.text(max_size=5)
perhaps = st.none() | names


def _unknown(level: str) -> st.SearchStrategy[dict[str, Any]]:
    """Fields that the given schema does not know, and that were not added by 2.0.0 either."""
    taken = _properties("team-2.0.0.json", LEVELS[level])
    return st.dictionaries(st.text(max_size=5).filter(lambda key: key not in taken), values, max_size=2)


instances = st.fixed_dictionaries(
    {
        "instance_id": names,
        "name": names,
        "role": roles,
        "model": names,
        "status": statuses,
        "created_at": times,
        "terminated_at": times,
    },
    optional={
        "execution_time_seconds": counts,
        "tokens_used": counts,
        "cost": amounts,
        "parent_instance_id": perhaps,
        "children_count": counts,
        "error_message": perhaps,
    },
)
summaries = st.fixed_dictionaries(
    {},
    optional={
        "total_instances": st.integers(1, 9),
        "completed_instances": counts,
        "failed_instances": counts,
        "total_tokens": counts,
        "total_cost": amounts,
        "execution_start": times,
        "execution_end": times,
        "total_execution_time_seconds": counts,
        "average_tokens_per_instance": amounts,
        "all_completed": st.booleans(),
    },
)
systems = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("madrox_version", "python_version", "os", "hostname"), names)
)


def _with(known: st.SearchStrategy[dict[str, Any]], level: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda fields, more: more | fields, known, _unknown(level))


teams = _with(
    st.fixed_dictionaries(
        {
            "version": st.just("2.0.0"),
            "created_at": times,
            "team_session_id": st.text(min_size=1, max_size=5),
            "total_instances": st.integers(1, 10**20),
            "instances": st.lists(_with(instances, "/instances/3"), max_size=3),
            "execution_summary": _with(summaries, "/execution_summary"),
        },
        optional={"system_info": _with(systems, "/system_info"), "errors": st.lists(names, max_size=2)},
    ),
    "",
)

OLDER, NEWER = validator("team-1.0.0"), validator("team-2.0.0")
OLDER_INSTANCE, EARLIER_INSTANCE = validator("instance-1.0.0"), validator("instance-2.0.0")
NEWER_INSTANCE = validator("instance-1.0.0+2.0.0")


@settings(deadline=None, max_examples=70)
@given(teams)
def test_every_team_document_that_the_given_schema_takes_passes_2_0_0(document: dict[str, Any]) -> None:
    assert OLDER.is_valid(document)
    assert NEWER.is_valid(document)


@settings(deadline=None, max_examples=70)
@given(teams, st.data())
def test_what_the_given_schema_refuses_2_0_0_refuses_as_well(
    document: dict[str, Any], data: st.DataObject
) -> None:
    damaged = deepcopy(document)
    places = [damaged, *damaged["instances"], damaged["execution_summary"]]
    place = data.draw(st.sampled_from(places).filter(bool))
    key = data.draw(st.sampled_from(sorted(place.keys() - {"version"})))
    if data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(values)
    assert OLDER.is_valid(damaged) == NEWER.is_valid(damaged)


@settings(deadline=None, max_examples=40)
@given(_with(instances, "/instances/3"), st.data())
def test_every_instance_document_of_1_0_0_passes_2_0_0(instance: dict[str, Any], data: st.DataObject) -> None:
    known = _properties("instance-1.0.0+2.0.0.json", None)
    document = {key: value for key, value in instance.items() if key not in known} | data.draw(
        st.fixed_dictionaries(
            {key: st.just(instance[key]) for key in sorted(instance.keys() & known)},
            optional={"error": perhaps, "children_instance_ids": st.lists(names, max_size=2)},
        )
    )
    assert OLDER_INSTANCE.is_valid(document | {"version": "1.0.0"})
    assert EARLIER_INSTANCE.is_valid(document | {"version": "2.0.0"})
    newer = document | {"version": "1.0.0", "format_version": "2.0.0"}
    assert NEWER_INSTANCE.is_valid(newer)
    assert OLDER_INSTANCE.is_valid(newer)
