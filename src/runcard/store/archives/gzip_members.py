"""The gzip members that an archive is made of, each with about 1 MiB of the tar stream.

A gzip file may have many members, one after the other, and any program reads them as one. Ours say more about themselves,
in the field that gzip leaves to others: how long they are, where their contents belong in the stream, and where in them
the first header of a file is. So they are packed and opened on all cores, one file is found without opening the rest, and
after a damaged member the next one is found again.

Invariants: no member makes us hold more than `LARGEST` bytes, whatever it claims; reading a file takes time in proportion
to its length, because every step moves forward and only `_MOST_REREAD` bytes are read twice.
"""

import hashlib
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

from runcard.files import write_all
from runcard.parallel import cores
from runcard.parallel.calls import CallThreads
from runcard.store.archives import deflate
from runcard.store.archives.source import ArchiveSource

if TYPE_CHECKING:
    from runcard.parallel.calls import ThreadCall

SIZE = 1 << 20  # bytes of the stream in one member, and at most a small file more
LARGEST = 1 << 22
NO_HEADER = 0xFFFFFFFF  # of a member that is a part of one large file

# Magic number, deflate, an extra field, no time, no flags, unknown system; length, name and inner length of that field.
_BEGIN = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + struct.pack("<H2sH", 24, b"RC", 20)
_HEADER = struct.Struct("<16sIIQI")  # then: how long the member is, and as in Block
_TRAILER = struct.Struct("<II")
_AHEAD = 4  # members for each core that are on their way
_STEP = 1 << 18
_FIRST_STEP = 1 << 12  # at the beginning of a member, which may be tiny: what follows it is read again
_MOST_REREAD = 1 << 28  # bytes, after members whose stated length is wrong
_MOST_EMPTY = 1000  # gzip members without contents in a file of another program


OnRead = Callable[[int, bytes], object]  # takes the offset of data that were read from the file, and the data


class Block(NamedTuple):
    """A piece of the tar stream."""

    offset: int  # of its member, in the file
    start: int  # of the piece, in the stream
    size: int
    first: int  # where in the piece the first header is, or NO_HEADER
    data: bytes | None  # None where the member is damaged
    is_whole: bool = True  # else the data are what could be saved of a damaged member, and may be wrong


