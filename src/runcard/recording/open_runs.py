"""The runs that are open in this process: to which of them does code belong that has none in its context?

Python does not pass the context of a `with` block on to the threads that are started in it. If one run is open, the code
belongs to it. If several are, nobody can tell; but a run that encloses all others encloses what happens in them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runcard.recording.run import Run

_enclosing_runs: dict[
    "Run", "Run | None"
] = {}  # the open runs, oldest first; each with the one that it was started in


def add_open_run(run: "Run", enclosing: "Run | None") -> None:
    _enclosing_runs[run] = enclosing


def remove_open_run(run: "Run") -> None:
    _enclosing_runs.pop(run, None)


def open_runs_here() -> tuple["Run", ...]:
    """The open runs of this process, oldest first."""
    return tuple(_enclosing_runs)


def common_run(runs: Sequence["Run"]) -> "Run | None":
    """The innermost of these runs that encloses all others; None if there is none."""
    chains = [_chain(run) for run in runs]
    common = [run for run in runs if all(run in chain for chain in chains)]
    return max(common, key=lambda run: len(_chain(run)), default=None)


def _chain(run: "Run") -> list["Run"]:
    """A run and those that enclose it, outwards."""
    chain, outer = [run], _enclosing_runs.get(run)
    while outer is not None:
        chain.append(outer)
        outer = _enclosing_runs.get(outer)
    return chain
