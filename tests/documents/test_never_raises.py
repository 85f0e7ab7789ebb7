"""Whatever the bytes: a report, never an exception."""

import json
from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from documents import samples
from documents.damage import DOCUMENTS, SECTIONS, damaged, telling
from documents.samples import MODELS, at, files, is_harmless
from encoding.plain_data import line_and_column, offsets, values, yaml_offsets
from runcard.documents.findings import ERROR, RULES, InvalidDocument
from runcard.documents.reader import ParsedDocument, load_document, parse_document
from runcard.encoding import as_text, decode_json, encode_json
from runcard.errors import EncodingError

kinds = st.none() | st.sampled_from(sorted(MODELS))


def check(data: bytes, kind: str | None) -> ParsedDocument:
    examined = parse_document(data, kind=kind)
    report = examined.report
    assert (
        report.valid == (not report.errors) == (not any(found.severity is ERROR for found in report.findings))
    )
    assert len(report.errors) + len(report.warnings) == len(report.findings)
    for found in report.findings:
        assert found.severity is RULES[found.rule][0]
        assert is_harmless(found.message)
        assert found.line is not None
        assert found.column is not None
        assert found.line >= 1
        assert found.column >= 1
        encode_json(found.to_dict())
    if examined.data is not None:
        check_places(examined, as_text(data))
    check_loading(data, kind, valid=report.valid)
    return examined


def check_places(examined: ParsedDocument, text: str) -> None:
    """Every path resolves or at least its parent does, and the position is that of what resolves."""
    places = offsets_in(text)
    for found in examined.report.findings:
        if examined.upgraded is None:
            at(examined.data, found.path.rpartition("/")[0])
        nearest = found.path
        while nearest not in places:
            nearest = nearest.rpartition("/")[0]
        assert (found.line, found.column) == line_and_column(text, places[nearest])


def offsets_in(text: str) -> dict[str, int]:
    """Only text that is not JSON is read as YAML."""
    try:
        return offsets(text)
    except json.JSONDecodeError:
        return yaml_offsets(text)


def check_loading(data: bytes, kind: str | None, *, valid: bool) -> None:
    try:
        document = load_document(data, kind=kind)
    except InvalidDocument:
        assert not valid
    else:
        assert valid
        assert document.to_bytes() == data


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=60), kinds)
@example(b"(:", "testplan")
def test_random_bytes_are_examined(data: bytes, kind: str | None) -> None:
    check(data, kind)


YAML = [
    *"a(:-[]{}'\"|>*!%<,#?~=01 \n\t",
    *("\n  ", "\n- ", ": ", "<<: ", "&a ", "*a", "\r\n", "---\n", "no", "1e400"),
]
YAML += [
    "characteristics:\n- ",
    "name: ",
    "states: [",
    "test_level: unit\n",
    "\x85",
    "\u2028",
    "\ufeff",
    "\U0001f600",
]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(YAML), max_size=25).map("".join), st.sampled_from([None, "testplan"]))
@example("characteristics:\n- name: no\n", None)
def test_random_yaml_is_examined(text: str, kind: str | None) -> None:
    assume(text.count("&a ") < 2)  # PyYAML takes an anchor once, YAML any number of times
    check(text.encode(), kind)


@settings(deadline=None, max_examples=100)
@given(values, kinds)
def test_random_json_is_examined(value: object, kind: str | None) -> None:
    check(encode_json(value), kind)


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(st.sampled_from(SECTIONS), telling | values, max_size=8), kinds)
def test_objects_with_our_keys_and_random_values_are_examined(value: object, kind: str | None) -> None:
    check(encode_json(value), kind)


@settings(deadline=None, max_examples=200)
@given(damaged(), kinds)
def test_damaged_documents_are_examined(document: Any, kind: str | None) -> None:
    check(encode_json(document), kind)


SOURCES = [path.read_bytes() for path in files("valid") + files("legacy")]


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(SOURCES), st.data())
def test_documents_with_damaged_bytes_are_examined(source: bytes, drawn: st.DataObject) -> None:
    start = drawn.draw(st.integers(0, len(source)))
    end = drawn.draw(st.integers(start, min(len(source), start + 9)) | st.just(len(source)))
    check(source[:start] + drawn.draw(st.binary(max_size=4)) + source[end:], None)


@settings(deadline=None, max_examples=100)
@given(damaged(), st.sampled_from(sorted(MODELS)))
def test_a_document_is_born_exactly_when_its_bytes_are_valid(document: Any, kind: str) -> None:
    report = MODELS[kind].check(decode_json(encode_json(document)))
    try:
        born = MODELS[kind].from_dict(document)
    except InvalidDocument as error:
        found = error.report
    except EncodingError:
        raise AssertionError from None
    else:
        found = ParsedDocument(report).report
        assert born.to_dict() == document
    assert found == report


def test_the_damage_is_of_every_sort() -> None:
    """The tests above would be idle if what they draw were always valid or never looked at."""
    seen: set[str] = set()

    @settings(deadline=None, max_examples=150, database=None, derandomize=True)
    @given(damaged())
    def look(document: Any) -> None:
        seen.update(found.rule for found in parse_document(encode_json(document)).report.findings)

    look()
    assert len(seen) > 12, seen
    assert samples.team() in DOCUMENTS
