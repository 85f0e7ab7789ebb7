"""A tar stream read member by member, past damaged parts.

Where a piece of the stream is lost, the next whole one says where its first header is: reading goes on there, and what lies
between is a gap, whose files the listing of the record can name.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from runcard.store.archives import tar
from runcard.store.archives.gzip_members import Block
from runcard.store.archives.tar import BLOCK, ExtraFields, TarError, TarMember

_MOST_EXTRA = 8  # records before one file
_MOST_PADDING = 1 << 20  # bytes of zeros after the end; `tar` writes up to 10 KiB by default


class LostError(Exception):
    """A piece of the stream that was asked for is damaged or not there."""


class Gap(NamedTuple):
    """Some of the stream was lost here."""

    reason: str | None = None  # where it is more than damage


class TarStream:
    """The members of a tar stream; the data of each can be read until the next one is asked for."""

    def __init__(self, blocks: Iterable[Block], *, skip_to_first: bool = False) -> None:
        self._blocks = iter(blocks)
        self._data, self._at = memoryview(b""), 0
        self._block: Block | None = None
        self._left = 0  # of the member: its data, and what fills up its last block
        self._is_lost = False  # whether a part of that was damaged
        self._skip_to_first = skip_to_first
        self.is_whole = False  # whether its end was seen
        self.extra_bytes = 0  # of the records that stood before headers

    @property
    def place(self) -> Block | None:
        """The piece in which the stream is now."""
        return self._block

    def __iter__(self) -> Iterator[TarMember | Gap]:
        if self._skip_to_first:
            self._skip_to_first = False
            if not self._recovered():
                return
        while True:
            try:
                member = self._next()
            except (LostError, TarError) as error:
                yield Gap(error.message if isinstance(error, TarError) else None)
                if not self._recovered():
                    return
                continue
            if member is None:
                self.is_whole = True
                return
            yield member

    def data(self, size: int) -> Iterator[memoryview]:
        """The data of the member that was given last; raises LostError where it is damaged."""
        while size:
            if self._at == len(self._data):
                self._load()
            piece = self._data[self._at : self._at + size]
            self._at += len(piece)
            self._left -= len(piece)
            size -= len(piece)
            yield piece

    def whole(self, size: int) -> memoryview | None:
        """All data of the member that was given last, when they are at hand in one piece."""
        end = self._at + size
        if end > len(self._data):
            return None
        piece = self._data[self._at : end]
        self._at = end
        self._left -= size
        return piece

    def ends_clean(self) -> bool:
        """Whether nothing but a moderate number of zeros follows the end; more than that is not read."""
        piece, left = self._data[self._at :], _MOST_PADDING
        while True:
            left -= len(piece)
            if left < 0 or any(piece):
                return False
            if (block := next(self._blocks, None)) is None:
                return True
            if block.data is None or not block.is_whole:
                return False
            piece = memoryview(block.data)

    def _next(self) -> TarMember | None:
        if self._is_lost:
            raise LostError
        self._skip(self._left)
        extra = None
        for _ in range(_MOST_EXTRA):
            member = tar.parse(self._take(BLOCK))
            if member is None:
                return None
            if not tar.is_extra(member):
                member = member if extra is None else tar.completed(member, extra)
                self._left = member.size + tar.padding(member.size) if member.kind == tar.FILE else 0
                return member
            data = self._take(member.size + tar.padding(member.size))
            self.extra_bytes += len(data)
            extra = tar.parse_extra(member, bytes(data[: member.size]), extra or ExtraFields())
        raise TarError("there are too many headers before one file")

    def _load(self) -> None:
        """The next piece; raises LostError when it is damaged, or there is none."""
        was_cut = (
            self._block is not None and len(self._data) < self._block.size
        )  # what was saved of it is over
        block = None if was_cut else next(self._blocks, None)
        if block is None or block.data is None:
            self._block, self._is_lost = None, True
            raise LostError
        self._block, self._data, self._at = block, memoryview(block.data), 0

    def _take(self, size: int) -> bytes | memoryview:
        if size <= len(self._data) - self._at:
            self._at += size
            return self._data[self._at - size : self._at]
        parts = []
        while size:
            if self._at == len(self._data):
                self._load()
            piece = self._data[self._at : self._at + size]
            self._at += len(piece)
            size -= len(piece)
            parts.append(piece)
        return b"".join(parts)

    def _skip(self, size: int) -> None:
        while size:
            if self._at == len(self._data):
                self._load()
            step = min(size, len(self._data) - self._at)
            self._at += step
            size -= step
        self._left = 0

    def _recovered(self) -> bool:
        """Go to the next header that is certain; False when there is none."""
        self._left, self._is_lost = 0, False
        for block in self._blocks:
            if block.data is not None and block.first < len(block.data):
                self._block, self._data, self._at = block, memoryview(block.data), block.first
                return True
        return False
