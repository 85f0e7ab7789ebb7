"""The quick yes: jsonschema-rs agrees with every one, and documents of runcard's own get it."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft7Validator

from documents.damage import damaged
from documents.samples import decoded, every_file, files, is_yaml
from encoding.plain_data import values
from runcard.documents.kinds import PUBLISHED
from runcard.documents.reader import parse_document
from runcard.documents.schema import schema_bytes
from runcard.documents.schema_subset import PATTERNS, is_plainly_valid
from runcard.encoding import decode_json

SCHEMAS = {
    f"{kind}-{version}": decode_json(schema_bytes(kind, version))
    for kind, published in PUBLISHED.items()
    for version in published.schemas
}
VALIDATORS = {name: Draft7Validator(schema, validate_formats=True) for name, schema in SCHEMAS.items()}


def agrees(schema: Any, value: Any) -> bool:
    """Whether jsonschema-rs accepts the value, if the quick check does."""
    return not is_plainly_valid(schema, value) or is_valid(schema, value)


def is_valid(schema: Any, value: Any) -> bool:
    return Draft7Validator(schema, validate_formats=True).is_valid(value)


def both_accept(schema: Any, value: Any) -> bool:
    return is_plainly_valid(schema, value) and is_valid(schema, value)


@settings(deadline=None, max_examples=400)
@given(damaged(), st.sampled_from(sorted(SCHEMAS)))
def test_no_damaged_document_is_accepted_that_jsonschema_refuses(document: Any, name: str) -> None:
    for schema in (name, _own_schema(document)):
        if schema and is_plainly_valid(SCHEMAS[schema], document):
            assert VALIDATORS[schema].is_valid(document)


def _own_schema(document: Any) -> str | None:
    for name, validator in VALIDATORS.items():
        kind, _, version = name.rpartition("-")
        published = PUBLISHED[kind]
        stated = document.get(published.key_of_version(document))
        is_own = stated in published.versions and published.schema_of(document, stated) == version
        if is_own and not validator.is_valid({}):
            return name
    return None


def test_no_invalid_document_of_the_corpus_is_accepted_that_jsonschema_refuses() -> None:
    parsed = [parse_document(path.read_bytes(), is_yaml=is_yaml(path)) for path in every_file("invalid")]
    documents = [document.data for document in parsed if document.data is not None]
    assert len(documents) > 50
    for document in documents:
        for name, schema in SCHEMAS.items():
            assert VALIDATORS[name].is_valid(document) or not is_plainly_valid(schema, document)


@pytest.mark.parametrize("name", ["generation-1.0", "team-2.0.0", "instance-2.0.0", "manifest-1.0.0"])
def test_most_valid_documents_are_accepted(name: str) -> None:
    """Without this, a quick check that never says yes would pass the tests above."""
    documents = [decoded(path) for path in files(f"valid/{name}")]
    kind, _, version = name.rpartition("-")
    accepted = [
        document
        for document in documents
        if is_plainly_valid(SCHEMAS[f"{kind}-{PUBLISHED[kind].schema_of(document, version)}"], document)
    ]
    assert len(accepted) * 2 > len(documents)


TIMES = ["2025-11-06T14:05:00Z", "2025-11-06T14:05:00.123Z", "2024-02-29T23:59:59.999999999Z"]
DOUBTFUL_TIMES = [
    *("2025-02-29T00:00:00Z", "2025-11-06T24:00:00Z", "2025-11-06T14:05:60Z", "2016-12-31T23:59:60Z"),
    *("2025-11-06 14:05:00Z", "2025-11-06T14:05:00", "2025-11-06T14:05Z", "20251106T140500Z", "2025-11-06"),
    *("2025-11-06T14:05:00.Z", "2025-11-06T14:05:00,5Z", "2025-11-06T14:05:00+01:00", "2025-11-06T14:05:00z"),
    *(
        "0000-01-01T00:00:00Z",
        "2025-W45-4T14:05:00Z",
        "٢٠٢٥-11-06T14:05:00Z",
        "",
        "Z",
        "2025-11-06T14:05:00.٣Z",
    ),
]


def test_times() -> None:
    schema = {"properties": {"at": {"type": "string", "format": "date-time"}}}
    assert all(both_accept(schema, {"at": text}) for text in TIMES)
    assert not any(is_plainly_valid(schema, {"at": text}) for text in DOUBTFUL_TIMES)


@given(st.datetimes() | st.text("0123456789-:.TZ ", max_size=26))
def test_jsonschema_accepts_every_time_that_is_accepted(moment: Any) -> None:
    text = moment if isinstance(moment, str) else f"{moment.isoformat()}Z"
    assert agrees({"properties": {"at": {"format": "date-time"}}}, {"at": text})


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [0, -1, 7], [True, 1.0, 1.5, "1", None, 2**70]),
        ({"type": ["number", "null"], "minimum": 0}, [0, 1.5, None], [-1, -0.5, False, "0", float("nan")]),
        ({"enum": ["1", None]}, ["1", None], [1, True, "", []]),
        ({"const": "1.0"}, ["1.0"], [1.0, 1, None]),
        ({"type": "string", "minLength": 1}, ["x", "é"], ["", "\udc80", b"x"]),
        ({"type": "array", "items": {"type": "boolean"}}, [[], [True]], [[0], [None], {}, (True,)]),
        (
            {"required": ["a"], "additionalProperties": False, "properties": {"a": {}}},
            [{"a": 1}],
            [{}, {"a": 1, "b": 2}],
        ),
        ({"additionalProperties": {"type": "string"}}, [{"a": "x"}], [{"a": 1}, {1: "x"}, {"\udc80": "x"}]),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": 1}, {"b": 1}], [{"c": 1}]),
        ({"maximum": 3}, [], [2, 5]),
        ({"format": "email"}, [], ["a@b.c"]),
        ({"pattern": "^a$"}, [], ["a"]),
        ({"items": {"maxLength": 2}}, [[]], [["a"]]),
    ],
    ids=str,
)
def test_what_is_plain_is_accepted_and_all_else_is_not(schema: Any, good: list[Any], bad: list[Any]) -> None:
    assert all(both_accept({"properties": {"x": schema}}, {"x": value}) for value in good)
    assert not any(is_plainly_valid({"properties": {"x": schema}}, {"x": value}) for value in bad)


@given(st.sampled_from(sorted(PATTERNS)), st.data())
def test_patterns_mean_the_same(pattern: str, drawn: st.DataObject) -> None:
    text = drawn.draw(st.from_regex(pattern) | st.text(max_size=3))
    assert agrees({"properties": {"x": {"pattern": pattern}}}, {"x": text})


def test_a_text_with_a_line_break_at_its_end_matches_no_pattern() -> None:
    schema = {"properties": {"x": {"pattern": "^[0-9a-f]{64}$"}}}
    assert both_accept(schema, {"x": "0" * 64})
    assert not is_plainly_valid(schema, {"x": "0" * 64 + "\n"})


@given(values)
def test_any_value_may_stand_where_the_schema_asks_nothing(value: Any) -> None:
    assert agrees({}, {"x": value})


def test_a_large_or_deep_document_is_left_to_jsonschema() -> None:
    deep: Any = {}
    for _ in range(300):
        deep = {"x": deep}
    assert not is_plainly_valid({}, deep)
    assert not is_plainly_valid({}, {"x": [0] * 100_000})


def test_the_document_is_not_changed() -> None:
    document = decoded(files("valid/generation-1.0")[0])
    before = deepcopy(document)
    is_plainly_valid(SCHEMAS["generation-1.0"], document)
    assert document == before
