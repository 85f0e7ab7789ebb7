"""Journals on disk: append-only, chained, one for each writer process.

`append` hands the line to the system before it returns, so the line survives the death of the process; every second, and at
closing, the journal is synced, so it survives a power cut as well. The owner of a run holds a lock on its journal for as long
as it lives: a free lock means that the owner is gone.

Invariant: a journal ends with a whole line, or with one torn line that is never continued; also when a write failed, or a
signal handler raised in the middle of one.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from runcard.documents.chain import (
    EncodedLine,
    Head,
    Journal,
    JournalStream,
    Line,
    first_link,
    parse,
    write_line,
)
from runcard.encoding import JsonObject
from runcard.encoding.shorten import fitted, shortened
from runcard.errors import StoreError
from runcard.files import (
    NotRegularFileError,
    failure,
    open_regular,
    printable,
    read_regular,
    write_all,
)
from runcard.files.locks import lock_open_file
from runcard.files.processes import is_alive
from runcard.store.locks import LOCK_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable

EVENT_LIMIT = 1 << 20  # bytes of the longest line, by default

_LONGEST_FIELD = 512  # characters of each field in a line that is cut
_ROOM_FOR_FIELDS = 16_384  # bytes
_SYNC_INTERVAL = 1.0  # seconds
_CREATE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_CONTINUE = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_BLOCK = 1 << 16  # bytes of a journal that are read at once
_FIRST_LINE_LIMIT = 4 << 20  # bytes to read for the first line

_writers: WeakSet["JournalWriter"] = WeakSet()


def new_writer() -> str:
    """A new unique name for a writer."""
    return f"w-{os.urandom(4).hex()}"


class _PendingLine(NamedTuple):
    """A line that is being written."""

    start: int  # offset in the file
    data: bytes
    line: Line  # the same, without what only the chain needs
    head: Head  # of the chain, once it is written


class ClosedJournalError(StoreError):
    """A line was added to a journal after its end."""


class JournalWriter:
    """The journal of one process; threads may share it."""

    def __init__(
        self,
        path: str,
        record_id: str,
        writer: str,
        *,
        lock: bool = False,
        mode: int = 0o666,
        limit: int = EVENT_LIMIT,
        after: Head | None = None,
    ) -> None:
        """Create a journal; with `after`, continue the one that ends so."""
        self.path = path
        self._limit = limit
        self.head = after or Head(writer, 0, first_link(record_id, writer))
        self.sha256 = hashlib.sha256()  # of all bytes written
        self.on_line: Callable[[Line], object] | None = None  # gets each line that is written; must not raise
        self._mutex = threading.Lock()
        self._pending: _PendingLine | None = None
        self._ended = False
        self._synced_at = time.monotonic()
        self._pid = os.getpid()
        self.has_lock = False
        try:
            self._descriptor = os.open(path, _CREATE if after is None else _CONTINUE, mode)
            self._opened = os.fstat(self._descriptor)
        except OSError as error:
            raise failure(error, path, "create the journal") from error
        if lock:
            self._lock()
        _writers.add(self)

    def _lock(self) -> None:
        try:
            self.has_lock = lock_open_file(self._descriptor, self.path, timeout=LOCK_TIMEOUT)
        except BaseException as error:
            os.close(self._descriptor)
            if isinstance(error, OSError):
                raise failure(error, self.path, "lock the journal") from error
            raise

    def append(self, fields: Mapping[str, Any], payload: Any) -> int | None:  # noqa: ANN401
        """Add a line; `fields` are its fields besides those of the chain.

        A line that is longer than the limit is cut: its field `truncated` has the original size, which is also returned.
        """
        if self._ended:  # checked before the mutex: a signal handler would wait for it for ever
            raise self._closed_error()
        with self._mutex:
            return self._append(fields, payload)

    def _append(self, fields: Mapping[str, Any], payload: Any) -> int | None:  # noqa: ANN401
        if self._ended or self._descriptor < 0 or self._pid != os.getpid():
            raise self._closed_error()
        try:
            self._finish_pending()
            status = self._status()
        except OSError as error:
            raise failure(error, self.path, "write the journal") from error
        if status.st_nlink == 0:
            raise self._closed_error()  # by another process, or the run was removed
        seq = self.head.count + 1
        line, original_size = self._line(seq, fields, payload), None
        if len(line.raw) > self._limit:
            original_size = len(line.raw)
            fields, payload = _cut(fields, payload, self._limit, original_size)
            line = self._line(seq, fields, payload)
        head = Head(self.head.writer, seq, line.hash)
        written = {**fields, "payload": payload, "seq": seq, "writer": head.writer, "hash": line.hash}
        self._write(_PendingLine(status.st_size, line.raw, written, head))
        if time.monotonic() - self._synced_at >= _SYNC_INTERVAL:
            self.sync()
        return original_size

    def copy_lines(self, blocks: Iterable[bytes]) -> None:
        """Add whole lines of other writers, as they are."""
        with self._mutex:
            try:
                for block in blocks:
                    write_all(self._descriptor, block)
                    self.sha256.update(block)
            except OSError as error:
                raise failure(error, self.path, "write the journal") from error

    def _line(self, seq: int, fields: Mapping[str, Any], payload: Any) -> EncodedLine:  # noqa: ANN401
        all_fields = {"seq": seq, **fields, "writer": self.head.writer}
        return write_line(all_fields, payload, os.urandom(16).hex(), self.head.head)

    def _closed_error(self) -> ClosedJournalError:
        return ClosedJournalError(
            f"the journal {printable(self.path)} is closed", hint="record before the run ends"
        )

    def _write(self, line: _PendingLine) -> None:
        self._pending = line
        try:
            rest = memoryview(line.data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._finish_pending()  # if the disk refuses that too: before the next line
            raise failure(error, self.path, "write the journal") from error
        self._advance(line)

    def _advance(self, line: _PendingLine) -> None:
        """Move the head of the chain to a line that is written."""
        self.sha256.update(line.data)
        if self.on_line is not None:
            self.on_line(line.line)
        self.head, self._pending = line.head, None

    def _finish_pending(self) -> None:
        """Finish a line whose writing was interrupted: remove a truncated one, since the next would continue it."""
        line = self._pending
        if line is None:
            return
        if self._status().st_size >= line.start + len(line.data):
            self._advance(line)  # it was written completely before the interruption
        else:
            os.ftruncate(self._descriptor, line.start)
            self._pending = None

    def sync(self) -> None:
        """Make every line durable (fsync)."""
        self._synced_at = time.monotonic()
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise failure(error, self.path, "sync the journal") from error

    @property
    def inode(self) -> int:
        """The number of the file."""
        return self._opened.st_ino

    def end(self) -> None:
        """Refuse further lines, from any thread; keep the lock."""
        self._ended = True
        with self._mutex:
            pass  # wait for a line that is being written

    @property
    def is_ended(self) -> bool:
        """Whether further lines are refused."""
        return self._ended

    @property
    def is_closed(self) -> bool:
        """Whether the file is closed, and its lock released."""
        return self._descriptor < 0

    def close(self) -> None:
        """Close the file and release the lock."""
        self._ended = True
        with self._mutex:
            self._close_descriptor()

    def _close_descriptor(self) -> None:
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):  # closed by the program
                self._status()
                os.close(self._descriptor)
            self._descriptor = -1

    def _status(self) -> os.stat_result:
        """The status of the file; OSError if the program has closed it, as daemons do: the number may be another file's."""
        status = os.fstat(self._descriptor)
        if not os.path.samestat(status, self._opened):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return status


