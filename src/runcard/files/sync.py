"""Make the files of a directory durable: one by one, or the whole file system at once.

One call for the file system (`syncfs`) is the quickest for many files, but it also waits for what other programs have
written. An `fsync` for each file waits only for that file, but costs a write to the disk each. So the choice depends on
how much is waiting to be written: see `sync_tree`.

Invariant: when a function returns, what it names is on disk; a failure is an OSError that names the path.
"""

import errno
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from itertools import islice

from runcard.files.opening import open_regular, short_path
from runcard.files.walk import FileKind, walk

# An estimate of how much a disk writes in the time of an fsync; rather too small, so that few wait for other programs.
_BYTES_PER_FILE = 256 << 10
_MOST_FILES = 1000
_FILES_IF_UNKNOWN = 64  # where the system does not say how much is waiting
_BATCH = 64  # files that are open at the same time
_MEMINFO = "/proc/meminfo"
_WAITING = rb"(?m)^(?:Dirty|Writeback): +(\d+) kB$"
_START_WRITING = 2  # SYNC_FILE_RANGE_WRITE
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Errors for a name that has disappeared, or now stands for something else.
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL, errno.ENXIO}
_UNREADABLE = {errno.EACCES, errno.EPERM}


def sync_tree(root: str, entries: Iterable[tuple[str, FileKind]] | None = None) -> None:
    """Make everything below a directory durable: the files, and the names in every directory.

    `entries` are the paths and kinds of what is in it, if the caller knows them. What has disappeared is skipped.
    """
    unreadable: list[str] = []
    below = walk(root, on_error=lambda path, _: unreadable.append(path)) if entries is None else entries
    synced = (entry for entry in below if entry[1] in {FileKind.FILE, FileKind.DIRECTORY})
    most = _files_to_sync_one_by_one()
    some = list(islice(synced, most + 1))
    if len(some) > most or unreadable or not _sync_one_by_one(root, some):
        sync_filesystem(root)


def fsync_directory(path: str | os.PathLike[str]) -> None:
    """Sync a directory: the names that were created, renamed or removed in it."""
    descriptor = os.open(path, _DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_filesystem(path: str | os.PathLike[str]) -> None:
    """Sync everything that was written to the file system of a directory, in one step."""
    descriptor = os.open(path, _DIRECTORY)
    try:
        _sync_filesystem_of(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        os.close(descriptor)


def _sync_filesystem_of(descriptor: int) -> None:
    call = _system_call("syncfs")
    if call is None:
        os.sync()  # may return early, but a document must be complete on disk before it is renamed
        os.fsync(descriptor)
    elif number := call(descriptor):
        raise OSError(number, os.strerror(number))


def _files_to_sync_one_by_one() -> int:
    """The number of files up to which syncing each of them takes less time than waiting for all programs."""
    waiting = _bytes_waiting()
    return _FILES_IF_UNKNOWN if waiting is None else min(waiting // _BYTES_PER_FILE, _MOST_FILES)


def _bytes_waiting() -> int | None:
    """How much all programs have written that is not on disk yet; None if the system does not say."""
    try:
        descriptor = os.open(_MEMINFO, os.O_RDONLY | os.O_CLOEXEC)
        try:
            table = os.read(descriptor, 1 << 16)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    sizes = re.findall(_WAITING, table)
    return 1024 * sum(map(int, sizes)) if sizes else None


def _sync_one_by_one(root: str, entries: Sequence[tuple[str, FileKind]]) -> bool:
    """Sync each file and each directory; False if one cannot be opened for it."""
    top = os.open(root, _DIRECTORY)
    try:
        for start in range(0, len(entries), _BATCH):
            if not _sync_batch(top, entries[start : start + _BATCH]):
                return False
        os.fsync(top)
    except OSError as error:
        path = os.path.join(root, error.filename or "")
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        os.close(top)
    return True


def _sync_batch(top: int, entries: Sequence[tuple[str, FileKind]]) -> bool:
    """Start the writing of all, then wait for each: so the disk has something to do all the time."""
    opened: dict[int, str] = {}
    try:
        for path, kind in entries:
            try:
                opened[_open(top, path, kind)] = path
            except OSError as error:
                if error.errno in _UNREADABLE:
                    return False
                if error.errno not in _GONE:
                    raise OSError(error.errno, error.strerror, path) from error
        _start_writing(opened)
        for descriptor, path in opened.items():
            try:
                os.fsync(descriptor)
            except OSError as error:
                raise OSError(error.errno, error.strerror, path) from error
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True


def _open(top: int, path: str, kind: FileKind) -> int:
    with short_path(top, path) as (directory, name):
        if kind is FileKind.DIRECTORY:
            return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
        return open_regular(name, dir_fd=directory)


def _start_writing(descriptors: Collection[int]) -> None:
    """Start to write files to disk, without waiting. Only a hint: `fsync` follows, and reports errors."""
    call = _system_call("sync_file_range")
    if call is not None:
        for descriptor in descriptors:
            call(descriptor, 0, 0, _START_WRITING)


@cache
def _system_call(name: str) -> Callable[..., int] | None:
    """A system call that Python lacks: it returns an error number or 0. None if the system has none of this name."""
    import ctypes  # noqa: PLC0415 - long to load, and rarely needed before the first run ends

    call = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if call is None:
        return None
    signatures = {"sync_file_range": [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]}
    call.argtypes = signatures.get(name, [ctypes.c_int])
    return lambda *args: ctypes.get_errno() if call(*args) else 0
