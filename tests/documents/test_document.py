"""What all documents have in common: born valid, every field kept, the bytes of the source kept."""

import json
from copy import deepcopy
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents import samples
from documents.samples import CORPUS, MODELS, at, every_file, files, is_yaml, put
from encoding.plain_data import objects, randoms, spelled
from runcard.documents.archive_index import ArchiveIndex
from runcard.documents.document import Document
from runcard.documents.findings import InvalidDocument, Report
from runcard.documents.reader import ParsedDocument, load_document, migrate_document, parse_document
from runcard.documents.run.config_digest import config_digest
from runcard.documents.run.fields import RunFields
from runcard.documents.run.generation import Generation
from runcard.documents.session.instance import Instance
from runcard.documents.session.manifest import Manifest
from runcard.documents.session.team import Team
from runcard.encoding import BOM, Limits, canonical_json, encode_json
from runcard.errors import DocumentError, EncodingError

VALID = [pytest.param(path, id=str(path.relative_to(CORPUS / "valid"))) for path in files("valid")]


def model_of(path: Any) -> type[Document]:
    return MODELS[path.parent.name.rpartition("-")[0]]


@pytest.mark.parametrize("path", VALID)
def test_a_new_document_is_written_as_it_will_be_read(path: Any) -> None:
    data = json.loads(path.read_bytes())
    document = model_of(path).from_dict(data)
    assert document.to_dict() == data
    assert list(document.to_dict()) == list(data)
    again = load_document(document.to_bytes())
    assert (again, again.to_bytes()) == (document, document.to_bytes())


@pytest.mark.parametrize(
    ("model", "data", "damages"),
    [
        (Team, samples.team(), {"/total_instances": 9, "/instances/1/role": "boss", "/instances/2/cost": -1}),
        (Instance, samples.instance(), {"/instance_id": "a b", "/status": 1, "/terminated_at": "now"}),
        (Manifest, samples.manifest(), {"/summary/failed": 7, "/instances_index/0/metadata_file": "../x"}),
        (Generation, samples.run(), {"/checksums/data": "x", "/configuration/seed": 1, "/costs": []}),
        (ArchiveIndex, samples.archive_index(), {"/archived_sessions/0/archived_at": "2025", "/version": 1}),
    ],
)
def test_a_document_is_born_valid_or_not_at_all_and_all_its_faults_are_told(
    model: type[Document], data: dict[str, Any], damages: dict[str, object]
) -> None:
    for pointer, value in damages.items():
        put(data, pointer, value)
    with pytest.raises(InvalidDocument) as refused:
        model.from_dict(data)
    report = refused.value.report
    assert len(report.errors) >= len(damages)
    examined = parse_document(encode_json(data), kind=model.kind.name).report
    assert {(f.rule, f.path, f.message) for f in report.findings} == {
        (f.rule, f.path, f.message) for f in examined.findings
    }
    assert f"(and {len(report.errors) - 1} more)" in refused.value.message
    assert refused.value.hint == report.errors[0].hint


def test_one_fault_is_told_without_counting() -> None:
    with pytest.raises(
        InvalidDocument, match=r"^the team document is not valid at /total_instances: [^()]+$"
    ):
        Team.from_dict(samples.team() | {"total_instances": 5})


def test_a_fault_of_the_whole_document_names_no_place() -> None:
    data = samples.team()
    del data["errors"], data["created_at"]
    with pytest.raises(InvalidDocument) as raised:
        Team.from_dict(data)
    assert str(raised.value) == "the team document is not valid: 'created_at' is a required property"


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(MODELS)), objects, objects, randoms)
def test_unknown_fields_survive_with_every_byte(
    kind: str, extra: dict[str, Any], inner: dict[str, Any], random: Any
) -> None:
    base = {
        "team": samples.team,
        "instance": samples.instance,
        "manifest": samples.manifest,
        "generation": samples.run,
        "archive-index": samples.archive_index,
        "testplan": samples.plan,
    }[kind]()
    extra = {f"x-{key}": value for key, value in extra.items()}
    inside = {
        "team": "/instances/0",
        "instance": "/workspace",
        "manifest": "/summary",
        "generation": "/costs",
        "archive-index": "/archived_sessions/0",
        "testplan": "/characteristics/0",
    }[kind]
    at(base, inside).update({f"x-{key}": value for key, value in inner.items()})
    data = base | extra
    source = spelled(data, random).text.encode()
    document = load_document(source, kind=kind)
    assert document.to_bytes() == source
    assert document.to_dict() == data
    assert list(document.to_dict()) == list(data)
    assert MODELS[kind].from_dict(data).to_dict() == data


