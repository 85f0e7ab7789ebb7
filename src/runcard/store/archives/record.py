"""A record in an archive, read without unpacking it.

One file is read by the index beside the archive, without the rest, and compared with the record's listing: a file that
differs is an error, even when some of it was read already. `scan` reads the archive from end to end, once; after that,
questions are answered from what it found.
"""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cached_property, partial
from typing import TYPE_CHECKING, BinaryIO, Self

from runcard.checksums import Listing, Symlink
from runcard.checksums import read_file as read_listing
from runcard.checksums.comparison import KnownFile, ListingComparison
from runcard.digests import sha256_bytes
from runcard.documents.findings import Finding, record_finding
from runcard.documents.run.generation import Generation
from runcard.documents.session.team import Team
from runcard.encoding import Limits, decode_json
from runcard.errors import EncodingError, StoreError
from runcard.files import (
    FileKind,
    failure,
    json_name,
    printable,
    read_file,
    read_regular,
    read_stream,
    shell_word,
    write_atomic,
)
from runcard.settings import ARTIFACTS_MAX_SIZE, read_settings
from runcard.store import layout
from runcard.store.amendments.read import Amendments
from runcard.store.archives.index import ArchiveEntry, ArchiveFolder
from runcard.store.archives.member_index import MemberOffsets, encode_offsets, parse_offsets
from runcard.store.archives.owner import check_place, is_own, store_around, store_that_lists
from runcard.store.archives.read_files import ArchivedFile, archived_files, read_archived
from runcard.store.archives.scan import ArchiveContents, scan
from runcard.store.archives.source import ArchiveSource, open_file
from runcard.store.archives.tar_stream import LostError
from runcard.store.record import MissingDocumentError, Progress, Record, parse_document, record_document

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class ArchivedRecord(Record):
    """A record in an archive."""

    is_archived = True

    def __init__(
        self,
        path: str,
        entry: ArchiveEntry | None = None,
        *,
        kind: str | None = None,
        contents: ArchiveContents | None = None,
        listed_by: str | None = None,
    ) -> None:
        super().__init__(path)
        self.entry = entry  # its entry in the index of the archive's folder
        self._kind, self._contents = kind, contents
        self._listed_by = listed_by  # the store whose ledger named the archive
        self._stores: dict[str | None, str | None] = {}  # by the digest of the archive
        self._has_known_store = False
        self.keeps_index = False  # whether a member index that had to be made is written beside the archive
        self.copy_problems: tuple[Finding, ...] = ()  # about the copy of the document beside the archive

    @classmethod
    def at(cls, path: str) -> Self | None:
        """The record in the archive at this path; None when the path is not that of an archive."""
        if not layout.is_archive(path) or not os.path.lexists(path) or os.path.isdir(path):
            return None
        entry = ArchiveFolder(layout.folder_of_archive(path)).at(path)
        check_place(entry)
        return cls(path, entry)

    def in_store(self, store: str | None) -> Self:
        """The same record, for a caller who knows its store whatever the index says."""
        self._has_known_store, self._stores = True, {None: store}
        return self

    @property
    def name(self) -> str:
        if self._contents is not None:
            return self._contents.name
        return self.entry.name if self.entry else layout.archived_name(self.path)

    @cached_property
    def kind(self) -> str:
        """By the index; else by the files of an archive that was scanned, or by the document."""
        if kind := self._kind or (self.entry and self.entry.kind):
            return kind
        return super().kind if self._contents is None else self.kind_by_files()

    @cached_property
    def id(self) -> str:
        return self.entry.id if self.entry else super().id

    @property
    def store(self) -> str | None:
        """The store that the archive is in, or one whose ledger has it; None when there is no such store."""
        return self._find_store(self._contents.sha256 if self._contents else None)

    def _find_store(self, digest: str | None) -> str | None:
        """The store of an archive with this digest; when it is not known, the archive may be read."""
        if self._has_known_store:
            return self._stores[None]
        if digest not in self._stores:
            around = store_around(self.path) if self._listed_by is None else None
            claimed = self._listed_by or (self.entry.claimed_store if self.entry else None)
            self._stores[digest] = around or (claimed and store_that_lists(claimed, self.path, digest))
        return self._stores[digest]

    @property
    def directory(self) -> str:
        return os.path.join(self.store or layout.folder_of_archive(self.path), self.name)

    @property
    def is_own(self) -> bool:
        """Whether this user made the archive that the index names: only then the index is trusted."""
        digest = self.entry.fields.get("sha256") if self.entry else None
        return digest is not None and is_own(self._find_store(digest), self.path, digest)

    # The archive, and what is beside it.

    def open_source(self) -> AbstractContextManager[ArchiveSource]:
        """The bytes of the archive."""
        return open_file(self.path)

    def _file_bytes(self) -> int:
        """How many they are."""
        return os.stat(self.path).st_size

    def _read_beside(self, path: str) -> bytes | None:
        """What a file beside the archive holds; None when there is none."""
        return read_regular(path) if layout.may_be_file(path) else None

    # Reading the whole archive.

    def scan(self, progress: Progress | None = None) -> ArchiveContents:
        """Read the archive from end to end, once; what it holds."""
        if self._contents is None:
            contents = scan(
                self.path,
                name=self._stated_name(),
                max_size=self._most_bytes(),
                progress=progress,
                open_source=self.open_source,
            )
            self.copy_problems = tuple(self._check_copy(contents))
            contents.problems += [*self._check_digest(contents), *self.copy_problems]
            self._contents = contents
        return self._contents

    def _stated_name(self) -> str:
        """The name that the record must have; empty if nothing says so."""
        return self.entry.name if self.entry else ""

    def _most_bytes(self) -> int | None:
        """How many bytes the archive may hold: as the index says, if it is our own, else as the settings allow."""
        stated = self.entry.fields.get("uncompressed_bytes") if self.entry else None
        return self._allowed_bytes(stated)

    def _allowed_bytes(self, stated: int | None) -> int | None:
        if stated is not None and self.is_own:
            return int(stated)
        allowed = read_settings()[ARTIFACTS_MAX_SIZE]
        return min((size for size in (stated, allowed) if size is not None), default=None)

    def _check_digest(self, contents: ArchiveContents) -> Iterator[Finding]:
        expected = self.entry.fields.get("sha256") if self.entry else None
        if expected is not None and expected != contents.sha256:
            message = f"the archive was changed: its digest is {contents.sha256}"
            yield self._problem("changed", self.path, message)

    def _check_copy(self, contents: ArchiveContents) -> Iterator[Finding]:
        """Problems of the copy of the document beside an archive that runcard made; the record itself does not need it."""
        if self.entry is None or "sha256" not in self.entry.fields:
            return
        copy = layout.metadata_copy(self.path)
        data = self._read_beside(copy)
        inside = contents.read(layout.METADATA)
        if data is None:
            yield self._problem("missing", copy, "the copy of the metadata document is missing")
        elif inside is not None and sha256_bytes(data) != sha256_bytes(inside):
            message = "the copy beside the archive differs from the document in the archive"
            yield self._problem("changed", copy, message)

    def _problem(self, kind: str, path: str, message: str) -> Finding:
        return record_finding(kind, "", os.path.basename(path), message)

    def problems(self, progress: Progress | None = None) -> list[Finding]:
        return self.scan(progress).problems

    def compare(
        self,
        listing: Listing,
        progress: Progress | None,
        known: Mapping[str, KnownFile] | None = None,  # noqa: ARG002 - an archive is read as a whole
    ) -> ListingComparison:
        return self.scan(progress).compare(listing)

    # Reading files.

    @cached_property
    def _offsets(self) -> MemberOffsets:
        """Where files are; read from the archive when there is no index beside it, or one that is not trusted."""
        digest = self.entry.fields.get("index_sha256") if self.entry else None
        with contextlib.suppress(OSError):
            raw = self._read_beside(layout.member_index(self.path))
            if (offsets := parse_offsets(raw or b"", digest, self._file_bytes())) is not None:
                return offsets
        data = encode_offsets(contents := scan(self.path, open_source=self.open_source))
        if self.keeps_index and contents.members and digest in {None, sha256_bytes(data).hex}:
            with contextlib.suppress(OSError):  # without it, the next reader scans the archive again
                mode = os.stat(self.path).st_mode & 0o777
                write_atomic(layout.member_index(self.path), data, mode=mode, follow=False)
        return MemberOffsets.of(contents)

    def read(self, name: str) -> bytes | None:
        if self._contents is not None:
            return self._contents.read(name)
        return read_archived(self._archived_files(name), name).get(name)

    def open_seekable(self, name: str) -> BinaryIO | None:
        if self._contents is not None:
            return self._contents.documents.open(name)
        return read_archived(self._archived_files(name), name).open(name)

    def read_limited(self, name: str, most: int) -> bytes:
        file = self.open(name)
        if file is None:
            raise MissingDocumentError(f"{printable(os.path.join(self.path, name))} does not exist")
        with file:
            return read_stream(file, most)

    def has(self, name: str) -> bool:
        if self._contents is not None:
            return self._contents.kind(name) is not None
        return next(self.files(name), None) is not None

    def has_file(self, name: str) -> bool:
        if self._contents is not None:
            return self._contents.kind(name) is FileKind.FILE
        return any(file.path == name and file.kind is FileKind.FILE for file in self.files(name))

    def instances(self) -> list[str]:
        paths: Iterable[str]
        if self._contents is not None:
            paths = filter(layout.is_document, self._contents.documents)
        else:
            inside = self.files(layout.INSTANCES)
            paths = (
                file.path for file in inside if file.kind is FileKind.FILE and layout.is_document(file.path)
            )
        parts = (path.split("/") for path in paths)
        return sorted(part[1] for part in parts if len(part) == 3)

    def amendments(self) -> Amendments:
        return self._amendments

    @cached_property
    def _amendments(self) -> Amendments:
        return super().amendments()

    @cached_property
    def _listing(self) -> Listing:
        """The listing of the record, if it is the one that the metadata document fixes."""
        file = self.open_seekable(layout.CHECKSUMS)
        if file is None:
            return Listing({})
        hasher = hashlib.sha256()
        try:
            with file:
                listing = read_listing(file, hasher.update)
            document = decode_json(self.read(layout.METADATA) or b"")
            stated = (document.get("checksums") or {}) if isinstance(document, dict) else {}
            fixed = stated.get("session") or stated.get("output")
            if fixed is not None and fixed != f"sha256:{hasher.hexdigest()}":
                raise self.damaged(layout.CHECKSUMS)
        except EncodingError as error:
            raise self.damaged(layout.CHECKSUMS) from error
        return listing

    def expected_digest(self, path: str) -> str | None:
        """The digest that a file should have; None for one that is not listed, such as the listing itself."""
        if path not in self._listing:
            return None
        return self._amendments.accepted(json_name(path).text, self._listing[path].hex)[0]

    def files(self, path: str) -> Iterator[ArchivedFile]:
        """The files at a path: a file, or a folder with everything in it. Raises StoreError if one is damaged."""
        try:
            for file in self._archived_files(path):
                yield file._replace(data=partial(self._data, file))
        except LostError:
            raise self.damaged(path) from None
        except OSError as error:
            raise failure(error, os.fsdecode(error.filename or self.path), "read") from error

    def _archived_files(self, path: str) -> Iterator[ArchivedFile]:
        """The same, as they are read: a damaged one raises LostError."""
        offsets = self._offsets
        with self.open_source() as source:
            yield from archived_files(source, offsets, path)

    def _data(self, file: ArchivedFile) -> Iterator[memoryview]:
        try:
            yield from file.data()
        except LostError:
            raise self.damaged(file.path) from None

    def sizes(self, folder: str = "") -> Iterator[tuple[str, int]]:
        skip = len(folder) + 1 if folder else 0
        for file in self.files(folder):
            if file.kind is FileKind.FILE:
                yield file.path[skip:], file.member.size

    def open(self, path: str) -> BinaryIO | None:
        pieces = self._pieces(path)
        return None if next(pieces, None) is None else io.BufferedReader(_PieceStream(pieces))

    def _pieces(self, path: str) -> Iterator[bytes]:
        """The bytes of a file, after an empty piece that says that the file exists."""
        for file in self.files(path):
            if file.path == path and file.kind is FileKind.FILE:
                yield b""
                hasher = hashlib.sha256()
                for piece in file.data():
                    hasher.update(piece)
                    yield bytes(piece)
                if self.expected_digest(path) not in {None, hasher.hexdigest()}:
                    raise self.damaged(path)
                return

    def damaged(self, path: str) -> StoreError:
        return StoreError(
            f"{printable(path)} in {printable(self.path)} is not what was archived",
            hint=f"see all that is wrong with it: runcard verify {shell_word(self.path)}",
        )

    def document(self, limits: Limits | None = None) -> Team | Generation:
        """The metadata document: from the archive if it was scanned, else the copy beside it, if there is one."""
        limits = limits or self.limits
        copy = layout.metadata_copy(self.path)
        if self._contents is not None and (data := self._contents.read(layout.METADATA)) is not None:
            name = os.path.join(self.path, layout.METADATA)
            return record_document(parse_document(data, name, None, limits), self.path)
        if layout.may_be_file(copy) or not os.path.isfile(self.path):
            data = read_file(copy, limits.size)
            return record_document(parse_document(data, copy, None, limits), self.path)
        return record_document(self.load(layout.METADATA, None, limits), self.path)

    def check_links(self, links: Iterable[Symlink]) -> None:
        """Refuse links that lead out of the record, unless the archive is our own."""
        from runcard.store.archives.escaping_links import escaping_link  # noqa: PLC0415 - only for what is unpacked

        if not self.is_own and (link := escaping_link(links)) is not None:
            raise self.leads_out(link.path)

    def leads_out(self, link: str) -> StoreError:
        return StoreError(
            f"the archive is refused: the link {printable(link)} leads out of the record, or nowhere",
            hint=f"list the links and their targets: tar tvzf {printable(self.path)}",
        )

    def as_directory(self) -> AbstractContextManager[str]:
        from runcard.store.archives.temporary_copy import temporary_copy  # noqa: PLC0415 - it needs all of verification

        return temporary_copy(self)


class _PieceStream(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        while not self._rest:
            if (piece := next(self._pieces, None)) is None:
                return 0
            self._rest = memoryview(piece)
        view = memoryview(buffer)
        part, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(part)] = part
        return len(part)
