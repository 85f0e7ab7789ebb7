"""Whatever the bytes: a report, never an exception."""

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from documents import samples
from documents.samples import at, files, is_harmless
from encoding.plain_data import line_and_column, offsets, values
from runcard.documents.findings import ERROR, RULES, InvalidDocument
from runcard.documents.reader import MODELS, ParsedDocument, load_document, parse_document
from runcard.encoding import as_text, decode_json, encode_json
from runcard.errors import EncodingError

kinds = st.none() | st.sampled_from(sorted(MODELS))
DOCUMENTS = [
    decode_json(path.read_bytes()) for folder in ("valid", "legacy", "warnings") for path in files(folder)
]

telling: st.SearchStrategy[Any] = st.sampled_from(  # copied, since what is drawn may be damaged further
    [
        *(
            0,
            1,
            -1,
            1.5,
            3.0,
            1e300,
            10**40,
            int("9" * 4300),
            True,
            None,
            "",
            "x",
            "\x1b[2J\n",
            "../x",
            "a/b",
        ),
        *("2025-11-06T14:00:00Z", "2025-11-06T14:00:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z"),
        *(
            "0001-01-01T00:00:00+23:59",
            "running",
            "completed",
            "priced",
            "estimated",
            "1.0",
            "2.0.0",
            "9.9.9",
        ),
        *(
            "0.1.0",
            [],
            {},
            [None],
            [[]],
            {"": None},
            ["x", "x"],
            {"path": "x"},
            "sha256:" + "0" * 64,
            "0" * 64,
        ),
        "550e8400-e29b-41d4-a716-446655440000",
    ]
).map(deepcopy)


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
    places = offsets(text)
    for found in examined.report.findings:
        if examined.upgraded is None:
            at(examined.data, found.path.rpartition("/")[0])
        nearest = found.path
        while nearest not in places:
            nearest = nearest.rpartition("/")[0]
        assert (found.line, found.column) == line_and_column(text, places[nearest])


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
def test_random_bytes_are_examined(data: bytes, kind: str | None) -> None:
    check(data, kind)


@settings(deadline=None, max_examples=100)
@given(values, kinds)
def test_random_json_is_examined(value: object, kind: str | None) -> None:
    check(encode_json(value), kind)


SECTIONS = sorted({key for document in DOCUMENTS for key in document})


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(st.sampled_from(SECTIONS), telling | values, max_size=8), kinds)
def test_objects_with_our_keys_and_random_values_are_examined(value: object, kind: str | None) -> None:
    check(encode_json(value), kind)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key in a document."""
    found, todo = [], [value]
    while todo:
        container = todo.pop()
        items = list(container.items()) if isinstance(container, dict) else list(enumerate(container))
        found += [(container, key) for key, _ in items]
        todo += [item for _, item in items if isinstance(item, dict | list)]
    return found


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A good document with a few values taken out, replaced, or put in."""
    document = deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 4))):
        places = _places(document)
        if not places:
            break
        container, key = draw(st.sampled_from(places))
        action = draw(st.sampled_from(["remove", "replace", "replace", "copy", "insert"]))
        if action == "remove":
            del container[key]
        elif action == "replace":
            container[key] = draw(telling | values)
        elif action == "copy":
            other, there = draw(st.sampled_from(places))
            container[key] = deepcopy(other[there])
        elif isinstance(container, list):
            container.insert(key, draw(telling))
        else:
            container[draw(st.sampled_from(SECTIONS) | st.text(max_size=3))] = draw(telling)
    return document


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

    @settings(deadline=None, max_examples=150, database=None)
    @given(damaged())
    def look(document: Any) -> None:
        seen.update(found.rule for found in parse_document(encode_json(document)).report.findings)

    look()
    assert len(seen) > 12, seen
    assert samples.team() in DOCUMENTS
