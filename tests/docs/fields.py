"""The fields that a published schema knows, in the words that the tables of the documentation use.

A field has a path such as `instances[].role`. A part that several formats share (`PriceRow`) is one word in their
tables and has a table of its own.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from runcard.documents.session.roles import ROLES

WORDS = {
    "Digest": "digest",
    "Hex": "hex",
    "Time": "time",
    "Count": "count",
    "Amount": "amount",
    "Id": "id",
    "TokenSource": "token source",
    "CostSource": "cost source",
}
SHARED = (
    "Producer",
    "PriceRow",
    "ModelUsage",
    "Source",
    "Relation",
    "Trace",
    "Redaction",
    "Symlink",
    "EventChain",
    "Origin",
    "Tokens",
    "Performance",
    "Resources",
    "ErrorDetails",
    "Metric",
)

ENUMS = {ROLES: "role", ("completed", "error", "timeout", "terminated", "running"): "status"}

Schema = dict[str, Any]


class Field(NamedTuple):
    """What a row of a table says."""

    type: str
    needed: bool
    null: bool


def fields(schema: Schema) -> dict[str, Field]:
    """All fields of a document, by path."""
    return dict(_members(schema, schema.get("definitions", {}), ""))


def shared(schema: Schema) -> dict[str, Field]:
    """The fields of the shared parts that this schema uses, by part."""
    parts = schema.get("definitions", {})
    return {
        path: field for part in SHARED if part in parts for path, field in _members(parts[part], parts, part)
    }


def _members(schema: Schema, parts: Schema, prefix: str) -> Iterator[tuple[str, Field]]:
    needed = schema.get("required", ())
    for name, value in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else f"{name}"
        yield path, _field(value, parts, needed=name in needed)
        yield from _inner(value, parts, path)


def _field(schema: Schema, parts: Schema, *, needed: bool) -> Field:
    word, null = _described(schema, parts)
    return Field(word, needed, null)


def _inner(schema: Schema, parts: Schema, path: str) -> Iterator[tuple[str, Field]]:
    part = schema.get("$ref", "").rpartition("/")[2]
    if part in SHARED or part in WORDS:
        return
    if part:
        schema = parts[part]
    if "items" in schema:
        yield from _inner(schema["items"], parts, f"{path}[]")
    yield from _members(schema, parts, path)


def _described(schema: Schema, parts: Schema) -> tuple[str, bool]:
    """The type of a field, and whether it may be null."""
    part = schema.get("$ref", "").rpartition("/")[2]
    if not part:
        return _word(schema, parts), _takes_null(schema)
    if part in SHARED:
        return f"[{part}](index.md#{part.lower()})", _takes_null(parts[part])
    return WORDS.get(part) or _word(parts[part], parts), _takes_null(parts[part])


def _inside(schema: Schema, parts: Schema) -> str:
    """The type of what stands in a list or an object."""
    word, null = _described(schema, parts)
    return f"{word} or null" if null else word


def _takes_null(schema: Schema) -> bool:
    return "null" in schema.get("type", ()) or None in schema.get("enum", ())


def _word(schema: Schema, parts: Schema) -> str:
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        said = ", ".join(f"`{value}`" for value in values)
        return ENUMS.get(tuple(values)) or (said if len(values) == 1 else f"one of {said}")
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return " or ".join(_plain(name, schema, parts) for name in types if name != "null")


def _plain(name: str, schema: Schema, parts: Schema) -> str:
    match name, schema.get("minimum"), schema.get("format"):
        case "integer", 0, _:
            return "count"
        case "number", 0, _:
            return "amount"
        case "integer", int(least), _:
            return f"integer from {least}"
        case "string", _, "date-time":
            return "time"
        case "string", _, _:
            return "text, not empty" if schema.get("minLength") and schema["type"] == "string" else "text"
        case "array", _, _:
            return f"list of {_inside(schema['items'], parts)}"
        case "object", _, _ if "additionalProperties" in schema:
            return f"object of {_inside(schema['additionalProperties'], parts)}"
        case _:
            return name
