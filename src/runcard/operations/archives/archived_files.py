"""The files of an archived record, read one by one without unpacking the rest.

Each is compared with the record's list of checksums; what is not what was archived is an error, also when some of it was
handed out already.
"""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, BinaryIO

from runcard.checksums import Listing
from runcard.checksums import read as read_listing
from runcard.digests import sha256_bytes
from runcard.documents.document import Document
from runcard.encoding import Limits, decode_json
from runcard.errors import EncodingError, StoreError
from runcard.files import FileKind, failure, json_name, open_regular, printable, write_atomic
from runcard.operations.archives.find import FoundArchive
from runcard.operations.checks.load import load
from runcard.operations.checks.record_files import read_document
from runcard.store import layout
from runcard.store.amendments.read import Amendments, parse_amendments
from runcard.store.archives.member_index import Places, encode_places, read_places
from runcard.store.archives.read_files import Item, items, read_file
from runcard.store.archives.scan import scan
from runcard.store.archives.tar_stream import LostError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class ArchivedFiles:
    """The files of one archived record; where they lie is written down for the next one only when the caller says so."""

    def __init__(self, found: FoundArchive, *, keeps_places: bool = False) -> None:
        self._found, self._keeps_places = found, keeps_places

    @cached_property
    def _places(self) -> Places:
        """Where files lie; read from the archive itself when that was not written down, or is not to be trusted."""
        path, digest = self._found.path, self._found.index_sha256
        if (places := read_places(path, digest)) is not None:
            return places
        data = encode_places(contents := scan(path))
        if self._keeps_places and contents.places and digest in {None, sha256_bytes(data).hex}:
            with contextlib.suppress(OSError):  # nobody may write there: the next one reads the archive again
                mode = os.stat(path).st_mode & 0o777
                write_atomic(layout.places_of(path), data, mode=mode, follow=False)
        return Places.of(contents)

    @cached_property
    def _listing(self) -> Listing:
        """The listing of the record, when it is the one that the metadata document fixes."""
        data = self._unchecked(layout.CHECKSUMS)
        if data is None:
            return Listing({})
        try:
            document = decode_json(self._unchecked(layout.METADATA) or b"")
            stated = (document.get("checksums") or {}) if isinstance(document, dict) else {}
            fixed = stated.get("session") or stated.get("output")
            if fixed is not None and fixed != str(sha256_bytes(data)):
                raise self.damaged(layout.CHECKSUMS)
            return read_listing(data)
        except EncodingError as error:
            raise self.damaged(layout.CHECKSUMS) from error

    @cached_property
    def amendments(self) -> Amendments:
        """What was amended before the record was archived."""
        return parse_amendments(self._unchecked(layout.AMENDMENTS))

    def _unchecked(self, path: str) -> bytes | None:
        return read_file(self._found.path, self._places, path)

    def expected(self, path: str) -> str | None:
        """The digest that a file should have; None for one that is not listed, such as the listing itself."""
        if path not in self._listing:
            return None
        return self.amendments.accepted(json_name(path).text, self._listing[path].hex)[0]

    def items(self, wanted: str) -> Iterator[Item]:
        """What there is under a path: a file, or a folder with all that is below it. Raises StoreError where it is damaged."""
        try:
            descriptor = open_regular(self._found.path, follow=True)
            try:
                for item in items(descriptor, self._places, wanted):
                    yield item._replace(data=partial(self._whole, item))
            finally:
                os.close(descriptor)
        except LostError:
            raise self.damaged(wanted) from None
        except OSError as error:
            raise failure(error, os.fsdecode(error.filename or self._found.path), "read") from error

    def _whole(self, item: Item) -> Iterator[memoryview]:
        try:
            yield from item.data()
        except LostError:
            raise self.damaged(item.path) from None

    def sizes(self, folder: str) -> Iterator[tuple[str, int]]:
        """The files below a folder with their sizes, by their paths in it; of the record's own folder where it is empty."""
        skip = len(folder) + 1 if folder else 0
        for item in self.items(folder):
            if item.kind is FileKind.FILE:
                yield item.path[skip:], item.member.size

    def open(self, path: str) -> BinaryIO | None:
        """A file of the record, for reading; None when there is none of this name."""
        pieces = self._pieces(path)
        return None if next(pieces, None) is None else io.BufferedReader(_Stream(pieces))

    def _pieces(self, path: str) -> Iterator[bytes]:
        """The bytes of a file, after an empty piece that tells that it is there."""
        for item in self.items(path):
            if item.path == path and item.kind is FileKind.FILE:
                yield b""
                hasher = hashlib.sha256()
                for piece in item.data():
                    hasher.update(piece)
                    yield bytes(piece)
                if self.expected(path) not in {None, hasher.hexdigest()}:
                    raise self.damaged(path)
                return

    def damaged(self, path: str) -> StoreError:
        return StoreError(
            f"{printable(path)} in {printable(self._found.path)} is not what was archived",
            hint="`runcard verify` tells what else is wrong with the archive",
        )


def archived_document(
    found: FoundArchive, limits: Limits | None = None, files: ArchivedFiles | None = None
) -> Document:
    """The metadata document of an archived record: the copy beside its archive, or else the one in it."""
    copy = layout.metadata_copy(found.path)
    if layout.may_be_file(copy) or not os.path.isfile(found.path):
        return load(copy, limits=limits)
    return read_document(files or ArchivedFiles(found), found.path, layout.METADATA, None, limits)


class _Stream(io.RawIOBase):
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
