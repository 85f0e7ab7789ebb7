"""The published JSON Schemas, and what they have to say about a document.

The schema files are the authority and never change once published; a new version is a new file. The messages here
are ours, so that they are short, name the field, and come with a hint.
"""

import json
import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from runcard.documents.findings import MOST, Finding, finding, left_out, shown
from runcard.documents.kinds import PUBLISHED, DocumentKind
from runcard.documents.session.roles import SYNONYMS
from runcard.encoding import JsonObject, join_pointer
from runcard.errors import UsageError

if TYPE_CHECKING:
    from jsonschema_rs import Draft7Validator, ValidationError

_FOLDER = os.path.join(os.path.dirname(__file__), "schemas")

# jsonschema-rs hands no value over that is nested deeper than 255 levels; no schema looks deeper than this.
_DEEP_ENOUGH = 100
# Nor does it tell a key that looks like an index ("7", "+7") from an index, or the empty key from none.
_MISTAKEN = re.compile(r"[=+0-9]|\Z")
_MARK = "="

_FORMS = {
    "^sha256:[0-9a-f]{64}$": ("schema.pattern", "'sha256:' and 64 lower-case hex digits"),
    "^[0-9a-f]{64}$": ("schema.pattern", "64 lower-case hex digits without a prefix"),
    "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$": (
        "id.form",
        "1 to 128 letters, digits, dots, dashes or underscores, beginning with a letter or digit",
    ),
}


def schema_bytes(kind: str, version: str | None = None) -> bytes:
    """A published schema as it was published; the latest version unless one is named."""
    if kind not in PUBLISHED:
        raise UsageError(f"no such kind: {kind}", hint=f"one of {', '.join(sorted(PUBLISHED))}")
    versions = PUBLISHED[kind].versions
    version = version or versions[-1]
    if version not in versions:
        raise UsageError(f"no {kind} schema has version {version}", hint=f"published: {', '.join(versions)}")
    return _bytes(kind, version)


def _bytes(kind: str, version: str) -> bytes:
    with open(os.path.join(_FOLDER, f"{kind}-{version}.json"), "rb") as file:
        return file.read()


@lru_cache(maxsize=16)
def known_fields(kind: DocumentKind) -> JsonObject:
    """The names that the newest schema of a kind knows, as a tree: what has no names of its own leads to None."""
    schema = json.loads(_bytes(kind.name, kind.latest))
    return _names(schema, schema.get("definitions", {})) or {}


