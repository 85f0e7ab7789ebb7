"""The table of results: one row for each comparison.

All numbers are times, sizes or counts, so less is better. Each side has the best and the median of its rounds. A target of
`<= 5 x` allows five times what the peer needs; `>= 2 x` requires twice its speed; `<= 80 ms` has no peer.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple


class Times(NamedTuple):
    """The best and the median of some rounds."""

    best: float
    median: float

    @classmethod
    def of(cls, values: Iterable[float], factor: float = 1) -> "Times":
        rounds = [value * factor for value in values]
        return cls(min(rounds), median(rounds))

    @classmethod
    def once(cls, value: float) -> "Times":
        """A value that does not vary, such as a size."""
        return cls(value, value)

    def scaled(self, factor: float) -> "Times":
        return Times(self.best * factor, self.median * factor)


@dataclass(frozen=True, slots=True)
class Target:
    """What is required: `<=` or `>=`, a number, and `x` for a ratio or the unit of the row."""

    sign: str
    value: float
    unit: str = "x"
    judged: str = "best"

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g} {self.unit}" + (", median" if self.judged == "median" else "")


@dataclass(frozen=True, slots=True)
class Row:
    """One task, done by runcard and by a peer; without `theirs`, the peer was not measured or there is none."""

    work: str
    ours: Times
    peer: str
    theirs: Times | None
    unit: str
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        """The number that a target limits: ours divided by the peer's, or how many times as fast we are."""
        if self.theirs is None:
            return None
        median_counts = self.target is not None and self.target.judged == "median"
        ours, theirs = (side.median if median_counts else side.best for side in (self.ours, self.theirs))
        over, under = (ours, theirs) if self.is_limited else (theirs, ours)
        return over / under if under else None

    @property
    def is_limited(self) -> bool:
        """Whether the ratio is how much of what the peer needs is needed here, not how many times as fast this is."""
        return self.target is not None and (self.target.sign, self.target.unit) == ("<=", "x")

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None if there is none, or no peer to compare with."""
        if self.target is None:
            return None
        value = self.ratio if self.target.unit == "x" else getattr(self.ours, self.target.judged)
        if value is None:
            return None
        return bool(value <= self.target.value if self.target.sign == "<=" else value >= self.target.value)


def at_most(times: float, *, judged: str = "best") -> Target:
    return Target("<=", times, judged=judged)


def faster(times: float) -> Target:
    return Target(">=", times)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


HEADER = ("work", "runcard", "median", "peer", "best", "median", "unit", "ratio", "target", "met")


def cells(row: Row) -> tuple[str, ...]:
    """The row as texts, one for each column of HEADER."""
    theirs = ("", "") if row.theirs is None else (number(row.theirs.best), number(row.theirs.median))
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    met = {True: "yes", False: "NO", None: ""}[row.ok]
    ours = number(row.ours.best), number(row.ours.median)
    return (row.work, *ours, row.peer, *theirs, row.unit, ratio, str(row.target or ""), met)


def print_table(rows: Sequence[Row]) -> None:
    """Print the rows in columns."""
    lines = [HEADER, *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
