"""A record: one run or one session, in its directory or in an archive.

`Record` is what every operation works with. `DirectoryRecord` reads a directory; `store.archives.record.ArchivedRecord`
reads an archive. `store.find_record.open_record` finds the record that a user names.

Invariants: a file is never read through a symbolic link that leads out of the record; nothing here writes.
"""

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cached_property
from io import DEFAULT_BUFFER_SIZE, BytesIO
from stat import S_ISREG
from typing import TYPE_CHECKING, BinaryIO, ClassVar, cast

from runcard.documents import reader
from runcard.documents.chain import JournalStream, Line
from runcard.documents.document import Document
from runcard.documents.findings import Finding, InvalidDocument
from runcard.documents.kinds import GENERATION, INSTANCE, TEAM, detect
from runcard.documents.run.generation import Generation
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import RuncardError, StoreError
from runcard.files import (
    NotRegularFileError,
    failure,
    is_safe_id,
    open_regular,
    printable,
    read_file,
    read_regular,
    read_stream,
    resolve_below,
    shell_word,
    walk_files,
)
from runcard.store import layout
from runcard.store.amendments.read import Amendments, parse_amendments

if TYPE_CHECKING:  # hashing takes long to load, and a command about a run needs nothing of sessions
    from collections.abc import Mapping

    from runcard.checksums import Listing
    from runcard.checksums.comparison import KnownFile, ListingComparison
    from runcard.documents.session.team import Team
    from runcard.store.ledger import LedgerKey

Progress = Callable[[int, int], object]

RUN, SESSION = "run", "session"

HINT = "name a record by its path, its id or the name of its directory"
_SMALL = 1 << 16  # bytes of a file that is read at once
_MOST = 1 << 30  # bytes of a file that is read as a whole, so that a huge one cannot fill the memory


class MissingDocumentError(StoreError):
    """A record lacks a document that it should have."""


class TooLargeError(StoreError):
    """A document, listing or journal is too large to be read as a whole."""


class Record(ABC):
    """A run or a session."""

    is_archived: ClassVar[bool]

    def __init__(self, path: str, limits: Limits | None = None) -> None:
        self.path = path  # of the directory or the archive, as the user named it
        self.limits = limits or Limits()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the record's directory, also of one that is archived."""

    @property
    @abstractmethod
    def store(self) -> str | None:
        """The store whose ledgers have this record; None when it belongs to none."""

    @property
    @abstractmethod
    def directory(self) -> str:
        """The path of the record's directory: the one that it had, when it is archived."""

    @abstractmethod
    def problems(self, progress: Progress | None = None) -> list[Finding]:
        """What is wrong with the place that holds the record. An archive is read from end to end for this."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None when there is none. Raises RuncardError when it cannot be read."""

    def open_seekable(self, name: str) -> BinaryIO | None:
        """The same as a file that can be read from any place, for one that may be large."""
        data = self.read(name)
        return None if data is None else BytesIO(data)

    @abstractmethod
    def read_limited(self, name: str, most: int) -> bytes:
        """The bytes of a file, at most one more than `most`; raises RuncardError when there is none."""

    @abstractmethod
    def open(self, path: str) -> BinaryIO | None:
        """A file of the record, for reading; None when there is none."""

    @abstractmethod
    def sizes(self, folder: str = "") -> Iterator[tuple[str, int]]:
        """The files below a folder, by their paths relative to it, with their sizes."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether a file, a folder or a link has this name."""

    @abstractmethod
    def has_file(self, name: str) -> bool:
        """Whether a regular file has this name."""

    def has_irregular(self, name: str) -> bool:
        """Whether a folder or a link, but no regular file, has this name."""
        return self.has(name) and not self.has_file(name)

    @abstractmethod
    def instances(self) -> list[str]:
        """The ids of a session's instances that have a document."""

    @abstractmethod
    def compare(
        self,
        listing: "Listing",
        progress: Progress | None,
        known: "Mapping[str, KnownFile] | None" = None,
    ) -> "ListingComparison":
        """How the files differ from the listing; those that are `known` were read already."""

    @abstractmethod
    def as_directory(self) -> AbstractContextManager[str]:
        """The path of a directory with the record's files: its own, or a temporary copy of an archived one."""

    @abstractmethod
    def document(self, limits: Limits | None = None) -> "Team | Generation":
        """The metadata document; raises InvalidDocument with everything that is wrong with it."""

    def amendments(self) -> Amendments:
        return parse_amendments(self.read(layout.AMENDMENTS))

    def document_names(self) -> list[str]:
        """The names of a session's documents other than its metadata document."""
        manifest = [layout.MANIFEST] if self.has_file(layout.MANIFEST) else []
        return manifest + [layout.instance_file(own, layout.METADATA) for own in self.instances()]

    def load(self, name: str, kind: str | None = None, limits: Limits | None = None) -> Document:
        """A document of the record; raises InvalidDocument with everything that is wrong with it."""
        place, limits = os.path.join(self.path, name), limits or self.limits
        file = self.open(name)
        if file is None:
            raise MissingDocumentError(
                f"{printable(place)} does not exist",
                hint=f"see all of it: runcard verify {shell_word(self.path)}",
            )
        with file:
            data = read_stream(file, limits.size)
        return parse_document(data, place, kind, limits)

    @property
    def metadata(self) -> bytes | None:
        """The bytes of the metadata document, as `read` returns them."""
        return self.read(layout.METADATA)

    @cached_property
    def raw_document(self) -> JsonObject:
        """The metadata document as it stands there, unchecked; empty when it cannot be read."""
        try:
            data = self.metadata
            document = decode_json(data, self.limits) if data else {}
        except RuncardError:
            return {}
        return document if isinstance(document, dict) else {}

    @cached_property
    def kind(self) -> str:
        """`run` or `session`: by the document, and by the other files when that does not tell."""
        kind = detect(self.raw_document)
        if kind in {GENERATION, TEAM}:
            return SESSION if kind is TEAM else RUN
        return self.kind_by_files()

    def kind_by_files(self) -> str:
        is_session = self.has(layout.AUDIT) or self.has(layout.INSTANCES)
        return SESSION if is_session and not self.has(layout.JOURNAL) else RUN

    @cached_property
    def id(self) -> str:
        """The run id or the team session id; the directory's name when nothing states one."""
        if self.kind == SESSION:
            stated = self.raw_document.get("team_session_id")
        else:
            generation = self.raw_document.get("generation")
            stated = generation.get("run_id") if isinstance(generation, dict) else None
            stated = stated if isinstance(stated, str) else self._id_in_journal()
        return stated if isinstance(stated, str) and stated else self.name

    def _id_in_journal(self) -> str | None:
        """The id of a run that has lost its document."""
        try:
            return id_in_journal(self.read(layout.JOURNAL))
        except RuncardError:
            return None

    @property
    def ledger_key(self) -> "LedgerKey":
        """What a ledger knows the record by: a session can be collected again under its id, so its name counts."""
        from runcard.store.ledger import LedgerKey  # noqa: PLC0415 - not every command needs a ledger

        return LedgerKey(self.kind, self.name if self.kind == SESSION else self.id)


