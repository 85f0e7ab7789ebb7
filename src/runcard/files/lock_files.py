"""Lock files, for file systems without `flock`.

The lock of `<folder>/<name>` is the file `<folder>/.<name>.runcard-lock`. The process that creates it holds the lock and
writes its identity into it; removing the file releases the lock. The lock of a dead process is removed by the next one that
needs it. Only a process on the same host can be recognized as dead, so a lock of another host is waited for, and the error
names the file.

There are no shared locks here: readers take turns, and wait a short time for it even with a timeout of 0.

Invariant: a lock file is removed by its owner, or by the one process that holds the lock on its removal and has checked
that it still belongs to a dead owner.
"""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import COMPACT, JsonObject, decode_json, encode_json
from runcard.errors import EncodingError, RuncardError, StoreError
from runcard.files.atomic import write_all
from runcard.files.names import encode_name, printable
from runcard.files.os_errors import failure
from runcard.files.processes import identity, is_alive
from runcard.files.reading import read_regular

_SUFFIX = ".runcard-lock"
_LONGEST_NAME = 200  # bytes; a longer one is replaced by a digest
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05
_MAX_WAIT = 60.0  # seconds, if there is no timeout: the owner may be on a host that is gone
_TURN = 2.0  # minimum number of seconds that a shared lock waits
_EMPTY_FOR = 5.0  # seconds after which a lock file without contents is that of a killed process
_NOT_A_LOCK = b"?"  # instead of data: a FIFO, a directory or a device has the name
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


class _LockFile(NamedTuple):
    """The state of a lock file."""

    inode: int
    changed: int  # time in ns, by the clock of the file system
    data: bytes

    @property
    def owner(self) -> JsonObject | None:
        try:
            owner = decode_json(self.data)
        except EncodingError:
            return None
        return owner if isinstance(owner, dict) else None

    def is_abandoned(self, unchanged_for: float) -> bool:
        if not self.data.strip(
            b"\0"
        ):  # its owner was killed, or the power failed, before the owner was written
            return unchanged_for >= _EMPTY_FOR
        return self.owner is not None and is_alive(self.owner) is False


@contextlib.contextmanager
def lock_file(path: str, *, shared: bool, deadline: float | None) -> Iterator[None]:
    """Hold the lock file of `path` inside the `with` block; raises StoreError on timeout.

    A reader without write permission continues without a lock: nothing waits for readers.
    """
    now = time.monotonic()
    end = now + _MAX_WAIT if deadline is None else max(deadline, now + _TURN) if shared else deadline
    file = _lock_path(path)
    is_held = True
    try:
        _acquire(file, end)
    except OSError as error:
        if not shared or error.errno not in _READ_ONLY:
            raise failure(error, file, "create the lock file") from error
        is_held = False
    owner = os.getpid()
    try:
        yield
    finally:
        if is_held and os.getpid() == owner:  # not in a child forked inside the block
            _release(file)


def _lock_path(path: str) -> str:
    folder, name = os.path.split(os.path.realpath(path))
    raw = encode_name(name)
    return os.path.join(folder, f".{name if len(raw) <= _LONGEST_NAME else sha256_bytes(raw).hex}{_SUFFIX}")


def _acquire(file: str, end: float) -> None:
    pause, last, since = _SHORTEST_PAUSE, None, time.monotonic()
    while not _create(file):
        lock = _read(file)
        if lock is None:
            continue  # it was just released
        now = time.monotonic()
        if lock != last:
            last, since = lock, now
        if lock.is_abandoned(now - since):
            _remove(file, lock, end)
        elif now >= end:
            raise _busy(file, lock)
        else:
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


def _create(file: str) -> bool:
    try:
        descriptor = os.open(file, _CREATE, 0o666)
    except FileExistsError:
        return False
    try:
        write_all(descriptor, encode_json(identity() | {"token": os.urandom(8).hex()}, COMPACT))
        return (
            os.fstat(descriptor).st_nlink > 0
        )  # unless it was empty for so long that another process removed it
    except BaseException:
        _release(file)
        raise
    finally:
        os.close(descriptor)


def _read(file: str) -> _LockFile | None:
    try:
        status = os.lstat(file)
        data = read_regular(file)
    except FileNotFoundError:
        return None
    return _LockFile(status.st_ino, status.st_ctime_ns, _NOT_A_LOCK if data is None else data)


def _remove(file: str, lock: _LockFile, end: float) -> None:
    """Remove the lock of a dead owner, unless another process has removed and acquired it."""
    claim = f"{file}.{sha256_bytes(lock.data).hex[:8]}"
    _acquire(claim, end)
    try:
        if _read(file) == lock:
            os.unlink(file)
    finally:
        _release(claim)


def _release(file: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(file)


def _busy(file: str, lock: _LockFile) -> RuncardError:
    owner = lock.owner or {}
    who = f"process {owner.get('pid')} on {printable(str(owner.get('host')))}" if owner else "another process"
    return StoreError(
        f"{printable(file)} is held by {who}",
        hint=f"wait until {who} is done; if it is gone, remove that file",
    )
