"""`output.log`: the output of a command, limited in size.

The first `HEAD` bytes are written as they come. Of the rest the last `TAIL` bytes are kept in memory and written at the end; a
line in the log marks the cut. A filter for each stream masks secrets on the way to the log; it sees the bytes in order. Bytes
between head and tail are dropped unseen.

The command may write to the log or remove it. So everything is also written to a second file without a name; a log that was
changed is taken for the command's own file and kept under another name, and the log is written again.

Invariants: output reaches the disk only through its filter, and nothing that a filter still holds back at the cut. A full
disk stops the log, and nothing else.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from runcard.files import failure
from runcard.store import layout
from runcard.store.runs.run_files import move_user_files, user_file_moves

MIB = 1 << 20
HEAD = 24 * MIB
TAIL = 8 * MIB

# Bytes of each stream before the tail that its filter sees: no secret that begins before them reaches into the tail.
_LEAD = 64 * 1024
_STREAMS = 2
_PIECE = 1 << 18
_CREATE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class OutputFilter(Protocol):
    """Masks the bytes of one stream; it may hold some back until it has seen more."""

    def feed(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class LogResult(NamedTuple):
    """How the log ended."""

    total: int  # bytes that the command printed
    is_cut: bool
    write_error: str | None  # why the rest could not be written
    moved_to: str | None  # where the command's own file is that had the name of the log
    was_removed: bool  # whether the command removed the log


class OutputLog:
    """The log of one run."""

    def __init__(
        self, run: str, make_filter: Callable[[], OutputFilter], *, head: int = HEAD, tail: int = TAIL
    ) -> None:
        self._run = run
        self._path = os.path.join(run, layout.OUTPUT)
        self._make_filter = make_filter
        self._filters: dict[str, OutputFilter] = {}
        self._head, self._tail = head, tail
        self._total = 0
        self._tail_pieces: deque[tuple[str, bytes]] = deque()  # stream and bytes after the head
        self._tail_size = 0
        self._is_cut = False
        self._write_error: str | None = None
        try:
            self._file = _GuardedFile(self._path)
        except OSError as error:
            raise failure(error, self._path, "create") from error

    def feed(self, stream: str, data: bytes) -> None:
        """Log what came from a stream."""
        room = max(0, self._head - self._total)
        self._total += len(data)
        if room:
            self._write(self._filter(stream).feed(data[:room]))
        if len(data) > room:
            self._tail_pieces.append((stream, data[room:]))
            self._tail_size += len(data) - room
            while self._tail_size - len(self._tail_pieces[0][1]) >= self._tail + _STREAMS * _LEAD:
                self._drop_first()

    def _filter(self, stream: str) -> OutputFilter:
        if stream not in self._filters:
            self._filters[stream] = self._make_filter()
        return self._filters[stream]

    def _drop_first(self) -> None:
        if not self._is_cut:
            self._is_cut = True
            self._filters.clear()  # with what they hold back: it is cut in two, and may be half a secret
            self._write_note(
                f"left out from here on: this log has the first {_size(self._head)} of the output, and its end"
            )
        _, data = self._tail_pieces.popleft()
        self._tail_size -= len(data)

    def _write_note(self, text: str) -> None:
        self._write(f"\n[runcard: {text}]\n".encode())

    def _write(self, data: bytes) -> None:
        if self._write_error is None:
            try:
                self._file.write(data)
            except OSError as error:
                self._write_error = failure(error, self._path, "write").message

    def close(self) -> LogResult:
        """Write the tail. A file that the command put in the place of the log is moved."""
        if self._is_cut:
            self._write_note(f"{self._total:,} bytes in all; here are the last {_size(self._tail)}")
        for stream, data in self._remaining():
            self._write(self._filter(stream).feed(data))
        for output_filter in self._filters.values():
            self._write(output_filter.flush())
        moved_to, was_removed = None, False
        try:
            if not self._file.is_untouched():
                was_removed = not os.path.lexists(self._path)
                moved_to = None if was_removed else self._move_user_file()
                self._file.copy_to(self._path)
        except OSError as error:
            self._write_error = self._write_error or failure(error, self._path, "write").message
        finally:
            self._file.close()
        return LogResult(self._total, self._is_cut, self._write_error, moved_to, was_removed)

    def release(self) -> None:
        """Close the files of a log that is not closed, and leave them as they are."""
        self._file.close()

    def _remaining(self) -> Iterator[tuple[str, bytes]]:
        """The rest to write; before a tail the filters are fed a little more, to find secrets that reach into it."""
        lead = dict.fromkeys((stream for stream, _ in self._tail_pieces), _LEAD if self._is_cut else 0)
        for stream, data in self._tail_pieces:
            ahead = lead[stream]
            if ahead:
                self._filter(stream).feed(data[:ahead])
                lead[stream] = max(0, ahead - len(data))
            yield stream, data[ahead:]

    def _move_user_file(self) -> str:
        moves = user_file_moves(self._run, [layout.OUTPUT])
        move_user_files(self._run, moves)
        return moves[layout.OUTPUT]


def _size(count: int) -> str:
    return f"{count // MIB} MiB" if count >= MIB else f"{count:,} bytes"


class _GuardedFile:
    """A file that others may change, with a copy of it that has no name."""

    def __init__(self, path: str) -> None:
        self._folder = layout.own_folder(layout.store_of(os.path.dirname(path)))
        self._path = path
        self._copy: int | None = None
        self._named = os.open(path, _CREATE, 0o666)
        self._state = self._current_state()
        self._is_ours = True

    def write(self, data: bytes) -> None:
        if not data:
            return
        if self._copy is None:
            self._copy = _open_nameless(self._folder)
        _write_all(self._copy, data)
        self._is_ours = self._is_ours and self._current_state() == self._state
        if self._is_ours:
            try:
                _write_all(self._named, data)
            finally:
                self._state = self._current_state()

    def _current_state(self) -> tuple[int, int, bool]:
        status = os.fstat(self._named)
        return status.st_size, status.st_mtime_ns, status.st_nlink > 0

    def is_untouched(self) -> bool:
        """Whether the named file is the one that was created, and only this process has written to it."""
        try:
            is_there = os.path.samestat(os.lstat(self._path), os.fstat(self._named))
        except OSError:
            return False
        return is_there and self._is_ours and self._current_state() == self._state

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
        if self._named >= 0:
            os.close(self._named)
            self._named = -1
        if self._copy is not None:
            os.close(self._copy)
            self._copy = None


def _open_nameless(folder: str) -> int:
    """A file without a name; where the system cannot create one, a file that is unlinked at once."""
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
