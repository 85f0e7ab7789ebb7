"""Find files in a directory that changed since a run began, within limits of time and number.

The search is for a hint to the user, so it is short: outer directories first, no hidden files, nothing on other file
systems, no virtual environments, no records. Files that runcard's own output is redirected to are left out.

Invariant: every path in the result is that of a file that has changed; if a limit was reached, or a directory could not be
read, the result says so.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

_MOST_ENTRIES = 100_000
_CLOCK_TICK = 10_000_000  # nanoseconds by which the times of files may lag behind the clock
_ENVIRONMENT = "pyvenv.cfg"  # in the top directory of a virtual environment


class _LimitReachedError(Exception):
    """The search has taken long enough."""


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
        pending, is_complete, redirected = deque([""]), True, _redirected_files()
        self._left, self._end = _MOST_ENTRIES, time.monotonic() + seconds
        while pending:
            folder = pending.popleft()
            try:
                for name, status in self._statuses(folder):
                    if S_ISDIR(status.st_mode):
                        if status.st_dev == self._device and name not in self._skip:
                            pending.append(f"{folder}{name}/")
                    elif self._is_changed(status) and (status.st_dev, status.st_ino) not in redirected:
                        paths.append(f"{folder}{name}")
            except _LimitReachedError:
                return ChangedFiles(paths, is_complete=False)
            except FileNotFoundError:  # it was removed
                continue
            except OSError:  # it may not be read
                is_complete = False
        return ChangedFiles(paths, is_complete)

    def _statuses(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        """The entries of a folder that are searched, in the order of their names."""
        entries: dict[str, os.DirEntry[str]] = {}
        with os.scandir(os.path.join(self._directory, folder)) as scan:
            for entry in scan:
                self._left -= 1
                self._check_limits()
                entries[entry.name] = entry
        if folder and (_ENVIRONMENT in entries or self._is_own(entries)):
            return
        for name in sorted(entries):
            if not name.startswith("."):
                self._check_limits()
                with suppress(FileNotFoundError):
                    yield name, entries[name].stat(follow_symlinks=False)

    def _check_limits(self) -> None:
        if self._left < 0 or time.monotonic() > self._end:
            raise _LimitReachedError

    def _is_changed(self, status: os.stat_result) -> bool:
        return S_ISREG(status.st_mode) and status.st_ctime_ns >= self._since


def _redirected_files() -> set[tuple[int, int]]:
    """The files that the standard streams of this process are."""
    statuses = (os.fstat(number) for number in range(3))
    return {(status.st_dev, status.st_ino) for status in statuses}
