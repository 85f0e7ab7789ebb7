"""Find files in a directory that changed since a run began, within limits of time and number.

The search is for a hint to the user, so it is short: outer directories first, no hidden files, nothing on other file
systems, no virtual environments, no records. Files that runcard's own output is redirected to are left out.

Invariant: every path in the result is that of a file that has changed; if a limit was reached, or a directory could not be
read, the result says so.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Collection
from stat import S_ISREG
from typing import NamedTuple

_MOST_ENTRIES = 100_000
_CLOCK_TICK = 10_000_000  # nanoseconds by which the times of files may lag behind the clock
_ENVIRONMENT = "pyvenv.cfg"  # in the top directory of a virtual environment


class ChangedFiles(NamedTuple):
    """The paths of changed files, relative to the directory, and whether all of it was searched."""

    paths: list[str]
    is_complete: bool


class ChangeSearch:
    """Searches a directory for files that change from now on.

    `new` is a directory that was created just now: its time is that of its file system, which may be another than this
    clock's. `skip` are names of directories to leave out, and `is_own` tells by the names in a directory that it is
    runcard's.
    """

    def __init__(
        self,
        directory: str,
        new: os.stat_result,
        *,
        skip: Collection[str],
        is_own: Callable[[Collection[str]], bool],
    ) -> None:
        self._directory, self._skip, self._is_own = directory, skip, is_own
        self._device = os.stat(directory).st_dev
        self._since = new.st_ctime_ns if new.st_dev == self._device else time.time_ns() - _CLOCK_TICK
        self._started = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the search was prepared."""
        return time.monotonic() - self._started

    def run(self, seconds: float) -> ChangedFiles:
        """Search for at most this time."""
        paths: list[str] = []
        pending, end, left = deque([""]), time.monotonic() + seconds, _MOST_ENTRIES
        redirected, is_complete = _redirected_files(), True
        while pending:
            folder = pending.popleft()
            try:
                entries = self._entries(folder)
            except FileNotFoundError:
                continue
            except OSError:  # it may not be read
                is_complete = False
                continue
            for entry in entries:
                left -= 1
                if left < 0 or time.monotonic() > end:
                    return ChangedFiles(paths, is_complete=False)
                path = f"{folder}{entry.name}"
                try:
                    status = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        if status.st_dev == self._device and entry.name not in self._skip:
                            pending.append(f"{path}/")
                    elif self._is_changed(status) and (status.st_dev, status.st_ino) not in redirected:
                        paths.append(path)
                except FileNotFoundError:
                    continue
        return ChangedFiles(paths, is_complete)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """The entries of a folder that are searched."""
        with os.scandir(os.path.join(self._directory, folder)) as scan:
            entries = {entry.name: entry for entry in scan}
        if folder and (_ENVIRONMENT in entries or self._is_own(entries)):
            return []
        return [entries[name] for name in sorted(entries) if not name.startswith(".")]

    def _is_changed(self, status: os.stat_result) -> bool:
        return S_ISREG(status.st_mode) and status.st_ctime_ns >= self._since


def _redirected_files() -> set[tuple[int, int]]:
    """The files that the standard streams of this process are."""
    statuses = (os.fstat(number) for number in range(3))
    return {(status.st_dev, status.st_ino) for status in statuses}