def test_a_document_that_is_not_changed_keeps_its_bytes() -> None:
    for path in every_file("valid"):
        document = load_document(path.read_bytes(), is_yaml=is_yaml(path))
        assert document.changed(document.to_dict()).to_bytes() == path.read_bytes()


@pytest.mark.parametrize("mark", [b"", BOM])
def test_a_change_changes_only_what_differs(mark: bytes) -> None:
    source = mark + (CORPUS / "valid/team-1.0.0/specification.json").read_bytes().replace(b"\n", b"\r\n")
    document = load_document(source)
    data = document.to_dict()
    data["instances"][1]["name"] = "the résearcher"
    changed = document.changed(data)
    assert changed.to_bytes() == source.replace(b'"researcher"', '"the résearcher"'.encode())
    assert changed.to_dict() == data
    assert document.to_bytes() == source


def test_a_change_that_breaks_a_rule_is_refused_and_the_document_stays() -> None:
    document = load_document((CORPUS / "valid/team-1.0.0/specification.json").read_bytes())
    data = document.to_dict()
    data["total_instances"] = 5
    with pytest.raises(InvalidDocument):
        document.changed(data)
    assert document.to_dict()["total_instances"] == 4


@pytest.mark.parametrize(
    "name", ["future/minor--team-2.7.0", "future/minor--generation-1.1", "legacy/flat", "legacy/0.1.0"]
)
def test_documents_of_another_time_are_never_rewritten(name: str) -> None:
    document = load_document((CORPUS / f"{name}.json").read_bytes())
    with pytest.raises(DocumentError, match="is not rewritten"):
        document.changed(document.to_dict())


def test_an_index_without_a_version_can_be_changed() -> None:
    document = load_document((CORPUS / "valid/archive-index-1.0.0/empty.json").read_bytes())
    assert json.loads(document.changed({"archived_runs": [], "x": 1}).to_bytes()) == {
        "archived_runs": [],
        "x": 1,
    }


@pytest.mark.parametrize("name", ["valid/team-1.0.0/specification", "legacy/flat--unknown-fields"])
def test_nobody_changes_a_document_from_outside(name: str) -> None:
    source = (CORPUS / f"{name}.json").read_bytes()
    document = load_document(source)
    before = deepcopy(document.to_dict())
    mine = document.to_dict()
    for value in mine.values():
        if isinstance(value, dict | list):
            value.clear()
    mine.clear()
    assert document.to_dict() == before
    assert document.to_bytes() == source


def test_the_data_that_a_document_was_made_of_stay_the_caller_s() -> None:
    data = samples.team()
    document = Team.from_dict(data)
    data["instances"].clear()
    document.instances[0]["name"] = "changed"
    assert [instance["name"] for instance in document.instances] == [
        "coordinator",
        "researcher",
        "analyzer",
        "writer",
    ]


def test_documents_are_values() -> None:
    assert Team.from_dict(samples.team()) == Team.from_dict(samples.team())
    with pytest.raises(AttributeError):
        Team.from_dict(samples.team()).version = "9"


def test_other_types_are_written_as_plain_data_before_they_are_judged() -> None:
    class Role(StrEnum):
        WRITER = "tech_writer"

    data = samples.team()
    data["instances"][3]["role"] = Role.WRITER
    data["instances"] = tuple(data["instances"])
    document = Team.from_dict(data)
    assert type(document.to_dict()["instances"][3]["role"]) is str
    assert isinstance(document.to_dict()["instances"], list)


@pytest.mark.parametrize("value", [float("nan"), b"x", {1: 2}, "\ud800", object()])
def test_what_json_cannot_say_is_no_document(value: object) -> None:
    with pytest.raises(EncodingError):
        Team.from_dict(samples.team() | {"x": value})
    with pytest.raises(EncodingError):
        Team.from_dict(samples.team()).changed(samples.team() | {"x": value})


def test_a_document_that_nobody_could_read_back_is_not_born() -> None:
    deep: list[Any] = []
    for _ in range(1000):
        deep = [deep]
    with pytest.raises(EncodingError) as refused:
        Team.from_dict(samples.team() | {"x": deep})
    assert refused.value.rule == "json.too-deep"


def test_what_higher_limits_let_in_can_be_looked_at_and_changed() -> None:
    source = encode_json(samples.team() | {"x": "HERE"}).replace(b'"HERE"', b"[" * 1500 + b"]" * 1500)
    assert [found.rule for found in parse_document(source).report.findings] == ["json.too-deep"]
    document = load_document(source, limits=Limits(depth=2000))
    data = document.to_dict()
    data["errors"] = ["changed"]
    assert document.changed(data).to_bytes() == source.replace(
        b'"errors": []', b'"errors": [\n    "changed"\n  ]'
    )