class StreamHasher:
    """Hashes data in a thread, which several can share, and never falls far behind."""

    def __init__(self, thread: CallThreads) -> None:
        self._thread, self._most = thread, _AHEAD * cores()
        self._under_way: deque[ThreadCall[None]] = deque()
        self._hasher = hashlib.sha256()
        self._parts: list[bytes] = []  # small ones, which are hashed together
        self._size = 0  # of these

    def add(self, data: bytes) -> None:
        """Add data to the digest."""
        self._parts.append(data)
        self._size += len(data)
        if self._size >= _STEP:
            self._submit()

    def digest(self) -> str:
        """The digest of all data."""
        while self._under_way:
            self._under_way.popleft().result()
        parts, self._parts, self._size = self._parts, [], 0
        self._update(parts)
        return self._hasher.hexdigest()

    def _submit(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        self._under_way.append(self._thread.submit(partial(self._update, parts)))
        if len(self._under_way) > self._most:
            self._under_way.popleft().result()

    def _update(self, parts: list[bytes]) -> None:
        for part in parts:
            self._hasher.update(part)


class FileHasher(StreamHasher):
    """Hashes a file while somebody else reads it: in order, and what was left out is read here."""

    def __init__(self, source: ArchiveSource, thread: CallThreads) -> None:
        super().__init__(thread)
        self._source = source
        self.bytes = 0  # that were hashed

    def add_at(self, offset: int, data: bytes) -> None:
        """Add data that were read at an offset."""
        end = offset + len(data)
        if offset > self.bytes:
            self._catch_up(offset)
        if end > self.bytes:
            self.add(data if offset == self.bytes else data[self.bytes - offset :])
            self.bytes = end

    def finish(self) -> str:
        """The digest of the whole file."""
        self._catch_up(None)
        return self.digest()

    def _catch_up(self, end: int | None) -> None:
        """Read on to an offset, or to the end of the file."""
        while end is None or self.bytes < end:
            data = self._source.read(self.bytes, SIZE if end is None else min(SIZE, end - self.bytes))
            if not data:
                return
            self.add(data)
            self.bytes += len(data)


class MemberWriter:
    """Writes the tar stream, piece by piece, into an open file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._most = descriptor, _AHEAD * cores()
        self._threads, self._hashing = CallThreads(cores()), CallThreads(1)
        self._stream, self._file = StreamHasher(self._hashing), StreamHasher(self._hashing)
        self._under_way: deque[tuple[int, int, int, ThreadCall[bytes]]] = deque()
        self.stream_bytes = self.file_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for threads in (self._threads, self._hashing):
            threads.close()

    def add(self, data: bytes, first: int) -> None:
        """Hand over the next piece."""
        self._stream.add(data)
        packed = self._threads.submit(partial(_packed, data))
        self._under_way.append((self.stream_bytes, len(data), first, packed))
        self.stream_bytes += len(data)
        if len(self._under_way) > self._most:
            self._write()

    def finish(self) -> tuple[str, str]:
        """Write the rest; returns the digests of the file and of the stream."""
        while self._under_way:
            self._write()
        return self._file.digest(), self._stream.digest()

    def _write(self) -> None:
        start, size, first, packed = self._under_way.popleft()
        body = packed.result()
        member = _HEADER.pack(_BEGIN, _HEADER.size + len(body), size, start, first) + body
        self._file.add(member)
        self.file_bytes += len(member)
        write_all(self._descriptor, member)


def _packed(data: bytes) -> bytes:
    return deflate.compress(data) + _TRAILER.pack(deflate.crc32(data), len(data))


def read_blocks(
    source: ArchiveSource,
    offset: int = 0,
    *,
    last: int | None = None,
    ahead: int | None = None,
    salvage: bool = False,
    on_read: OnRead | None = None,
) -> Iterator[Block]:
    """The pieces of a tar stream in order, from the member at `offset` on; `ahead` are opened before they are asked for.

    Those after the member at `last` are not read. What another program packed is read as well, from its beginning only. With `salvage`, a damaged member gives what is
    left of it: for those who compare every file with its digest.
    """
    members = _Members(source, offset, last, on_read or _ignore)
    if offset == 0 and not members.are_ours:
        yield from _foreign(source, on_read or _ignore)
        return
    most = _AHEAD * cores() if ahead is None else ahead
    under_way: deque[ThreadCall[Block]] = deque()
    with closing(CallThreads(cores())) as threads:
        for block, raw in members:
            under_way.append(threads.submit(partial(_opened, block, raw, salvage=salvage)))
            if len(under_way) > most:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def _ignore(offset: int, data: bytes) -> None:
    pass


def _opened(block: Block, raw: bytes, *, salvage: bool) -> Block:
    """A piece with what its member holds."""
    if len(raw) < _HEADER.size + _TRAILER.size:
        return block._replace(is_whole=False)
    body, trailer = memoryview(raw)[_HEADER.size : -_TRAILER.size], raw[-_TRAILER.size :]
    data = deflate.expand(body, block.size)
    if data is not None and trailer == _TRAILER.pack(deflate.crc32(data), block.size):
        return block._replace(data=data)
    saved = deflate.salvage(body, block.size) if salvage else b""
    return block._replace(data=saved or None, is_whole=False)


class _Members:
    """The members of a file in order, not decompressed yet; and the gaps between them."""

    def __init__(self, source: ArchiveSource, offset: int, last: int | None, on_read: OnRead) -> None:
        self._source, self._offset, self._on_read = source, offset, on_read
        self._expected = None if offset else 0  # where the next piece should begin
        self._behind = offset  # where to look for the next member, when there is none where it should be
        self._reread = 0  # bytes that were read twice, because a member was shorter than its header states
        self._end = source.size if last is None else last + 1

    @property
    def are_ours(self) -> bool:
        """Whether runcard made this archive: also when the first member is damaged, another one is found."""
        return self._header(0) is not None or self._search() is not None

    def __iter__(self) -> Iterator[tuple[Block, bytes]]:
        while self._offset < self._end:
            member = self._header(self._offset) or self._search()
            if member is None or self._reread > _MOST_REREAD:
                yield Block(self._offset, self._expected or 0, 0, NO_HEADER, None), b""
                return
            length, block = member
            if self._expected is not None and block.start > self._expected:
                yield Block(self._behind, self._expected, block.start - self._expected, NO_HEADER, None), b""
            raw = self._source.read(block.offset, length)
            self._on_read(block.offset, raw)
            self._reread += max(self._offset - block.offset, 0)
            self._behind, self._offset = block.offset + 1, block.offset + length
            self._expected = block.start + block.size
            yield block, raw

    def _header(self, offset: int) -> tuple[int, Block] | None:
        """The length of the member that begins there, and its piece; None when none of ours begins there."""
        return self._parsed(self._source.read(offset, _HEADER.size), 0, offset)

    def _parsed(self, data: bytes, at: int, offset: int) -> tuple[int, Block] | None:
        if len(data) - at < _HEADER.size or not data.startswith(_BEGIN, at):
            return None
        _, length, size, start, first = _HEADER.unpack_from(data, at)
        is_sane = 0 < size <= LARGEST and _HEADER.size < length <= 2 * LARGEST
        if not is_sane or start < (self._expected or 0):
            return None
        return length, Block(offset, start, size, first, None)

    def _search(self) -> tuple[int, Block] | None:
        """The next member that can be found, whatever end the last one stated."""
        at = self._behind
        while chunk := self._source.read(at, _STEP + _HEADER.size):
            place = chunk.find(_BEGIN)
            while 0 <= place < _STEP:
                if (member := self._parsed(chunk, place, at + place)) is not None:
                    return member
                place = chunk.find(_BEGIN, place + 1)
            at += _STEP
        return None


def _foreign(source: ArchiveSource, on_read: OnRead) -> Iterator[Block]:
    """The stream of a .tar.gz that another program made; it ends with a block without data where it is damaged."""
    offset = start = empty = 0
    while rest := source.read(offset, _FIRST_STEP):
        on_read(offset, rest)
        worker, first = zlib.decompressobj(31), start
        while True:
            try:
                data = worker.decompress(rest, SIZE)
            except zlib.error:
                data, rest = b"", b""
            is_over = worker.eof
            # At the end of a member zlib can report what follows it twice: as unused, and as unconsumed.
            left = worker.unused_data if is_over else worker.unconsumed_tail
            offset += len(rest) - len(left)
            if data:
                yield Block(offset, start, len(data), NO_HEADER, data)
                start += len(data)
            if is_over or not (data or rest):  # the latter if the data is damaged, or cut
                break
            if not (rest := left):
                rest = source.read(offset, _STEP)
                on_read(offset, rest)
        empty += first == start
        if not is_over or empty > _MOST_EMPTY:
            yield Block(offset, start, 0, NO_HEADER, None)
            return