def _names(schema: JsonObject, parts: JsonObject) -> JsonObject | None:
    schema = parts[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if "items" in schema:
        return _names(schema["items"], parts)
    if "properties" not in schema or schema.get("additionalProperties"):
        return None
    return {name: _names(value, parts) for name, value in schema["properties"].items()}


@lru_cache(maxsize=16)
def _validator(kind: str, version: str) -> "Draft7Validator":
    from jsonschema_rs import Draft7Validator  # noqa: PLC0415 - takes longer to import than a whole --help

    return Draft7Validator(_bytes(kind, version).decode(), validate_formats=True)


def check(kind: DocumentKind, version: str, data: JsonObject) -> tuple[list[Finding], JsonObject]:
    """What the schema finds, and the data with every value that it found fault with set to None.

    The rules beyond the schema are asked about the second, so they need not fear a wrong type.
    """
    validator = _validator(kind.name, version)
    if validator.is_valid(data):
        return [], data
    errors = [(error, _path(error)) for error in validator.iter_errors(_handed_over(data))]
    mistyped = {path for error, path in errors if error.kind.name == "type"}
    told = [(error, path) for error, path in errors if error.kind.name != "enum" or path not in mistyped]
    found = [_said(error, path, data, kind) for error, path in told[:MOST]]
    if len(told) > MOST:
        found.append(left_out(len(told) - MOST))
    faulty = [path for error, path in errors if error.kind.name not in {"required", "anyOf"}]
    return found, _without(data, faulty)


def _path(error: "ValidationError") -> tuple[str | int, ...]:
    """Where an error is in our data."""
    return tuple(step.removeprefix(_MARK) if isinstance(step, str) else step for step in error.instance_path)


def _handed_over(data: JsonObject) -> JsonObject:
    """The data as jsonschema-rs can speak of them: nothing that no schema looks at, no key that it would mistake."""
    flat: JsonObject = {}
    stack: list[tuple[Any, Any, int]] = [(data, flat, 1)]
    while stack:
        source, copy, depth = stack.pop()
        for key, value in source.items() if isinstance(source, dict) else enumerate(source):
            child = {} if isinstance(value, dict) else [] if isinstance(value, list) else value
            if isinstance(copy, dict):
                copy[f"{_MARK}{key}" if _MISTAKEN.match(str(key)) else key] = child
            else:
                copy.append(child)
            if isinstance(value, dict | list) and depth < _DEEP_ENOUGH:
                stack.append((value, child, depth + 1))
    return flat


def _without(data: JsonObject, paths: Iterable[Sequence[str | int]]) -> JsonObject:
    """The data with None at these paths; only what lies on the way to them is copied."""
    root = dict(data)
    copies: dict[tuple[str | int, ...], Any] = {(): root}
    for path in paths:
        node: Any = root
        for depth, step in enumerate(path[:-1], 1):
            place = tuple(path[:depth])
            if place not in copies:
                value = node[step]
                if not isinstance(value, dict | list):
                    break  # a value above was faulty already
                copies[place] = node[step] = value.copy()
            node = copies[place]
        else:
            if path:
                node[path[-1]] = None
    return root


def _said(
    error: "ValidationError", path: Sequence[str | int], data: JsonObject, kind: DocumentKind
) -> Finding:
    """A finding in our words."""
    pointer, value = join_pointer(path), _at(data, path)
    facts: JsonObject = error.kind.as_dict()
    field = f" for field {shown(str(path[-1]))}" if path else ""
    match error.kind.name:
        case "required":
            return _required(pointer, [facts["property"]], kind)
        case "anyOf":
            options = [sub.kind.property for branch in facts["context"] for sub in branch]
            return _required(pointer, options, kind)
        case "type":
            return _type(pointer, value, facts["types"], field)
        case "enum":
            return _enum(pointer, value, facts["options"], field)
        case "const":
            return _enum(pointer, value, [facts["expected_value"]], field)
        case "pattern" if facts["pattern"] in _FORMS:
            rule, form = _FORMS[facts["pattern"]]
            return finding(
                rule,
                pointer,
                f"{shown(value)} is not {form}",
                hint=f"write {form}",
                expected=form,
                found=value,
            )
        case "format":
            return _time(pointer, value)
        case "minimum":
            return finding(
                "schema.minimum",
                pointer,
                f"{shown(value)} is less than {facts['limit']}{field}",
                hint="leave the field out when it is not known"
                if facts["limit"] == 0
                else f"at least {facts['limit']} is needed",
                expected=f">= {facts['limit']}",
                found=value,
            )
        case "minLength":
            return finding("schema.min-length", pointer, f"the text is empty{field}", hint="say what it is")
        case _:
            return finding("schema.other", pointer, error.message[:200], found=value)


def _at(data: object, path: Sequence[str | int]) -> Any:  # noqa: ANN401
    for step in path:
        data = data[step]  # type: ignore[index]
    return data


def _required(pointer: str, options: list[str], kind: DocumentKind) -> Finding:
    if kind.version_key in options:
        hint = f'add the version: "{kind.version_key}": "{kind.latest}"'
    else:
        is_in_section = kind.name == "generation" and pointer.removeprefix("/") in kind.likely
        hint = f'add "{options[0]}" here' + " (null is allowed when it is not known)" * is_in_section
    quoted = " or ".join(f"'{option}'" for option in options)
    return finding(
        "schema.required", pointer, f"{quoted} is a required property", hint=hint, expected=options[0]
    )


_HOW = {
    "integer": "write a whole number, without quotes and without a fraction",
    "number": "write a number without quotes",
    "string": "write a text in double quotes",
    "object": "write an object: {…}",
    "array": "write a list: […]",
    "boolean": "write true or false",
    "null": "write null",
}


def _type(pointer: str, value: object, types: list[str], field: str) -> Finding:
    types = sorted(types, key=lambda name: name == "null")
    quoted = " or ".join(f"'{name}'" for name in types)
    null = ", or null when it is not known" if "null" in types[1:] else ""
    return finding(
        "schema.type",
        pointer,
        f"{shown(value)} is not of type {quoted}{field}",
        hint=_HOW[types[0]] + null,
        expected=types[0] if len(types) == 1 else types,
        found=value,
    )


@lru_cache(maxsize=1024)
def nearest(value: str, options: tuple[str, ...]) -> str | None:
    """The option that was probably meant; remembered, for the same mistake is often made a thousand times."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a document that is wrong

    return next(iter(get_close_matches(value[:100], options, 1)), None)


def _enum(pointer: str, value: object, options: list[Any], field: str) -> Finding:
    listed = ", ".join(shown(option) for option in options)
    hint = "use one of these values"
    if isinstance(value, str):
        role = SYNONYMS.get(value) if pointer.endswith("/role") else None
        near = role or nearest(value, tuple(option for option in options if isinstance(option, str)))
        if near:
            hint = f"use '{near}'"
    return finding(
        "schema.enum",
        pointer,
        f"{shown(value)} is not one of {listed}{field}",
        hint=hint,
        expected=options,
        found=value,
    )


def _time(pointer: str, value: object) -> Finding:
    form = "a time with a zone, such as 2025-11-06T14:05:00Z"
    what = f"{shown(value)} is not {form}"
    return finding(
        "schema.format",
        pointer,
        what,
        hint="add the zone: Z for UTC, or an offset such as +01:00; runcard does not guess it",
        expected="date-time",
        found=value,
    )
