"""Answers of a bounded size. What does not fit is left out visibly, and can be asked for.

A tokenizer makes at most one token of a byte, so an answer of 20,000 bytes has at most 20,000 tokens.
"""

import json
from typing import Any, NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files import printable

MOST_BYTES = 20_000  # of an answer as JSON
ENVELOPE = 2_000  # of it, for what stands beside the data
MARK = "$left_out"  # the key of a mark in the place of what was left out

_FEW_MEMBERS = 40  # of an object whose members are all shown, each in part
_LEAST_SHARE = 300  # bytes of a member that is shown in part
_MARK_BYTES = 100  # besides its pointer


class Page(NamedTuple):
    """A part of a value, and how to go on."""

    value: Any
    left_out: int = 0
    unit: str = "items"
    next_cursor: str | None = None
    parts: int = 0  # places inside of the value that have a mark

    def to_dict(self) -> JsonObject:
        return {
            "left_out": self.left_out,
            "left_out_unit": self.unit,
            "next_cursor": self.next_cursor,
            "shortened_parts": self.parts,
        }


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_size(value: object) -> int:
    """The bytes of a value as JSON."""
    return len(json_text(value).encode("utf-8", "replace"))


def cursor_number(cursor: str | None, most: int) -> int:
    """The place that a cursor names; raises UsageError for one that no answer had."""
    if cursor is None:
        return 0
    number = int(cursor) if cursor.isascii() and cursor.isdecimal() and len(cursor) < 16 else -1
    if not 0 <= number <= most:
        raise UsageError(
            f"{printable(cursor[:40])!r} is not a cursor of this answer",
            hint="pass next_cursor of the last answer, with the same other arguments; or none, to begin again",
        )
    return number


def page_of_items(
    items: list[Any], budget: int = MOST_BYTES - ENVELOPE, *, before: int = 0, total: int | None = None
) -> Page:
    """As many of these items as fit; `before` of them were left out before the first, `total` is how many there are."""
    builder = _ExcerptBuilder()
    count = total if total is not None else before + len(items)
    chosen, _ = builder.head(items, [""] * len(items), budget)
    following = before + len(chosen)
    return Page(
        chosen, count - following, "items", str(following) if following < count else None, builder.parts
    )


def page_of_value(
    value: object, pointer: str = "", cursor: str | None = None, budget: int = MOST_BYTES - ENVELOPE
) -> Page:
    """The value at a JSON pointer as far as it fits: items and characters from a cursor on.

    What is too large inside of it has a mark: its pointer, how much is left out, and the cursor to go on with.
    """
    part, builder = value_at(value, pointer), _ExcerptBuilder()
    if cursor is None and not isinstance(part, list | str):
        return Page(builder.fit(part, budget, pointer), parts=builder.parts)
    if isinstance(part, str):
        start = cursor_number(cursor, len(part))
        text = text_head(part[start:], budget)
        return _page(text, start + len(text), len(part), "characters", 0)
    if isinstance(part, dict):
        start = cursor_number(cursor, len(part))
        names = list(part)[start:]
        chosen, keys = builder.head(
            [part[name] for name in names], [f"{pointer}/{escaped(name)}" for name in names], budget, names
        )
        shown: Any = dict(zip(keys, chosen, strict=True))
    elif isinstance(part, list):
        start = cursor_number(cursor, len(part))
        pointers = [f"{pointer}/{start + number}" for number in range(len(part) - start)]
        shown, _ = builder.head(part[start:], pointers, budget)
    else:
        cursor_number(cursor, 0)
        return Page(part)
    return _page(shown, start + len(shown), len(part), "items", builder.parts)


def _page(value: object, following: int, count: int, unit: str, parts: int) -> Page:
    return Page(value, count - following, unit, str(following) if following < count else None, parts)


