"""What the runs inside the agents of a session used, as they measured it at their end: processor time and peak memory.

Nothing counts twice. A run that is recorded in a Python program measures its whole process: of several runs in one process, the
highest figure counts. A run inside another one is a part of that. What cannot be told apart is unknown, as is the sum of several
runs of which one was not measured.
"""

from collections.abc import Iterator
from typing import NamedTuple

from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.encoding import JsonObject

_MAX_FIGURE = 10**15  # larger ones are not measurements


class _Measured(NamedTuple):
    """What a run said at its end."""

    number: int  # in the order of the ends
    process: str  # that was measured: of the program that recorded it, or of the command alone
    parent: str | None  # the run that it was inside of
    cpu_seconds: float | None
    peak_memory_bytes: int | None


class MeasuredRuns:
    """The runs of a session, by agent."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, None]] = {}  # by agent, in order
        self._ends: dict[str, _Measured] = {}  # by run

    def add_run(self, instance_id: str, run_id: str) -> None:
        self._runs.setdefault(instance_id, {})[run_id] = None

    def add_end(self, payload: JsonObject) -> None:
        """The first end of a run counts."""
        run_id, used, process, parent = (
            payload.get(name) for name in ("run_id", "resources", "process", "parent")
        )
        if isinstance(run_id, str) and isinstance(used, dict):
            cpu, peak = _figure(used.get("cpu_seconds")), _figure(used.get("peak_memory_bytes"))
            self._ends.setdefault(
                run_id,
                _Measured(
                    len(self._ends),
                    process if isinstance(process, str) else run_id,
                    parent if isinstance(parent, str) else None,
                    cpu,
                    None if peak is None else int(peak),
                ),
            )

    def peak_memory_bytes(self, instance_id: str) -> int | None:
        """That of the largest process, since peaks at different times do not add up."""
        peaks = [run and run.peak_memory_bytes for run in self._of(instance_id)]
        return None if None in peaks else max(peaks, default=None)  # type: ignore[type-var]

    def cpu_seconds(self, instance_id: str) -> float | int | None:
        """The sum over the processes in which the runs of an agent were recorded."""
        runs = list(self._of(instance_id))
        known = [run for run in runs if run is not None and run.cpu_seconds is not None]
        if not runs or len(known) < len(runs) or self._is_shared(instance_id, known):
            return None
        by_process: dict[str, float] = {}
        for run in known:
            outer = self._ends.get(run.parent or "") if run.parent in self._runs[instance_id] else None
            if outer is None or outer.process == run.process:
                by_process[run.process] = max(run.cpu_seconds or 0, by_process.get(run.process, 0))
            elif outer.number < run.number:
                return None  # it went on: only a part of it is in the figure of the other
        return plain_number(exact_sum(by_process.values()))

    def _of(self, instance_id: str) -> Iterator[_Measured | None]:
        return (self._ends.get(run) for run in self._runs.get(instance_id, ()))

    def _is_shared(self, instance_id: str, known: list[_Measured]) -> bool:
        """Whether a run of another agent was in the same process as one of these, or inside of one."""
        processes, own = {run.process for run in known}, self._runs[instance_id]
        others = (
            run for other in self._runs if other != instance_id for run in self._of(other) if run is not None
        )
        return any(run.process in processes or run.parent in own for run in others)


def _figure(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= _MAX_FIGURE else None  # type: ignore[operator,return-value]
