"""From one version to another: every step ends valid, says what it dropped, and leaves its input alone."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.samples import MODELS, Fields, at, data, decoded, every_file, files, rich_instance, rich_team
from encoding.plain_data import exactly, objects
from runcard.documents.migrations import STEPS, migrate
from runcard.documents.reader import migrate_document, parse_document
from runcard.encoding import encode_json
from runcard.errors import DocumentError


def of_version(kind: str, version: str | None) -> list[Fields]:
    """All the documents of the corpus that a step can start from."""
    if version is None:
        return [data(f"legacy/{path.stem}") for path in files("legacy") if path.name.startswith("flat")]
    if version == "0.1.0":
        return [data(f"legacy/{path.stem}") for path in files("legacy") if path.name.startswith("0.1.0")]
    folder = f"valid/{kind}-{version}"
    return [decoded(path) for path in every_file(folder)]


def without(document: Any, pointers: tuple[str, ...]) -> Any:
    """The data without what these pointers name."""
    left = deepcopy(document)
    for pointer in pointers:
        parent, _, key = pointer.rpartition("/")
        del at(left, parent)[key]
    return left


@pytest.mark.parametrize(("kind", "begin", "end"), STEPS)
def test_every_step_ends_valid_and_leaves_its_input_alone(kind: str, begin: str | None, end: str) -> None:
    documents = of_version(kind, begin)
    assert documents
    for document in documents:
        before = exactly(document)
        moved = migrate(kind, document, begin, end)
        assert exactly(document) == before
        report = parse_document(encode_json(moved.data), kind=kind).report
        assert (report.valid, report.kind, report.version) == (True, kind, end)


@pytest.mark.parametrize("kind", ["team", "instance"])
def test_up_and_down_again_gives_the_same_data(kind: str) -> None:
    for document in of_version(kind, "1.0.0"):
        up = migrate(kind, document, "1.0.0", "2.0.0")
        down = migrate(kind, up.data, "2.0.0", "1.0.0")
        assert (down.data, down.dropped) == (document, ())
        assert list(down.data) == list(document)


def older(document: Fields) -> Fields:
    """The same data as a document of 1.0.0 states its version."""
    return {name: value for name, value in document.items() if name != "format_version"} | {
        "version": "1.0.0"
    }


@pytest.mark.parametrize("kind", ["team", "instance"])
def test_what_a_downgrade_drops_is_listed_completely(kind: str) -> None:
    for document in of_version(kind, "2.0.0"):
        down = migrate(kind, document, "2.0.0", "1.0.0")
        assert older(without(document, down.dropped)) == down.data
        assert len(set(down.dropped)) == len(down.dropped)


@settings(deadline=None, max_examples=60)
@given(objects, objects, st.data())
def test_a_downgrade_keeps_every_field_that_is_not_of_2_0_0(
    extra: Fields, inner: Fields, drawn: st.DataObject
) -> None:
    kind, document = drawn.draw(st.sampled_from([("team", rich_team()), ("instance", rich_instance())]))
    unknown = {f"x-{key}": value for key, value in extra.items()}
    document |= unknown
    place = document["instances"][1] if kind == "team" else document["workspace"]
    place |= {f"x-{key}": value for key, value in inner.items()}
    down = migrate(kind, document, "2.0.0", "1.0.0")
    assert older(without(document, down.dropped)) == down.data
    assert unknown.items() <= down.data.items()


def test_a_downgrade_of_the_richest_team_drops_every_addition_and_nothing_else() -> None:
    both = {"performance", "resources", "price_rows", "token_source", "labels", "trace"}
    records = {
        "producer",
        "relations",
        "symlinks",
        "event_chains",
        "ledger_head",
        "audit",
        "checksums",
        "origin",
        *("origin_session", "recorded_by", "usage_incomplete", "metered_runs", "sources"),
    }
    each = {"terminated_at_source", "token_source", "cost_source"}
    one = both | each | {"tokens", "known_cost", "server_tools", "error_details", "role_title"}
    one |= {"calls", "models", "tool_uses", "errors_by_category"}
    document = rich_team() | {"origin": {"version": "1.0.0", "sha256": "0" * 64}}
    assert set(migrate("team", document, "2.0.0", "1.0.0").dropped) == {
        *(f"/{name}" for name in both | records),
        *(f"/instances/{index}/{name}" for index in range(3) for name in each),
        *(f"/instances/3/{name}" for name in one),
        *(f"/execution_summary/{name}" for name in ("status_counts", "known_cost", "known_tokens")),
    }


def test_an_instance_of_either_shape_of_2_0_0_becomes_one_with_a_format_version() -> None:
    document = rich_instance()
    earlier = older(document) | {"version": "2.0.0"}
    assert migrate("instance", earlier, "2.0.0", "2.0.0").data == document
    assert migrate("instance", document, "2.0.0", "2.0.0").data == document
    assert migrate("instance", earlier, "2.0.0", "1.0.0") == migrate("instance", document, "2.0.0", "1.0.0")
    upgraded = migrate("instance", older(document) | {"format_version": "1.0.0"}, "1.0.0", "2.0.0").data
    assert list(upgraded)[:2] == ["version", "format_version"]
    assert upgraded == document


def test_the_way_may_have_no_step_and_may_not_exist() -> None:
    document = rich_team()
    assert migrate("team", document, "2.0.0", "2.0.0").data is document
    with pytest.raises(DocumentError, match=r"version 2\.0\.0 cannot be migrated to 9\.0\.0") as refused:
        migrate("team", document, "2.0.0", "9.0.0")
    assert refused.value.hint == "possible: 1.0.0"
    with pytest.raises(DocumentError, match=r"version none cannot be migrated to 2\.0\.0") as refused:
        migrate("manifest", {}, None, "2.0.0")
    assert refused.value.hint == "no migration exists for this version"


def test_steps_are_joined_to_a_way_and_what_they_say_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    first = STEPS["team", "2.0.0", "1.0.0"]
    monkeypatch.setitem(STEPS, ("team", "1.0.0", "0.5.0"), STEPS["generation", None, "1.0"])
    monkeypatch.setitem(STEPS, ("team", "3.0.0", "2.0.0"), first)
    document = rich_team() | {"generated_at": "no time"}
    moved = migrate("team", document, "3.0.0", "0.5.0")
    assert moved.dropped == first(document, None).dropped
    assert len(moved.notes) == 1


def test_a_parsed_document_can_be_migrated() -> None:
    examined = parse_document(encode_json(rich_team()))
    assert migrate_document(examined, "1.0.0").data["version"] == "1.0.0"
    assert examined.data == rich_team()


def test_every_step_belongs_to_a_kind_and_ends_in_a_published_version() -> None:
    assert all(end in MODELS[kind].kind.versions for kind, _, end in STEPS)
