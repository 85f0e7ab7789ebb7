"""Plain data and JSON texts to test with, and a second, slow opinion about them."""

import json
import sys
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple, TypeVar

import yaml
from hypothesis import strategies as st

T = TypeVar("T")

_ODD = "~/\\\"'\u00e9\u4e2d\U0001f600\u2028\x00\x1f\x7f\ufeff {}[],:0"

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(_ODD), max_size=8)
floats = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)  # no -0.0
integers = st.integers(-(2**70), 2**70) | st.integers(-20, 20)
scalars = st.none() | st.booleans() | integers | floats | texts


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)


values = st.recursive(scalars, _containers, max_leaves=8)
containers = _containers(values)
# What the quick encoder takes: keys in ASCII, numbers that need no exponent.
_simple_scalars = st.none() | st.booleans() | st.integers(-(2**54), 2**54) | st.floats(-1e17, 1e17) | texts
simple_values = st.recursive(
    _simple_scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="ascii"), max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)
randoms = st.integers(0, 2**32).map(Random)  # quicker than st.randoms, of which every choice is drawn
objects = st.dictionaries(texts, values, min_size=2, max_size=4)


def exactly(value: object) -> str:
    """Data as a text that tells 1, 1.0 and true apart, and not the order of keys."""
    return json.dumps(value, sort_keys=True)


class Spelled(NamedTuple):
    """A JSON text, and where each of its values stands."""

    text: str
    places: dict[str, tuple[int, int]]  # by pointer


class _Speller:
    """Writes JSON as oddly as JSON allows: blanks everywhere, escapes anywhere."""

    def __init__(self, random: Random, blanks: str) -> None:
        self.random = random
        self.blanks = blanks
        self.parts: list[str] = []
        self.length = 0
        self.places: dict[str, tuple[int, int]] = {}

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def blank(self) -> None:
        self.put("".join(self.random.choices(self.blanks, k=self.random.randrange(3))) if self.blanks else "")

    def string(self, text: str) -> None:
        if self.random.random() < 0.3:
            escaped = "".join(f"\\u{ord(unit):04x}" for unit in _utf16(text))
            self.put(f'"{escaped}"')
        else:
            self.put(json.dumps(text, ensure_ascii=self.random.random() < 0.5))

    def value(self, value: object, pointer: str) -> None:
        start = self.length
        if isinstance(value, dict):
            self.container(value, "{}", pointer)
        elif isinstance(value, list):
            self.container(dict(enumerate(value)), "[]", pointer)
        elif isinstance(value, str):
            self.string(value)
        else:
            self.put(json.dumps(value))
        self.places[pointer] = (start, self.length)

    def container(self, members: dict[Any, Any], brackets: str, pointer: str) -> None:
        self.put(brackets[0])
        self.blank()
        for index, (key, value) in enumerate(members.items()):
            if index:
                self.put(",")
                self.blank()
            if brackets == "{}":
                self.string(key)
                self.blank()
                self.put(":")
                self.blank()
            self.value(value, f"{pointer}/{escaped(key)}")
            self.blank()
        self.put(brackets[1])


def escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def _utf16(text: str) -> str:
    raw = text.encode("utf-16-be")
    return "".join(chr(int.from_bytes(raw[at : at + 2])) for at in range(0, len(raw), 2))


def spelled(value: object, random: Random, blanks: str = " \t\r\n") -> Spelled:
    """A text that says `value`, in a form that only this random source knows."""
    speller = _Speller(random, blanks)
    speller.blank()
    speller.value(value, "")
    speller.blank()
    return Spelled("".join(speller.parts), speller.places)


def offsets(text: str) -> dict[str, int]:
    """Where the value of each pointer begins, found by reading the text anew for every value."""
    found: dict[str, int] = {}
    _offsets(text, _after_blanks(text, 0), "", found)
    return found


def _offsets(text: str, at: int, pointer: str, found: dict[str, int]) -> int:
    found[pointer] = at
    _, end = json.JSONDecoder().raw_decode(text, at)
    if text[at] not in "[{":
        return end
    inside, index = _after_blanks(text, at + 1), 0
    while text[inside] not in "]}":
        step: str | int = index
        if text[at] == "{":
            step, inside = json.JSONDecoder().raw_decode(text, inside)
            inside = _after_blanks(text, _after_blanks(text, inside) + 1)
        inside = _after_blanks(text, _offsets(text, inside, f"{pointer}/{escaped(step)}", found))
        if text[inside] == ",":
            inside = _after_blanks(text, inside + 1)
        index += 1
    return end


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def yaml_offsets(text: str) -> dict[str, int]:
    """The same for YAML, by the marks that PyYAML gives its nodes."""
    found: dict[str, int] = {}
    todo = [("", yaml.compose(text, yaml.CSafeLoader))]
    while todo:
        pointer, node = todo.pop()
        found[pointer] = node.start_mark.index if node else 0
        if isinstance(node, yaml.MappingNode):
            todo += [
                (f"{pointer}/{key.value.replace('~', '~0').replace('/', '~1')}", v) for key, v in node.value
            ]
        elif isinstance(node, yaml.SequenceNode):
            todo += [(f"{pointer}/{index}", value) for index, value in enumerate(node.value)]
    return found


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset].split("\n")
    return len(before), len(before[-1]) + 1


def nested(levels: int, innermost: object = 1) -> Any:
    """Lists and objects in turn, this many of them around a value."""
    value: Any = innermost
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def innermost(value: Any) -> object:
    while isinstance(value, dict | list):
        value = value["k"] if isinstance(value, dict) else value[0]
    return value


def deep_in_the_stack(function: Callable[[], T], room: int = 80) -> T:
    """Call a function when only this many frames are left before Python gives up."""
    used, frame = 0, sys._getframe()
    while frame.f_back is not None:
        frame, used = frame.f_back, used + 1

    def sink(levels: int) -> T:
        return function() if levels <= 0 else sink(levels - 1)

    return sink(sys.getrecursionlimit() - used - room)
