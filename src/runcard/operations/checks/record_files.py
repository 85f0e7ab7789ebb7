"""The files of a record, wherever it lies: in its directory, or in an archive."""

import os
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from runcard.documents import reader
from runcard.documents.document import Document
from runcard.documents.findings import InvalidDocument
from runcard.encoding import Limits
from runcard.errors import StoreError
from runcard.files import failure, open_regular, printable, read_stream, resolve_below, walk_files
from runcard.store import layout


class MissingDocumentError(StoreError):
    """A record lacks a document that it should have."""


class RecordFiles(Protocol):
    """The files of one record, by their paths in it."""

    def sizes(self, folder: str) -> Iterator[tuple[str, int]]:
        """The files below a folder with their sizes, by their paths in it; of the record's own folder where it is empty."""

    def open(self, path: str) -> BinaryIO | None:
        """A file of the record, for reading; None when there is none of this name."""


def files_of(record: str) -> RecordFiles:
    """The files of a record in a directory, or in the archive that has this path."""
    if not layout.is_archive(record) or os.path.isdir(record):
        return _Directory(record)
    from runcard.operations.archives.archived_files import ArchivedFiles  # noqa: PLC0415 - it takes long to load, and is rarely needed
    from runcard.operations.archives.find import archive_at  # noqa: PLC0415

    found = archive_at(record)
    if found is None:
        raise StoreError(f"{printable(record)} does not exist", hint="the archive is gone: put a copy back")
    return ArchivedFiles(found)


class _Directory:
    """The files of a record in its directory; no link leads out of it, and none is read in the place of a file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def sizes(self, folder: str) -> Iterator[tuple[str, int]]:
        path = self._below(folder)
        return walk_files(path) if os.path.isdir(path) and not os.path.islink(path) else iter(())

    def open(self, path: str) -> BinaryIO | None:
        folder, name = os.path.split(path)
        file = os.path.join(self._below(folder), name)
        self._below(path)  # it is refused when it leads out
        if not layout.may_be_file(file):
            return None
        try:
            return open(open_regular(file), "rb")
        except OSError as error:
            raise failure(error, file, "read") from error

    def _below(self, relative: str) -> str:
        """A path that stays in the record, links included; the path itself when there is nothing."""
        try:
            return resolve_below(self._path, relative) if relative else self._path
        except OSError:
            return os.path.join(self._path, relative)


def read_document(
    files: RecordFiles, record: str, path: str, kind: str | None, limits: Limits | None
) -> Document:
    """A document of a record; raises InvalidDocument with everything that is wrong with it."""
    name, limits = os.path.join(record, path), limits or Limits()
    file = files.open(path)
    if file is None:
        raise MissingDocumentError(f"{printable(name)} does not exist", hint="see what `runcard verify` says")
    with file:
        data = read_stream(file, limits.size)
    try:
        return reader.load_document(data, kind=kind, limits=limits)
    except InvalidDocument as error:
        raise InvalidDocument(error.report, printable(name)) from None
