"""Lock files, for file systems that refuse `flock`.

The lock of `<folder>/<name>` is the file `<folder>/.<name>.runcard-lock`. Whoever creates it holds the lock and writes
into it which process that is; whoever removes it releases it. The lock of a process that is gone is removed by the next
one that wants it. Only a process on the same host can be seen to be gone, so the lock of another host is waited for, and
the error names the file.

There are no shared locks here: those who want one take turns, for which they wait a moment even if they gave no time.

Invariant: a lock file is removed by its owner, or by the one process that holds the lock on its removal and has seen
that it is still the file of a dead owner.
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
_LONGEST_NAME = 200  # bytes; a digest takes the place of a longer one
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05
_PATIENCE = 60.0  # seconds, for those who would wait for ever: the owner may be on a host that is gone
_TURN = 2.0  # seconds that a shared lock waits for its turn at least
_EMPTY_FOR = 5.0  # seconds after which a lock file without an owner is that of a process that was killed
_NOT_OURS = b"?"  # in the place of the data: a FIFO, a directory or a device has the name
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


class _Lock(NamedTuple):
    """A lock file as it was found."""

    inode: int
    changed: int  # when, by the clock of the file system
    data: bytes

    @property
    def owner(self) -> JsonObject | None:
        try:
            owner = decode_json(self.data)
        except EncodingError:
            return None
        return owner if isinstance(owner, dict) else None

    def is_abandoned(self, seen_for: float) -> bool:
        if not self.data.strip(b"\0"):  # its owner was killed, or the power failed, before it was written
            return seen_for >= _EMPTY_FOR
        return self.owner is not None and is_alive(self.owner) is False


@contextlib.contextmanager
def lock_file(path: str, *, shared: bool, deadline: float | None) -> Iterator[None]:
    """Hold the lock file of `path` inside the `with` block; raises StoreError when the time is over.

    Who wants a shared lock and may not write there goes on without: nobody waits for a reader.
    """
    now = time.monotonic()
    end = now + _PATIENCE if deadline is None else max(deadline, now + _TURN) if shared else deadline
    place = _place_of(path)
    held = True
    try:
        _acquire(place, end)
    except OSError as error:
        if not shared or error.errno not in _READ_ONLY:
            raise failure(error, place, "create the lock file") from error
        held = False
    owner = os.getpid()
    try:
        yield
    finally:
        if held and os.getpid() == owner:  # not in a child that was forked inside the block
            _release(place)


def _place_of(path: str) -> str:
    folder, name = os.path.split(os.path.realpath(path))
    raw = encode_name(name)
    return os.path.join(folder, f".{name if len(raw) <= _LONGEST_NAME else sha256_bytes(raw).hex}{_SUFFIX}")


def _acquire(place: str, end: float) -> None:
    pause, last, since = _SHORTEST_PAUSE, None, time.monotonic()
    while not _create(place):
        lock = _look(place)
        if lock is None:
            continue  # it was released meanwhile
        now = time.monotonic()
        if lock != last:
            last, since = lock, now
        if lock.is_abandoned(now - since):
            _remove(place, lock, end)
        elif now >= end:
            raise _busy(place, lock)
        else:
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


def _create(place: str) -> bool:
    try:
        descriptor = os.open(place, _CREATE, 0o666)
    except FileExistsError:
        return False
    try:
        write_all(descriptor, encode_json(identity() | {"token": os.urandom(8).hex()}, COMPACT))
        return os.fstat(descriptor).st_nlink > 0  # unless it was empty so long that somebody removed it
    except BaseException:
        _release(place)
        raise
    finally:
        os.close(descriptor)


def _look(place: str) -> _Lock | None:
    try:
        status = os.lstat(place)
        data = read_regular(place)
    except FileNotFoundError:
        return None
    return _Lock(status.st_ino, status.st_ctime_ns, _NOT_OURS if data is None else data)


def _remove(place: str, lock: _Lock, end: float) -> None:
    """Remove the lock of a dead owner, unless another process did, and holds it by now."""
    claim = f"{place}.{sha256_bytes(lock.data).hex[:8]}"
    _acquire(claim, end)
    try:
        if _look(place) == lock:
            os.unlink(place)
    finally:
        _release(claim)


def _release(place: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place)


def _busy(place: str, lock: _Lock) -> RuncardError:
    owner = lock.owner or {}
    who = f"process {owner.get('pid')} on {printable(str(owner.get('host')))}" if owner else "another process"
    return StoreError(
        f"{printable(place)} is held by {who}",
        hint=f"wait until {who} is done; if it is gone, remove that file",
    )
