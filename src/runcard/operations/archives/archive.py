"""Archiving: a sealed record becomes one file, and its directory goes when that file has been read back."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from runcard.digests import sha256_bytes
from runcard.documents import codec
from runcard.documents.document import Document
from runcard.documents.run.generation import Generation
from runcard.documents.session.team import Team
from runcard.documents.times import instant
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import printable
from runcard.observe.clock import Clock, time_before
from runcard.operations.checks.load import load
from runcard.store import layout
from runcard.store.archives.index import Shelf, entry
from runcard.store.archives.pack import Progress
from runcard.store.archives.replace_directory import Draft, finish_removals, held, take_away
from runcard.store.archives.scan import Contents, scan
from runcard.store.ledger import ARCHIVED, Ledger
from runcard.store.no_record import no_record
from runcard.store.ownership import own_archive_mac
from runcard.store.verification import Verdict, verify_archived_run, verify_archived_session

_READERS = 0o666  # of what lies in a folder of archives, as far as the record lets them


class ChangedRecordError(StoreError):
    """A record is not what it was when it was sealed."""

    def __init__(self, record: str, verdict: Verdict) -> None:
        first = next(found for found in verdict.findings if found.breaks is not None)
        place = f"{first.path}: " if first.path else ""
        super().__init__(
            f"{printable(record)} is not what it was when it was closed, and was not archived: {place}{first.message}",
            hint=f"`runcard verify {printable(record)}` tells more; --force archives it as it is",
        )
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class Archived:
    """A record that was archived."""

    record: Path  # where it was
    archive: Path
    bytes: int
    uncompressed_bytes: int | None  # None where nobody wrote it down
    verdict: Verdict

    def to_dict(self) -> JsonObject:
        return {
            "record": printable(str(self.record)),
            "archive": printable(str(self.archive)),
            "bytes": self.bytes,
            "uncompressed_bytes": self.uncompressed_bytes,
            "findings": [found.to_dict() for found in self.verdict.findings],
        }


def archive(
    record: str | os.PathLike[str],
    *,
    to: str | os.PathLike[str] | None = None,
    force: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Archived:
    """Put a closed run or session into an archive and remove its directory.

    Raises ChangedRecordError for one that is not what it was when it was closed, unless `force` is given.
    """
    path = os.path.abspath(os.fspath(record))
    if os.path.basename(path) == layout.METADATA:
        path = os.path.dirname(path)
    store = layout.store_of(path)
    finish_removals(store)
    folder = Shelf.of_store(store).folder if to is None else os.path.abspath(os.fspath(to))
    with held(path) as is_there:
        if not is_there:
            return _archived_already(path, folder)
        document = closed_document(path, limits)
        filed = _file(path, folder, document, force=force, limits=limits, progress=progress)
        take_away(path, layout.archived_aside(store, os.path.basename(path)))
    return filed


def _archived_already(path: str, folder: str) -> Archived:
    """What somebody else made of a record while we waited for it."""
    for one in Shelf(folder).find(os.path.basename(path)):
        if os.path.isfile(one.path):
            size = one.fields.get("uncompressed_bytes")
            return Archived(Path(path), Path(one.path), os.path.getsize(one.path), size, Verdict(()))
    raise StoreError(f"{printable(path)} does not exist", hint="name the directory of a run or a session")


def closed_document(path: str, limits: Limits | None = None) -> Document:
    """The document of a record that is closed."""
    metadata = os.path.join(path, layout.METADATA)
    if layout.is_collection(path):
        raise StoreError(
            f"{printable(path)} is not complete", hint="name the directory of a closed run or session"
        )
    if not layout.may_be_file(metadata):
        raise no_record(path)
    document = load(metadata, limits=limits)
    if not isinstance(document, Team | Generation):
        raise StoreError(
            f"{printable(path)} is a part of a session", hint="name the directory of the session"
        )
    if isinstance(document, Generation) and document.to_dict()["generation"].get("status") == "running":
        raise StoreError(
            f"{printable(path)} is not closed",
            hint=f"when its process is gone: runcard close {printable(path)}",
        )
    return document


def _file(
    path: str,
    folder: str,
    document: Document,
    *,
    force: bool,
    limits: Limits | None,
    progress: Progress | None,
) -> Archived:
    store, name, now = layout.store_of(path), os.path.basename(path), Clock().timestamp()
    file = layout.archive_file(name, begun(document) or datetime.now(UTC))
    target = os.path.join(folder, file)
    mode = os.stat(path).st_mode & _READERS
    kind = "session" if isinstance(document, Team) else "run"
    with Draft(path, target, mode, progress) as draft:
        contents = draft.fill()
        contents.store = store
        verdict = verdict_on(contents, kind, limits)
        if not force and not (verdict.intact and verdict.complete):
            raise ChangedRecordError(path, verdict)
        shelf = Shelf(folder)
        list(shelf)  # an index that cannot be read stops the work before anything has a name
        metadata = contents.documents[layout.METADATA]
        places = draft.place(contents, metadata, mode, replace=is_of(target, document, shelf))
    data = document.to_dict()
    record_id = id_of(document)
    facts = {"archived_at": now, "archive_file": file, "store": os.path.relpath(store, folder)}
    facts["index_sha256"] = sha256_bytes(places).hex
    shelf.put(kind, entry(kind, contents, data, facts), mode)
    said = {"kind": kind, "id": record_id, "path": name, "sha256": sha256_bytes(metadata).hex, "time": now}
    said |= {"archive": os.path.relpath(target, store), "archive_sha256": contents.sha256}
    if (mac := own_archive_mac(store, record_id, contents.sha256)) is not None:
        said["mac"] = mac
    with Ledger(store, mode) as ledger:
        ledger.append(ARCHIVED, now, said)
    return Archived(Path(path), Path(target), contents.file_bytes, contents.bytes, verdict)


def is_of(archive: str, document: Document, shelf: Shelf) -> bool:
    """Whether an archive that is there is that of this record: two can have had the same name, one after the other."""
    with contextlib.suppress(RuncardError):
        other = _archived_document(archive)
        return (id_of(other), begun(other)) == (id_of(document), begun(document))
    known = shelf.at(archive)
    return known is not None and known.id == id_of(document)


def _archived_document(archive: str) -> Document:
    """The copy beside an archive; where somebody was killed before it was written, the one in the archive."""
    copy = layout.metadata_copy(archive)
    if layout.may_be_file(copy):
        return load(copy)
    return codec.load(scan(archive).read(layout.METADATA) or b"")


def verdict_on(contents: Contents, kind: str, limits: Limits | None) -> Verdict:
    """Whether an archived record is what it was when it was closed."""
    check = verify_archived_session if kind == "session" else verify_archived_run
    return check(contents, limits)


def id_of(document: Document) -> str:
    """The id of a record."""
    data = document.to_dict()
    return str(data["team_session_id"] if isinstance(document, Team) else data["generation"]["run_id"])


def begun(document: Document) -> datetime | None:
    """When a record began."""
    data: JsonObject = document.to_dict()
    said = data["created_at"] if isinstance(document, Team) else data["generation"]["timestamp_start"]
    moment = instant(said)
    return moment and moment.astimezone(UTC)


def old_records(stores: list[str], age: timedelta, limits: Limits | None = None) -> Iterator[str]:
    """The closed records of stores that began at least so long ago, oldest first."""
    limit = time_before(age)
    found = []
    for store in stores:
        for path in layout.records(store):
            try:
                moment = begun(closed_document(path, limits))
            except RuncardError:
                continue  # open, or no record of ours: nobody named it
            if moment is not None and moment <= limit:
                found.append((moment, path))
    return (path for _, path in sorted(found))
