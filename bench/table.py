"""The table of results: one row for each comparison.

All numbers are times, so less is better. A target `<= 5 x` allows five times the peer's time; `>= 2 x` requires twice the
peer's speed.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One task, done by runcard and by a peer."""

    work: str
    ours: float
    peer: str
    theirs: float
    unit: str
    target: str
    ok: bool

    @property
    def ratio(self) -> float:
        """The number that the target limits: our time divided by the peer's, or how many times as fast we are."""
        return self.ours / self.theirs if self.target.startswith("<") else self.theirs / self.ours


def print_table(rows: Sequence[Row]) -> None:
    """Print the rows in columns."""
    lines = [("work", "ours", "", "theirs", "", "peer", "ratio", "target", "")]
    lines += [
        (
            row.work,
            f"{row.ours:.3g}",
            row.unit,
            f"{row.theirs:.3g}",
            row.unit,
            row.peer,
            f"{row.ratio:.2f}",
            row.target,
            "ok" if row.ok else "MISSED",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
