"""What an archive holds, found by reading all of it once and writing nothing.

Everything is hashed: each file, the tar stream and the archive itself. What is hostile or damaged is noted with its name, and
reading goes on. What it gives can be verified like a directory.

Invariant: nothing a stranger's archive says makes us hold more than its names and its own documents, which are bounded.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import NamedTuple

from runcard.checksums import Listing, Symlink
from runcard.checksums.comparison import Comparison, judge
from runcard.checksums.progress import Progress, Tally
from runcard.digests import sha256_descriptor
from runcard.errors import StoreError
from runcard.files import (
    Entry,
    Kind,
    check_relative,
    decode_name,
    encode_name,
    failure,
    open_regular,
    printable,
)
from runcard.store import layout
from runcard.store.amendments.read import Amendments, parse_amendments
from runcard.store.archives import tar
from runcard.store.archives.folder_tree import FolderTree
from runcard.store.archives.gzip_members import NO_HEADER, Block, Scribe, read_blocks
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
    Limits,
    TooMuchError,
)
from runcard.store.archives.tar import Member
from runcard.store.archives.tar_stream import Gap, LostError, TarStream

KINDS = {tar.FILE: Kind.FILE, tar.SYMLINK: Kind.SYMLINK, tar.DIRECTORY: Kind.DIRECTORY}
_LOST = "its bytes in the archive are damaged"


class Fault(NamedTuple):
    """Something in an archive that should not be there, or cannot be read."""

    kind: str  # as `verify` has them
    path: str
    message: str


class Place(NamedTuple):
    """Where a member of the file begins, and the first path in it."""

    offset: int
    path: str


class NoArchiveError(StoreError):
    """A file has nothing in it that could be read as an archive."""


class Contents:
    """A record as an archive has it."""

    def __init__(self, path: str, name: str = "") -> None:
        self.path = path
        self.name = name  # of the record
        self.store: str | None = None  # whose ledgers know it
        self.hexes: dict[str, str] = {}
        self.kinds: dict[str, Kind] = {}
        self.symlinks: list[Symlink] = []
        self.others: tuple[str, ...] = ()
        self.documents: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.beside: tuple[Fault, ...] = ()  # those that are not in the archive: its record is none the worse
        self.gaps: list[tuple[str, str | None]] = []  # what lies between these two paths was lost
        self.lost: set[str] = set()
        self.places: list[Place] = []
        self.sha256 = self.tar_sha256 = ""
        self.file_bytes = self.bytes = 0

    def read(self, name: str) -> bytes | None:
        return self.documents.get(name)

    def has(self, name: str) -> bool:
        return name in self.kinds

    def has_file(self, name: str) -> bool:
        return self.kinds.get(name) is Kind.FILE

    def instances(self) -> list[str]:
        """The instances of a session that have a document."""
        found = (path.split("/") for path in self.documents)
        return sorted(parts[1] for parts in found if len(parts) == 3)

    def amendments(self) -> Amendments:
        return parse_amendments(self.read(layout.AMENDMENTS))

    def below(self, folder: str) -> "Contents":
        """A record that lies in a folder of the archive, as if it had one of its own; for an archive without faults."""
        inner, start = Contents(self.path, os.path.basename(folder)), len(folder) + 1
        inside = f"{folder}/"
        inner.hexes = {path[start:]: digest for path, digest in self.hexes.items() if path.startswith(inside)}
        inner.kinds = {path[start:]: kind for path, kind in self.kinds.items() if path.startswith(inside)}
        inner.symlinks = [
            Symlink(link.path[start:], link.target) for link in self.symlinks if link.path.startswith(inside)
        ]
        inner.documents = {
            path[start:]: data for path, data in self.documents.items() if path.startswith(inside)
        }
        return inner

    def compare(self, listing: Listing, progress: Progress | None) -> Comparison:  # noqa: ARG002 - all is read
        entries = (Entry(path, kind) for path, kind in self.kinds.items())
        unreadable = {path: _LOST for path in listing if self._is_lost(path)}
        found = Listing.from_hex({path: digest for path, digest in self.hexes.items() if path in listing})
        differences = judge(entries, found, listing, layout.NOT_LISTED, unreadable)
        return Comparison(differences, tuple(self.symlinks), self.others)

    def _is_lost(self, path: str) -> bool:
        if path in self.lost:
            return True
        if path in self.kinds:
            return False
        raw = encode_name(path)
        return any(
            encode_name(after) < raw and (before is None or raw < encode_name(before))
            for after, before in self.gaps
        )


def scan(
    path: str,
    *,
    name: str = "",
    max_size: int | None = None,
    max_members: int | None = None,
    is_kept: Callable[[str], bool] = layout.is_document,
    progress: Progress | None = None,
) -> Contents:
    """Read an archive from end to end; `name` is that of the record, where somebody knows it.

    What the files hold for which `is_kept` is true is in the result. Raises TooMuchError beyond the limits.
    """
    try:
        descriptor = open_regular(path, follow=True)
        try:
            limits = Limits(max_size, max_members or MOST_MEMBERS, max_members is None)
            return _Scan(Contents(path, name), descriptor, limits, is_kept, progress).done()
        finally:
            os.close(descriptor)
    except OSError as error:
        raise failure(error, path, "read the archive") from error


class _Scan:
    """An archive that is being read."""

    def __init__(
        self,
        contents: Contents,
        descriptor: int,
        limits: Limits,
        is_kept: Callable[[str], bool],
        progress: Progress | None,
    ) -> None:
        self._descriptor, self._is_kept, self._tally = descriptor, is_kept, Tally(progress)
        self._max_size, self._most, self._can_grow = limits
        self._contents = contents
        self._last, self._raw = "", b""
        self._sorted = True
        self._document_bytes = 0
        self._tree = FolderTree(contents.kinds)
        self._is_damaged = False
        self._block: Block | None = None

    def done(self) -> Contents:
        contents = self._contents
        with ThreadPoolExecutor(1) as hashing, closing(Scribe()) as scribe:
            whole = hashing.submit(_digest, contents.path)
            stream = TarStream(self._noted(read_blocks(self._descriptor, salvage=True), scribe))
            for number, member in enumerate(stream):
                if number > self._most:
                    self._allow_more(number)
                if isinstance(member, Gap):
                    self._lose(member.reason)
                    continue
                self._take(member, stream)
            has_more = stream.is_whole and not stream.ends_clean()
            contents.sha256, contents.file_bytes = whole.result()
            contents.tar_sha256 = scribe.digest("stream")
        self._tally.finish()
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
        for member in TarStream(read_blocks(self._descriptor)):
            if isinstance(member, Gap):
                break
            passed += member.size
            if member.path == path and member.size <= LARGEST_DOCUMENT:
                return member.size
            if self._max_size is not None and passed > self._max_size:
                break
        return 0

    def _noted(self, blocks: Iterator[Block], scribe: Scribe) -> Iterator[Block]:
        """The pieces, hashed on their way."""
        for block in blocks:
            if not block.is_whole:
                self._is_damaged = True
            if block.data is not None:
                scribe.note("stream", block.data)
            yield block

    def _take(self, member: Member, stream: TarStream) -> None:
        path = self._path(member)
        if path is None:
            return
        named = path + "/" if member.kind == tar.DIRECTORY else path  # as it stands there
        if self._contents.gaps:
            self._close_gap(named)
        if stream.place is not self._block:
            self._place(named, stream)
        if (message := self._refusal(member, path)) is not None:
            self._fault("unexpected", path, message)
            return
        if member.path < self._raw:
            self._sorted = False
        self._last, self._raw = named, member.path
        if stream.extra_bytes > MOST_EXTRA:
            raise TooMuchError(f"more than {MOST_EXTRA:,} bytes of long names")
        if member.kind == tar.FILE:
            self._take_file(member, path, stream)
        elif member.kind == tar.SYMLINK:
            self._contents.kinds[path] = Kind.SYMLINK
            self._contents.symlinks.append(Symlink(path, decode_name(member.target)))
            self._tree.count(len(member.target))
        else:
            self._contents.kinds[path] = Kind.DIRECTORY

    def _path(self, member: Member) -> str | None:
        """The path of a member below the record's own folder; None for that folder, and for a hostile one."""
        given = decode_name(member.path.rstrip(b"/") if member.kind == tar.DIRECTORY else member.path)
        reason = check_relative(given)
        top, slash, path = given.partition("/")
        name = self._contents.name = self._contents.name or ("" if reason else top)
        if len(given) > LONGEST_PATH:
            reason = f"it is longer than {LONGEST_PATH:,} characters"
        if reason is None and top != name:
            reason = f"it lies outside of {printable(name)}"
        if reason is None and not slash and member.kind != tar.DIRECTORY:
            reason = "it is in the place of the record's folder"
        if reason is not None:
            self._fault("unexpected", given, f"the path is refused: {reason}")
            return None
        return path or None

    def _refusal(self, member: Member, path: str) -> str | None:
        """Why a member must not be unpacked; None for a good one."""
        kind = KINDS.get(member.kind)
        if kind is None:
            return "it is a hard link, a device or the like, which no record has"
        if path in self._contents.kinds:
            return "it stands twice in the archive"
        if kind is Kind.SYMLINK and not _is_target(member.target):
            return "it is a link whose target no link can have"
        if not self._tree.has_room(path, kind):
            return "a file or a link stands where a folder must be"
        return None

    def _take_file(self, member: Member, path: str, stream: TarStream) -> None:
        contents, size = self._contents, member.size
        contents.bytes += size
        if self._max_size is not None and contents.bytes > self._max_size:
            raise TooMuchError(f"more than {self._max_size:,} bytes")
        is_kept = self._is_kept(path)
        if is_kept:
            self._document_bytes += size
        if is_kept and (size > LARGEST_DOCUMENT or self._document_bytes > MOST_DOCUMENTS):
            raise TooMuchError(f"too large documents: {printable(path)} has {size:,} bytes")
        contents.kinds[path] = Kind.FILE
        if (piece := stream.whole(size)) is not None:
            contents.hexes[path] = hashlib.sha256(piece).hexdigest()
            self._tally.add(0, size)
            if is_kept:
                self._keep(path, bytes(piece))
        elif not self._take_pieces(path, size, stream, is_kept=is_kept):
            return
        self._tally.add(1, 0)
        self._tally.tell()

    def _take_pieces(self, path: str, size: int, stream: TarStream, *, is_kept: bool) -> bool:
        """Read a file piece by piece; False when some of it is lost."""
        hasher, kept = hashlib.sha256(), []
        try:
            for piece in stream.data(size):
                hasher.update(piece)
                self._tally.add(0, len(piece))
                self._tally.tell()
                if is_kept:
                    kept.append(bytes(piece))
        except LostError:
            self._contents.lost.add(path)
            self._lose()
            return False
        self._contents.hexes[path] = hasher.hexdigest()
        if is_kept:
            self._keep(path, b"".join(kept))
        return True

    def _keep(self, path: str, data: bytes) -> None:
        self._contents.documents[path] = data
        if path == layout.CHECKSUMS and self._can_grow:
            self._can_grow = False
            self._most = max(len(data) // SHORTEST_LINE, len(self._contents.kinds)) + MORE_THAN_LISTED

    def _place(self, path: str, stream: TarStream) -> None:
        """Note the first path of every member of the file."""
        self._block = block = stream.place
        if block is not None and block.first != NO_HEADER:
            self._contents.places.append(Place(block.offset, path))

    def _lose(self, reason: str | None = None) -> None:
        """Note that something is lost from here on, once for each gap."""
        if reason is not None:
            self._fault("changed", os.path.basename(self._contents.path), reason)
        gaps = self._contents.gaps
        if not gaps or gaps[-1][1] is not None:
            gaps.append((self._last, None))

    def _close_gap(self, path: str) -> None:
        gaps = self._contents.gaps
        if gaps[-1][1] is None:
            gaps[-1] = (gaps[-1][0], path)

    def _fault(self, kind: str, path: str, message: str) -> None:
        if len(self._contents.faults) < MOST_FAULTS:
            self._contents.faults.append(Fault(kind, path, message))
        elif kind == "unexpected":  # nothing is lost by going no further; of what is damaged the rest is read
            raise StoreError(
                f"the archive is refused: more than {MOST_FAULTS:,} of its entries are hostile",
                hint=f"the last one is {printable(path)}: {message}",
            )

    def _conclude(self, *, is_whole: bool, has_more: bool) -> None:
        contents, archive = self._contents, os.path.basename(self._contents.path)
        if not self._sorted:  # nobody can tell by their names what lay in a gap
            contents.gaps = [("", None)] if contents.gaps or not is_whole else []
        elif not is_whole and not any(before is None for _, before in contents.gaps):
            contents.gaps.append((self._last, None))
        if not contents.name:
            reason = f": {contents.faults[0].message}" if contents.faults else ""
            raise NoArchiveError(
                f"{printable(contents.path)} is no archive of a record{reason}",
                hint="name a .tar.gz that `archive` made",
            )
        if not is_whole:
            self._fault("missing", archive, "the archive was cut, or its end is damaged")
        elif contents.gaps or self._is_damaged:
            self._fault("changed", archive, "the archive is damaged")
        elif has_more:
            self._fault("unexpected", archive, "there are more data after the end of the archive")


def _is_target(target: bytes) -> bool:
    return 0 < len(target) <= LONGEST_TARGET and b"\0" not in target


def _digest(path: str) -> tuple[str, int]:
    descriptor = open_regular(path, follow=True)
    try:
        return sha256_descriptor(descriptor).hex, os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
