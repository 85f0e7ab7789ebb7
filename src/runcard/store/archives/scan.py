"""Scanning an archive: reading all of it once, and writing nothing.

Everything is hashed: each file, the tar stream and the archive itself. Hostile or damaged members are reported with their names, and
reading goes on. What it gives can be verified like a directory.

Invariant: a hostile archive cannot make us hold more than its names and its own documents, which are bounded. Names in the
order of their bytes, as in every archive that runcard made, and large documents are held on disk.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from runcard.checksums import Listing, Symlink
from runcard.checksums.comparison import ListingComparison, compare_hashed
from runcard.documents.findings import Finding, record_finding  # noqa: TC001
from runcard.errors import StoreError
from runcard.files import (
    FileKind,
    PathTable,
    WalkEntry,
    check_relative,
    decode_name,
    encode_name,
    failure,
    printable,
)
from runcard.parallel.calls import CallThreads
from runcard.parallel.progress import Progress, file_counter
from runcard.store import layout
from runcard.store.archives import tar
from runcard.store.archives.archived_documents import ArchivedDocuments
from runcard.store.archives.folder_tree import FolderTree
from runcard.store.archives.gzip_members import NO_HEADER, Block, FileHasher, StreamHasher, read_blocks
from runcard.store.archives.limits import (
    LARGEST_DOCUMENT,
    LONGEST_PATH,
    LONGEST_TARGET,
    MORE_THAN_LISTED,
    MOST_DOCUMENTS,
    MOST_EXTRA,
    MOST_FAULTS,
    MOST_MEMBERS,
    SHORTEST_LINE,
    ArchiveLimits,
    TooMuchError,
)
from runcard.store.archives.source import ArchiveSource, open_file
from runcard.store.archives.tar import TarMember
from runcard.store.archives.tar_stream import Gap, LostError, TarStream

KINDS = {tar.FILE: FileKind.FILE, tar.SYMLINK: FileKind.SYMLINK, tar.DIRECTORY: FileKind.DIRECTORY}
_DIGITS = 64  # of a digest
_LOST = "its bytes in the archive are damaged"


OpenSource = Callable[[], AbstractContextManager[ArchiveSource]]


_BEGINNING = 1 << 26  # bytes of a tar stream in which the first member that is not damaged is looked for


class MemberStart(NamedTuple):
    """Where a gzip member of the archive begins, and the first path in it."""

    offset: int
    path: str


class NoArchiveError(StoreError):
    """A file has nothing in it that could be read as an archive."""


class ArchiveContents:
    """The contents of an archive, by the paths below the record's own folder."""

    def __init__(self, path: str, name: str = "", open_source: "OpenSource | None" = None) -> None:
        self.path = path  # of the archive
        self.open_source: OpenSource = open_source or partial(open_file, path)
        self.name = name  # of the record
        self.entries: PathTable[str] = (
            PathTable()
        )  # the digest of a file; the kind of others, and of lost files
        self.files = 0  # that are not lost
        self.symlinks: list[Symlink] = []
        self.others: tuple[str, ...] = ()  # neither files nor directories nor links
        self.documents = ArchivedDocuments()
        self.problems: list[Finding] = []
        self.gaps: list[tuple[str, str | None]] = []  # members between these two paths are lost
        self.members: list[MemberStart] = []
        self.sha256 = self.tar_sha256 = ""
        self.file_bytes = self.bytes = 0

    def read(self, name: str) -> bytes | None:
        """A document of the record; None when there is none."""
        return self.documents.get(name)

    def kind(self, path: str) -> FileKind | None:
        """What is at a path; None if nothing is."""
        entry = self.entries.get(path)
        return None if entry is None else kind_of_entry(entry)

    def below(self, folder: str) -> "ArchiveContents":
        """The contents of a folder, as those of a record; for an archive without problems."""
        inner, start = ArchiveContents(self.path, os.path.basename(folder), self.open_source), len(folder) + 1
        inside = f"{folder}/"
        for path, entry in self.entries:
            if path.startswith(inside):
                inner.entries[path[start:]] = entry
                inner.files += kind_of_entry(entry) is FileKind.FILE
        inner.symlinks = [
            Symlink(link.path[start:], link.target) for link in self.symlinks if link.path.startswith(inside)
        ]
        inner.documents = self.documents.below(folder)
        return inner

    def compare(self, listing: Listing) -> ListingComparison:
        """How the files differ from a listing."""
        unreadable = {path: _LOST for path in listing if self._is_lost(path)} if self.gaps else {}
        entries = ((WalkEntry(path, kind_of_entry(entry)), entry) for path, entry in self.entries)
        differences = compare_hashed(entries, listing, layout.NOT_LISTED, unreadable)
        return ListingComparison(differences, tuple(self.symlinks), self.others)

    def _is_lost(self, path: str) -> bool:
        if (entry := self.entries.get(path)) is not None:
            return entry == FileKind.FILE
        raw = encode_name(path)
        return any(
            encode_name(after) < raw and (before is None or raw < encode_name(before))
            for after, before in self.gaps
        )


