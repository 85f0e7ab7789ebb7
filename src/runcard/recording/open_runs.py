"""The runs that are open in this process, and the one to which code belongs that is in no `with` block.

Python does not pass the context of a `with` block on to the threads that are started in it. If one run is open, their code
belongs to it. If several are open, that is uncertain; but a run that encloses all others encloses what happens in them.

A run of `runcard.start` has no block. The code of its thread belongs to it if it is in no block; that of other threads only
if no block is open in any of them.
"""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runcard.recording.run import Run

# The open runs, oldest first; each with the run that it was started in.
_enclosing_runs: dict["Run", "Run | None"] = {}

# Those of `runcard.start`, oldest first; each with the thread that started it.
_started_runs: dict["Run", int] = {}


def add_open_run(run: "Run", enclosing: "Run | None") -> None:
    _enclosing_runs[run] = enclosing


def add_started_run(run: "Run") -> None:
    _started_runs[run] = threading.get_ident()


def remove_open_run(run: "Run") -> None:
    _enclosing_runs.pop(run, None)
    _started_runs.pop(run, None)


def open_runs_here() -> tuple["Run", ...]:
    """The open runs of this process, oldest first."""
    return tuple(_enclosing_runs)


def started_runs() -> tuple["Run", ...]:
    """Those of them that `runcard.start` began."""
    return tuple(_started_runs)


def started_run() -> "Run | None":
    """The newest run of `runcard.start` that code of this thread belongs to, if it is in no block."""
    thread, started = threading.get_ident(), list(_started_runs.items())
    no_block_is_open = len(started) == len(_enclosing_runs)
    return next((run for run, starter in reversed(started) if no_block_is_open or starter == thread), None)


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
