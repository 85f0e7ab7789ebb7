"""Edit a YAML text only where its data changes: comments, quotes, order and all other bytes stay.

An edit is a list of patches that do not overlap. New values are written as `encode_yaml` writes them, or in brackets inside
brackets. The result is parsed again before it is returned: a text whose aliases or layout do not allow an edit in place is
refused, never damaged.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from runcard.encoding.json.edit import Patch, same_data
from runcard.encoding.json.reader import BOM
from runcard.encoding.json.types import JsonObject
from runcard.encoding.json.writer import to_bytes
from runcard.encoding.limits import NONE
from runcard.encoding.yaml.nodes import YamlNode, to_data
from runcard.encoding.yaml.reader import decode_yaml
from runcard.encoding.yaml.writer import INDENT, Container, block, encode_key, flow, inline
from runcard.errors import EncodingError

_BLANKS = " \t\r\n"
_PLAIN = re.compile(rb"[A-Za-z_]\w*:(?:.*\n)+\Z")  # a block map that ends with a line
_ODD = re.compile(rb"\r|\n\s*(?:\n|#)|\n(?:---|\.\.\.)")  # empty lines, comments, several documents


def edit_yaml(data: bytes, new: Any) -> bytes:  # noqa: ANN401
    """Change a YAML document to the data `new`; raises EncodingError if a value cannot be edited in place."""
    from runcard.encoding.yaml.composer import compose  # noqa: PLC0415 - its parser takes long to import

    if (result := _with_sections(data, new)) is not None:
        return result
    mark = BOM if data.startswith(BOM) else b""
    text = data[len(mark) :].decode()
    root = compose(text, NONE)
    for options in ({}, {"spaced": False}, {"deep": False}):
        result = mark + to_bytes(_Editor(text, **options).edited(root, new))
        if _has_data(result, new):
            return result
    raise EncodingError(
        "yaml.edit",
        "this text cannot be edited in place",
        hint="write the values of its aliases and merge keys in full",
    )


def _with_sections(data: bytes, new: object) -> bytes | None:
    """The text with new sections, if nothing else changes and its layout is plain; else None.

    This needs no positions, which take most of the time of an edit.
    """
    if not isinstance(new, dict) or _PLAIN.match(data) is None or _ODD.search(data) is not None:
        return None
    try:
        old = decode_yaml(data, NONE)
    except EncodingError:
        return None
    if not isinstance(old, dict) or [key for key in new if key in old] != list(old) or len(new) == len(old):
        return None
    result = data
    follower: Any = None  # the section that a new one precedes
    for key in reversed(new):
        if key in old:
            follower = key
            continue
        at = len(result) if follower is None else result.find(f"\n{follower}:".encode()) + 1
        if at == 0:
            return None
        result = result[:at] + to_bytes("".join(f"{line}\n" for line in block({key: new[key]}))) + result[at:]
        follower = key
    return result if _has_data(result, new) else None


def _has_data(data: bytes, value: object) -> bool:
    try:
        return same_data(decode_yaml(data, NONE), value)
    except EncodingError:
        return False


class _ValueEdit(NamedTuple):
    """A value to change, and where it is in the text."""

    node: YamlNode
    old: Any
    new: Any
    column: int  # of its key or dash; -INDENT for the document itself
    key: YamlNode | None = None  # of a member of a map
    flow: bool = False  # inside brackets


class _MemberText(NamedTuple):
    """A member of a map or an element of a list; its text begins at its key or dash."""

    begin: int
    node: YamlNode
    key: YamlNode | None


class _InsertionPoint(NamedTuple):
    """Where to insert a new member: after one, or before the first."""

    first: _MemberText
    before: _MemberText | None
    spaced: bool  # with an empty line


class _Editor:
    def __init__(self, text: str, *, spaced: bool = True, deep: bool = True) -> None:
        self.text = text
        self.spaced = (
            spaced  # whether new sections get an empty line, which can change a block text before it
        )
        self.deep = deep  # else a section that changes is rewritten as a whole
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def edited(self, root: YamlNode, new: object) -> str:
        pieces: list[str] = []
        at = 0
        for patch in self._patches(root, new):
            pieces += (self.text[at : patch.start], patch.text)
            at = max(at, patch.end)
        return "".join(pieces) + self.text[at:]

    def _patches(self, root: YamlNode, new: object) -> list[Patch]:
        """All patches in the order of the text; at one offset, those of inner values come first."""
        by_column: list[tuple[int, Patch]] = []
        queue = [_ValueEdit(root, to_data(root), new, -INDENT)]
        while queue:
            change = queue.pop()
            if same_data(change.old, change.new):
                continue
            entries, after = self._entries(change), _members(change.new)
            kept = {key: entry for key, entry in entries.items() if key in after}
            if kept and type(change.old) is type(change.new) and (self.deep or change.column < 0):
                queue += self._member_edits(change, kept)
                patches = [*self._removals(change, entries, kept), *self._additions(change, entries)]
            else:
                patches = list(self._replacement(change))
            by_column += [(change.column, patch) for patch in patches]
        return [
            patch for _, patch in sorted(by_column, key=lambda item: (item[1].start, item[1].end, -item[0]))
        ]

    def _member_edits(self, change: _ValueEdit, kept: dict[Any, _MemberText]) -> Iterator[_ValueEdit]:
        before, after = _members(change.old), _members(change.new)
        for key, entry in kept.items():
            column = self._column(entry.begin)
            yield _ValueEdit(entry.node, before[key], after[key], column, entry.key, _in_brackets(change))

    def _entries(self, change: _ValueEdit) -> dict[Any, _MemberText]:
        """The members of a list or map itself, without those of an alias or a merge key."""
        node = change.node
        if node.alias or node.kind == "scalar":
            return {}
        if node.kind == "map":
            keys = {name: key for name, key in node.keys.items() if name in node.members}
            return {name: _MemberText(key.start, node.members[name], key) for name, key in keys.items()}
        starts = [item.start if _in_brackets(change) else self._dash(item) for item in node.items]
        return (
            {}
            if None in starts
            else {
                index: _MemberText(start or 0, item, None)
                for index, (start, item) in enumerate(zip(starts, node.items, strict=True))
            }
        )

    def _dash(self, item: YamlNode) -> int | None:
        """The offset of an element's dash."""
        at = self._end_before(item.start) - 1
        return at if self.text[at : at + 1] == "-" else None

    def _replacement(self, change: _ValueEdit) -> Iterator[Patch]:
        """Patches that replace a value."""
        node, new = change.node, change.new
        start, end = node.start, self._end_before(node.end) if node.end > node.start else node.end
        if change.flow:
            yield Patch(start, end, self._blank(start) + flow(new))
            return
        text = inline(new)
        lines = [] if text is not None else list(block(new, change.column + INDENT))
        own_lines = start > 0 and node.kind != "scalar" and self._is_first(start) and change.key is not None
        if own_lines:  # a list or map below its key
            first = self._line(start)
            if text is None:
                yield Patch(first, end, self.newline.join(lines))
            else:
                colon = self.text.index(":", change.key.end if change.key else 0) + 1
                yield Patch(colon, colon, f" {text}")
                yield Patch(first, self._after(end), "")
        elif text is not None:
            yield Patch(start, end, self._blank(start) + text)
        elif change.key is not None:  # separate lines, below the key and its comment
            yield Patch(min(self._end_before(start), end), end, "")
            yield self._insert_lines(self._after(end), lines)
        else:
            yield self._whole(start, end, new)

    def _whole(self, start: int, end: int, new: Container) -> Patch:
        """Replace a value after a dash, or the whole document, with a list or map."""
        if start == end and self._is_first(start):  # a document of comments
            return self._insert_lines(len(self.text), list(block(new)))
        lead = self._blank(start)
        lines = block(new, self._column(start) + len(lead))
        return Patch(start, end, lead + self.newline.join(lines).lstrip())

    def _removals(
        self, change: _ValueEdit, entries: dict[Any, _MemberText], kept: dict[Any, _MemberText]
    ) -> Iterator[Patch]:
        inside, order = _in_brackets(change), list(entries.values())
        stays_before = False
        for number, (key, entry) in enumerate(entries.items()):
            if key in kept:
                stays_before = True
            elif inside and stays_before:
                yield Patch(order[number - 1].node.end, entry.node.end, "")
            elif inside or not self._is_first(entry.begin):
                yield Patch(entry.begin, order[number + 1].begin, "")
            else:
                yield Patch(self._line(entry.begin), self._after(entry.node.end), "")

    def _additions(self, change: _ValueEdit, entries: dict[Any, _MemberText]) -> Iterator[Patch]:
        """Insert new members after the one that they follow in the data, or before the first that stays."""
        before, after = _members(change.old), _members(change.new)
        insert = self._in_flow if _in_brackets(change) else self._in_block
        first = next(entries[key] for key in after if key in entries)
        point = _InsertionPoint(
            first, None, spaced=self.spaced and change.column < 0 and self._is_spaced(entries)
        )
        for key, value in after.items():
            if key in entries:
                point = point._replace(before=entries[key])
            elif key not in before or not same_data(before[key], value):  # else it comes from a merge key
                yield insert(point, {key: value} if isinstance(change.new, dict) else [value])

    def _in_flow(self, point: _InsertionPoint, new: JsonObject | list[Any]) -> Patch:
        text = (
            ", ".join(f"{encode_key(key)}: {flow(value)}" for key, value in new.items())
            if isinstance(new, dict)
            else flow(new[0])
        )
        if point.before is None:
            return Patch(point.first.begin, point.first.begin, f"{text}, ")
        end = point.before.node.end
        return Patch(end, end, f", {text}")

    def _in_block(self, point: _InsertionPoint, new: JsonObject | list[Any]) -> Patch:
        begin = point.first.begin
        lines = list(block(new, self._column(begin)))
        empty = [""] if point.spaced else []
        if point.before is not None:
            return self._insert_lines(self._after(point.before.node.end), empty + lines)
        if self._is_first(begin):
            return self._insert_lines(self._line(begin), lines + empty)
        text = self.newline.join(lines).lstrip() + self.newline + " " * self._column(begin)
        return Patch(begin, begin, text)

    def _insert_lines(self, at: int, lines: list[str]) -> Patch:
        """Insert lines before the line that begins at this offset."""
        joined = self.newline.join(lines)
        if at and self.text[at - 1] != "\n":  # after a last line without a newline
            return Patch(at, at, self.newline + joined)
        return Patch(at, at, joined + self.newline)

    def _line(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _column(self, at: int) -> int:
        return at - self._line(at)

    def _is_first(self, at: int) -> bool:
        """Whether only spaces are before this offset on its line."""
        return not self.text[self._line(at) : at].strip()

    def _is_spaced(self, entries: dict[Any, _MemberText]) -> bool:
        """Whether there are empty lines between sections."""
        lines = [self._line(entry.begin) for entry in entries.values()]
        return any(line and not self.text[self._line(line - 1) : line].strip() for line in lines[1:])

    def _after(self, end: int) -> int:
        """The start of the line after a value."""
        if end and self.text[end - 1] == "\n":
            return end
        newline = self.text.find("\n", end)
        return len(self.text) if newline < 0 else newline + 1

    def _end_before(self, at: int) -> int:
        while at and self.text[at - 1] in _BLANKS:
            at -= 1
        return at

    def _blank(self, start: int) -> str:
        return " " if start and self.text[start - 1] in ":-" else ""


def _in_brackets(change: _ValueEdit) -> bool:
    return change.flow or change.node.flow


def _members(value: object) -> dict[Any, Any]:
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else {}
