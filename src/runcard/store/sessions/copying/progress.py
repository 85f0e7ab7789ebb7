"""How much is done, for whoever shows a progress bar.

Any thread may count. The callback is called only from the thread that asked for the copy, a few times a second.
"""

from collections.abc import Callable
from typing import NamedTuple

from runcard.checksums import progress


class Amount(NamedTuple):
    """What is copied so far; the totals are None until all directories have been looked into."""

    files: int
    bytes: int
    total_files: int | None = None
    total_bytes: int | None = None


Progress = Callable[[Amount], object]


class Tally(progress.Tally):
    """Files and bytes so far, and, once they are known, in all."""

    def __init__(self, progress: Progress | None) -> None:
        self._total: tuple[int, int] | tuple[None, None] = (None, None)
        super().__init__(
            None if progress is None else lambda files, size: progress(Amount(files, size, *self._total))
        )

    def expect(self, files: int, size: int) -> None:
        """So much is still to come."""
        with self._lock:
            self._total = (self._files + files, self._bytes + size)
