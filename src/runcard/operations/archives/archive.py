"""Archiving: a sealed record becomes one file, and its directory goes when that file has been read back."""

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import printable, shell_word
from runcard.observe.clock import Clock, time_before
from runcard.settings import ARTIFACTS_REMOTE, REMOTE_OUTPUTS, read_settings
from runcard.store import layout
from runcard.store.amendments.read import parse_amendments
from runcard.store.archives.index import ArchiveFolder, index_fields
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.replace_directory import (
    NewArchive,
    finish_removals,
    held,
    other_archive,
    take_away,
)
from runcard.store.find_record import is_other_directory, open_record
from runcard.store.ledger import ARCHIVED, Ledger, entries_about, entry_payload
from runcard.store.ownership import own_archive_mac
from runcard.store.record import (
    SESSION,
    DirectoryRecord,
    Progress,
    Record,
    id_of,
    kind_of,
    not_a_record,
    recorded_at,
    work_ended_at,
)
from runcard.store.remote.urls import check_target, is_url
from runcard.store.verification import Verdict, verify_record

if TYPE_CHECKING:
    from pathlib import Path

    from runcard.documents.run.generation import Generation
    from runcard.documents.session.team import Team

_READERS = 0o666  # modes of files in a folder of archives, as far as the record allows


class ChangedRecordError(StoreError):
    """A record was changed since it was sealed."""

    def __init__(self, record: str, verdict: Verdict) -> None:
        first = next(finding for finding in verdict.findings if finding.breaks is not None)
        place = f"{first.path}: " if first.path else ""
        super().__init__(
            f"{printable(record)} was changed since it was closed, and was not archived: {place}{first.message}",
            hint=f"see all of it: runcard verify {shell_word(record)}; to archive it as it is, pass --force",
        )
        self.verdict = verdict


class Archived(NamedTuple):
    """A record that was archived."""

    record_path: str  # where it was
    archive_path: str
    bytes: int
    uncompressed_bytes: int | None  # None if it is not known
    verdict: Verdict
    is_new: bool = True  # false if it was archived before

    @property
    def record(self) -> "Path":
        return _as_path(self.record_path)

    @property
    def archive(self) -> "Path":
        return _as_path(self.archive_path)

    def to_dict(self) -> JsonObject:
        return {
            "record": printable(self.record_path),
            "archive": printable(self.archive_path),
            "bytes": self.bytes,
            "uncompressed_bytes": self.uncompressed_bytes,
            "findings": [finding.to_dict() for finding in self.verdict.findings],
        }


class ArchivePreview(NamedTuple):
    """A record that `archive` would put into an archive."""

    record_path: str
    archive_path: str
    uncompressed_bytes: int | None  # None if it is not known
    verdict: Verdict
    is_new: bool = True  # false if it is archived already

    @property
    def record(self) -> "Path":
        return _as_path(self.record_path)

    @property
    def archive(self) -> "Path":
        return _as_path(self.archive_path)

    def to_dict(self) -> JsonObject:
        return {
            "record": printable(self.record_path),
            "archive": printable(self.archive_path),
            "is_archived": not self.is_new,
            "uncompressed_bytes": self.uncompressed_bytes,
            "findings": [finding.to_dict() for finding in self.verdict.findings],
        }


def _as_path(path: str) -> "Path":
    from pathlib import Path  # noqa: PLC0415 - takes long to load, and the command needs none

    return Path(path)