def _cut(
    fields: Mapping[str, Any],
    payload: Any,  # noqa: ANN401
    limit: int,
    size: int,
) -> tuple[JsonObject, Any]:
    """The fields and the payload of a line of `size` bytes, cut to at most `limit` bytes."""
    short_fields = shortened(dict(fields), _LONGEST_FIELD) | {"truncated": {"original_bytes": size}}
    room = limit - _ROOM_FOR_FIELDS
    return short_fields, fitted(payload, room) if isinstance(payload, dict) else fitted({"": payload}, room)[
        ""
    ]


def _forget_in_child() -> None:
    """A forked child would keep its parent's lock alive, and must not write its parent's lines."""
    for writer in list(_writers):
        writer._close_descriptor()  # noqa: SLF001 - of this module
        writer._mutex = threading.Lock()  # noqa: SLF001 - another thread of the parent may have held it
    _writers.clear()


os.register_at_fork(after_in_child=_forget_in_child)


def read_journal(path: str) -> Journal:
    """Read a journal; raises an error that names the file if it is unreadable, a link or a device."""
    try:
        data = read_regular(path)
    except OSError as error:
        raise failure(error, path, "read the journal") from error
    if data is None:
        raise _not_regular(path)
    return parse(data)


def stream_journal(path: str) -> JournalStream:
    """A journal to be read line by line, as often as needed; iterating it raises the errors of `read_journal`."""
    return JournalStream(lambda: read_blocks(path))


def read_blocks(path: str) -> Iterator[bytes]:
    """The bytes that a journal has now; what is appended meanwhile is not read."""
    descriptor = open_journal(path)
    try:
        left = os.fstat(descriptor).st_size
        while left and (block := os.read(descriptor, min(_BLOCK, left))):
            left -= len(block)
            yield block
    except OSError as error:
        raise failure(error, path, "read the journal") from error
    finally:
        os.close(descriptor)


def open_journal(path: str) -> int:
    """A descriptor to read a journal from; raises the errors of `read_journal`."""
    try:
        return open_regular(path)
    except NotRegularFileError:
        raise _not_regular(path) from None
    except OSError as error:
        raise failure(error, path, "read the journal") from error


def _not_regular(path: str) -> StoreError:
    return StoreError(f"{printable(path)} is not a regular file", hint="restore the journal")


def try_lock(path: str, *, shared: bool = False) -> int | None:
    """A descriptor holding the lock of a journal whose owner is gone; None when the owner is alive.

    Raises OSError where the file system has no locks.
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
    """Whether the process that the first line of a journal names is gone; for file systems without locks. False if unknown."""
    try:
        descriptor = os.open(path, _READ)
        try:
            first, newline, _ = os.pread(descriptor, _FIRST_LINE_LIMIT, 0).partition(b"\n")
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
