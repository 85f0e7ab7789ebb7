"""The runs that clients record through this server, which owns them until they are finished.

A run that is open when the server ends is closed as interrupted; one of a server that was killed is closed by the next
recording, as that of any other program that died.
"""

import threading
import warnings
from typing import TYPE_CHECKING

from runcard.errors import RuncardError, StoreError, UsageError
from runcard.files import printable

if TYPE_CHECKING:
    from runcard.recording.run import Run

_MOST = 1000  # open at the same time


class RecordedRuns:
    """The open runs, by id."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._turn = threading.Lock()

    def start(self, outputs: str | None, **facts: object) -> "Run":
        from runcard.operations.runs.record import start_for_client  # noqa: PLC0415 - long to load

        if len(self._runs) >= _MOST:
            raise StoreError(f"{_MOST:,} runs are open", hint="finish some of them with record_run_finish")
        run = start_for_client(outputs, **facts)  # type: ignore[arg-type]  # the schema of the tool has checked them
        with self._turn:
            self._runs[run.id] = run
        return run

    def get(self, run_id: str) -> "Run":
        run = self._runs.get(run_id)
        if run is None:
            ids = ", ".join(list(self._runs)[-5:])
            raise UsageError(
                f"{printable(run_id)} is not an open run of this server",
                hint=f"open are: {ids}" if ids else "start one with record_run_start",
            )
        return run

    def finish(self, run_id: str, status: str) -> "Run":
        with self._turn:
            run = self.get(run_id)
            del self._runs[run_id]
        run.finish(status)
        return run

    def close(self) -> None:
        """Close what is still open, as interrupted."""
        with self._turn:
            runs, self._runs = self._runs, {}
        for run in runs.values():
            try:
                run.add_warning("the server ended before the run was finished", type="not-finished")
                run.finish("interrupted")
            except (RuncardError, OSError) as error:
                warnings.warn(f"{run.path} could not be closed: {error}", stacklevel=1)

    def __len__(self) -> int:
        return len(self._runs)
