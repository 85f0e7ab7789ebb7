"""The pieces that screens are made of: pairs, sections, lists, columns. What is hostile to a terminal is escaped."""

from collections.abc import Sequence
from textwrap import wrap
from unicodedata import combining, east_asian_width

from runcard.files import printable
from runcard.store import layout
from runcard.views.formats import byte_size, truncated

Pair = tuple[str, object]

SCREEN = 80  # columns
MOST = 8  # lines of a list
_WIDTH = 100  # characters of a value


def shortened(value: object) -> str:
    """A value on one line."""
    return printable(truncated(value, _WIDTH))


class UncutText(str):
    """A value that is never cut, so that it can be copied: a path."""

    __slots__ = ()


def place_of(path: str) -> Pair:
    """Where a record lies."""
    return ("archive" if layout.is_archive(path) else "directory", UncutText(path))


def fields(pairs: Sequence[Pair], screen: int | None = None) -> list[str]:
    """Pairs one below the other, cut where they are wider than the screen; what is not known is left out."""
    known = [
        (printable(truncated(key, 30)), value) for key, value in pairs if value is not None and value != ""
    ]
    width = max((len(key) for key, _ in known), default=0)
    room = None if screen is None else screen - width - 4
    return [f"  {key:<{width}}  {_value(value, room)}" for key, value in known]


def _value(value: object, room: int | None) -> str:
    if isinstance(value, UncutText):
        return printable(value)
    return shortened(value) if room is None else fitted(shortened(value), room).rstrip()


def section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *lines] if lines else []


def cut(lines: list[str], most: int = MOST) -> list[str]:
    more = len(lines) - most
    return [*lines[:most], f"  … and {more:,} more"] if more > 0 else lines


def listed(files: Sequence[tuple[str, int | None]], screen: int | None = None) -> list[str]:
    """Files with their sizes, where they are known."""
    names = [shortened(path) for path, _ in files[:MOST]]
    width = max(map(columns_of, names), default=0)
    width = width if screen is None else min(width, screen - 12)
    lines = [
        f"  {fitted(name, width)}  {byte_size(count)}" if count is not None else f"  {name}"
        for name, (_, count) in zip(names, files, strict=False)
    ]
    more = len(files) - MOST
    return [*lines, f"  … and {more:,} more"] if more > 0 else lines


def wrapped(text: str) -> list[str]:
    """A text on as many lines as it needs."""
    is_wide = columns_of(text) > len(text)
    return wrap(text, SCREEN // 2 if is_wide else SCREEN, initial_indent="  ", subsequent_indent="    ")


def columns_of(text: str) -> int:
    """How many columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text
    )


def fitted(text: str, width: int) -> str:
    """A text in exactly so many columns: cut, or with blanks behind it."""
    while columns_of(text) > width:
        text = text[:-2] + "…" if text.endswith("…") else text[:-1] + "…"
    return text + " " * (width - columns_of(text))
