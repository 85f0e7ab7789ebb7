"""JSON with comments and trailing commas, as settings files have it: where each value is, and small edits of the text.

An edit is a list of insertions, or one cut. All other bytes stay: comments, order, indentation, line ends. New text has the layout
of what is around it. The caller parses the result again and compares the data.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from runcard.encoding.json.types import JsonObject
from runcard.errors import EncodingError

_DEEPEST = 100
_SPACE = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*+"')
_SCALAR = re.compile(r"-?[0-9][-+.0-9eE]*|true|false|null")
_LINE_COMMENT = re.compile(r"(?:[ \t]*,)?[ \t]*(?://[^\r\n]*|/\*(?:[^*\n]|\*(?!/))*\*/)")
_INDENT = re.compile(r"\n([ \t]+)[^\s]")

Path = Sequence[str | int]  # names of members and numbers of items, from the outermost value


class Insertion(NamedTuple):
    """A text to insert, at an offset of the text as it is before all insertions."""

    at: int
    text: str


class JsonMember(NamedTuple):
    """A member of an object or an item of an array; `start` is that of its name."""

    key: str | int
    start: int
    value: "JsonSpan"


class JsonSpan(NamedTuple):
    """A value and where it is."""

    start: int
    end: int
    data: Any
    members: tuple[JsonMember, ...] = ()

    def find(self, path: Path) -> "JsonSpan | None":
        """The value at a path."""
        span: JsonSpan | None = self
        for key in path:
            span = next((each.value for each in span.members if each.key == key), None) if span else None
        return span


class _SpanParser:
    """Reads one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def whole(self) -> JsonSpan:
        span = self._value(self._skip(0), 0)
        if (at := self._skip(span.end)) != len(self._text):
            raise self._error(at, "more text after the end")
        return span

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def _value(self, at: int, depth: int) -> JsonSpan:
        first = self._text[at : at + 1]
        if depth > _DEEPEST:
            raise self._error(at, "nested too deeply")
        if first == "{":
            return self._container(at, depth, "}")
        if first == "[":
            return self._container(at, depth, "]")
        match = (_TEXT if first == '"' else _SCALAR).match(self._text, at)
        try:
            if match is not None:
                return JsonSpan(at, match.end(), json.loads(match[0]))
        except ValueError:
            pass
        raise self._error(at, "a value is missing or wrong")

    def _container(self, start: int, depth: int, closing: str) -> JsonSpan:
        members: list[JsonMember] = []
        at = self._skip(start + 1)
        while self._text[at : at + 1] != closing:
            member = self._named(at, depth) if closing == "}" else self._item(at, depth, len(members))
            members.append(member)
            at = self._skip(member.value.end)
            if self._text[at : at + 1] == ",":
                at = self._skip(at + 1)
            elif self._text[at : at + 1] != closing:
                raise self._error(at, f"a comma or {closing} is missing")
        data: Any = [member.value.data for member in members]
        if closing == "}":
            data = {member.key: member.value.data for member in members}
            if len(data) != len(members):
                raise self._error(start, "a name is there twice")
        return JsonSpan(start, at + 1, data, tuple(members))

    def _item(self, at: int, depth: int, number: int) -> JsonMember:
        return JsonMember(number, at, self._value(at, depth + 1))

    def _named(self, at: int, depth: int) -> JsonMember:
        match = _TEXT.match(self._text, at)
        colon = self._skip(match.end()) if match else at
        if match is None or self._text[colon : colon + 1] != ":":
            raise self._error(colon, "a name in quotes and a colon are missing")
        return JsonMember(json.loads(match[0]), at, self._value(self._skip(colon + 1), depth + 1))

    def _error(self, at: int, what: str) -> EncodingError:
        line = self._text.count("\n", 0, at) + 1
        return EncodingError("json.syntax", f"line {line}: {what}", line=line)


def parse_jsonc(text: str) -> JsonSpan:
    """The value in a text; EncodingError, with the line, if there is none."""
    return _SpanParser(text).whole()


def insert_value(text: str, root: JsonSpan, path: Path, key: str | None, value: object) -> list[Insertion]:
    """Insertions that add a member, or without `key` an item, to the end of the container at `path`, which is there."""
    container = root.find(path)
    if container is None:
        raise EncodingError("json.type", "the place for a new value is missing")
    layout = _InsertLayout(text, container)
    new = layout.render(key, value)
    if container.members:
        return layout.after_last(container.members[-1].value.end, new)
    return layout.into_empty(new)