def kind_of_entry(entry: str) -> FileKind:
    """The kind of a path in the entries of an archive."""
    return FileKind.FILE if len(entry) == _DIGITS else FileKind(entry)


def _is_kept(path: str) -> bool:
    """Whether verification reads this file of a record."""
    return layout.is_document(path) or layout.is_archived_original(path)


def scan(
    path: str,
    *,
    name: str = "",
    max_size: int | None = None,
    max_members: int | None = None,
    is_kept: Callable[[str], bool] = _is_kept,
    progress: Progress | None = None,
    open_source: OpenSource | None = None,
) -> ArchiveContents:
    """Read an archive from end to end; `name` is that of the record, if it is known. `open_source` is for one that is not a file.

    What the files hold for which `is_kept` is true is in the result. Raises TooMuchError beyond the limits.
    """
    contents = ArchiveContents(path, name, open_source)
    limits = ArchiveLimits(max_size, max_members or MOST_MEMBERS, max_members is None)
    try:
        with contents.open_source() as source:
            return _Scan(contents, source, limits, is_kept, progress).run()
    except OSError as error:
        raise failure(error, path, "read the archive") from error


def first_folder(path: str) -> str | None:
    """The first folder that an archive names; None if its beginning names nothing."""
    with open_file(path) as source:
        beginning = takewhile(lambda block: block.start < _BEGINNING, read_blocks(source, ahead=0))
        stream = TarStream(beginning)
        first = next((member for member in stream if isinstance(member, TarMember)), None)
    return None if first is None else decode_name(first.path).partition("/")[0]


