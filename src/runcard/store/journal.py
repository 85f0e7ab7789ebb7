"""Journals on disk: append-only, chained, one for each writer process.

A line is on its way to the disk before `append` returns, so it survives the death of the process; every second, and at
closing, it is made durable against a power cut as well. The owner of a run holds a lock on its journal as long as it
lives: that the lock is free means that the owner is gone.

Invariant: a journal ends with a whole line, or with one torn line that nobody ever continues; also when a write failed,
or a signal handler raised in the middle of one.
"""

import contextlib
import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakSet

from runcard.documents.chain import EncodedLine, Head, Journal, first_link, parse, write_line
from runcard.encoding import JsonObject
from runcard.encoding.shorten import fitted, shortened
from runcard.errors import StoreError
from runcard.files import failure, printable, read_regular
from runcard.files.locks import NO_LOCKS
from runcard.files.processes import is_alive

EVENT_LIMIT = 1 << 20  # bytes that a line has at most, unless told otherwise

_LONGEST_FIELD = 512  # characters of each of them in a line that is cut
_ROOM_FOR_FIELDS = 16_384  # bytes
_DURABLE_EVERY = 1.0  # seconds
_CREATE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_FIRST_LINE = 4 << 20  # bytes that are looked at for it

_writers: WeakSet["JournalWriter"] = WeakSet()


def new_writer() -> str:
    """A name for a writer that no other has."""
    return f"w-{os.urandom(4).hex()}"


class _Begun(NamedTuple):
    """A line whose writing has begun."""

    start: int  # where in the file
    data: bytes
    head: Head  # of the chain, once it is written


class JournalWriter:
    """One process's own journal; threads may share it."""

    def __init__(
        self,
        path: str,
        record_id: str,
        writer: str,
        *,
        lock: bool = False,
        mode: int = 0o666,
        limit: int = EVENT_LIMIT,
    ) -> None:
        self.path = path
        self._limit = limit
        self.head = Head(writer, 0, first_link(record_id, writer))
        self.sha256 = hashlib.sha256()  # of all that was written
        self._mutex = threading.Lock()
        self._begun: _Begun | None = None
        self._ended = False
        self._durable_at = time.monotonic()
        self._pid = os.getpid()
        self.has_lock = False
        try:
            self._descriptor = os.open(path, _CREATE, mode)
        except OSError as error:
            raise failure(error, path, "create the journal") from error
        if lock:
            self._lock()
        _writers.add(self)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                os.close(self._descriptor)
                raise failure(error, self.path, "lock the journal") from error
        else:
            self.has_lock = True

    def append(self, fields: Mapping[str, Any], payload: Any) -> int | None:  # noqa: ANN401
        """Add a line; `fields` is what it says beside the chain.

        A line that is longer than the limit is cut, and says so: `truncated` has the size that it would have had, which
        is also what is returned.
        """
        if (
            self._ended
        ):  # asked before the mutex, which a signal handler would wait for that comes while it is held
            raise self._closed()
        with self._mutex:
            return self._append(fields, payload)

    def _append(self, fields: Mapping[str, Any], payload: Any) -> int | None:  # noqa: ANN401
        if self._ended or self._descriptor < 0 or self._pid != os.getpid():
            raise self._closed()
        try:
            self._settle()
            status = os.fstat(self._descriptor)
        except OSError as error:
            raise failure(error, self.path, "write the journal") from error
        if status.st_nlink == 0:
            raise self._closed()  # by another process, or the run was removed
        seq = self.head.count + 1
        line, too_long = self._line(seq, fields, payload), None
        if len(line.raw) > self._limit:
            too_long = len(line.raw)
            line = self._line(seq, *_cut(fields, payload, self._limit, too_long))
        self._write(line.raw, status.st_size, Head(self.head.writer, seq, line.hash))
        if time.monotonic() - self._durable_at >= _DURABLE_EVERY:
            self.sync()
        return too_long

    def _line(self, seq: int, fields: Mapping[str, Any], payload: Any) -> EncodedLine:  # noqa: ANN401
        whole = {"seq": seq, **fields, "writer": self.head.writer}
        return write_line(whole, payload, os.urandom(16).hex(), self.head.head)

    def _closed(self) -> StoreError:
        return StoreError(
            f"the journal {printable(self.path)} is closed", hint="record before the end of the run"
        )

    def _write(self, data: bytes, start: int, head: Head) -> None:
        self._begun = _Begun(start, data, head)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._settle()  # or before the next line, when the disk is too ill for that as well
            raise failure(error, self.path, "write the journal") from error
        self._written(self._begun)

    def _written(self, begun: _Begun) -> None:
        self.sha256.update(begun.data)
        self.head, self._begun = begun.head, None

    def _settle(self) -> None:
        """Make good a line that was interrupted: half a line is taken back, since the next one would continue it."""
        begun = self._begun
        if begun is None:
            return
        if os.fstat(self._descriptor).st_size >= begun.start + len(begun.data):
            self._written(begun)  # and only its writer was stopped
        else:
            os.ftruncate(self._descriptor, begun.start)
            self._begun = None

    def sync(self) -> None:
        """Make every line so far durable."""
        self._durable_at = time.monotonic()
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise failure(error, self.path, "make durable the journal") from error

    def end(self) -> None:
        """Take no more lines, from whichever thread; the lock is held on to."""
        self._ended = True
        with self._mutex:
            pass  # a line that was begun is written

    def close(self) -> None:
        """Let go of the journal and its lock."""
        self._ended = True
        with self._mutex:
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)