def value_at(value: object, pointer: str) -> Any:  # noqa: ANN401 - any JSON
    """The value at a JSON pointer (RFC 6901); raises UsageError where there is none."""
    if pointer and not pointer.startswith("/"):
        raise UsageError(
            f"{printable(pointer[:200])!r} is not a JSON pointer",
            hint='write, for example, "/document/costs"',
        )
    at = value
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, dict) and name in at:
            at = at[name]
        elif (
            isinstance(at, list)
            and name.isascii()
            and name.isdecimal()
            and len(name) < 16
            and int(name) < len(at)
        ):
            at = at[int(name)]
        else:
            inside = (
                f"it has: {', '.join(map(printable, list(at)[:20]))}"
                if isinstance(at, dict) and at
                else "see the value above it"
            )
            raise UsageError(f"there is nothing at {printable(pointer[:200])}", hint=inside)
    return at


def escaped(name: str) -> str:
    """A name as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def text_head(text: str, budget: int) -> str:
    """The beginning of a text that fits in this many bytes of JSON; at least one character."""
    head = text[:budget]
    while len(head) > 1 and (size := json_size(head)) > budget:
        head = head[: max(1, len(head) * budget // size)]
    return head


class _ExcerptBuilder:
    """Fits values into a number of bytes, and counts where it left something out."""

    def __init__(self) -> None:
        self.parts = 0

    def fit(self, value: object, budget: int, pointer: str) -> object:
        """The value, or as much of it as fits, with marks."""
        if json_size(value) <= budget:
            return value
        room = budget - _MARK_BYTES - json_size(pointer)
        if isinstance(value, str):
            head = text_head(value, max(1, room))
            return {MARK: self._mark(pointer, len(head), len(value), "characters") | {"head": head}}
        if isinstance(value, list):
            pointers = [f"{pointer}/{number}" for number in range(len(value))]
            items, _ = self.head(value, pointers, room)
            mark = {MARK: self._mark(pointer, len(items), len(value), "items")}
            return [*items, mark] if len(items) < len(value) else items
        if isinstance(value, dict):
            return self._fit_object(value, budget, pointer)
        return value  # a number of this size does not exist

    def _fit_object(self, value: JsonObject, budget: int, pointer: str) -> JsonObject:
        names = list(value)
        sizes = [json_size(value[name]) for name in names]
        room = budget - sum(json_size(name) + 2 for name in names)
        share = _fair_share(sizes, room)
        if len(names) <= _FEW_MEMBERS and share >= _LEAST_SHARE:
            return {name: self.fit(value[name], share, f"{pointer}/{escaped(name)}") for name in names}
        pointers = [f"{pointer}/{escaped(name)}" for name in names]
        values, keys = self.head(
            list(value.values()), pointers, budget - _MARK_BYTES - json_size(pointer), names
        )
        shown = dict(zip(keys, values, strict=True))
        if len(shown) < len(names):
            shown[MARK] = self._mark(pointer, len(shown), len(names), "members")
        return shown

    def head(
        self, values: list[Any], pointers: list[str], budget: int, names: list[str] | None = None
    ) -> tuple[list[Any], list[str]]:
        """The first values that fit, and their names; the very first is shortened if it is too large."""
        chosen: list[Any] = []
        for number, value in enumerate(values):
            name = 0 if names is None else json_size(names[number]) + 1
            size = json_size(value) + name + 1
            if size > budget:
                if not chosen:
                    chosen.append(self.fit(value, max(_LEAST_SHARE, budget - name), pointers[number]))
                break
            budget -= size
            chosen.append(value)
        return chosen, (names or [])[: len(chosen)]

    def _mark(self, pointer: str, shown: int, count: int, unit: str) -> JsonObject:
        self.parts += 1
        return {"pointer": pointer, unit: count - shown, "cursor": str(shown)}


def _fair_share(sizes: list[int], room: int) -> int:
    """The most bytes for each, so that all of them together take no more than `room`."""
    left = len(sizes)
    for size in sorted(sizes):
        if size * left > room:
            return room // left
        room -= size
        left -= 1
    return room
