"""Two runs side by side, as lines for a terminal."""

from collections.abc import Sequence
from typing import Protocol

from runcard.files import printable
from runcard.views.formats import duration, money

_MOST = 20  # files of a kind
_DIFF = 40  # lines of a difference


class Figure(Protocol):
    """A figure before and now."""

    @property
    def name(self) -> str: ...
    @property
    def before(self) -> float | int | None: ...
    @property
    def now(self) -> float | int | None: ...


_LABELS = {
    "cost_usd": "cost",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "duration_seconds": "time",
    "exit_code": "exit code",
}


def figures(moved: Sequence[Figure]) -> list[str]:
    """What moved, with the change where both are known; what neither run knows is left out."""
    rows = [
        (
            _LABELS[figure.name],
            _said(figure.name, figure.before),
            _said(figure.name, figure.now),
            _change(figure),
        )
        for figure in moved
        if figure.before is not None or figure.now is not None
    ]
    table = [("", "before", "now", ""), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    return [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
        for row in table
    ]


def _said(name: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    if name == "cost_usd":
        return money(value)
    return duration(value) if name == "duration_seconds" else f"{value:,}"


def _change(figure: Figure) -> str:
    if figure.before is None or figure.now is None:
        return ""
    if figure.before == figure.now:
        return "same"
    if figure.name == "exit_code" or figure.before == 0:
        return "differs"
    return f"{(figure.now - figure.before) / figure.before:+.1%}"


def outputs(word: str, paths: Sequence[str]) -> list[str]:
    """The files of a kind, cut where there are many."""
    more = len(paths) - _MOST
    lines = [f"  {word:<7}  {printable(path)}" for path in paths[:_MOST]]
    return [*lines, f"  {word:<7}  … and {more:,} more"] if more > 0 else lines


def difference(lines: Sequence[str]) -> list[str]:
    """The lines in which two texts differ, cut where there are many."""
    more = len(lines) - _DIFF
    shown = [f"    {printable(line)}" for line in lines[:_DIFF]]
    return [*shown, f"    … and {more:,} more lines"] if more > 0 else shown