def archive(
    record: str | os.PathLike[str],
    *,
    to: str | os.PathLike[str] | None = None,
    force: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Archived:
    """Put a closed run or session into an archive and remove its directory.

    Raises ChangedRecordError for a record that fails verification, unless `force` is given.
    """
    source = _find(os.fspath(record))
    if isinstance(source, ArchivedRecord):
        if source.store is not None:
            finish_removals(source.store)
        return _archived_before(source, to)
    path = os.path.abspath(source.path)
    store = layout.store_of(path)
    finish_removals(store)
    if (url := remote_folder(source, to)) is not None:
        return _archive_remote(path, url, force=force, limits=limits, progress=progress)
    folder = ArchiveFolder.of_store(store).folder if to is None else os.path.abspath(os.fspath(to))
    with held(path) as is_there:
        if not is_there:
            return _archived_meanwhile(path, folder)
        archived = _pack(DirectoryRecord(path, limits), folder, force=force, limits=limits, progress=progress)
        take_away(path, layout.archived_aside(store, os.path.basename(path)))
    return archived


def remote_folder(record: Record, to: str | os.PathLike[str] | None) -> str | None:
    """The URL that a record is archived to, by the caller or the settings; None if it stays on this machine."""
    if to is not None:
        check_target(to)
        return os.fspath(to) if is_url(to) else None
    return read_settings()[ARTIFACTS_REMOTE if record.kind == SESSION else REMOTE_OUTPUTS]


def _archive_remote(
    path: str, folder: str, *, force: bool, limits: Limits | None, progress: Progress | None
) -> Archived:
    from runcard.operations.archives.archive_remote import upload_archive  # noqa: PLC0415 - only for URLs

    with held(path) as is_there:
        if not is_there:
            raise not_a_record(path)
        uploaded = upload_archive(
            DirectoryRecord(path, limits),
            folder,
            lambda verdict: _check_verdict(path, verdict, force=force),
            limits=limits,
            progress=progress,
        )
        take_away(path, layout.archived_aside(layout.store_of(path), os.path.basename(path)))
    return Archived(path, uploaded.url, *uploaded[1:4])


def preview_archive(
    record: str | os.PathLike[str],
    *,
    to: str | os.PathLike[str] | None = None,
    force: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> ArchivePreview:
    """What `archive` would do with a record; it raises the same errors. Nothing is written, and nothing is locked."""
    source = _find(os.fspath(record))
    if isinstance(source, ArchivedRecord):
        before = _archived_before(source, to)
        return ArchivePreview(
            before.record_path, before.archive_path, before.uncompressed_bytes, before.verdict, is_new=False
        )
    path = os.path.abspath(source.path)
    store = layout.store_of(path)
    directory = DirectoryRecord(path, limits)
    document = directory.closed_document(limits)
    if (url := remote_folder(source, to)) is not None:
        return _preview_remote(directory, document, url, force=force, limits=limits, progress=progress)
    folder = ArchiveFolder.of_store(store).folder if to is None else os.path.abspath(os.fspath(to))
    target = os.path.join(folder, _archive_file(directory.name, document))
    verdict = verify_record(directory, progress=progress, limits=limits)
    _check_verdict(path, verdict, force=force)
    archives = ArchiveFolder(folder)
    archives.check()
    if os.path.lexists(target) and not is_archive_of(target, document, archives):
        raise other_archive(target)
    size = sum(size for _, size in directory.sizes())
    return ArchivePreview(path, target, size, verdict)


def _preview_remote(
    record: DirectoryRecord,
    document: "Team | Generation",
    folder: str,
    *,
    force: bool,
    limits: Limits | None,
    progress: Progress | None,
) -> ArchivePreview:
    """The same for object storage, without a request: whether the archive can be created there is not known."""
    from runcard.operations.archives.archive_remote import archive_url  # noqa: PLC0415 - only for URLs

    url = archive_url(folder, record.name, document)
    verdict = verify_record(record, progress=progress, limits=limits)
    _check_verdict(record.path, verdict, force=force)
    size = sum(size for _, size in record.sizes())
    return ArchivePreview(record.path, str(url), size, verdict)


def _find(word: str) -> Record:
    """The record to archive; a directory that is there is not looked into before it is locked."""
    path = os.path.dirname(word) if os.path.basename(word) == layout.METADATA else word
    is_there = os.path.isdir(path) and not is_other_directory(path)
    return DirectoryRecord(path) if is_there else open_record(word)


def _archived_before(record: ArchivedRecord, to: str | os.PathLike[str] | None) -> Archived:
    """The result for a record that is archived already; raises StoreError when it is to go to another folder."""
    if is_url(record.path):
        raise StoreError(
            f"{printable(record.path)} is an archive already",
            hint=f"restore it first: runcard restore {shell_word(record.path)} --to outputs",
        )
    folder = layout.folder_of_archive(record.path)
    if to is not None and os.path.realpath(to) != os.path.realpath(folder):
        raise StoreError(
            f"{printable(record.path)} is an archive already",
            hint=f"to archive it in another folder, restore it first: runcard restore {shell_word(record.path)}",
        )
    return _archived_meanwhile(os.path.join(record.store or folder, record.name), folder)


def _archived_meanwhile(path: str, folder: str) -> Archived:
    """The result for a record that was archived, by another process perhaps."""
    for entry in ArchiveFolder(folder).find(os.path.basename(path)):
        if os.path.isfile(entry.path):
            size = entry.fields.get("uncompressed_bytes")
            paths = str(_as_path(path)), str(_as_path(entry.path))
            return Archived(*paths, os.path.getsize(entry.path), size, Verdict(()), is_new=False)
    raise not_a_record(path)


def _pack(
    record: DirectoryRecord, folder: str, *, force: bool, limits: Limits | None, progress: Progress | None
) -> Archived:
    """Make the archive, and enter it in the index and the ledger."""
    path, store, name, now = record.path, record.store, record.name, Clock().timestamp()
    document = record.closed_document(limits)
    file = _archive_file(name, document)
    target = os.path.join(folder, file)
    mode = os.stat(path).st_mode & _READERS
    kind = kind_of(document)
    with NewArchive(path, target, mode, progress) as draft:
        contents = draft.fill()
        verdict = verify_record(
            ArchivedRecord(target, kind=kind, contents=contents).in_store(store), limits=limits
        )
        _check_verdict(path, verdict, force=force)
        archives = ArchiveFolder(folder)
        archives.check()  # an index that cannot be read stops the work before anything has a name
        if (metadata := contents.read(layout.METADATA)) is None:
            raise not_a_record(path)
        index = draft.place(contents, metadata, mode, replace=is_archive_of(target, document, archives))
    record_id = id_of(document)
    facts = {"archived_at": now, "archive_file": file, "store": os.path.relpath(store, folder)}
    facts["index_sha256"] = sha256_bytes(index).hex
    archives.put(kind, index_fields(kind, contents, document.to_dict(), facts), mode)
    more: JsonObject = {"archive": os.path.relpath(target, store), "archive_sha256": contents.sha256}
    if (mac := own_archive_mac(store, record_id, contents.sha256)) is not None:
        more["mac"] = mac
    end = parse_amendments(contents.read(layout.AMENDMENTS)).end
    with Ledger(store, mode) as ledger:
        digest = sha256_bytes(metadata).hex
        if end is not None and not any(
            entries_about(store, record_id)
        ):  # it is from a place without a ledger
            more["amendments"] = end.to_dict()
        ledger.append(ARCHIVED, now, entry_payload(kind, record_id, name, digest, now, **more))
    return Archived(path, target, contents.file_bytes, contents.bytes, verdict)


def _archive_file(name: str, document: "Team | Generation") -> str:
    """The path of the archive of a record in a folder of archives."""
    return layout.archive_file(name, recorded_at(document) or datetime.now(UTC))


def _check_verdict(path: str, verdict: Verdict, *, force: bool) -> None:
    if not force and not (verdict.intact and verdict.complete):
        raise ChangedRecordError(path, verdict)


def is_archive_of(archive: str, document: "Team | Generation", folder: ArchiveFolder) -> bool:
    """Whether an existing archive is that of this record: two records can have had the same name, one after the other."""
    if not os.path.lexists(archive):
        return False  # without reading the index, which is long in a folder of many archives
    with contextlib.suppress(RuncardError):
        other = _archived_document(archive)
        return (id_of(other), recorded_at(other)) == (id_of(document), recorded_at(document))
    entry = folder.at(archive)
    return entry is not None and entry.id == id_of(document)


def _archived_document(archive: str) -> "Team | Generation":
    """The copy beside an archive; the document in it, when an interruption left no copy."""
    record = ArchivedRecord(archive)
    if not layout.may_be_file(layout.metadata_copy(archive)):
        record.scan()
    return record.document()


def old_records(stores: list[str], age: timedelta, limits: Limits | None = None) -> Iterator[str]:
    """The closed records of stores whose work ended at least so long ago, oldest first."""
    limit = time_before(age)
    dated_paths = []
    for store in stores:
        for path in layout.records(store):
            try:
                moment = work_ended_at(DirectoryRecord(path).closed_document(limits))
            except RuncardError:
                continue  # open, or not a record of ours
            if moment is not None and moment <= limit:
                dated_paths.append((moment, path))
    return (path for _, path in sorted(dated_paths))
