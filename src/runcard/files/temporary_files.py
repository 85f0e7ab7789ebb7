"""Remove temporary files that a killed process left behind: `.<name>.<8 hex digits>.tmp`, as `write_atomic` names them.

A file counts as abandoned if no process holds its lock and it has not been written to for an hour. Writers that take long
hold the lock; the others need far less time. Callers that hold a lock under which all such files are written pass an age
of 0.

Invariant: only regular files are removed, never the target of a link, and only from the open directory.
"""

import fcntl
import os
import re
import time
from collections.abc import Collection
from contextlib import suppress
from stat import S_ISREG

from runcard.files.opening import open_regular

HOUR = 3600.0  # seconds

_FORM = re.compile(r"\.(.+)\.[0-9a-f]{8}\.tmp", re.DOTALL)


def is_temporary_file(name: str, of: Collection[str] | None = None) -> bool:
    """Whether a name is that of a temporary file; with `of`, a temporary file for one of these names."""
    match = _FORM.fullmatch(name)
    return match is not None and (of is None or match[1] in of)


def remove_temporary_files_in(
    directory: int, *, of: Collection[str] | None = None, age: float = HOUR
) -> None:
    """Remove abandoned temporary files from an open directory; those that cannot be removed stay."""
    for name in os.listdir(directory):
        if is_temporary_file(name, of):
            with suppress(OSError):  # it may be another user's, or gone by now
                remove_abandoned_file(name, directory, age)


def remove_temporary_files_for(path: str, *, others: bool = False) -> None:
    """Remove abandoned temporary files for one file; with `others`, for all files of its directory.

    Use `others` only for directories of runcard: the user may have files with such names.
    """
    folder, name = os.path.split(os.path.realpath(path))
    with suppress(OSError):
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove_temporary_files_in(directory, of=None if others else {name})
        finally:
            os.close(directory)


def remove_abandoned_file(name: str, directory: int, age: float) -> None:
    """Remove a regular file that nobody has written to for so long, and whose lock nobody holds."""
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if not S_ISREG(status.st_mode) or (age and time.time() - status.st_mtime < age):
        return
    if not _is_locked(name, directory):
        os.unlink(name, dir_fd=directory)


def _is_locked(name: str, directory: int) -> bool:
    """Whether a process holds the lock of a file; without working locks, only its age counts."""
    try:
        descriptor = open_regular(name, dir_fd=directory)
    except PermissionError:
        return False  # it is not readable, which says nothing about a lock
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
