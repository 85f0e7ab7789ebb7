"""Copying one file of any size, and finding out what is wrong with it.

Blocks are read, searched for secrets, hashed and written; holes are hashed as zeros and stay holes. It reads as far as
the file reached when it was opened, so that a file that grows without end is copied all the same. It never maps a file
into memory: one that is cut meanwhile would kill the process.

Invariant: what was not copied leaves nothing in the target. What is wrong with one file raises NotCopiedError or OSError;
what is wrong with the store as a whole, such as a full disk, raises another RuncardError.
"""

import errno
import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from stat import S_ISREG
from typing import NamedTuple

from runcard.files import encode_name, failure
from runcard.masking import Masker
from runcard.masking.secret_scanner import SecretScanner, is_suspect
from runcard.store.sessions.copying.omission_reasons import (
    CHANGED,
    HOLDS_KEY,
    NotCopiedError,
    incomplete,
    not_stored,
    refusal,
    special_kind,
)
from runcard.store.sessions.copying.results import CopiedFile, Redaction
from runcard.store.sessions.copying.worker import (
    HEAD,
    Folder,
    close_reader,
    create,
    is_same,
    is_sparse,
    open_source,
    searchable,
)

BLOCK = 256 * 1024  # large enough that a call costs little, small enough for the processor's cache
_ZEROS = bytes(BLOCK)

OnBlock = Callable[[int], object]  # hears of each block, and may raise to stop


class Outcome(NamedTuple):
    """A stored file, or None, what was masked in it, and what there is to say about it."""

    file: CopiedFile | None
    redactions: tuple[Redaction, ...] = ()
    remark: str | None = None


class Order(NamedTuple):
    """How files are copied: permission bits that are kept, whether text is masked or scanned, who may refuse a size.

    `is_suspect` takes a first look at a text that is scanned.
    """

    kept_mode: int
    mask: bool
    scan: bool
    refuse: Callable[[int, int], str | None]
    is_suspect: Callable[[bytes], bool] = is_suspect


class Places(NamedTuple):
    """The same place in the source and in the target."""

    source: Folder
    target: Folder

    def close(self) -> None:
        self.source.close()
        self.target.close()


def copy_closely(places: Places, path: str, expected: int, order: Order, on_block: OnBlock) -> Outcome:
    """Copy a file whose size was `expected` a moment ago."""
    parent, _, name = encode_name(path).rpartition(b"/")
    descriptor = open_source(name, places.source.enter(parent))
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            raise NotCopiedError(f"was swapped for a {special_kind(status.st_mode)} before it was copied")
        if reason := order.refuse(status.st_size, expected):
            raise NotCopiedError(reason)
        return _copy_open(descriptor, status, places.target, path, order, on_block)
    finally:
        close_reader(descriptor)


def _copy_open(
    descriptor: int, status: os.stat_result, target: Folder, path: str, order: Order, on_block: OnBlock
) -> Outcome:
    parent, _, name = encode_name(path).rpartition(b"/")
    try:
        folder = target.enter(parent)
        out = create(name, folder, status.st_mode & order.kept_mode)
    except OSError as error:
        raise NotCopiedError(not_stored(error, path)) from error
    with Draft(out, name, folder, path):
        outcome = Transfer(descriptor, out, path, on_block).run(status, order)
        try:
            os.utime(out, ns=(status.st_atime_ns, status.st_mtime_ns))
        except OSError as error:
            remarks = (outcome.remark, incomplete(error, "times"))
            outcome = outcome._replace(remark="; ".join(filter(None, remarks)))
    return outcome


class Draft:
    """A new file in the target: closed at the end of the `with` block, and removed when anything in it or that fails."""

    def __init__(self, descriptor: int, name: str | bytes, folder: int | None, path: str) -> None:
        self._descriptor, self._name, self._folder, self._path = descriptor, name, folder, path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            close_reader(self._descriptor)
            self._remove()
            return
        try:
            os.close(self._descriptor)
        except OSError as error:  # a network disk says here that it did not take what was written
            self._remove()
            raise NotCopiedError(not_stored(error, self._path)) from error

    def _remove(self) -> None:
        try:
            os.unlink(self._name, dir_fd=self._folder)
        except OSError as error:  # half a file must not stay, and nothing else can be done about it
            raise failure(error, self._path, "remove the incomplete copy of") from error


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

    def run(self, status: os.stat_result, order: Order) -> Outcome:
        """Copy all of it; text is masked or scanned as the order says."""
        head = self._read(HEAD, 0) if order.mask or order.scan else b""
        if order.mask and 0 not in head:
            file, redactions = self.masked(status.st_size, Masker())
        else:
            file, redactions = self._as_it_is(status, _search(head, order)), ()
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

    def _as_it_is(self, status: os.stat_result, search: "Search | None") -> CopiedFile:
        hasher, reached = sha256(), 0
        for start, end in _data(self._source, status):
            for size in _steps(reached, start):  # a hole
                hasher.update(_ZEROS[:size])
                self._on_block(size)
            reached = start
            for data in self._blocks(start, end):
                hasher.update(data)
                if search is not None:
                    search.feed(data)
                self._write(data, reached)
                reached += len(data)
            if reached < end:  # it was cut
                break
        if search is not None:
            search.end()
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
            raise NotCopiedError(not_stored(error, self._path)) from error

    def _end(self) -> None:
        """Make it as long as it is, when it ends with a hole."""
        try:
            if os.fstat(self._target).st_size != self._stored:
                os.ftruncate(self._target, self._stored)
        except OSError as error:
            raise NotCopiedError(not_stored(error, self._path)) from error


class Search:
    """The search for secrets in a file that begins with `head`; raises NotCopiedError at the first one."""

    def __init__(self, head: bytes, scanner: SecretScanner) -> None:
        self._head, self._scanner = head, scanner

    def feed(self, data: memoryview) -> None:
        self._judge(self._scanner.feed(searchable(self._head, bytes(data)) or b""))

    def end(self) -> None:
        self._judge(self._scanner.flush())

    def _judge(self, rule: str | None) -> None:
        if rule is not None:
            raise NotCopiedError(f"{HOLDS_KEY} ({rule})")


def _search(head: bytes, order: Order) -> Search | None:
    is_searched = order.scan and searchable(head, b"") is not None
    return Search(head, SecretScanner(order.is_suspect)) if is_searched else None


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
