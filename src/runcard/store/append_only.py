"""Append lines to a chain on disk: a ledger, amendments.

Invariant: a torn last line is overwritten, never continued; a failed append leaves the file as it was.
"""

import contextlib
import errno
import os
from stat import S_IFLNK, S_ISREG

from runcard.files import NotRegularFileError, open_regular

_BLOCK = 4096
_APPEND = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def read_tail(path: str, limit: int) -> bytes:
    """The last bytes of a file, at most `limit`; raises OSError, also for a link or a FIFO."""
    descriptor = open_regular(path)
    try:
        start = max(0, os.lseek(descriptor, 0, os.SEEK_END) - limit)
        return os.pread(descriptor, limit, start)
    finally:
        os.close(descriptor)


def append_lines(path: str, data: bytes, mode: int = 0o666, *, dir_fd: int | None = None) -> None:
    """Write whole lines after the last whole line of a file, and sync them; raises OSError.

    The file is created if missing; a link or a FIFO in its place is an error.
    """
    descriptor = append_unsynced(path, data, mode, dir_fd=dir_fd, sync=True)
    os.close(descriptor)


def append_unsynced(
    path: str, data: bytes, mode: int = 0o666, *, dir_fd: int | None = None, sync: bool = False
) -> int:
    """The same, but the caller syncs the lines with the descriptor that is returned, and closes it."""
    descriptor = _open(path, mode, dir_fd)
    try:
        _append(descriptor, data, sync=sync)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _open(path: str, mode: int, dir_fd: int | None) -> int:
    try:
        descriptor = os.open(path, _APPEND, mode, dir_fd=dir_fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotRegularFileError(path, S_IFLNK) from error
        raise
    if not S_ISREG(status := os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRegularFileError(path, status)
    return descriptor


def _append(descriptor: int, data: bytes, *, sync: bool) -> None:
    size = os.lseek(descriptor, 0, os.SEEK_END)
    end = end_of_lines(descriptor, size)
    if end < size:
        os.ftruncate(descriptor, end)
    try:
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], end + written)
        if sync:
            os.fsync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, end)
        raise


def end_of_lines(descriptor: int, end: int) -> int:
    """The offset at which the last whole line before `end` ends."""
    while end:
        start = max(0, end - _BLOCK)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
