"""The published JSON Schemas, and checking documents against them.

A schema file never changes once it is published; a new version is a new file. The messages are written here, so that they
are short, name the field, and come with a hint.
"""

import itertools
import json
import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from runcard.documents.findings import MAX_FINDINGS, Finding, display_value, finding, omitted_finding
from runcard.documents.kinds import PUBLISHED, DocumentKind
from runcard.documents.schema_subset import is_plainly_valid
from runcard.documents.session.roles import SYNONYMS
from runcard.documents.times import is_time_without_zone
from runcard.encoding import JsonObject, join_pointer
from runcard.errors import UsageError

if TYPE_CHECKING:
    from jsonschema_rs import Draft7Validator, ValidationError

_FOLDER = os.path.join(os.path.dirname(__file__), "schemas")

# jsonschema-rs refuses values nested deeper than 255 levels; no schema looks deeper than this.
_MAX_DEPTH = 100
# Its error paths do not distinguish a key like "7" or "+7" from an index, or the empty key from no key: mark such keys.
_AMBIGUOUS_KEY = r"[=+0-9]|\Z"
_KEY_MARK = "="

# Documents of a process that are first looked at without jsonschema-rs: it takes long to load, and is faster for many.
_FEW = 8
_checked = itertools.count()

_PATTERNS = {
    "^sha256:[0-9a-f]{64}$": ("schema.pattern", "'sha256:' and 64 lower-case hex digits"),
    "^[0-9a-f]{64}$": ("schema.pattern", "64 lower-case hex digits without a prefix"),
    "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$": (
        "id.form",
        "1 to 128 letters, digits, dots, dashes or underscores, beginning with a letter or digit",
    ),
}


def schema_bytes(kind: str, version: str | None = None) -> bytes:
    """A published schema; the latest unless one is named."""
    if kind not in PUBLISHED:
        raise UsageError(f"no such kind: {kind}", hint=f"one of {', '.join(sorted(PUBLISHED))}")
    names = PUBLISHED[kind].schemas
    version = version or names[-1]
    if version not in names:
        raise UsageError(f"no {kind} schema has version {version}", hint=f"published: {', '.join(names)}")
    return _bytes(kind, version)


def _bytes(kind: str, version: str) -> bytes:
    with open(os.path.join(_FOLDER, f"{kind}-{version}.json"), "rb") as file:
        return file.read()


@lru_cache(maxsize=16)
def known_fields(kind: DocumentKind) -> JsonObject:
    """The field names of the newest schema of a kind, as a tree; None for a field without named fields of its own."""
    schema = _schema(kind.name, kind.latest)
    return _names(schema, schema.get("definitions", {})) or {}


def _names(schema: JsonObject, definitions: JsonObject) -> JsonObject | None:
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if "items" in schema:
        return _names(schema["items"], definitions)
    if "properties" not in schema or schema.get("additionalProperties"):
        return None
    return {name: _names(value, definitions) for name, value in schema["properties"].items()}


@lru_cache(maxsize=16)
def _validator(kind: str, version: str) -> "Draft7Validator":
    from jsonschema_rs import Draft7Validator  # noqa: PLC0415 - takes longer to import than a whole --help

    return Draft7Validator(_bytes(kind, version).decode(), validate_formats=True)


@lru_cache(maxsize=16)
def _schema(kind: str, version: str) -> JsonObject:
    schema: JsonObject = json.loads(_bytes(kind, version))
    return schema


def check(kind: DocumentKind, version: str, data: JsonObject) -> tuple[list[Finding], JsonObject]:
    """The findings of the schema, and the data with None for every value that it refuses.

    The other rules check that data, so they never meet a value of the wrong type.
    """
    name = kind.schema_of(data, version)
    if next(_checked) < _FEW and is_plainly_valid(_schema(kind.name, name), data):
        return [], data
    validator = _validator(kind.name, name)
    if validator.is_valid(data):
        return [], data
    errors = [(error, _path(error)) for error in validator.iter_errors(_for_validator(data))]
    mistyped = {path for error, path in errors if error.kind.name == "type"}
    reported = [(error, path) for error, path in errors if error.kind.name != "enum" or path not in mistyped]
    findings = [_finding(error, path, data, kind) for error, path in reported[:MAX_FINDINGS]]
    if len(reported) > MAX_FINDINGS:
        findings.append(omitted_finding(len(reported) - MAX_FINDINGS))
    refused = [path for error, path in errors if error.kind.name not in {"required", "anyOf"}]
    return findings, _with_none_at(data, refused)


def _path(error: "ValidationError") -> tuple[str | int, ...]:
    """The path of an error in the document."""
    return tuple(
        step.removeprefix(_KEY_MARK) if isinstance(step, str) else step for step in error.instance_path
    )


