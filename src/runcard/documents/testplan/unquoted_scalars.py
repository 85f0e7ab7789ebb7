"""Values that must be quoted in a plan: Ruby reads these files as YAML 1.1, in which `no` is false and `0777` is 511.

Only the names and states of characteristics are checked, because tests are built from them. Timestamps may be unquoted,
and so may values that only the letter of YAML 1.1 reads as something else, but no reader does: `y`, `n`, `08`.
"""

import re
from collections.abc import Iterator, Mapping

from runcard.documents.findings import Finding, finding
from runcard.encoding import JsonObject
from runcard.encoding.yaml import YamlPosition, is_simple, plain_value, yaml_1_1_type
from runcard.files import printable

_LISTS = ("states", "terminal_states", "when_parent")
_TEXTS = ("name", "default", "depends_on", "when_parent")
# First characters of texts that may be read as something else; most states begin otherwise.
_SUSPICIOUS = frozenset(("", *"~+-.:=<0123456789nNyYtTfFoO"))
_TEXT_TO_RUBY = re.compile(r"[yYnN]|0[0-9]*[89][0-9]*")
_READINGS = {
    "null": "null",
    "boolean": "a boolean",
    "octal": "an octal number",
    "integer": "an integer",
    "sexagesimal": "a number to the base 60",
    "number": "a number",
    "date": "a date",
    "timestamp": "a time",
    "symbol": "a symbol",
    "merge": "a YAML merge key",
}


def suspects(plan: JsonObject) -> Iterator[str]:
    """The pointers of values that YAML 1.1 does not read as text if they are unquoted."""
    return (pointer for pointer, value in _checked_values(plan) if _is_suspicious(value))


def may_be_unquoted(plan: JsonObject, text: str) -> bool:
    """Whether `unquoted` may find anything in the plan with this text, without the positions that it needs.

    A text that would be a number, a boolean or null without its quotes has quotes, or a tag.
    """
    values = [value for _, value in _checked_values(plan) if _is_suspicious(value)]
    return bool(values) and (not is_simple(text) or not all(map(_needs_quotes, values)))


def _checked_values(plan: JsonObject) -> Iterator[tuple[str, object]]:
    """The names and states of characteristics, with their pointers."""
    listed = plan.get("characteristics")
    for index, characteristic in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(characteristic, dict):
            continue
        at = f"/characteristics/{index}"
        yield from (
            (f"{at}/{field}", characteristic[field])
            for field in _TEXTS
            if characteristic.get(field) is not None
        )
        for field in _LISTS:
            values = characteristic.get(field)
            if isinstance(values, list):
                yield from ((f"{at}/{field}/{item}", value) for item, value in enumerate(values))


def _needs_quotes(value: object) -> bool:
    """Whether a value is a text that would be another value without quotes."""
    return isinstance(value, str) and plain_value(value) != value


def _is_suspicious(value: object) -> bool:
    if isinstance(value, str):
        return value[:1] in _SUSPICIOUS and _reading(value) != "text"
    return not isinstance(value, dict | list)


def _reading(text: str) -> str:
    return "text" if _TEXT_TO_RUBY.fullmatch(text) else yaml_1_1_type(text)


def unquoted(positions: Mapping[str, YamlPosition]) -> Iterator[Finding]:
    """A finding for each unquoted value that is not read as text."""
    for pointer, position in positions.items():
        reading = "text" if position.plain is None else _reading(position.plain)
        if position.plain is None or reading == "text":
            continue
        written = printable(position.plain[:60]) or "null"
        yield finding(
            "yaml.unquoted",
            pointer,
            f"{written if position.plain else 'an empty value'} without quotes is read as {_READINGS[reading]}, not as text",
            hint=f"write it in quotes: '{written}'",
            expected=f"'{written}'",
            found=written,
        )
