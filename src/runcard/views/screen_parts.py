"""The parts of a screen: pairs, sections, lists, columns. Control characters are escaped."""

from collections.abc import Mapping, Sequence
from unicodedata import combining, east_asian_width

from runcard.files import printable
from runcard.store import layout
from runcard.views.formats import byte_size, truncated

Pair = tuple[str, object]

SCREEN = 80  # columns
MAX_LINES = 8  # of a list
SECRETS_KEPT = "off: secrets were kept"
_MAX_VALUE = 100  # characters


def one_line(value: object) -> str:
    """A value on one line, cut where it is long."""
    return printable(truncated(value, _MAX_VALUE))


class UncutText(str):
    """A value that is never cut, so that it can be copied: a path."""

    __slots__ = ()


def location(path: str) -> Pair:
    """The path of a record, with its label."""
    return ("archive" if layout.is_archive(path) else "directory", UncutText(path))


def key_values(labels: Mapping[str, object] | None) -> str:
    """`team=ux, project=x`."""
    return ", ".join(f"{key}={value}" for key, value in (labels or {}).items())


def fields(pairs: Sequence[Pair], screen: int | None = None) -> list[str]:
    """Labels and values, one pair per line, cut to the width of the screen; unknown values are left out."""
    known = [
        (printable(truncated(key, 30)), value) for key, value in pairs if value is not None and value != ""
    ]
    width = max((len(key) for key, _ in known), default=0)
    room = None if screen is None else screen - width - 4
    return [f"  {key:<{width}}  {_value(value, room)}" for key, value in known]


def _value(value: object, room: int | None) -> str:
    if isinstance(value, UncutText):
        return printable(value)
    return one_line(value) if room is None else fit(one_line(value), room).rstrip()


SIGNATURES = "Signatures (not checked; runcard verify does that)"


def section(title: str, lines: list[str]) -> list[str]:
    """A title above its lines; nothing where there are no lines."""
    return ["", title, *lines] if lines else []


def cut(lines: list[str], most: int = MAX_LINES) -> list[str]:
    hidden = len(lines) - most
    return [*lines[:most], f"  … and {hidden:,} more"] if hidden > 0 else lines


def file_list(files: Sequence[tuple[str, int | None]], screen: int | None = None) -> list[str]:
    """Files with their sizes, where they are known."""
    names = [one_line(path) for path, _ in files[:MAX_LINES]]
    width = max(map(columns_of, names), default=0)
    width = width if screen is None else min(width, screen - 12)
    lines = [
        f"  {fit(name, width)}  {byte_size(size)}" if size is not None else f"  {name}"
        for name, (_, size) in zip(names, files, strict=False)
    ]
    hidden = len(files) - MAX_LINES
    return [*lines, f"  … and {hidden:,} more"] if hidden > 0 else lines


def wrap_text(text: str) -> list[str]:
    """A text on as many lines as it needs."""
    from textwrap import wrap  # noqa: PLC0415 - few screens have such a text

    is_wide = columns_of(text) > len(text)
    return wrap(text, SCREEN // 2 if is_wide else SCREEN, initial_indent="  ", subsequent_indent="    ")


def columns_of(text: str) -> int:
    """How many columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text
    )


def fit(text: str, width: int) -> str:
    """A text in exactly so many columns: cut, or padded with spaces."""
    while columns_of(text) > width:
        text = text[:-2] + "…" if text.endswith("…") else text[:-1] + "…"
    return text + " " * (width - columns_of(text))