class DirectoryRecord(Record):
    """A record in its directory."""

    is_archived = False

    @property
    def name(self) -> str:
        name = os.path.basename(self.path)
        return os.path.basename(os.path.abspath(self.path)) if name in {"", ".", ".."} else name

    @cached_property
    def store(self) -> str:
        return layout.store_of(self.path)

    @property
    def directory(self) -> str:
        return self.path

    @property
    def is_instance(self) -> bool:
        """Whether the directory is that of an instance, which is a part of a session."""
        return detect(self.raw_document) is INSTANCE

    def problems(self, progress: Progress | None = None) -> list[Finding]:  # noqa: ARG002 - nothing is read
        """None; raises OSError when the directory cannot be listed."""
        os.scandir(self.path).close()
        return []

    @cached_property
    def metadata(self) -> bytes | None:
        """The bytes of the metadata document, read once: `raw_document` is always the data in them."""
        return self.read(layout.METADATA)

    def read(self, name: str) -> bytes | None:
        path = os.path.join(self.path, name)
        if _readable_size(path, name) is None:
            return None
        try:
            return read_regular(path)
        except OSError as error:
            raise failure(error, path, "read") from error

    def open_seekable(self, name: str) -> BinaryIO | None:
        path = os.path.join(self.path, name)
        size = _readable_size(path, name)
        if size is None:
            return None
        try:
            if size <= _SMALL:
                data = read_regular(path)
                return None if data is None else BytesIO(data)
            return open(open_regular(path), "rb", buffering=DEFAULT_BUFFER_SIZE)
        except NotRegularFileError:
            return None
        except OSError as error:
            raise failure(error, path, "read") from error

    def read_limited(self, name: str, most: int) -> bytes:
        return read_file(os.path.join(self.path, name), most, only_regular=True)

    def open(self, path: str) -> BinaryIO | None:
        folder, name = os.path.split(path)
        file = os.path.join(self._below(folder), name)
        self._below(path)  # refuses one that leads out of the record
        if not layout.may_be_file(file):
            return None
        try:
            return open(open_regular(file), "rb")
        except OSError as error:
            raise failure(error, file, "read") from error

    def sizes(self, folder: str = "") -> Iterator[tuple[str, int]]:
        path = self._below(folder)
        return walk_files(path) if os.path.isdir(path) and not os.path.islink(path) else iter(())

    def _below(self, relative: str) -> str:
        """A path that stays in the record, links included; the path itself when nothing is there."""
        try:
            return resolve_below(self.path, relative) if relative else self.path
        except OSError:
            return os.path.join(self.path, relative)

    def has(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self.path, name))

    def has_irregular(self, name: str) -> bool:
        try:
            return not S_ISREG(os.lstat(os.path.join(self.path, name)).st_mode)
        except OSError:
            return False

    def has_file(self, name: str) -> bool:
        return layout.may_be_file(os.path.join(self.path, name))

    def instances(self) -> list[str]:
        return layout.instances(self.path)

    def compare(
        self,
        listing: "Listing",
        progress: Progress | None,
        known: "Mapping[str, KnownFile] | None" = None,
    ) -> "ListingComparison":
        from runcard.checksums.comparison import compare  # noqa: PLC0415 - see above

        return compare(self.path, listing, exclude=layout.NOT_LISTED, progress=progress, known=known or {})

    @contextlib.contextmanager
    def as_directory(self) -> Iterator[str]:
        yield self.path

    def document(self, limits: Limits | None = None) -> "Team | Generation":
        limits = limits or self.limits
        path = os.path.join(self.path, layout.METADATA)
        return record_document(parse_document(read_file(path, limits.size), path, None, limits), self.path)

    def closed_document(self, limits: Limits | None = None) -> "Team | Generation":
        """The metadata document of a closed record; raises StoreError for one that is not closed."""
        if layout.is_collection(self.path):
            raise StoreError(
                f"{printable(self.path)} is not complete",
                hint="name the directory of a closed run or session",
            )
        if not self.has_file(layout.METADATA):
            raise not_a_record(self.path)
        document = self.document(limits)
        if isinstance(document, Generation) and document.status == "running":
            raise StoreError(
                f"{printable(self.path)} is not closed",
                hint=f"when its process is gone: runcard close {shell_word(self.path)}",
            )
        return document