def test_what_is_deeper_than_the_schema_looks_is_left_alone() -> None:
    deep: Any = 1
    for _ in range(990):
        deep = {"a": deep}
    for data in (
        samples.run() | {"configuration": {"model": None, "provider": None, "x": deep}},
        samples.run() | {"x": deep},
    ):
        data["checksums"] = dict.fromkeys(("config", "data", "output"))
        assert parse_document(canonical_json(data)).report.findings == ()
        data["generation"] = {"run_id": deep}
        rules = [found.rule for found in parse_document(canonical_json(data)).report.findings]
        assert sorted(rules) == ["schema.required"] * 4 + ["schema.type"]


def test_the_config_digest_of_deep_data_is_computed() -> None:
    deep: Any = [1]
    for _ in range(900):
        deep = {"a": deep}
    configuration = {"model": "m", "provider": "p", "x": deep}
    data = samples.run() | {"configuration": configuration}
    data["checksums"]["config"] = config_digest(configuration)
    assert parse_document(encode_json(data)).report.findings == ()


def test_generation_documents_tell_what_is_asked_most() -> None:
    document = load_document(encode_json(samples.run()))
    assert isinstance(document, Generation)
    assert document.run_id == "run-def456"
    assert document.model == "claude-sonnet-4-5-20250929"
    assert document.total_cost == Decimal("0.42")
    assert document.started is not None
    assert document.started.isoformat() == "2025-12-14T10:30:00+00:00"
    unknown = load_document((CORPUS / "valid/generation-1.0/nothing-known.json").read_bytes())
    assert isinstance(unknown, Generation)
    assert (unknown.run_id, unknown.model, unknown.total_cost, unknown.started) == (None,) * 4
    free = load_document((CORPUS / "valid/generation-1.0/free.json").read_bytes())
    assert isinstance(free, Generation)
    assert free.total_cost == 0


def test_plain_data_of_a_run_has_the_same_properties_as_its_document() -> None:
    data = samples.run()
    data["generation"] |= {"status": "failed", "command": ["a", "b"], "exit_code": 3, "process": {"pid": 7}}
    document = load_document(encode_json(data))
    assert isinstance(document, Generation)
    assert (document.status, document.command, document.exit_code) == ("failed", ["a", "b"], 3)
    assert document.process == {"pid": 7}
    names = ("run_id", "experiment_id", "status", "timestamp_start", "timestamp_end", "started", "command")
    for name in (*names, "exit_code", "process"):
        assert getattr(RunFields(data), name) == getattr(document, name)
    absent = RunFields({"generation": {}})
    assert {getattr(absent, name) for name in (*names, "exit_code")} - {None} == set()
    assert absent.process == {}


def test_team_and_instance_documents_tell_what_is_asked_most() -> None:
    document = load_document(encode_json(samples.team()))
    assert isinstance(document, Team)
    assert document.session_id == "research-team-001"
    assert document.total_cost == Decimal("1.25")
    assert document.created_at is not None
    assert document.created_at.isoformat() == "2025-11-06T14:32:45.123456+00:00"
    poor = Team.from_dict(samples.team() | {"execution_summary": {}})
    assert poor.total_cost is None
    instance = load_document(encode_json(samples.instance()))
    assert isinstance(instance, Instance)
    assert (instance.instance_id, instance.name) == ("550e8400-e29b-41d4-a716-446655440001", "researcher")
    manifest = load_document(encode_json(samples.manifest()))
    assert isinstance(manifest, Manifest)
    assert manifest.session_id == "research-team-001"


def test_what_was_not_recognised_cannot_be_migrated() -> None:
    for data in (b"[]", b"{}", b"{"):
        with pytest.raises(InvalidDocument):
            migrate_document(parse_document(data), "1.0")
    with pytest.raises(InvalidDocument):
        migrate_document(ParsedDocument(Report(parse_document(b"{").report.findings, "team")), "1.0.0")


def test_a_kind_that_is_named_decides_what_is_missing() -> None:
    report = parse_document(b'{"version": "1.0.0"}', kind="team").report
    assert report.kind == "team"
    assert {found.rule for found in report.findings} == {"schema.required"}
    assert len(report.findings) == 5
    assert parse_document(b"[]", kind="team").report.kind == "team"
    assert parse_document(b"[", kind="team").report.kind == "team"
