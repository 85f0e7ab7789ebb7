"""Lines of journals that are too long for memory: where they are in their files, and how they are read again.

Invariant: the lines that are read are those that were found. If a file was changed in between, reading raises an error.
"""

import os
from array import array
from collections.abc import Iterator

from runcard.documents.chain import JournalEntry, JournalStream
from runcard.errors import StoreError
from runcard.files import failure, printable
from runcard.store.journal import open_journal

_BLOCK = 1 << 16


class JournalSource:
    """A journal whose lines are read, and read again. While it is open, they can be read even if the file is removed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.has_lines = False  # whether lines are to be read again
        self._descriptor = -1
        self._descriptor = open_journal(path)
        self._opened = os.fstat(self._descriptor)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; it is opened again for each block."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def blocks(self, start: int = 0, end: int | None = None, size: int = _BLOCK) -> Iterator[bytes]:
        """The bytes between two offsets; what is appended after the journal was opened is not read."""
        end = self._opened.st_size if end is None else end
        while start < end:
            block = self._read(min(size, end - start), start)
            if not block:
                return
            yield block
            start += len(block)

    def _read(self, size: int, offset: int) -> bytes:
        is_open = self._descriptor >= 0
        descriptor = self._descriptor if is_open else open_journal(self.path)
        try:
            if not is_open and not os.path.samestat(os.fstat(descriptor), self._opened):
                raise self.changed()
            return os.pread(descriptor, size, offset)
        except OSError as error:
            raise failure(error, self.path, "read the journal") from error
        finally:
            if not is_open:
                os.close(descriptor)

    def changed(self) -> StoreError:
        message = f"{printable(self.path)} was changed while the run was closed"
        return StoreError(message, hint="end the program that changes it, and close the run again")


class WriterLines:
    """The lines of one writer, in the order of their numbers: the first in memory, then those in files, then new ones."""

    def __init__(self, writer: str) -> None:
        self._writer = writer
        self._last = 0  # the number of the last line
        self._kept: list[JournalEntry] = []
        self._added: list[JournalEntry] = []
        self._sources: list[JournalSource] = []
        self._places = array(
            "Q"
        )  # of lines that follow each other: the source, start, end and number of lines

    def is_next(self, entry: JournalEntry) -> bool:
        """Whether a line follows those that are known; if not, it is one of them."""
        return not (self._kept or self._places or self._added) or entry.line["seq"] > self._last

    def keep(self, entry: JournalEntry) -> None:
        self._kept.append(entry)
        self._last = entry.line["seq"]

    def add(self, entry: JournalEntry) -> None:
        """Add a line that is in no file yet, after all others."""
        self._added.append(entry)
        self._last = entry.line["seq"]

    def add_place(self, entry: JournalEntry, source: JournalSource, start: int, end: int) -> None:
        """Add a line that is to be read from its file."""
        self.add_places(source, start, end, 1, last=entry.line["seq"])

    def add_places(self, source: JournalSource, start: int, end: int, count: int, *, last: int) -> None:
        """Add lines that follow each other in a file, to be read from it; `last` is the number of the last one."""
        if not self._sources or self._sources[-1] is not source:
            self._sources.append(source)
            source.has_lines = True
        place = len(self._sources) - 1
        if self._places and (self._places[-4], self._places[-2]) == (place, start):
            self._places[-2] = end
            self._places[-1] += count
        else:
            self._places.extend((place, start, end, count))
        self._last = last

    def read(self, block_size: int) -> Iterator[JournalEntry]:
        """All lines."""
        yield from self._kept
        numbers = iter(self._places)
        for place, start, end, count in zip(numbers, numbers, numbers, numbers, strict=True):
            yield from self._read_place(self._sources[place], start, end, count, block_size)
        yield from self._added

    def _read_place(
        self, source: JournalSource, start: int, end: int, count: int, block_size: int
    ) -> Iterator[JournalEntry]:
        for entry in JournalStream(lambda: source.blocks(start, end, block_size)):
            if entry.line["writer"] != self._writer:
                raise source.changed()
            count -= 1
            yield entry
        if count:
            raise source.changed()
