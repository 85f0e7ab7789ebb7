"""Count the files and bytes that are done, and report them to a progress callback.

Any thread may count. The callback is called only by the thread that waits for the work, a few times a second.
"""

import time
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

PERIOD = 0.1  # seconds between two calls


class Amount(NamedTuple):
    """What is done so far; the totals are None while they are unknown."""

    files: int
    bytes: int
    total_files: int | None = None
    total_bytes: int | None = None


Progress = Callable[[int, int], object]  # files and bytes so far


class ProgressCounter:
    """Files and bytes so far and, once known, in total."""

    def __init__(self, callback: Callable[[Amount], object] | None) -> None:
        self._callback = callback
        self._lock = Lock()
        self._files = self._bytes = 0
        self._totals: tuple[int, int] | tuple[None, None] = (None, None)
        self._next = time.monotonic() + PERIOD

    def add(self, files: int, size: int) -> None:
        with self._lock:
            self._files += files
            self._bytes += size

    def expect(self, files: int, size: int) -> None:
        """Set the totals: what is done, plus this."""
        with self._lock:
            self._totals = (self._files + files, self._bytes + size)

    def report(self) -> None:
        """Call the callback if the last call was long enough ago."""
        if self._callback is not None and time.monotonic() >= self._next:
            self.finish()
            self._next = time.monotonic() + PERIOD

    def finish(self) -> None:
        """Call the callback now, so that a progress bar ends full."""
        if self._callback is not None:
            self._callback(Amount(self._files, self._bytes, *self._totals))


def file_counter(progress: Progress | None) -> ProgressCounter:
    """A counter for a callback that takes files and bytes."""
    return ProgressCounter(progress and (lambda amount: progress(amount.files, amount.bytes)))
