"""Edit a JSON text only where its data changes; all other bytes stay.

Indentation, spaces, the spelling of numbers and the order of keys are kept; new members are formatted like those around
them. An edit is a list of patches that do not overlap, and there is no recursion.
"""

import re
from collections.abc import Iterator
from json.encoder import encode_basestring as quoted
from typing import Any, NamedTuple

from runcard.encoding.json.positions import MemberSpan, end_of_value, member_spans, skip_space
from runcard.encoding.json.reader import BOM
from runcard.encoding.json.types import JsonObject
from runcard.encoding.json.writer import Layout, render, text_key, to_bytes

_FIRST_INDENT = r"[\[{](\r?\n)([ \t]+)"


class Patch(NamedTuple):
    """A replacement for a piece of the text."""

    start: int
    end: int
    text: str


def edit_json(data: bytes, old: Any, new: Any) -> bytes:  # noqa: ANN401
    """Change the bytes `data` from the data `old` to `new`."""
    mark = BOM if data.startswith(BOM) else b""
    text = data[len(mark) :].decode()
    pieces: list[str] = []
    at = 0
    for patch in sorted(_patches(text, old, new), key=lambda patch: patch[:2]):
        pieces += (text[at : patch.start], patch.text)
        at = patch.end
    return mark + to_bytes("".join(pieces) + text[at:])


def _layout(text: str) -> Layout:
    """The layout of this text."""
    indented = re.search(_FIRST_INDENT, text)
    colon = ": " if '": ' in text or '":' not in text else ":"
    if indented:
        return Layout(newline=indented[1], indent=indented[2], colon=colon)
    return Layout(indent=None, comma="," + colon[1:], colon=colon)


def _patches(text: str, old: object, new: object) -> Iterator[Patch]:
    layout = _layout(text)
    begin = skip_space(text, 0)
    queue = [(begin, end_of_value(text, begin), old, new)]
    while queue:
        start, end, old, new = queue.pop()
        if same_data(old, new):
            continue
        before, after = _members(old), _members(new)
        if isinstance(old, dict) is isinstance(new, dict) and before.keys() & after.keys():
            members = list(member_spans(text, start))
            queue += [(s.start, s.end, before[s.key], after[s.key]) for s in members if s.key in after]
            yield from _removals(members, after)
            yield from _additions(text, members, after, layout, named=isinstance(new, dict))
        else:
            line = text.rfind("\n", 0, start) + 1
            yield Patch(start, end, render(new, layout._replace(prefix=text[line : skip_space(text, line)])))


def same_data(left: object, right: object) -> bool:
    """Whether two values are the same data; 1, 1.0 and true all differ."""
    queue = [(left, right)]
    while queue:
        left, right = queue.pop()
        if left is right:
            continue
        if type(left) is not type(right):
            return False
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            queue += [(value, right[key]) for key, value in left.items()]
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            queue += zip(left, right, strict=True)
        elif left != right:
            return False
    return True


def _members(value: object) -> JsonObject:
    """The members of a container, by the keys of `member_spans`."""
    if isinstance(value, dict):
        return value
    return {str(index): item for index, item in enumerate(value)} if isinstance(value, list) else {}


def _removals(spans: list[MemberSpan], kept: JsonObject) -> Iterator[Patch]:
    """Remove members, each with the comma between it and the next one that stays."""
    stays_before = False
    for index, span in enumerate(spans):
        if span.key in kept:
            stays_before = True
        elif stays_before:
            yield Patch(spans[index - 1].end, span.end, "")
        else:
            yield Patch(span.begin, spans[index + 1].begin, "")


def _additions(
    text: str, spans: list[MemberSpan], members: JsonObject, layout: Layout, *, named: bool
) -> Iterator[Patch]:
    """Insert new members after the one that they follow in the data, or before the first that stays."""
    by_key = {span.key: span for span in spans}
    first = next(span for span in spans if span.key in members)
    last = spans[-1]
    blank = text[_end_before(text, last) : last.begin]
    if len(spans) == 1 and layout.indent is None:
        blank = layout.comma[1:]
    inner = layout._replace(prefix=blank.rpartition("\n")[2])
    before: MemberSpan | None = None
    for key, value in members.items():
        if key in by_key:
            before = by_key[key]
            continue
        fresh = (f"{quoted(text_key(key))}{layout.colon}" if named else "") + render(value, inner)
        if before is None:
            yield Patch(first.begin, first.begin, f"{fresh},{blank}")
        else:
            yield Patch(before.end, before.end, f",{blank}{fresh}")


def _end_before(text: str, span: MemberSpan) -> int:
    """Where the whitespace before a member begins: after the comma or bracket before it."""
    at = span.begin
    while text[at - 1] in " \t\r\n":
        at -= 1
    return at