class _InsertLayout:
    """How new text looks beside what is in a container."""

    def __init__(self, text: str, container: JsonSpan) -> None:
        self._text, self._container = text, container
        self.newline = "\r\n" if "\r\n" in text else "\n"
        found = _INDENT.search(text)
        self.unit = found[1] if found else "  "
        members = container.members
        begin = members[-1].start if members else container.end - 1
        own_line = text[text.rfind("\n", 0, begin) + 1 : begin]
        self.is_inline = bool(members) and bool(own_line.strip(" \t"))
        base = self._indent_of_line(container.start)
        self.indent = own_line if members and not self.is_inline else base + self.unit
        self.closing = base
        self.has_spaces = '": ' in text or '":' not in text

    def _indent_of_line(self, at: int) -> str:
        line = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def render(self, key: str | None, value: object) -> str:
        """A member or an item, without the space before it."""
        colon, comma = (": ", ", ") if self.has_spaces else (":", ",")
        name = "" if key is None else json.dumps(key, ensure_ascii=False) + colon
        if self.is_inline:
            return name + json.dumps(value, ensure_ascii=False, separators=(comma, colon))
        shown = json.dumps(value, ensure_ascii=False, indent=self.unit, separators=(",", colon))
        return name + shown.replace("\n", self.newline + self.indent)

    def after_last(self, end: int, new: str) -> list[Insertion]:
        """Insertions behind the last member: behind its comma if it has one, and behind a comment on its line."""
        following = _SPACE.match(self._text, end)
        comma = following.end() if following else end
        has_comma = self._text[comma : comma + 1] == ","
        at = max(end, comma + 1) if has_comma else end
        comment = _LINE_COMMENT.match(self._text, at)
        place = comment.end() if comment and not self.is_inline else at
        space = (" " if self.has_spaces else "") if self.is_inline else self.newline + self.indent
        if has_comma:
            return [Insertion(place, f"{space}{new},")]
        if place == end:
            return [Insertion(end, f",{space}{new}")]
        return [Insertion(end, ","), Insertion(place, f"{space}{new}")]

    def into_empty(self, new: str) -> list[Insertion]:
        start, end = self._container.start + 1, self._container.end - 1
        inner = self._text[start:end]
        place = start + len(inner.rstrip(" \t\r\n"))
        closing = "" if "\n" in self._text[place:end] else self.newline + self.closing
        return [Insertion(place, f"{self.newline}{self.indent}{new}{closing}")]


def undo_insertions(text: str, insertions: Sequence[Insertion]) -> str | None:
    """The text as it was before these insertions; None if it does not have them."""
    shift, cuts = 0, []
    for each in sorted(insertions, key=lambda insertion: insertion.at):
        at = each.at + shift
        if text[at : at + len(each.text)] != each.text:
            return None
        cuts.append((at, at + len(each.text)))
        shift += len(each.text)
    for start, end in reversed(cuts):
        text = text[:start] + text[end:]
    return text


def apply_insertions(text: str, insertions: Sequence[Insertion]) -> str:
    """The text with these insertions."""
    pieces, at = [], 0
    for each in sorted(insertions, key=lambda insertion: insertion.at):
        pieces += [text[at : each.at], each.text]
        at = each.at
    return "".join([*pieces, text[at:]])


def remove_value(text: str, root: JsonSpan, path: Path) -> str:
    """The text without the member or item at `path`, and without the comma and the space that belong to it."""
    container = root.find(path[:-1])
    place = [each.key for each in container.members].index(path[-1]) if container else -1
    if container is None or place < 0:
        raise EncodingError("json.type", "the value to remove is missing")
    members = container.members
    start, end = members[place].start, members[place].value.end
    following = _SPACE.match(text, end)
    comma = following.end() if following else end
    has_comma = text[comma : comma + 1] == ","
    blank = start - len(text[:start]) + len(text[:start].rstrip(" \t\r\n"))
    if place + 1 < len(members) or has_comma:  # its own comma goes with it
        return text[:blank] + text[comma + 1 :]
    rest = text[end:]
    if place == 0:
        inner = text[container.start + 1 : blank]
        is_empty = not inner.strip() and not text[end : container.end - 1].strip()
        return text[: container.start + 1] + text[container.end - 1 :] if is_empty else text[:blank] + rest
    before = members[place - 1].value.end
    between = _SPACE.match(text, before)
    at = between.end() if between else before  # the comma behind the member before
    return text[:at] + text[at + 1 : blank] + rest


def as_object(data: Any) -> JsonObject:  # noqa: ANN401 - whatever a file holds
    """The same if it is an object; else an empty one."""
    return data if isinstance(data, dict) else {}
