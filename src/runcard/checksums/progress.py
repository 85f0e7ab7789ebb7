"""Counting what has been hashed, and telling whoever shows a progress bar.

Any thread may count. The callback is called only from the thread that asked for the hashing, a few times a second.
"""

import time
from collections.abc import Callable
from threading import Lock

Progress = Callable[[int, int], object]  # (files, bytes) so far

PERIOD = 0.1  # seconds between two calls


class Tally:
    """Files and bytes so far."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._lock = Lock()
        self._files = self._bytes = 0
        self._next = time.monotonic() + PERIOD

    def add(self, files: int, size: int) -> None:
        with self._lock:
            self._files += files
            self._bytes += size

    def tell(self) -> None:
        """Call back when it is time to."""
        if self._progress is not None and time.monotonic() >= self._next:
            self._progress(self._files, self._bytes)
            self._next = time.monotonic() + PERIOD

    def finish(self) -> None:
        """Call back a last time, so that a bar ends full."""
        if self._progress is not None:
            self._progress(self._files, self._bytes)
