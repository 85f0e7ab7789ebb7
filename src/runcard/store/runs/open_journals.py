"""The events of an open run: those of all its writers, in whichever file they are.

The owner's journal has two names (see `directory`), and every other writer has a file of its own. An attempt to close the run
that was killed may have left a file in which all of them are already merged. And the user's program may have written to any
of these files, or replaced them. So lines are recognized by the run id in them, and a line that is found twice counts once.
Nothing here changes a file.

A run may have a million events: only the first lines are kept in memory. The others are read again from their files whenever
they are needed (see `journal_source`).
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from stat import S_ISREG
from typing import NamedTuple

from runcard.checksums.unstable_directory import is_concurrent_change
from runcard.documents.chain import Head, JournalEntry, JournalLines, JournalStream, merge, parse_line
from runcard.errors import StoreError
from runcard.store import layout
from runcard.store.append_only import read_tail
from runcard.store.journal import stream_journal
from runcard.store.runs.journal_source import JournalSource, WriterLines

_LINE_START = b'{"seq":'  # how a line of a journal begins, and so a torn one
_KEPT = 1 << 20  # bytes of lines that are kept in memory
_MOST_OPEN = 100  # files that stay open
_TAIL = 1 << 16  # bytes in which the last line is looked for first
_BLOCKS = 4 << 20  # bytes of all writers' blocks
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 11, 1 << 16

OnLine = Callable[[JournalEntry], object]


class JournalFile(NamedTuple):
    """A file that has the name of a journal."""

    name: str
    path: str
    torn: bytes  # an unfinished last line
    has_foreign_lines: bool  # whether it holds lines that no writer of this run wrote
    has_repeated_lines: (
        bool  # whether it holds lines of this run that were found before, in this file or another
    )


class OwnJournal(NamedTuple):
    """The journal of a recorder as it wrote it: a file with these bytes need not be parsed."""

    sha256: str
    head: Head


class OpenJournals:
    """All journals of an open run, and their lines. `on_line` gets each line as it is found, in the order of its writer.

    `own` is the journal that this process has written; its lines are read when they are needed, and not given to `on_line`.
    """

    def __init__(
        self, run: str, run_id: str | None, on_line: OnLine | None = None, *, own: OwnJournal | None = None
    ) -> None:
        self.run_id = run_id
        self.size = 0  # bytes of all lines
        self.sha256 = hashlib.sha256()  # of all lines in files, in the order in which they were found
        self.stays_readable = True  # whether lines can be read after their files are removed
        self._run = run
        self._on_line = on_line
        self._own = own
        self._kept = self._open = 0
        self._writers: dict[str, WriterLines] = {}
        files = (self._read(path) for path in _paths(run))
        self.files: tuple[JournalFile, ...] = tuple(file for file in files if file is not None)

    def __iter__(self) -> Iterator[JournalEntry]:
        """All lines in the order of time."""
        share = _BLOCKS // max(1, len(self._writers))
        block = min(max(share, _SMALLEST_BLOCK), _LARGEST_BLOCK)
        return merge(lines.read(block) for lines in self._writers.values())

    @property
    def lines(self) -> JournalLines:
        """The same, parsed; to be iterated as often as needed."""
        return JournalLines(self)

    @property
    def has_one_writer(self) -> bool:
        return len(self._writers) == 1

    def blocks(self) -> Iterator[bytes]:
        """The bytes of all lines in the order of time."""
        lines: list[bytes] = []
        size = 0
        for entry in self:
            lines += (entry.raw, b"\n")
            size += len(entry.raw) + 1
            if size >= _LARGEST_BLOCK:
                yield b"".join(lines)
                lines, size = [], 0
        yield b"".join(lines)

    def of_each_writer(self) -> Iterator[JournalEntry]:
        """All lines, writer by writer."""
        for name in list(self._writers):
            yield from self.of_writer(name)

    def of_writer(self, name: str) -> Iterator[JournalEntry]:
        lines = self._writers.get(name)
        return lines.read(_LARGEST_BLOCK) if lines is not None else iter(())

    def add(self, entry: JournalEntry) -> bool:
        """Add a line that is in no file yet; False if its number is taken."""
        lines = self._lines_of(entry.line["writer"])
        if not lines.is_next(entry):
            return False
        lines.add(entry)
        self.size += len(entry.raw) + 1
        return True

    def _lines_of(self, writer: str) -> WriterLines:
        if writer not in self._writers:
            self._writers[writer] = WriterLines(writer)
        return self._writers[writer]

    def _read(self, path: str) -> JournalFile | None:
        """Read a file; None when a process that is still running removed it since it was listed."""
        try:
            return self._read_file(path)
        except StoreError as error:
            if is_concurrent_change(error):
                return None
            raise

    def _read_file(self, path: str) -> JournalFile:
        source = JournalSource(path)
        name = os.path.basename(path) if os.path.dirname(path) == self._run else layout.JOURNAL
        if self._own is not None and not self._writers and self._add_own(source, self._own):
            self._open += 1
            return JournalFile(name, path, b"", has_foreign_lines=False, has_repeated_lines=False)
        stream = JournalStream(source.blocks)
        is_foreign = is_repeated = False
        for entry in stream:
            if entry.line.get("run_id") != self.run_id:
                is_foreign = True
            elif not self._add_line(entry, source, stream.offset):
                is_repeated = True
        if not source.has_lines or self._open == _MOST_OPEN:
            self.stays_readable = self.stays_readable and not source.has_lines
            source.close()
        else:
            self._open += 1
        is_torn_line = stream.torn.startswith(_LINE_START) or _LINE_START.startswith(stream.torn)
        is_foreign = is_foreign or bool(stream.damaged) or not is_torn_line
        torn = stream.torn if is_torn_line else b""
        return JournalFile(name, path, torn, is_foreign, is_repeated)

    def _add_own(self, source: JournalSource, own: OwnJournal) -> bool:
        """Add all lines of a file without parsing them; False if it is not the journal that this process has written."""
        digest, size = hashlib.sha256(), 0
        for block in source.blocks():
            digest.update(block)
            size += len(block)
        if digest.hexdigest() != own.sha256 or not own.head.count:
            return False
        self._lines_of(own.head.writer).add_places(source, 0, size, own.head.count, last=own.head.count)
        self.size, self.sha256 = size, digest
        return True

    def _add_line(self, entry: JournalEntry, source: JournalSource, offset: int) -> bool:
        """Add a line of this run; False if it was found before."""
        lines, size = self._lines_of(entry.line["writer"]), len(entry.raw) + 1
        if not lines.is_next(entry):
            return False
        if self._kept + size <= _KEPT:
            self._kept += size
            lines.keep(entry)
        else:
            self._kept = _KEPT  # the first lines only: a writer's are read in their order
            lines.add_place(entry, source, offset, offset + size)
        self.size += size
        self.sha256.update(entry.raw + b"\n")
        if self._on_line is not None:
            self._on_line(entry)
        return True


def find_run_id(run: str) -> str | None:
    """The id of a run according to the last line of the first of its journals that has one."""
    for path in _paths(run):
        try:
            run_id = _last_run_id(path)
        except StoreError as error:
            if not is_concurrent_change(error):
                raise
            continue
        if run_id is not None:
            return run_id
    return None


def _last_run_id(path: str) -> str | None:
    """The run id in the last line of a journal that can be parsed."""
    with contextlib.suppress(OSError):  # reported below
        tail = read_tail(path, _TAIL)
        whole = tail.split(b"\n")[1:-1] if len(tail) == _TAIL else tail.split(b"\n")[:-1]
        for raw in reversed(whole):
            line = parse_line(raw)
            if line is not None:
                return _text(line.get("run_id"))
    run_id = None
    for line in stream_journal(path).lines:
        run_id = _text(line.get("run_id"))
    return run_id


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _paths(run: str) -> list[str]:
    """The paths of the journals; the open mark first, unless it is the same file as one of the others."""
    journals, mark = layout.journals(run), layout.open_mark(run)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        status = os.lstat(mark)
        is_same = any(os.path.samestat(status, os.lstat(path)) for path in journals)
        if S_ISREG(status.st_mode) and status.st_size > 0 and not is_same:
            return [mark, *journals]
    return journals
