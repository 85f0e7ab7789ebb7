"""Every file of the corpus is a test; its place and its name say what must come out. See tests/corpus/README.md."""

from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema_rs import Draft7Validator

from documents.samples import CORPUS, MODELS, at, decoded, every_file, is_harmless, is_yaml
from encoding.plain_data import line_and_column, offsets, yaml_offsets
from runcard.documents import schema
from runcard.documents.document import Document
from runcard.documents.findings import MAX_FINDINGS, RULES, InvalidDocument, Report, Severity
from runcard.documents.kinds import KINDS
from runcard.documents.reader import ParsedDocument, load_document, parse_document
from runcard.encoding import Limits, as_text
from runcard.errors import EncodingError


def each(folder: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "path", [pytest.param(path, id=str(path.relative_to(CORPUS / folder))) for path in every_file(folder)]
    )


def examined(path: Path) -> ParsedDocument:
    return parse_document(path.read_bytes(), is_yaml=is_yaml(path))


def loaded(path: Path) -> Document:
    return load_document(path.read_bytes(), is_yaml=is_yaml(path))


def rules(report: Report) -> set[str]:
    return {found.rule for found in report.findings}


def named(path: Path) -> set[str]:
    """The rules that a file's name says."""
    return set(path.stem.partition("--")[0].split("+"))


@each("valid")
def test_a_valid_document_has_no_findings_and_its_kind_and_version_are_told(path: Path) -> None:
    kind, _, version = path.parent.name.rpartition("-")
    assert examined(path).report == Report((), kind, version)
    document = loaded(path)
    assert (document.kind.name, document.version, document.upgraded) == (kind, version, False)
    assert document.to_bytes() == path.read_bytes()
    assert parse_document(path.read_bytes(), kind=kind).report == Report((), kind, version)


@each("warnings")
def test_a_document_with_a_warning_is_valid_and_has_only_this_warning(path: Path) -> None:
    report = examined(path).report
    assert report.valid
    assert rules(report) == named(path)
    assert {found.severity for found in report.findings} == {Severity.WARNING}
    assert loaded(path).warnings == report.findings
    assert not report.strict().valid


@each("invalid")
def test_an_invalid_document_has_exactly_the_errors_of_its_name(path: Path) -> None:
    report = examined(path).report
    assert not report.valid
    assert rules(report) == named(path)
    with pytest.raises(InvalidDocument) as refused:
        loaded(path)
    assert refused.value.report == report


@each("future")
def test_a_newer_minor_is_read_with_a_warning_and_a_newer_major_is_refused(path: Path) -> None:
    size, _, kind_and_version = path.stem.partition("--")
    kind, _, version = kind_and_version.rpartition("-")
    report = examined(path).report
    assert (report.kind, report.version, rules(report)) == (kind, version, {f"version.newer-{size}"})
    assert report.valid == (size == "minor")
    message = report.findings[0].message
    assert kind in message
    assert version in message
    assert report.findings[0].expected == list(KINDS[kind].versions)
    if size == "minor":
        document = loaded(path)
        assert document.to_bytes() == path.read_bytes()
        assert document.to_dict() == decoded(path)


@each("legacy")
def test_an_older_shape_is_valid_with_a_warning_and_upgraded_in_memory(path: Path) -> None:
    report = examined(path).report
    assert report.valid
    assert rules(report) - {"expected.absent"} == {"version.older"}
    document = loaded(path)
    assert document.upgraded
    assert document.to_bytes() == path.read_bytes()
    assert document.to_dict()["metadata_version"] == "1.0"


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=str(path.relative_to(CORPUS))) for path in every_file()]
)
def test_every_finding_names_its_place_a_rule_and_what_to_do(path: Path) -> None:
    data = path.read_bytes()
    result = examined(path)
    for found in result.report.findings:
        assert found.severity is RULES[found.rule][0]
        assert is_harmless(found.message)
        assert len(found.message) < 1000
        assert found.hint is None or is_harmless(found.hint)
        assert found.to_dict()["path"] == found.path
        assert found.line is not None
        assert found.column is not None
        if result.data is None:
            continue  # could not be decoded, or is no object: the place was checked where it was found
        text = as_text(data)
        places = (yaml_offsets if is_yaml(path) else offsets)(text) if "too-deep" not in path.name else {}
        nearest = found.path
        while nearest not in places:
            nearest = nearest.rpartition("/")[0]
        assert (found.line, found.column) == line_and_column(text, places[nearest])
        if result.upgraded is None:
            at(result.data, found.path.rpartition("/")[0])  # the parent of what is missing is there
        else:
            at(result.upgraded, found.path)


def test_findings_come_in_the_order_of_the_text() -> None:
    report = examined(
        CORPUS / "invalid" / "schema.enum+schema.required+schema.type--everything-at-once.json"
    ).report
    places = [(found.line, found.column) for found in report.findings]
    assert len(places) == 3
    assert places == sorted(places)


def test_every_kind_and_version_has_a_valid_document() -> None:
    folders = {path.name for path in (CORPUS / "valid").iterdir()}
    assert folders == {f"{kind.name}-{version}" for kind in KINDS.values() for version in kind.versions}


def other_demand() -> str:
    """A demand that no published schema makes."""
    validator = Draft7Validator({"properties": {"a": {"maxItems": 1}}})
    (error,) = validator.iter_errors({"a": [1, 2]})
    return schema._finding(error, ["a"], {"a": [1, 2]}, KINDS["team"]).rule


def not_plain() -> str:
    with pytest.raises(EncodingError) as refused:
        MODELS["team"].from_dict({"a": b"bytes"})
    return refused.value.rule


def many_findings() -> str:
    document = decoded(CORPUS / "valid" / "generation-1.0" / "specification.json")
    document["errors"] = ["boom"] * (MAX_FINDINGS + 5)
    return MODELS["generation"].check(document).findings[-1].rule


# Rules that no file of this corpus can break, and how each is broken here.
BY_HAND: dict[str, Callable[[], str]] = {
    "findings.many": many_findings,
    "encoding.too-big": lambda: parse_document(b"[1, 2]", limits=Limits(size=5)).report.findings[0].rule,
    "json.not-plain": not_plain,
    "schema.other": other_demand,
}
# Rules about files, folders and whole sessions: what they are about is read in `operations`, and tested with these.
OF_FILES = {"file.missing", "file.unreadable", "file.nothing-found"}
OF_FILES |= {"session.manifest", "session.instance", "session.file-missing", "session.figures"}
OF_FILES |= {"target.file", "target.class", "target.method", "target.short-name", "target.unchecked"}
# Rules about what `runcard collect` is told: no document of a record is that. Tested in `collecting`.
OF_SPECS = {rule for rule in RULES if rule.startswith("spec.")} | {"parent.ambiguous"}


@pytest.mark.parametrize("rule", BY_HAND)
def test_rules_without_a_file_are_broken_by_hand(rule: str) -> None:
    assert BY_HAND[rule]() == rule


def test_no_rule_is_without_a_test() -> None:
    seen = {rule for path in every_file() for rule in rules(examined(path).report)}
    assert seen | BY_HAND.keys() | OF_FILES | OF_SPECS == RULES.keys()
    assert not seen & (BY_HAND.keys() | OF_FILES | OF_SPECS)


@pytest.mark.parametrize("model", MODELS.values())
def test_a_kind_without_rules_of_its_own_would_have_none(model: type[Document]) -> None:
    assert list(Document.rules({})) == []
    assert model.rules is not Document.rules
