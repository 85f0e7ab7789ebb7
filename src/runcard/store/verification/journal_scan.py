"""One reading of a record's journal, from its beginning to its end: its digest, its chains, and its lines for the fold.

Nothing is kept of a line but what a finding needs, so a journal may be longer than the memory. A scan refers neither to
itself nor, when it is finished, to its user: so it is freed with its record, and many records take no more memory than one.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import BinaryIO, NamedTuple

from runcard.digests import Digest
from runcard.documents.chain import ChainChecker, ChainFault, Head, JournalStream, Line, is_withheld, unparsed

_BLOCK = 1 << 16  # bytes that are read at once

TORN = "the last line is truncated"  # a finding


class WithheldLine(NamedTuple):
    """A line without its payload."""

    number: int  # in the file, from 1
    writer: str
    seq: int


class _HashedBlocks:
    """The bytes of a file, which are hashed the first time that they are read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.hasher = sha256()
        self.size = 0
        self.are_hashed = False

    def read(self) -> Iterator[bytes]:
        self._file.seek(0)
        while block := self._file.read(_BLOCK):
            if not self.are_hashed:
                self.hasher.update(block)
                self.size += len(block)
            yield block


class JournalScan:
    """The lines of a journal. The first time that they are iterated, everything else about the journal is found out.

    `on_line` is called with each line, at that time.
    """

    def __init__(
        self,
        file: BinaryIO,
        record_id: str,
        on_line: Callable[[Line], object] | None = None,
        earlier_ids: Iterable[str] = (),
    ) -> None:
        self._on_line = on_line
        self._checker = ChainChecker(record_id, earlier_ids=earlier_ids)
        self._blocks = _HashedBlocks(file)
        self._stream = JournalStream(self._blocks.read)
        self._faults: list[ChainFault] = []
        self.withheld: list[WithheldLine] = []

    def __iter__(self) -> Iterator[Line]:
        if self._blocks.are_hashed:
            yield from self._stream.lines
            return
        for entry in self._stream:
            self._faults += self._checker.add(entry)
            if is_withheld(entry.line):
                self.withheld.append(WithheldLine(entry.number, entry.line["writer"], entry.line["seq"]))
            if self._on_line is not None:
                self._on_line(entry.line)
            yield entry.line
        self._blocks.are_hashed, self._on_line = True, None

    def finish(self) -> None:
        """Read what was not read yet."""
        if not self._blocks.are_hashed:
            for _ in self:
                pass

    @property
    def digest(self) -> Digest:
        return Digest("sha256", self._blocks.hasher.hexdigest())

    @property
    def size(self) -> int:
        """In bytes."""
        return self._blocks.size

    @property
    def heads(self) -> tuple[Head, ...]:
        return self._checker.heads

    @property
    def faults(self) -> tuple[ChainFault, ...]:
        return (*map(unparsed, self._stream.damaged), *self._faults)

    @property
    def is_torn(self) -> bool:
        """Whether the last line is unfinished."""
        return bool(self._stream.torn)
