"""Changing a YAML text only where its data changes: comments, quotes, order and all other bytes stay.

A change is a list of patches, each for a place of its own. What is new is written as `encode_yaml` writes it, in
brackets where it stands in brackets. The result is read again before it is given back: a text whose aliases or layout
do not allow a change in place is refused, never damaged.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from runcard.encoding.json.edit import Patch, same_data
from runcard.encoding.json.reader import BOM
from runcard.encoding.json.types import JsonObject
from runcard.encoding.json.writer import to_bytes
from runcard.encoding.limits import NONE
from runcard.encoding.yaml.nodes import YamlNode, to_data
from runcard.encoding.yaml.reader import decode_yaml
from runcard.encoding.yaml.writer import INDENT, Container, block, flow, inline, written_key
from runcard.errors import EncodingError

_BLANKS = " \t\r\n"


def edit_yaml(data: bytes, new: Any) -> bytes:  # noqa: ANN401
    """The bytes of a YAML document changed to say `new`; raises EncodingError where that cannot be done in place."""
    from runcard.encoding.yaml.composer import compose  # noqa: PLC0415 - its parser takes long to import

    mark = BOM if data.startswith(BOM) else b""
    text = data[len(mark) :].decode()
    root = compose(text, NONE)
    for careful in ({}, {"spaced": False}, {"deep": False}):
        result = mark + to_bytes(_Editor(text, **careful).edited(root, new))
        if _says(result, new):
            return result
    raise EncodingError(
        "yaml.edit",
        "this text cannot be changed in place",
        hint="write out what its aliases and merge keys stand for",
    )


def _says(data: bytes, value: object) -> bool:
    try:
        return same_data(decode_yaml(data, NONE), value)
    except EncodingError:
        return False


class _ValueEdit(NamedTuple):
    """A value in its surroundings."""

    node: YamlNode
    old: Any
    new: Any
    column: int  # where the lines begin that belong to its key or dash; -INDENT for the document itself
    key: YamlNode | None = None  # of a member of a map
    flow: bool = False  # inside brackets


class _MemberText(NamedTuple):
    """A member of a map or an element of a list, from its key or dash to the end of its value."""

    begin: int
    node: YamlNode
    key: YamlNode | None


class _InsertionPoint(NamedTuple):
    """Where a new member goes: behind one, or before the first."""

    first: _MemberText
    before: _MemberText | None
    spaced: bool  # with an empty line


class _Editor:
    def __init__(self, text: str, *, spaced: bool = True, deep: bool = True) -> None:
        self.text = text
        self.spaced = (
            spaced  # else a new section gets no empty line, which a text before it may take for its own
        )
        self.deep = deep  # else a section that changes is written anew as a whole
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def edited(self, root: YamlNode, new: object) -> str:
        pieces: list[str] = []
        at = 0
        for patch in self._patches(root, new):
            pieces += (self.text[at : patch.start], patch.text)
            at = max(at, patch.end)
        return "".join(pieces) + self.text[at:]

    def _patches(self, root: YamlNode, new: object) -> list[Patch]:
        """All changes from the beginning to the end; at one place, what belongs to the inner value comes first."""
        found: list[tuple[int, Patch]] = []
        todo = [_ValueEdit(root, to_data(root), new, -INDENT)]
        while todo:
            change = todo.pop()
            if same_data(change.old, change.new):
                continue
            entries, after = self._entries(change), _members(change.new)
            kept = {key: entry for key, entry in entries.items() if key in after}
            if kept and type(change.old) is type(change.new) and (self.deep or change.column < 0):
                todo += self._member_edits(change, kept)
                changes = [*self._removed(change, entries, kept), *self._added(change, entries)]
            else:
                changes = list(self._replaced(change))
            found += [(change.column, patch) for patch in changes]
        return [patch for _, patch in sorted(found, key=lambda item: (item[1].start, item[1].end, -item[0]))]

    def _member_edits(self, change: _ValueEdit, kept: dict[Any, _MemberText]) -> Iterator[_ValueEdit]:
        before, after = _members(change.old), _members(change.new)
        for key, entry in kept.items():
            column = self._column(entry.begin)
            yield _ValueEdit(entry.node, before[key], after[key], column, entry.key, _in_brackets(change))

    def _entries(self, change: _ValueEdit) -> dict[Any, _MemberText]:
        """What stands in a list or map itself, not through an alias or a merge key."""
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
        """Where the dash of an element stands."""
        at = self._end_before(item.start) - 1
        return at if self.text[at : at + 1] == "-" else None

    def _replaced(self, change: _ValueEdit) -> Iterator[Patch]:
        """Another value in the place of this one."""
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
        elif change.key is not None:  # lines of its own, below the key and its comment
            yield Patch(min(self._end_before(start), end), end, "")
            yield self._inserted(self._after(end), lines)
        else:
            yield self._whole(start, end, new)

    def _whole(self, start: int, end: int, new: Container) -> Patch:
        """A list or map behind a dash, or as the document."""
        if start == end and self._is_first(start):  # a document of comments
            return self._inserted(len(self.text), list(block(new)))
        lead = self._blank(start)
        lines = block(new, self._column(start) + len(lead))
        return Patch(start, end, lead + self.newline.join(lines).lstrip())

    def _removed(
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

    def _added(self, change: _ValueEdit, entries: dict[Any, _MemberText]) -> Iterator[Patch]:
        """New members stand behind the one that they follow in the data, or before the first that stays."""
        before, after = _members(change.old), _members(change.new)
        insert = self._in_flow if _in_brackets(change) else self._in_block
        first = next(entries[key] for key in after if key in entries)
        place = _InsertionPoint(
            first, None, spaced=self.spaced and change.column < 0 and self._is_spaced(entries)
        )
        for key, value in after.items():
            if key in entries:
                place = place._replace(before=entries[key])
            elif key not in before or not same_data(before[key], value):  # else it comes from a merge key
                yield insert(place, {key: value} if isinstance(change.new, dict) else [value])

    def _in_flow(self, place: _InsertionPoint, new: JsonObject | list[Any]) -> Patch:
        text = (
            ", ".join(f"{written_key(key)}: {flow(value)}" for key, value in new.items())
            if isinstance(new, dict)
            else flow(new[0])
        )
        if place.before is None:
            return Patch(place.first.begin, place.first.begin, f"{text}, ")
        end = place.before.node.end
        return Patch(end, end, f", {text}")

    def _in_block(self, place: _InsertionPoint, new: JsonObject | list[Any]) -> Patch:
        begin = place.first.begin
        lines = list(block(new, self._column(begin)))
        empty = [""] if place.spaced else []
        if place.before is not None:
            return self._inserted(self._after(place.before.node.end), empty + lines)
        if self._is_first(begin):
            return self._inserted(self._line(begin), lines + empty)
        text = self.newline.join(lines).lstrip() + self.newline + " " * self._column(begin)
        return Patch(begin, begin, text)

    def _inserted(self, at: int, lines: list[str]) -> Patch:
        """Lines of their own, before the line that begins at this place."""
        joined = self.newline.join(lines)
        if at and self.text[at - 1] != "\n":  # behind a last line without an end
            return Patch(at, at, self.newline + joined)
        return Patch(at, at, joined + self.newline)

    def _line(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _column(self, at: int) -> int:
        return at - self._line(at)

    def _is_first(self, at: int) -> bool:
        """Whether only blanks stand before this place on its line."""
        return not self.text[self._line(at) : at].strip()

    def _is_spaced(self, entries: dict[Any, _MemberText]) -> bool:
        """Whether sections have empty lines between them."""
        lines = [self._line(entry.begin) for entry in entries.values()]
        return any(line and not self.text[self._line(line - 1) : line].strip() for line in lines[1:])

    def _after(self, end: int) -> int:
        """Where the line begins that follows a value."""
        if end and self.text[end - 1] == "\n":
            return end
        found = self.text.find("\n", end)
        return len(self.text) if found < 0 else found + 1

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