def _for_validator(data: JsonObject) -> JsonObject:
    """The data as jsonschema-rs can handle it: not too deep, and with ambiguous keys marked."""
    result: JsonObject = {}
    stack: list[tuple[Any, Any, int]] = [(data, result, 1)]
    while stack:
        source, copy, depth = stack.pop()
        for key, value in source.items() if isinstance(source, dict) else enumerate(source):
            child = {} if isinstance(value, dict) else [] if isinstance(value, list) else value
            if isinstance(copy, dict):
                copy[f"{_KEY_MARK}{key}" if re.match(_AMBIGUOUS_KEY, str(key)) else key] = child
            else:
                copy.append(child)
            if isinstance(value, dict | list) and depth < _MAX_DEPTH:
                stack.append((value, child, depth + 1))
    return result


def _with_none_at(data: JsonObject, paths: Iterable[Sequence[str | int]]) -> JsonObject:
    """The data with None at these paths; only the containers on the way to them are copied."""
    root = dict(data)
    copies: dict[tuple[str | int, ...], Any] = {(): root}
    for path in paths:
        node: Any = root
        for depth, step in enumerate(path[:-1], 1):
            prefix = tuple(path[:depth])
            if prefix not in copies:
                value = node[step]
                if not isinstance(value, dict | list):
                    break  # a value above it was refused already
                copies[prefix] = node[step] = value.copy()
            node = copies[prefix]
        else:
            if path:
                node[path[-1]] = None
    return root


def _finding(
    error: "ValidationError", path: Sequence[str | int], data: JsonObject, kind: DocumentKind
) -> Finding:
    pointer, value = join_pointer(path), _at(data, path)
    facts: JsonObject = error.kind.as_dict()
    field = f" for field {display_value(str(path[-1]))}" if path else ""
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
        case "pattern" if facts["pattern"] in _PATTERNS:
            rule, form = _PATTERNS[facts["pattern"]]
            return finding(
                rule,
                pointer,
                f"{display_value(value)} is not {form}",
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
                f"{display_value(value)} is less than {facts['limit']}{field}",
                hint="leave the field out if it is not known"
                if facts["limit"] == 0
                else f"write at least {facts['limit']}",
                expected=f">= {facts['limit']}",
                found=value,
            )
        case "minLength":
            return finding(
                "schema.min-length",
                pointer,
                f"the text is empty{field}",
                hint="write a value, or leave the field out",
            )
        case _:
            return finding("schema.other", pointer, error.message[:200], found=value)


def _at(data: object, path: Sequence[str | int]) -> Any:  # noqa: ANN401
    for step in path:
        data = data[step]  # type: ignore[index]
    return data


def _required(pointer: str, options: list[str], kind: DocumentKind) -> Finding:
    if kind.version_key in options:
        version = kind.latest if kind.format_key is None else kind.versions[0]
        hint = f'add the version: "{kind.version_key}": "{version}"'
    else:
        is_in_section = kind.name == "generation" and pointer.removeprefix("/") in kind.likely
        hint = f'add "{options[0]}" here' + " (null if it is not known)" * is_in_section
    quoted = " or ".join(f"'{option}'" for option in options)
    return finding(
        "schema.required", pointer, f"{quoted} is a required property", hint=hint, expected=options[0]
    )


_TYPE_HINTS = {
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
    null = ", or null if it is not known" if "null" in types[1:] else ""
    return finding(
        "schema.type",
        pointer,
        f"{display_value(value)} is not of type {quoted}{field}",
        hint=_TYPE_HINTS[types[0]] + null,
        expected=types[0] if len(types) == 1 else types,
        found=value,
    )


@lru_cache(maxsize=1024)
def nearest(value: str, options: tuple[str, ...]) -> str | None:
    """The option that was probably meant; cached, since the same mistake is often repeated."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a document that is wrong

    return next(iter(get_close_matches(value[:100], options, 1)), None)


def _enum(pointer: str, value: object, options: list[Any], field: str) -> Finding:
    allowed = ", ".join(display_value(option) for option in options)
    hint = "use one of these values"
    if isinstance(value, str):
        role = SYNONYMS.get(value) if pointer.endswith("/role") else None
        near = role or nearest(value, tuple(option for option in options if isinstance(option, str)))
        if near:
            hint = f"use '{near}'"
    return finding(
        "schema.enum",
        pointer,
        f"{display_value(value)} is not one of {allowed}{field}",
        hint=hint,
        expected=options,
        found=value,
    )


def _time(pointer: str, value: object) -> Finding:
    form = "a time with a zone, such as 2025-11-06T14:05:00Z"
    hint = "write a date, a time and a zone"
    if is_time_without_zone(str(value)):
        hint = "add the zone: Z for UTC, or an offset such as +01:00"
    return finding(
        "schema.format",
        pointer,
        f"{display_value(value)} is not {form}",
        hint=hint,
        expected="date-time",
        found=value,
    )
