"""Copying one file of any size, and finding out what is wrong with it.

Blocks are read, hashed and written; holes are hashed as zeros and stay holes. It reads as far as the file reached when it
was opened, so that a file that grows without end is copied all the same. It never maps a file into memory: one that
is cut meanwhile would kill the process.

Invariant: what was not copied leaves nothing in the target; what is wrong with the target is raised as MachineError.
"""

import errno
import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from stat import S_ISREG
from typing import NamedTuple

from runcard.errors import RuncardError
from runcard.files import encode_name, failure
from runcard.redaction import Masker
from runcard.store.copying.refusals import CHANGED, refusal, special_kind
from runcard.store.copying.results import CopiedFile, Redaction
from runcard.store.copying.worker import Folder, create, is_same, is_sparse, open_source

BLOCK = 256 * 1024  # large enough that a call costs little, small enough for the processor's cache
_ZEROS = bytes(BLOCK)
_LOOKED_AT = 8 * 1024  # a file is text when so much of its beginning has no NUL

OnBlock = Callable[[int], object]  # hears of each block, and may raise to stop


class NotCopiedError(Exception):
    """Something is wrong with the source; the text says what."""


class Outcome(NamedTuple):
    """A stored file, or None, what was masked in it, and what there is to say about it."""

    file: CopiedFile | None
    redactions: tuple[Redaction, ...] = ()
    remark: str | None = None


class Order(NamedTuple):
    """How files are copied: which permission bits are kept, whether text is masked, who may refuse a size."""

    kept_mode: int
    mask: bool
    refuse: Callable[[int, int], str | None]


class Places(NamedTuple):
    """The same place in the source and in the target."""

    source: Folder
    target: Folder

    def close(self) -> None:
        self.source.close()
        self.target.close()


def copy_closely(places: Places, path: str, expected: int, order: Order, on_block: OnBlock) -> Outcome:
    """Copy a file whose size was `expected` a moment ago; raises NotCopiedError or MachineError."""
    parent, _, name = encode_name(path).rpartition(b"/")
    try:
        descriptor = open_source(name, places.source.enter(parent))
    except OSError as error:
        raise NotCopiedError(refusal(error)) from error
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            raise NotCopiedError(f"was swapped for a {special_kind(status.st_mode)} before it was copied")
        if reason := order.refuse(status.st_size, expected):
            raise NotCopiedError(reason)
        return _copy_open(descriptor, status, places.target, path, order, on_block)
    finally:
        os.close(descriptor)


def _copy_open(
    descriptor: int, status: os.stat_result, target: Folder, path: str, order: Order, on_block: OnBlock
) -> Outcome:
    parent, _, name = encode_name(path).rpartition(b"/")
    try:
        folder = target.enter(parent)
        out = create(name, folder, status.st_mode & order.kept_mode)
    except OSError as error:
        raise failure(error, path, "write the copy of") from error
    try:
        try:
            transfer = Transfer(descriptor, out, path, on_block)
            outcome = transfer.run(status, mask=order.mask)
            os.utime(out, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(out)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    return outcome


class Transfer:
    """From one open file to another."""

    def __init__(self, source: int, target: int, path: str, on_block: OnBlock) -> None:
        self._source, self._target, self._path = source, target, path
        self._on_block = on_block
        self._buffer = memoryview(bytearray(BLOCK))
        self._stored = self._newlines = 0
        self._is_line_open = False

    @property
    def lines(self) -> int:
        """The lines of what was masked and stored: newlines, and a last line without one."""
        return self._newlines + self._is_line_open

    def run(self, status: os.stat_result, *, mask: bool) -> Outcome:
        """Copy all of it; `mask` masks it when it is text."""
        if mask and b"\0" not in self._read(_LOOKED_AT, 0):
            file, redactions = self.masked(status.st_size, Masker())
        else:
            file, redactions = self._as_it_is(status), ()
        return Outcome(file, redactions, self.remark(status))

    def remark(self, status: os.stat_result) -> str | None:
        """Whether the source is still what it was, and ended where it said."""
        grown = self._read(1, status.st_size)
        return None if not grown and is_same(status, os.fstat(self._source)) else CHANGED

    def masked(self, size: int, masker: Masker) -> tuple[CopiedFile, tuple[Redaction, ...]]:
        """Copy the first `size` bytes without their secrets."""
        source, stored = sha256(), sha256()
        for data in self._blocks(0, size):
            source.update(data)
            clean = masker.feed(bytes(data))
            stored.update(clean)
            self._append(clean)
        rest = masker.flush()
        stored.update(rest)
        self._append(rest)
        self._end()
        digest, before = stored.hexdigest(), source.hexdigest()
        file = CopiedFile(self._path, self._stored, digest, before if before != digest else None)
        return file, tuple(
            Redaction(rule, self._path, count) for rule, count in sorted(masker.counts.items())
        )

    def _as_it_is(self, status: os.stat_result) -> CopiedFile:
        hasher, reached = sha256(), 0
        for start, end in _data(self._source, status):
            for size in _steps(reached, start):  # a hole
                hasher.update(_ZEROS[:size])
                self._on_block(size)
            reached = start
            for data in self._blocks(start, end):
                hasher.update(data)
                self._write(data, reached)
                reached += len(data)
            if reached < end:  # it was cut
                break
        self._stored = reached
        self._end()
        return CopiedFile(self._path, reached, hasher.hexdigest())

    def _blocks(self, start: int, end: int) -> Iterator[memoryview]:
        try:
            os.lseek(self._source, start, os.SEEK_SET)
            while start < end and (count := os.readv(self._source, [self._buffer[: end - start]])):
                yield self._buffer[:count]
                start += count
                self._on_block(count)
        except OSError as error:
            raise NotCopiedError(refusal(error)) from error

    def _read(self, size: int, start: int) -> bytes:
        try:
            return os.pread(self._source, size, start)
        except OSError as error:
            raise NotCopiedError(refusal(error)) from error

    def _append(self, data: bytes) -> None:
        if data.count(0) < len(data):  # zeros are left out: a file with holes keeps them
            self._write(memoryview(data), self._stored)
        self._stored += len(data)
        self._newlines += data.count(b"\n")
        if data:
            self._is_line_open = not data.endswith(b"\n")

    def _write(self, data: memoryview, start: int) -> None:
        try:
            while data:
                count = os.pwrite(self._target, data, start)
                data, start = data[count:], start + count
        except OSError as error:
            raise self._failure(error) from error

    def _end(self) -> None:
        """Make it as long as it is, when it ends with a hole."""
        try:
            if os.fstat(self._target).st_size != self._stored:
                os.ftruncate(self._target, self._stored)
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> RuncardError:
        return failure(error, self._path, "write the copy of")


def _data(descriptor: int, status: os.stat_result) -> Iterator[tuple[int, int]]:
    """Where a file has data, from start to end; the last one is its end, empty behind a hole."""
    size = status.st_size
    if not is_sparse(status) or not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno != errno.ENXIO:  # no more data
                raise NotCopiedError(refusal(error)) from error
            start = end = size
        yield min(start, size), min(end, size)


def _steps(start: int, end: int) -> Iterator[int]:
    for at in range(start, end, BLOCK):
        yield min(BLOCK, end - at)