def _readable_size(path: str, name: str) -> int | None:
    """The size of a file; None if it is not one, 0 if that cannot be determined, so that reading it reports the error.

    Raises TooLargeError if it is too large to be read.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return 0
    if not S_ISREG(status.st_mode):
        return None
    if status.st_size > _MOST:
        raise TooLargeError(f"{printable(name)} is larger than 1 GiB: it was not read")
    return status.st_size


def parse_document(data: bytes, name: str, kind: str | None, limits: Limits) -> Document:
    """The document in the bytes of a file; its name is for messages."""
    try:
        return reader.load_document(data, kind=kind, limits=limits)
    except InvalidDocument as error:
        raise InvalidDocument(error.report, printable(name)) from None


def record_document(document: Document, path: str) -> "Team | Generation":
    """A document that is a record's metadata; raises StoreError for one of another kind."""
    if isinstance(document, Generation):
        return document
    if document.kind is TEAM:
        return cast("Team", document)
    raise StoreError(
        f"{printable(path)} has a document of the kind {document.kind.name}: it is a part of a record",
        hint=HINT,
    )


def kind_of(document: "Team | Generation") -> str:
    return RUN if isinstance(document, Generation) else SESSION


def id_of(document: "Team | Generation") -> str:
    return str(document.run_id) if isinstance(document, Generation) else document.session_id


def recorded_at(document: "Team | Generation") -> datetime | None:
    """The time in the name of a record, in UTC: when a run started, when a session was collected."""
    moment = document.started if isinstance(document, Generation) else document.created_at
    return moment and moment.astimezone(UTC)


def work_ended_at(document: "Team | Generation") -> datetime | None:
    """When the work of a record ended, in UTC: the time that its age is counted from.

    Without it, or if that is still to come, the time that the record has in its name: no record stays the newest for ever.
    """
    moment = document.ended if isinstance(document, Generation) else document.work_ended
    ended = moment and moment.astimezone(UTC)
    return ended if ended and ended <= datetime.now(UTC) else recorded_at(document)


def id_in_journal(journal: bytes | None) -> str | None:
    """The run id in the journal of a run."""
    return id_in_lines(JournalStream(lambda: [journal or b""]).lines)


def id_in_lines(lines: Iterable[Line]) -> str | None:
    """The run id in the first line of the journal of a run."""
    run_id = next(iter(lines), {}).get("run_id")
    return run_id if isinstance(run_id, str) else None


def not_a_record(path: str) -> StoreError:
    """The error to raise about a path that is not a record, with a hint at what to name instead."""
    if not os.path.lexists(path):
        return StoreError(f"{printable(path) or repr('')} does not exist", hint=HINT)
    if not os.path.isdir(path):
        return StoreError(f"{printable(path)} is a file, not a record", hint=hint_about_file(path) or HINT)
    message = f"{printable(path)} is not a record: it has no {layout.METADATA}"
    return StoreError(message, hint=_record_below(path) or experiment_hint(path) or HINT)


def hint_about_file(path: str) -> str | None:
    """The hint for a file of a closed record that was named instead of the record."""
    folder = layout.sealed_record(path) if os.path.isfile(path) else None
    return folder and f"it is a file of a record: runcard show {shell_word(os.path.relpath(folder))}"


def experiment_hint(word: str) -> str | None:
    """The hint for the name or folder of an experiment that was given instead of a record."""
    name = os.path.basename(os.path.normpath(word))
    folder = layout.experiment_folder(name)
    is_meant = os.path.normpath(word) in {name, folder} and is_safe_id(name) and os.path.isdir(folder)
    return f"{name} is an experiment: runcard experiment show {name}" if is_meant else None


def _record_below(path: str) -> str | None:
    """The hint for a folder of records that was named instead of one of them."""
    try:
        records = layout.records(path)
    except OSError:
        return None
    return f"it holds records: name one of them, such as {printable(records[-1])}" if records else None
