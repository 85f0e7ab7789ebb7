"""`output.log`: what a command printed, as a file of its run that stays bounded, and true.

The first `HEAD` bytes are written as they come. Of what follows the last `TAIL` bytes are kept in memory, and written at
the end; a line in the log says so where the cut is. What the log is fed is made fit for it (masked) by a filter for each
stream, which sees the bytes in their order; what lies between head and tail nobody looks at.

The command is at home in the run's directory, and may write to the file or remove it. So everything goes to a second
file as well that has no name; when the log is found changed, it is the command's own file, and is kept as it is.

Invariants: no byte of the output reaches the disk but through its filter, and nothing that a filter still holds back at the
cut. A disk that is full stops the log, and nothing else.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from runcard.files import failure
from runcard.store import layout
from runcard.store.runs import name_clashes

MIB = 1 << 20
HEAD = 24 * MIB
TAIL = 8 * MIB

_LEAD = (
    64 * 1024
)  # bytes of each stream before the tail, for its filter: no secret that begins before them reaches into it
_STREAMS = 2
_PIECE = 1 << 18
_CREATE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Filter(Protocol):
    """What makes the bytes of one stream fit for the log; it may hold some back until it has seen more."""

    def feed(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class Kept(NamedTuple):
    """What became of the output."""

    total: int  # bytes that the command printed
    is_cut: bool
    trouble: str | None  # why the disk would not take the rest
    moved: str | None  # where the command's own file lies that was in the place of the log
    removed: bool  # whether the command removed the log


class OutputLog:
    """The log of one run."""

    def __init__(
        self, run: str, make_filter: Callable[[], Filter], *, head: int = HEAD, tail: int = TAIL
    ) -> None:
        self._run = run
        self._path = os.path.join(run, layout.OUTPUT)
        self._make_filter = make_filter
        self._filters: dict[str, Filter] = {}
        self._head, self._tail = head, tail
        self._total = 0
        self._late: deque[tuple[str, bytes]] = deque()  # what may be the tail
        self._late_size = 0
        self._is_cut = False
        self._trouble: str | None = None
        try:
            self._file = _Twofold(self._path)
        except OSError as error:
            raise failure(error, self._path, "create") from error

    def feed(self, stream: str, data: bytes) -> None:
        """Take what came from a stream."""
        room = max(0, self._head - self._total)
        self._total += len(data)
        if room:
            self._write(self._filter(stream).feed(data[:room]))
        if len(data) > room:
            self._late.append((stream, data[room:]))
            self._late_size += len(data) - room
            while self._late_size - len(self._late[0][1]) >= self._tail + _STREAMS * _LEAD:
                self._drop_first()

    def _filter(self, stream: str) -> Filter:
        return (
            self._filters.setdefault(stream, self._make_filter())
            if stream not in self._filters
            else self._filters[stream]
        )

    def _drop_first(self) -> None:
        if not self._is_cut:
            self._is_cut = True
            self._filters.clear()  # with what they hold back: it is cut in two, and cannot be judged any more
            self._say(
                f"left out from here on: this log has the first {_size(self._head)} of the output, and its end"
            )
        _, data = self._late.popleft()
        self._late_size -= len(data)

    def _say(self, text: str) -> None:
        self._write(f"\n[runcard: {text}]\n".encode())

    def _write(self, data: bytes) -> None:
        if self._trouble is None:
            try:
                self._file.write(data)
            except OSError as error:
                self._trouble = failure(error, self._path, "write").message

    def close(self) -> Kept:
        """Write the end. What the command has put in the place of the log goes aside."""
        if self._is_cut:
            self._say(f"{self._total:,} bytes in all; here are the last {_size(self._tail)}")
        for stream, data in self._end():
            self._write(self._filter(stream).feed(data))
        for each in self._filters.values():
            self._write(each.flush())
        moved, removed = None, False
        try:
            if not self._file.is_untouched():
                removed = not os.path.lexists(self._path)
                moved = None if removed else self._put_aside()
                self._file.copy_to(self._path)
        except OSError as error:
            self._trouble = self._trouble or failure(error, self._path, "write").message
        finally:
            self._file.close()
        return Kept(self._total, self._is_cut, self._trouble, moved, removed)

    def _end(self) -> Iterator[tuple[str, bytes]]:
        """What is still to be written; of a tail, the filters see a little more, to know where they are."""
        lead = dict.fromkeys((stream for stream, _ in self._late), _LEAD if self._is_cut else 0)
        for stream, data in self._late:
            ahead = lead[stream]
            if ahead:
                self._filter(stream).feed(data[:ahead])
                lead[stream] = max(0, ahead - len(data))
            yield stream, data[ahead:]

    def _put_aside(self) -> str:
        moves = name_clashes.places(self._run, [layout.OUTPUT])
        name_clashes.put_aside(self._run, moves)
        return moves[layout.OUTPUT]


def _size(count: int) -> str:
    return f"{count // MIB} MiB" if count >= MIB else f"{count:,} bytes"


class _Twofold:
    """A file with a name, which others may change, and the same without one."""

    def __init__(self, path: str) -> None:
        self._folder = layout.own_folder(layout.store_of(os.path.dirname(path)))
        self._path = path
        self._copy: int | None = None
        self._named = os.open(path, _CREATE, 0o666)
        self._seen = self._look()
        self._is_ours = True

    def write(self, data: bytes) -> None:
        if not data:
            return
        if self._copy is None:
            self._copy = _nameless(self._folder)
        _write_all(self._copy, data)
        self._is_ours = self._is_ours and self._look() == self._seen
        if self._is_ours:
            try:
                _write_all(self._named, data)
            finally:
                self._seen = self._look()

    def _look(self) -> tuple[int, int, bool]:
        status = os.fstat(self._named)
        return status.st_size, status.st_mtime_ns, status.st_nlink > 0

    def is_untouched(self) -> bool:
        """Whether the file with the name is the one that was written, and nobody else has written to it."""
        try:
            is_there = os.path.samestat(os.lstat(self._path), os.fstat(self._named))
        except OSError:
            return False
        return is_there and self._is_ours and self._look() == self._seen

    def copy_to(self, path: str) -> None:
        target = os.open(path, _CREATE, 0o666)
        try:
            if self._copy is not None:
                os.lseek(self._copy, 0, os.SEEK_SET)
                while piece := os.read(self._copy, _PIECE):
                    _write_all(target, piece)
        finally:
            os.close(target)

    def close(self) -> None:
        os.close(self._named)
        if self._copy is not None:
            os.close(self._copy)


def _nameless(folder: str) -> int:
    """A file without a name; where the system cannot make one, it loses its name at once."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except (AttributeError, OSError):
        path = os.path.join(folder, f".{layout.OUTPUT}.{os.urandom(4).hex()}.tmp")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.unlink(path)
        return descriptor


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
