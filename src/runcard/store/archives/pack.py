"""Packing a record: the same record always gives the same tar stream.

Files stand there in the order of their names as tar has them (a directory with `/` at its end, so that it comes right before
what is in it), without owners, with their permissions and their times in whole seconds. FIFOs, sockets and devices are left out, and named.
"""

import os
import stat
from collections.abc import Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from runcard.errors import StoreError
from runcard.files import FileKind, decode_name, encode_name, failure, printable, short_path, walk
from runcard.parallel.progress import Progress, file_counter
from runcard.parallel.worker import DirectoryCursor
from runcard.store import layout
from runcard.store.archives import tar
from runcard.store.archives.gzip_members import NO_HEADER, SIZE, MemberWriter
from runcard.store.archives.limits import LONGEST_PATH
from runcard.store.archives.tar import TarMember

_PADDING = bytes(tar.BLOCK)


class Packed(NamedTuple):
    """The result of packing."""

    sha256: str  # of the file
    tar_sha256: str
    bytes: int
    others: tuple[str, ...]  # FIFOs, sockets and devices, which were left out


def pack(record: str, name: str, descriptor: int, *, progress: Progress | None = None) -> Packed:
    """Write the archive of a record, with everything below one folder of this name, into an open file.

    The originals of its migrated documents, which its store keeps, are packed with it.
    """
    originals = _originals(record)
    top = os.open(record, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with MemberWriter(descriptor) as writer:
            packing = _Packing(top, encode_name(name), writer, progress)
            packing.begin()
            for path, kind in walk(record):
                if originals and encode_name(path) > encode_name(next(iter(originals))):
                    packing.add_originals(originals)
                    originals = {}
                packing.add(path, kind)
            packing.add_originals(originals)
            packing.end()
            digests = writer.finish()
            return Packed(*digests, writer.file_bytes, tuple(packing.others))
    except OSError as error:
        raise failure(error, os.fsdecode(error.filename or record), "archive") from error
    finally:
        os.close(top)


def _originals(record: str) -> dict[str, bytes]:
    if not layout.may_be_file(os.path.join(record, layout.AMENDMENTS)):
        return {}
    from runcard.store.originals import originals_to_pack  # noqa: PLC0415 - few records were amended

    return originals_to_pack(record)


class _Packing:
    """A record on its way into an archive."""

    def __init__(self, top: int, name: bytes, writer: MemberWriter, progress: Progress | None) -> None:
        self._top, self._name, self._writer, self._counter = top, name, writer, file_counter(progress)
        self._folder = DirectoryCursor(top)
        self._longest = LONGEST_PATH - len(decode_name(name)) - 1
        self._parts: list[bytes] = []
        self._filled, self._first = 0, NO_HEADER
        self._waiting: list[tuple[bytes, os.stat_result]] = []  # directories whose turn it is not yet
        self.others: list[str] = []

    def add(self, path: str, kind: FileKind) -> None:
        if len(path) > self._longest:
            raise _too_long(path)
        raw = encode_name(path)
        while self._waiting and self._waiting[0][0] < raw:
            self._add_directory(*heappop(self._waiting))
        if kind is FileKind.FILE:
            self._add_file(raw, path)
        elif kind is FileKind.OTHER:
            self.others.append(path)
        else:
            with short_path(self._top, path) as (place, rest):
                status = os.lstat(rest, dir_fd=place)
                target = os.readlink(rest, dir_fd=place) if kind is FileKind.SYMLINK else b""
            if kind is FileKind.DIRECTORY:
                heappush(self._waiting, (raw + b"/", status))
            else:
                self._begin(TarMember(tar.SYMLINK, self._named(raw), 0, 0o777, int(status.st_mtime), target))

    def add_originals(self, originals: Mapping[str, bytes]) -> None:
        """Add files that are not in the record's directory."""
        for path, data in originals.items():
            raw = encode_name(path)
            while self._waiting and self._waiting[0][0] < raw:
                self._add_directory(*heappop(self._waiting))
            self._begin(TarMember(tar.FILE, self._named(raw), len(data), 0o600, 0, b""))
            self._put(data + _PADDING[: -len(data) % tar.BLOCK])
            self._counter.add(1, len(data))

    def begin(self) -> None:
        self._add_directory(b"", os.fstat(self._top))

    def _add_directory(self, path: bytes, status: os.stat_result) -> None:
        mode = stat.S_IMODE(status.st_mode)
        self._begin(TarMember(tar.DIRECTORY, self._named(path), 0, mode, int(status.st_mtime), b""))

    def end(self) -> None:
        self._folder.close()
        while self._waiting:
            self._add_directory(*heappop(self._waiting))
        self._put(tar.END)
        self._flush()
        self._counter.finish()

    def _named(self, path: bytes) -> bytes:
        return b"%b/%b" % (self._name, path)

    def _add_file(self, raw: bytes, path: str) -> None:
        descriptor = self._folder.open(raw)
        try:
            status = os.fstat(descriptor)
            size = status.st_size
            if not stat.S_ISREG(status.st_mode):
                raise _unsteady(path)
            mode = stat.S_IMODE(status.st_mode)
            self._begin(TarMember(tar.FILE, self._named(raw), size, mode, int(status.st_mtime), b""))
            left = size
            while left:
                data = os.read(
                    descriptor, min(left + 1, SIZE)
                )  # one more than there should be: it may be growing
                left -= len(data)
                if not data or left < 0:
                    raise _unsteady(path)
                self._put(data)
                self._counter.add(0, len(data))
                self._counter.report()
            if size >= SIZE and os.read(descriptor, 1):
                raise _unsteady(path)
            if missing := -size % tar.BLOCK:
                self._put(_PADDING[:missing])
        finally:
            os.close(descriptor)
        self._counter.add(1, 0)

    def _begin(self, member: TarMember) -> None:
        if self._filled >= SIZE:
            self._flush()
        if self._first == NO_HEADER:
            self._first = self._filled
        self._put(tar.header(member))

    def _put(self, data: bytes) -> None:
        if self._filled + len(data) > 2 * SIZE:
            self._flush()
        self._parts.append(data)
        self._filled += len(data)

    def _flush(self) -> None:
        if self._parts:
            self._writer.add(b"".join(self._parts), self._first)
        self._parts, self._filled, self._first = [], 0, NO_HEADER


def _too_long(path: str) -> StoreError:
    return StoreError(
        f"a path in the record is longer than {LONGEST_PATH:,} characters, which no archive may have: {printable(path[:80])}…",
        hint="the record was left alone; keep it as a directory",
    )


def _unsteady(path: str) -> StoreError:
    return StoreError(
        f"{printable(path)} changed while it was archived", hint="try again when nothing writes there"
    )