def _cut(
    fields: Mapping[str, Any],
    payload: Any,  # noqa: ANN401
    most: int,
    size: int,
) -> tuple[JsonObject, Any]:
    """The same in at most `most` bytes."""
    named = shortened(dict(fields), _LONGEST_FIELD) | {"truncated": {"original_bytes": size}}
    room = most - _ROOM_FOR_FIELDS
    return named, fitted(payload, room) if isinstance(payload, dict) else fitted({"": payload}, room)[""]


def _forget_in_child() -> None:
    """A forked child would keep its parent's lock alive, and must not write its parent's lines."""
    for writer in list(_writers):
        if writer._descriptor >= 0:  # noqa: SLF001 - of this module
            os.close(writer._descriptor)  # noqa: SLF001
            writer._descriptor = -1  # noqa: SLF001
        writer._mutex = threading.Lock()  # noqa: SLF001 - another thread of the parent may have held it
    _writers.clear()


os.register_at_fork(after_in_child=_forget_in_child)


def read_journal(path: str) -> Journal:
    """The journal in a file; raises an error that names it when it cannot be read, or is a link or a device."""
    try:
        data = read_regular(path)
    except OSError as error:
        raise failure(error, path, "read the journal") from error
    if data is None:
        raise StoreError(f"{printable(path)} is no regular file", hint="put the journal back")
    return parse(data)


def try_lock(path: str, *, shared: bool = False) -> int | None:
    """A descriptor holding the lock of a journal whose owner is gone; None when the owner lives.

    Raises OSError where the file system knows no locks.
    """
    descriptor = os.open(path, _READ)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_orphaned(path: str) -> bool:
    """Whether the process that its first line names is gone; for file systems without locks. False when unknown."""
    try:
        descriptor = os.open(path, _READ)
        try:
            first, newline, _ = os.pread(descriptor, _FIRST_LINE, 0).partition(b"\n")
        finally:
            os.close(descriptor)
    except OSError:
        return False
    for entry in parse(first + newline).entries:
        payload = entry.line.get("payload")
        payload = payload if isinstance(payload, dict) else {}
        process = payload.get("process") or (payload.get("generation") or {}).get("process")
        return isinstance(process, dict) and is_alive(process) is False
    return False
