"""Copy one file of any size, block by block: read, search for secrets or mask, hash, write.

Holes are hashed as zeros and stay holes. A file is copied up to the size that it had when it was opened, so that a file
that grows for ever is copied too. It is never mapped into memory: truncating it then would kill the process.

Invariant: a file that was not copied leaves nothing in the target. An error with one file raises NotCopiedError or OSError;
an error with the whole store, such as a full disk, raises another RuncardError.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from stat import S_ISREG
from typing import NamedTuple

from runcard.files import encode_name, failure, type_name
from runcard.masking import Masker
from runcard.masking.secret_scanner import SecretScanner, is_suspect
from runcard.parallel.worker import (
    TEXT_SAMPLE,
    DirectoryCursor,
    close_reader,
    create_file,
    is_sparse,
    is_unchanged,
    open_source,
    searchable_text,
)
from runcard.store.sessions.copying.omission_reasons import (
    CHANGED,
    HAS_KEY,
    NotCopiedError,
    attribute_failure,
    read_failure,
    write_failure,
)
from runcard.store.sessions.copying.results import CopiedFile, Redaction
from runcard.store.sessions.copying.selection import is_configuration

BLOCK = 256 * 1024  # large enough that a call costs little, small enough for the processor's cache
_ZEROS = bytes(BLOCK)

OnBlock = Callable[[int], object]  # called with the size of each block; may raise to stop


class TransferResult(NamedTuple):
    """The stored file or None, what was masked in it, and the reason why it is not stored or not complete."""

    file: CopiedFile | None
    redactions: tuple[Redaction, ...] = ()
    remark: str | None = None


class TransferOptions(NamedTuple):
    """How files are copied: the permission bits to keep, and whether text is masked or searched for secrets.

    `reserve` is called with the size of an open file and the size that was expected; it may return a reason not to store
    it. `is_suspect` is the first, fast search for secrets.
    """

    kept_mode: int
    mask: bool
    scan: bool
    reserve: Callable[[int, int], str | None]
    is_suspect: Callable[[bytes], bool] = is_suspect


def copy_file(
    source: DirectoryCursor,
    target: DirectoryCursor,
    path: str,
    expected: int,
    options: TransferOptions,
    on_block: OnBlock,
) -> TransferResult:
    """Copy a file whose size was `expected` a moment ago."""
    parent, _, name = encode_name(path).rpartition(b"/")
    descriptor = open_source(name, source.enter(parent))
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            raise NotCopiedError(f"was replaced by a {type_name(status.st_mode)} before it was copied")
        if reason := options.reserve(status.st_size, expected):
            raise NotCopiedError(reason)
        return _copy_open(descriptor, status, target, path, options, on_block)
    finally:
        close_reader(descriptor)


def _copy_open(
    descriptor: int,
    status: os.stat_result,
    target: DirectoryCursor,
    path: str,
    options: TransferOptions,
    on_block: OnBlock,
) -> TransferResult:
    parent, _, name = encode_name(path).rpartition(b"/")
    try:
        directory = target.enter(parent)
        out = create_file(name, directory, status.st_mode & options.kept_mode)
    except OSError as error:
        raise NotCopiedError(write_failure(error, path)) from error
    with NewCopy(out, name, directory, path):
        result = FileTransfer(descriptor, out, path, on_block).run(status, options)
        try:
            os.utime(out, ns=(status.st_atime_ns, status.st_mtime_ns))
        except OSError as error:
            remarks = (result.remark, attribute_failure(error, "times"))
            result = result._replace(remark="; ".join(filter(None, remarks)))
    return result


class NewCopy:
    """A new file in the target: closed at the end of the `with` block, and removed when the block or closing fails."""

    def __init__(self, descriptor: int, name: str | bytes, directory: int | None, path: str) -> None:
        self._descriptor, self._name, self._directory, self._path = descriptor, name, directory, path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            close_reader(self._descriptor)
            self._remove()
            return
        try:
            os.close(self._descriptor)
        except OSError as error:  # a network disk reports here that it did not store the data
            self._remove()
            raise NotCopiedError(write_failure(error, self._path)) from error

    def _remove(self) -> None:
        try:
            os.unlink(self._name, dir_fd=self._directory)
        except OSError as error:  # half a file must not stay, and there is no other remedy
            raise failure(error, self._path, "remove the incomplete copy of") from error


class FileTransfer:
    """Copies from one open file to another."""

    def __init__(self, source: int, target: int, path: str, on_block: OnBlock) -> None:
        self._source, self._target, self._path = source, target, path
        self._on_block = on_block
        self._buffer = memoryview(bytearray(BLOCK))
        self._stored = self._newlines = 0
        self._is_line_open = False

    @property
    def lines(self) -> int:
        """The lines of the masked text: newlines, and a last line without one."""
        return self._newlines + self._is_line_open

    def run(self, status: os.stat_result, options: TransferOptions) -> TransferResult:
        """Copy the whole file; text is masked or searched as the options say, and configurations both."""
        head = self._read(TEXT_SAMPLE, 0) if options.mask or options.scan else b""
        search, in_configuration = _secret_search(head, options), is_configuration(self._path)
        redactions: tuple[Redaction, ...] = ()
        if 0 in head or not (options.mask or (options.scan and in_configuration)):
            file = self._copy_unmasked(status, search)
        else:
            blocks: Iterable[bytes] = map(bytes, self._blocks(0, status.st_size))
            if search is not None and not options.mask:
                blocks = search.watch(blocks)
            masker = Masker(file_name=self._path if in_configuration else "")
            file, redactions = self.write_masked(blocks, masker)
        return TransferResult(file, redactions, self.change(status))

    def change(self, status: os.stat_result) -> str | None:
        """The reason when the source has changed since `status`."""
        grown = self._read(1, status.st_size)
        return None if not grown and is_unchanged(status, os.fstat(self._source)) else CHANGED

    def copy_masked(self, size: int, masker: Masker) -> tuple[CopiedFile, tuple[Redaction, ...]]:
        """Copy the first `size` bytes with their secrets masked."""
        return self.write_masked(map(bytes, self._blocks(0, size)), masker)

    def write_masked(
        self, blocks: Iterable[bytes], masker: Masker
    ) -> tuple[CopiedFile, tuple[Redaction, ...]]:
        """Write these blocks with their secrets masked."""
        source, stored = sha256(), sha256()
        for data in blocks:
            source.update(data)
            masked = masker.feed(data)
            stored.update(masked)
            self._append(masked)
        rest = masker.flush()
        stored.update(rest)
        self._append(rest)
        self._set_length()
        digest, before = stored.hexdigest(), source.hexdigest()
        file = CopiedFile(self._path, self._stored, digest, before if before != digest else None)
        return file, tuple(
            Redaction(rule, self._path, count) for rule, count in sorted(masker.counts.items())
        )

    def _copy_unmasked(self, status: os.stat_result, search: "SecretSearch | None") -> CopiedFile:
        hasher, reached = sha256(), 0
        for start, end in _data_ranges(self._source, status):
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
            if reached < end:  # it was truncated
                break
        if search is not None:
            search.end()
        self._stored = reached
        self._set_length()
        return CopiedFile(self._path, reached, hasher.hexdigest())

    def _blocks(self, start: int, end: int) -> Iterator[memoryview]:
        try:
            os.lseek(self._source, start, os.SEEK_SET)
            while start < end and (count := os.readv(self._source, [self._buffer[: end - start]])):
                yield self._buffer[:count]
                start += count
                self._on_block(count)
        except OSError as error:
            raise NotCopiedError(read_failure(error)) from error

    def _read(self, size: int, start: int) -> bytes:
        try:
            return os.pread(self._source, size, start)
        except OSError as error:
            raise NotCopiedError(read_failure(error)) from error

    def _append(self, data: bytes) -> None:
        if data.count(0) < len(data):  # zeros are not written, so that holes stay holes
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
            raise NotCopiedError(write_failure(error, self._path)) from error

    def _set_length(self) -> None:
        """Extend the copy to its full length, when it ends with a hole."""
        try:
            if os.fstat(self._target).st_size != self._stored:
                os.ftruncate(self._target, self._stored)
        except OSError as error:
            raise NotCopiedError(write_failure(error, self._path)) from error


class SecretSearch:
    """The search for secrets in a file that begins with `head`; raises NotCopiedError at the first one."""

    def __init__(self, head: bytes, scanner: SecretScanner) -> None:
        self._head, self._scanner = head, scanner

    def feed(self, data: bytes | memoryview) -> None:
        self._check(self._scanner.feed(searchable_text(self._head, bytes(data)) or b""))

    def watch(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The blocks, searched one by one."""
        for data in blocks:
            self.feed(data)
            yield data
        self.end()

    def end(self) -> None:
        self._check(self._scanner.flush())

    def _check(self, rule: str | None) -> None:
        if rule is not None:
            raise NotCopiedError(f"{HAS_KEY} ({rule})")


def _secret_search(head: bytes, options: TransferOptions) -> SecretSearch | None:
    is_searched = options.scan and searchable_text(head, b"") is not None
    return SecretSearch(head, SecretScanner(options.is_suspect)) if is_searched else None


def _data_ranges(descriptor: int, status: os.stat_result) -> Iterator[tuple[int, int]]:
    """The ranges of a file that have data, as start and end; the last one, empty behind a hole, ends the file."""
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
                raise NotCopiedError(read_failure(error)) from error
            start = end = size
        yield min(start, size), min(end, size)


def _steps(start: int, end: int) -> Iterator[int]:
    for at in range(start, end, BLOCK):
        yield min(BLOCK, end - at)
