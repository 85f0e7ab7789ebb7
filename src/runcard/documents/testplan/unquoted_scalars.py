"""Words that must be quoted in a plan: Ruby reads these files by YAML 1.1, in which `no` is false and `0777` is 511.

Only texts that tests are built from are looked at: the names and states of characteristics. Times may stand without
quotes, and so may what only the letter of YAML 1.1 takes for something else, but no reader does: `y`, `n`, `08`.
"""

import re
from collections.abc import Iterator, Mapping

from runcard.documents.findings import Finding, finding
from runcard.encoding import JsonObject
from runcard.encoding.yaml import YamlPosition, reading_1_1
from runcard.files import printable

_LISTS = ("states", "terminal_states", "when_parent")
_TEXTS = ("name", "default", "depends_on", "when_parent")
# How texts begin that may be read as something else: most states do not, and are done with.
_TELLING = frozenset(("", *"~+-.:=<0123456789nNyYtTfFoO"))
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
    "merge": "a sign of YAML itself",
}


def suspects(plan: JsonObject) -> Iterator[str]:
    """The pointers of values that are no text to readers of YAML 1.1, should they stand there without quotes."""
    listed = plan.get("characteristics")
    for index, one in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(one, dict):
            continue
        at = f"/characteristics/{index}"
        yield from (
            f"{at}/{field}" for field in _TEXTS if one.get(field) is not None and _may_trap(one[field])
        )
        for field in _LISTS:
            values = one.get(field)
            if isinstance(values, list):
                yield from (f"{at}/{field}/{place}" for place, value in enumerate(values) if _may_trap(value))


def _may_trap(value: object) -> bool:
    if isinstance(value, str):
        return value[:1] in _TELLING and _reading(value) != "text"
    return not isinstance(value, dict | list)


def _reading(text: str) -> str:
    return "text" if _TEXT_TO_RUBY.fullmatch(text) else reading_1_1(text)


def unquoted(places: Mapping[str, YamlPosition]) -> Iterator[Finding]:
    """A finding for each of these places where a text without quotes is read as something else."""
    for pointer, place in places.items():
        reading = "text" if place.plain is None else _reading(place.plain)
        if place.plain is None or reading == "text":
            continue
        written = printable(place.plain[:60]) or "null"
        yield finding(
            "yaml.unquoted",
            pointer,
            f"{written if place.plain else 'an empty value'} without quotes is read as {_READINGS[reading]}, not as text",
            hint=f"write it in quotes: '{written}'",
            expected=f"'{written}'",
            found=written,
        )
