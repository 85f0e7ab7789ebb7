"""Positions in a valid JSON text: pointers, lines and columns, and the spans of values.

Lines and columns count from 1, as in editors. Pointers are those of RFC 6901; the root is the empty text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

# Compiled on first use: only documents with findings, and those that are rewritten, need positions.
_SPACE = r"[ \t\n\r]*+"
_BRACKET = r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]'
_SCALAR = r'"(?:[^"\\]++|\\.)*+"|[^,\]}\s]++'


class Position(NamedTuple):
    """A line and a column, counted from 1."""

    line: int
    column: int


class MemberSpan(NamedTuple):
    """The offsets of a member of an object or an element of a list, and of its value."""

    key: str
    begin: int  # of the key, or of the value in a list
    start: int  # of the value
    end: int


@cache
def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.DOTALL)


def position(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def join_pointer(path: Iterable[str | int]) -> str:
    """The JSON pointer of a path of keys and indexes."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def split_pointer(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def skip_space(text: str, offset: int) -> int:
    match = _pattern(_SPACE).match(text, offset)
    return match.end() if match else offset


def end_of_value(text: str, offset: int) -> int:
    if text[offset] not in "[{":
        match = _pattern(_SCALAR).match(text, offset)
        return match.end() if match else offset
    depth = 0
    for match in _pattern(_BRACKET).finditer(text, offset):
        if match[0] in "[{":
            depth += 1
        elif match[0] in "]}":
            depth -= 1
            if depth == 0:
                return match.end()
    return len(text)


def member_spans(text: str, offset: int) -> Iterator[MemberSpan]:
    """The members of the object, or the elements of the list, that begins at `offset`."""
    is_object = text[offset] == "{"
    at = skip_space(text, offset + 1)
    index = 0
    while text[at] not in "]}":
        begin, key = at, str(index)
        if is_object:
            end = end_of_value(text, at)
            key = json.loads(text[at:end])
            at = skip_space(text, skip_space(text, end) + 1)
        end = end_of_value(text, at)
        yield MemberSpan(key, begin, at, end)
        index += 1
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)


class _PointerTree(dict[str, "_PointerTree"]):
    """Pointers as a tree."""

    pointers: Sequence[str] = ()


def locate(text: str, pointers: Iterable[str]) -> dict[str, Position]:
    """The position of the value at each pointer; if it does not exist, that of its nearest ancestor."""
    offsets = {}
    tree = _pointer_tree(pointers)
    stack = [(skip_space(text, 0), tree)]
    while stack:
        offset, node = stack.pop()
        for pointer in _below(node):
            offsets[pointer] = offset
        if node and text[offset] in "[{":
            stack += [(span.start, node[span.key]) for span in member_spans(text, offset) if span.key in node]
    return positions(text, offsets)


def _pointer_tree(pointers: Iterable[str]) -> _PointerTree:
    root = _PointerTree()
    for pointer in pointers:
        node = root
        for step in split_pointer(pointer):
            node = node.setdefault(step, _PointerTree())
        node.pointers = (*node.pointers, pointer)
    return root


def _below(node: _PointerTree) -> Iterator[str]:
    """All pointers at and below a node: those that do not exist keep the position of this node."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield from node.pointers
        stack += node.values()


def positions(text: str, offsets: dict[str, int]) -> dict[str, Position]:
    """Convert offsets to lines and columns in one pass over the text."""
    result = {}
    line, newline, counted = 1, -1, 0
    for pointer, offset in sorted(offsets.items(), key=lambda item: item[1]):
        line += text.count("\n", counted, offset)
        newline = max(newline, text.rfind("\n", counted, offset))
        counted = offset
        result[pointer] = Position(line, offset - newline)
    return result