class _Scan:
    """An archive that is being read."""

    def __init__(
        self,
        contents: ArchiveContents,
        source: ArchiveSource,
        limits: ArchiveLimits,
        is_kept: Callable[[str], bool],
        progress: Progress | None,
    ) -> None:
        self._source, self._is_kept, self._counter = source, is_kept, file_counter(progress)
        self._max_size, self._most, self._can_grow = limits
        self._contents = contents
        self._last, self._raw = "", b""
        self._sorted = True
        self._document_bytes = 0
        self._accepted = 0  # members
        self._tree = FolderTree(contents.kind)
        self._is_damaged = False
        self._block: Block | None = None

    def run(self) -> ArchiveContents:
        contents = self._contents
        with closing(CallThreads(1)) as thread:
            whole, hasher = FileHasher(self._source, thread), StreamHasher(thread)
            blocks = read_blocks(self._source, salvage=True, on_read=whole.add_at)
            stream = TarStream(self._hashed(blocks, hasher))
            for number, member in enumerate(stream):
                if number > self._most:
                    self._allow_more(number)
                if isinstance(member, Gap):
                    self._lose(member.reason)
                    continue
                self._take(member, stream)
            has_more = stream.is_whole and not stream.ends_clean()
            contents.sha256, contents.file_bytes = whole.finish(), whole.bytes
            contents.tar_sha256 = hasher.digest()
        self._counter.finish()
        self._conclude(is_whole=stream.is_whole, has_more=has_more)
        return contents

    def _allow_more(self, number: int) -> None:
        """Allow as many members as the listing has lines; it may stand behind all of them."""
        if self._can_grow:
            self._can_grow = False
            if size := self._listing_size():
                self._most = max(self._most, size // SHORTEST_LINE + MORE_THAN_LISTED)
        if number > self._most:
            raise TooMuchError(f"more than {self._most:,} entries")

    def _listing_size(self) -> int:
        """The size of the record's listing; 0 when there is none that may be read."""
        path, passed = encode_name(f"{self._contents.name}/{layout.CHECKSUMS}"), 0
        for member in TarStream(read_blocks(self._source)):
            if isinstance(member, Gap):
                break
            passed += member.size
            if member.path == path and member.size <= LARGEST_DOCUMENT:
                return member.size
            if self._max_size is not None and passed > self._max_size:
                break
        return 0

    def _hashed(self, blocks: Iterator[Block], hasher: StreamHasher) -> Iterator[Block]:
        """The pieces, hashed on their way."""
        for block in blocks:
            if not block.is_whole:
                self._is_damaged = True
            if block.data is not None:
                hasher.add(block.data)
            yield block

    def _take(self, member: TarMember, stream: TarStream) -> None:
        path = self._path(member)
        if path is None:
            return
        named = path + "/" if member.kind == tar.DIRECTORY else path  # as it stands there
        if self._contents.gaps:
            self._close_gap(named)
        if stream.place is not self._block:
            self._place(named, stream)
        if (message := self._refusal(member, path)) is not None:
            self._add_problem("unexpected", path, message)
            return
        if self._sorted and member.path < self._raw:
            self._sorted = False
            self._contents.entries.hold()
        self._last, self._raw = named, member.path
        if stream.extra_bytes > MOST_EXTRA:
            raise TooMuchError(f"more than {MOST_EXTRA:,} bytes of long names")
        self._accepted += 1
        if member.kind == tar.FILE:
            self._take_file(member, path, stream)
        elif member.kind == tar.SYMLINK:
            self._contents.entries[path] = FileKind.SYMLINK
            self._contents.symlinks.append(Symlink(path, decode_name(member.target)))
            self._tree.count(len(member.target))
        else:
            self._contents.entries[path] = FileKind.DIRECTORY

    def _path(self, member: TarMember) -> str | None:
        """The path of a member below the record's own folder; None for that folder, and for a hostile one."""
        raw_path = decode_name(member.path.rstrip(b"/") if member.kind == tar.DIRECTORY else member.path)
        reason = check_relative(raw_path)
        top, slash, path = raw_path.partition("/")
        name = self._contents.name = self._contents.name or ("" if reason else top)
        if len(raw_path) > LONGEST_PATH:
            reason = f"it is longer than {LONGEST_PATH:,} characters"
        if reason is None and top != name:
            reason = f"it is outside of {printable(name)}"
        if reason is None and not slash and member.kind != tar.DIRECTORY:
            reason = "it is in the place of the record's folder"
        if reason is not None:
            self._add_problem("unexpected", raw_path, f"the path is refused: {reason}")
            return None
        return path or None

    def _refusal(self, member: TarMember, path: str) -> str | None:
        """Why a member must not be unpacked; None for a good one."""
        kind = KINDS.get(member.kind)
        if kind is None:
            return "it is a hard link, a device or the like: records have none"
        if path in self._contents.entries:
            return "it is in the archive twice"
        if kind is FileKind.SYMLINK and not _is_target(member.target):
            return "it is a link with an impossible target"
        if not self._tree.has_room(path, kind):
            return "a file or a link is in the place of a folder"
        return None

    def _take_file(self, member: TarMember, path: str, stream: TarStream) -> None:
        contents, size = self._contents, member.size
        contents.bytes += size
        if self._max_size is not None and contents.bytes > self._max_size:
            raise TooMuchError(f"more than {self._max_size:,} bytes")
        is_kept = self._is_kept(path)
        if is_kept:
            self._document_bytes += size
        if is_kept and (size > LARGEST_DOCUMENT or self._document_bytes > MOST_DOCUMENTS):
            raise TooMuchError(f"too large documents: {printable(path)} has {size:,} bytes")
        if (piece := stream.whole(size)) is not None:
            contents.entries[path] = hashlib.sha256(piece).hexdigest()
            self._counter.add(0, size)
            if is_kept:
                contents.documents[path] = bytes(piece)
        elif not self._take_pieces(path, size, stream, is_kept=is_kept):
            contents.entries[path] = FileKind.FILE
            self._lose()
            return
        if path == layout.CHECKSUMS and self._can_grow and is_kept:
            self._can_grow = False
            self._most = max(size // SHORTEST_LINE, self._accepted) + MORE_THAN_LISTED
        contents.files += 1
        self._counter.add(1, 0)
        self._counter.report()

    def _take_pieces(self, path: str, size: int, stream: TarStream, *, is_kept: bool) -> bool:
        """Read a file piece by piece; False when some of it is lost."""
        hasher = hashlib.sha256()
        pieces = self._hashed_pieces(stream.data(size), hasher)
        try:
            if is_kept:
                self._contents.documents.add(path, size, pieces)
            else:
                for _ in pieces:
                    pass
        except LostError:
            return False
        self._contents.entries[path] = hasher.hexdigest()
        return True

    def _hashed_pieces(self, pieces: Iterator[memoryview], hasher: "hashlib._Hash") -> Iterator[memoryview]:
        for piece in pieces:
            hasher.update(piece)
            self._counter.add(0, len(piece))
            self._counter.report()
            yield piece

    def _place(self, path: str, stream: TarStream) -> None:
        """Note the first path of every member of the file."""
        self._block = block = stream.place
        if block is not None and block.first != NO_HEADER:
            self._contents.members.append(MemberStart(block.offset, path))

    def _lose(self, reason: str | None = None) -> None:
        """Note that something is lost from here on, once for each gap."""
        if reason is not None:
            self._add_problem("changed", os.path.basename(self._contents.path), reason)
        gaps = self._contents.gaps
        if not gaps or gaps[-1][1] is not None:
            gaps.append((self._last, None))

    def _close_gap(self, path: str) -> None:
        gaps = self._contents.gaps
        if gaps[-1][1] is None:
            gaps[-1] = (gaps[-1][0], path)

    def _add_problem(self, kind: str, path: str, message: str) -> None:
        if len(self._contents.problems) < MOST_FAULTS:
            self._contents.problems.append(record_finding(kind, "", path, message))
        elif kind == "unexpected":  # nothing is lost by stopping here; the rest of a damaged archive is read
            raise StoreError(
                f"the archive is refused: more than {MOST_FAULTS:,} of its entries are hostile",
                hint=f"the last one is {printable(path)}: {message}",
            )

    def _conclude(self, *, is_whole: bool, has_more: bool) -> None:
        contents, archive = self._contents, os.path.basename(self._contents.path)
        if not self._sorted:  # names do not show which members were in a gap
            contents.gaps = [("", None)] if contents.gaps or not is_whole else []
        elif not is_whole and not any(before is None for _, before in contents.gaps):
            contents.gaps.append((self._last, None))
        if not contents.name:
            reason = f": {contents.problems[0].message}" if contents.problems else ""
            raise NoArchiveError(
                f"{printable(contents.path)} is not an archive of a record{reason}",
                hint="name a .tar.gz that `archive` made",
            )
        if not is_whole:
            self._add_problem("missing", archive, "the archive was cut, or its end is damaged")
        elif contents.gaps or self._is_damaged:
            self._add_problem("changed", archive, "the archive is damaged")
        elif has_more:
            self._add_problem("unexpected", archive, "there is more data after the end of the archive")


def _is_target(target: bytes) -> bool:
    return 0 < len(target) <= LONGEST_TARGET and b"\0" not in target
