"""A quick yes for a small document that is plainly valid, without jsonschema-rs, which takes as long to load as the rest.

The answer comes from the published schema itself. It is yes only if every keyword in question is known here and is
satisfied, and every value is an ordinary one. In all other cases it is no, which means nothing: then jsonschema-rs
decides. A test compares the two on valid and on damaged documents.
"""

import re
from datetime import datetime
from typing import Any

from runcard.encoding import JsonObject

# Patterns that mean the same to Python and to jsonschema-rs, for ASCII text without line breaks.
PATTERNS = frozenset({"^sha256:[0-9a-f]{64}$", "^[0-9a-f]{64}$", "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"})
_ANNOTATIONS = {"$schema", "$id", "title", "description", "examples", "definitions"}
_KEYWORDS = _ANNOTATIONS | {
    *("type", "enum", "const", "anyOf"),
    *("properties", "required", "additionalProperties", "items"),
    *("minimum", "minLength", "pattern", "format"),
}
_TYPE_NAMES: dict[type, tuple[str, ...]] = {
    str: ("string",),
    int: ("integer", "number"),
    float: ("number",),
    bool: ("boolean",),
    type(None): ("null",),
    dict: ("object",),
    list: ("array",),
}
_MOST_VALUES = 2_000  # of a document; jsonschema-rs is faster for a larger one
_MOST_LEVELS = 50
_EXACT = 2**53  # numbers up to here are the same as a float


def is_plainly_valid(schema: JsonObject, data: JsonObject) -> bool:
    """Whether it is certain that the schema accepts the data."""
    return _SubsetCheck(schema.get("definitions", {})).accepts(schema, data, 0)


class _SubsetCheck:
    def __init__(self, definitions: JsonObject) -> None:
        self._definitions = definitions
        self._left = _MOST_VALUES

    def accepts(self, schema: JsonObject, value: Any, level: int) -> bool:  # noqa: ANN401
        while "$ref" in schema:
            schema = self._definitions[schema["$ref"].removeprefix("#/definitions/")]
        self._left -= 1
        if self._left < 0 or level > _MOST_LEVELS or not schema.keys() <= _KEYWORDS:
            return False
        names = _TYPE_NAMES.get(type(value), ())
        expected = schema.get("type", names)
        if not (expected in names if isinstance(expected, str) else any(name in expected for name in names)):
            return False
        if "enum" in schema and not (isinstance(value, str | None) and value in schema["enum"]):
            return False
        if "const" in schema and not (isinstance(value, str) and value == schema["const"]):
            return False
        if "anyOf" in schema and not any(self.accepts(each, value, level) for each in schema["anyOf"]):
            return False
        if isinstance(value, dict):
            return self._accepts_object(schema, value, level)
        if isinstance(value, list):
            return all(self.accepts(schema.get("items", {}), item, level + 1) for item in value)
        return _accepts_text(schema, value) if isinstance(value, str) else _accepts_number(schema, value)

    def _accepts_object(self, schema: JsonObject, value: JsonObject, level: int) -> bool:
        known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        for key, item in value.items():
            inner = known.get(key, {} if other is True else other)
            if not _is_plain(key) or inner is False or not self.accepts(inner, item, level + 1):
                return False
        return value.keys() >= set(schema.get("required", ()))


def _accepts_text(schema: JsonObject, value: str) -> bool:
    if not _is_plain(value) or len(value) < schema.get("minLength", 0):
        return False
    if "format" in schema and not (schema["format"] == "date-time" and _is_plain_time(value)):
        return False
    pattern = schema.get("pattern")
    if pattern is None:
        return True
    return pattern in PATTERNS and value.isascii() and "\n" not in value and bool(re.match(pattern, value))


def _accepts_number(schema: JsonObject, value: float | None) -> bool:
    """For null as well, which every limit accepts."""
    return value is None or (-_EXACT < value < _EXACT and value >= schema.get("minimum", value))


def _is_plain(text: object) -> bool:
    """Whether this is text without lone surrogates."""
    if not isinstance(text, str):
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _is_plain_time(text: str) -> bool:
    """Whether this is a time as runcard writes it: 2025-11-06T14:05:00Z or 2025-11-06T14:05:00.123Z."""
    whole, point, fraction = text[:-1].partition(".")
    shape = whole.translate({ord(digit): "0" for digit in "123456789"})
    if not text.endswith("Z") or shape != "0000-00-00T00:00:00" or whole[11:13] == "24":
        return False  # hour 24 is midnight to newer versions of Python, and wrong to jsonschema-rs
    if point and not (fraction.isascii() and fraction.isdigit() and len(fraction) <= 9):
        return False
    try:
        datetime.fromisoformat(whole)
    except ValueError:
        return False
    return True
