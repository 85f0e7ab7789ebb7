"""Changing a JSON text only where its data changes: everything else keeps its bytes.

Indentation, blanks, the spelling of numbers and the order of keys are the author's; new members look like their
neighbours. A change is a list of patches, each for a place of its own, so nesting costs no stack.
"""

import re
from collections.abc import Iterator
from json.encoder import encode_basestring as quoted
from typing import Any, NamedTuple

from runcard.encoding.json.positions import MemberSpan, end_of_value, member_spans, skip_space
from runcard.encoding.json.reader import BOM
from runcard.encoding.json.types import JsonObject
from runcard.encoding.json.writer import Layout, render, text_key, to_bytes

_FIRST_INDENT = re.compile(r"[\[{](\r?\n)([ \t]+)")


class Patch(NamedTuple):
    """What shall stand in the place of a piece of the text."""

    start: int
    end: int
    text: str


def edit_json(data: bytes, old: Any, new: Any) -> bytes:  # noqa: ANN401
    """The bytes `data`, which say `old`, changed to say `new`."""
    mark = BOM if data.startswith(BOM) else b""
    text = data[len(mark) :].decode()
    pieces: list[str] = []
    at = 0
    for patch in sorted(_patches(text, old, new), key=lambda patch: patch[:2]):
        pieces += (text[at : patch.start], patch.text)
        at = patch.end
    return mark + to_bytes("".join(pieces) + text[at:])


def _layout(text: str) -> Layout:
    """How this text is written."""
    indented = _FIRST_INDENT.search(text)
    colon = ": " if '": ' in text or '":' not in text else ":"
    if indented:
        return Layout(newline=indented[1], indent=indented[2], colon=colon)
    return Layout(indent=None, comma="," + colon[1:], colon=colon)


def _patches(text: str, old: object, new: object) -> Iterator[Patch]:
    layout = _layout(text)
    begin = skip_space(text, 0)
    todo = [(begin, end_of_value(text, begin), old, new)]
    while todo:
        start, end, old, new = todo.pop()
        if same_data(old, new):
            continue
        before, after = _members(old), _members(new)
        if isinstance(old, dict) is isinstance(new, dict) and before.keys() & after.keys():
            found = list(member_spans(text, start))
            todo += [(s.start, s.end, before[s.key], after[s.key]) for s in found if s.key in after]
            yield from _removed(found, after)
            yield from _added(text, found, after, layout, named=isinstance(new, dict))
        else:
            line = text.rfind("\n", 0, start) + 1
            yield Patch(start, end, render(new, layout._replace(prefix=text[line : skip_space(text, line)])))


def same_data(one: object, other: object) -> bool:
    """Whether two values are the same_data data, for which 1, 1.0 and true are three."""
    todo = [(one, other)]
    while todo:
        one, other = todo.pop()
        if one is other:
            continue
        if type(one) is not type(other):
            return False
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            todo += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            todo += zip(one, other, strict=True)
        elif one != other:
            return False
    return True


def _members(value: object) -> JsonObject:
    """What a container holds, by the keys that `member_spans` gives."""
    if isinstance(value, dict):
        return value
    return {str(index): item for index, item in enumerate(value)} if isinstance(value, list) else {}


def _removed(found: list[MemberSpan], kept: JsonObject) -> Iterator[Patch]:
    """A member that is no more goes together with the comma between it and what stays."""
    stays_before = False
    for index, span in enumerate(found):
        if span.key in kept:
            stays_before = True
        elif stays_before:
            yield Patch(found[index - 1].end, span.end, "")
        else:
            yield Patch(span.begin, found[index + 1].begin, "")


def _added(
    text: str, found: list[MemberSpan], members: JsonObject, layout: Layout, *, named: bool
) -> Iterator[Patch]:
    """New members stand behind the one that they follow in the data, or before the first that stays."""
    places = {span.key: span for span in found}
    first = next(span for span in found if span.key in members)
    last = found[-1]
    blank = text[_lead(text, last) : last.begin]
    if len(found) == 1 and layout.indent is None:
        blank = layout.comma[1:]
    inner = layout._replace(prefix=blank.rpartition("\n")[2])
    before: MemberSpan | None = None
    for key, value in members.items():
        if key in places:
            before = places[key]
            continue
        fresh = (f"{quoted(text_key(key))}{layout.colon}" if named else "") + render(value, inner)
        if before is None:
            yield Patch(first.begin, first.begin, f"{fresh},{blank}")
        else:
            yield Patch(before.end, before.end, f",{blank}{fresh}")


def _lead(text: str, span: MemberSpan) -> int:
    """Where the blanks before a member begin: behind the comma or bracket before it."""
    at = span.begin
    while text[at - 1] in " \t\r\n":
        at -= 1
    return at
