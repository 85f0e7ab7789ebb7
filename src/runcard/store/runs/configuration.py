"""The configuration of a run, from files and from `key=value`.

Files are JSON, YAML or TOML by their suffix. Later values override earlier ones: objects are merged, everything else is
replaced. In `key=value` the value is JSON if it parses as JSON, and a text otherwise; a dot in a key leads into an object.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, time
from typing import Any

from runcard.encoding import JsonObject, Limits, as_text, decode_json, encode_json
from runcard.errors import DocumentError, EncodingError, UsageError
from runcard.files import printable, read_file

_TOML_ERROR = r"(?s)(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)"


def read_configuration(
    files: Iterable[str], assignments: Iterable[str], base: Mapping[str, Any] | None = None
) -> JsonObject:
    """The configuration from `base`, files and assignments, in this order; raises an error that names the bad place."""
    configuration: JsonObject = dict(base or {})
    for file in files:
        merge(configuration, read_config_file(file))
    for assignment in assignments:
        merge(configuration, parse_assignment(assignment))
    return configuration


def read_config_file(path: str) -> JsonObject:
    """The configuration in one file."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _FORMATS:
        read_file(path, Limits().size)  # a missing file is another error
        raise UsageError(
            f"{printable(path)}: unknown suffix",
            hint=f"use one of {', '.join(_FORMATS)}",
        )
    name, decode = _FORMATS[suffix]
    try:
        data = decode(read_file(path, Limits().size))
    except EncodingError as error:
        place = f":{error.line}:{error.column}" if error.line else ""
        raise DocumentError(
            f"{printable(path)}{place}: {error.message}",
            hint=error.hint or f"it is read as {name} because of its suffix",
        ) from error
    if not isinstance(data, dict):
        raise DocumentError(
            f"{printable(path)}: expected an object, found a {_TYPE_NAMES.get(type(data), type(data).__name__)}",
            hint="write keys and values",
        )
    return data


def parse_assignment(text: str) -> JsonObject:
    """The object that `key=value` stands for."""
    key, sign, value = text.partition("=")
    if not sign or not all(key.split(".")):
        raise UsageError(
            f"--set {printable(text)}: this is not key=value", hint="for example --set temperature=0.2"
        )
    *parents, last = key.split(".")
    data: JsonObject = {last: _value(value)}
    for part in reversed(parents):
        data = {part: data}
    return data


def merge(configuration: JsonObject, more: Mapping[str, Any]) -> None:
    """Merge `more` over a configuration; nested objects are copied before they change."""
    pending = [(configuration, more)]
    while pending:
        target, source = pending.pop()
        for key, value in source.items():
            if isinstance(value, dict) and isinstance(target.get(key), dict):
                target[key] = dict(target[key])
                pending.append((target[key], value))
            else:
                target[key] = value


def _value(text: str) -> Any:  # noqa: ANN401
    try:
        return decode_json(os.fsencode(text))
    except EncodingError:
        return text


def _yaml(data: bytes) -> Any:  # noqa: ANN401
    from runcard.encoding.yaml import decode_yaml  # noqa: PLC0415 - few commands see YAML

    value = decode_yaml(data)
    return {} if value is None else value  # a file with only comments


def _toml(data: bytes) -> Any:  # noqa: ANN401
    import tomllib  # noqa: PLC0415

    text = as_text(data)
    try:
        value = _plain(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        match = re.fullmatch(_TOML_ERROR, str(error))
        if match is None:
            raise EncodingError("encoding.syntax", str(error)) from error
        lines = text.count("\n") + 1
        line, column = (int(match[name]) if match[name] else None for name in ("line", "column"))
        raise EncodingError(
            "encoding.syntax",
            match["what"],
            line=line or lines,
            column=column or len(text.rpartition("\n")[2]) + 1,
        ) from error
    encode_json(value)  # TOML has numbers that JSON does not
    return value


def _plain(value: Any) -> Any:  # noqa: ANN401
    """TOML has times, JSON does not: they become ISO 8601 texts."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date | time) else value


_FORMATS: dict[str, tuple[str, Callable[[bytes], Any]]] = {
    ".json": ("JSON", decode_json),
    ".yaml": ("YAML", _yaml),
    ".yml": ("YAML", _yaml),
    ".toml": ("TOML", _toml),
}
_TYPE_NAMES: dict[type, str] = {
    list: "list",
    str: "text",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
