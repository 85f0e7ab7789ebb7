"""Records and archives that could be deleted, and deleting them, with tombstones in the ledger.

Only closed records that were not changed since are pruned: a changed record is evidence. `candidates` lists what would
be deleted; `delete_intact` deletes nothing else.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.run.generation import Generation
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.files import failure, printable, walk_files
from runcard.observe.clock import Clock, time_before
from runcard.operations.archives.candidate import Candidate, Leftover
from runcard.operations.checks.verify import verify
from runcard.store import layout
from runcard.store.amendments.read import read_amendments
from runcard.store.archives.index import ArchiveEntry, ArchiveFolder
from runcard.store.archives.owner import check_place
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.replace_directory import finish_removals, held, take_away, tidy_archives
from runcard.store.ledger import ARCHIVE_DELETED, ARCHIVED, DELETED, Ledger, entries_in, entry_payload
from runcard.store.own_directories import own_entry
from runcard.store.record import DirectoryRecord, id_of, kind_of, work_ended_at
from runcard.store.remote.urls import is_url

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_ASIDE = "a record whose removal or restoring was interrupted"


@dataclass(frozen=True, slots=True)
class StoreSize:
    """The size of a store, now and when its candidates are deleted."""

    path: str
    bytes: int
    bytes_after: int

    def to_dict(self) -> JsonObject:
        return {"path": printable(self.path), "bytes": self.bytes, "bytes_after": self.bytes_after}


class PruneCandidates(NamedTuple):
    """What would be deleted, and the sizes of the stores."""

    records: list[Candidate]  # oldest first in each store
    stores: list[StoreSize]
    leftovers: list[Leftover]  # of killed commands; they are removed, unless it is a dry run


def candidates(
    stores: Iterable[str],
    *,
    older_than: timedelta | None = None,
    max_size: int | None = None,
    kind: str | None = None,
    dry_run: bool = False,
) -> PruneCandidates:
    """The records to delete: all that are older, and as many as needed to bring each store below the size limit.

    With `kind`, only sessions or only runs: a store can hold both. Unless `dry_run` is given, what killed commands left
    behind is removed first.
    """
    chosen: list[Candidate] = []
    sizes: list[StoreSize] = []
    leftovers: list[Leftover] = []
    limit = time_before(older_than) if older_than is not None else None
    for store in stores:
        every, total, left = _remote(store, dry_run) if is_url(store) else _local(store, dry_run)
        leftovers += left
        of_kind = (candidate for candidate in every if kind in {None, candidate.kind})
        by_age = sorted(
            of_kind, key=lambda candidate: (candidate.ended, not _is_outdated(candidate), candidate.path)
        )
        old = [candidate for candidate in by_age if limit is not None and candidate.ended <= limit]
        rest = [candidate for candidate in by_age if candidate not in old]
        bytes_left = total - sum(candidate.bytes for candidate in old)
        while max_size is not None and bytes_left > max_size and rest:
            old.append(rest.pop(0))
            bytes_left -= old[-1].bytes
        chosen += old
        sizes.append(StoreSize(store, total, bytes_left))
    return PruneCandidates(chosen, sizes, leftovers)


_StoreContents = tuple[Iterator[Candidate], int, list[Leftover]]


def _local(store: str, dry_run: bool) -> _StoreContents:  # noqa: FBT001 - as below
    """The candidates of a store on this machine, its size, and what killed commands left there."""
    left = [Leftover(path, size, _ASIDE) for path, size in finish_removals(store, dry_run=dry_run)]
    if not dry_run:
        tidy_archives(store)
    return _find_candidates(store), store_size(store), left


def _remote(url: str, dry_run: bool) -> _StoreContents:  # noqa: FBT001
    """The same for a folder of archives in object storage; its size is that of the archives, and of what is beside them."""
    from runcard.operations.archives.prune_remote import remote_candidates, tidy_remote  # noqa: PLC0415 - only for URLs
    from runcard.store.remote.folder import RemoteFolder  # noqa: PLC0415

    folder = RemoteFolder(url)
    left = tidy_remote(folder, dry_run=dry_run)
    return remote_candidates(folder), sum(map(folder.size_of, folder.archives)), left


def _is_outdated(candidate: Candidate) -> bool:
    """Whether an archive lacks amendments since its record was restored: it is deleted before the directory, which has all."""
    if candidate.entry is None:
        return False
    try:
        now = read_amendments(os.path.join(candidate.store, candidate.name)).entries
        return bool(now) and now != ArchivedRecord(candidate.path, candidate.entry).amendments().entries
    except (RuncardError, OSError):
        return True


def store_size(store: str) -> int:
    """The bytes of all files in a store, its archives included."""
    return sum(size for _, size in walk_files(store)) if os.path.isdir(store) else 0


def copies_of(store: str, name: str) -> list[Candidate]:
    """What is in a store of one record: its directory first, then its archive."""
    path = os.path.join(os.path.abspath(store), name)
    return list(_of([path] if os.path.isdir(path) else [], store, ArchiveFolder.of_store(store).find(name)))


def _find_candidates(store: str) -> Iterator[Candidate]:
    return _of(layout.records(store), store, ArchiveFolder.of_store(store))


def _of(directories: Iterable[str], store: str, archives: Iterable[ArchiveEntry]) -> Iterator[Candidate]:
    for path in directories:
        with contextlib.suppress(RuncardError):  # open, or not a record: it stays
            document = DirectoryRecord(path).closed_document()
            size = sum(size for _, size in walk_files(path))
            yield _candidate(path, document, size, layout.store_of(path), None)
    for entry in archives:
        with contextlib.suppress(RuncardError, OSError):
            check_place(entry)
            yield _archived(os.path.abspath(store), entry)


def _archived(store: str, entry: ArchiveEntry) -> Candidate:
    """An archive; without its document, only one that a killed process has deleted in part."""
    size = sum(os.path.getsize(path) for path in _files(entry) if os.path.exists(path))
    try:
        document = ArchivedRecord(entry.path, entry).document()
    except (RuncardError, OSError):
        rest = Candidate(entry.path, entry.kind, entry.id, entry.name, _LONG_AGO, size, "", store, entry)
        if not _is_deleted(rest):
            raise
        return rest
    return _candidate(entry.path, document, size, store, entry)


def _candidate(
    path: str, document: Team | Generation, size: int, store: str, entry: ArchiveEntry | None
) -> Candidate:
    name = entry.name if entry else os.path.basename(path)
    moment = work_ended_at(document) or datetime.now(UTC)
    digest = sha256_bytes(document.to_bytes()).hex
    return Candidate(path, kind_of(document), id_of(document), name, moment, size, digest, store, entry)


def _files(entry: ArchiveEntry) -> list[str]:
    """The files of an archive, the archive itself first."""
    return [entry.path, layout.member_index(entry.path), layout.metadata_copy(entry.path)]


def delete_intact(
    chosen: Iterable[Candidate],
    *,
    limits: Limits | None = None,
    on_kept: Callable[[Candidate, str], object],
) -> Iterator[Candidate]:
    """Delete the chosen candidates that are intact and complete; `on_kept` is called for the others, with the reason."""
    for candidate in chosen:
        reason = reason_to_keep(candidate, limits)
        if reason is not None:
            on_kept(candidate, reason)
            continue
        delete(candidate)
        yield candidate


def reason_to_keep(candidate: Candidate, limits: Limits | None = None) -> str | None:
    """Why something is not deleted: it is evidence if it was changed."""
    if is_url(candidate.path):
        from runcard.operations.archives.prune_remote import remote_reason_to_keep  # noqa: PLC0415 - only for URLs

        return remote_reason_to_keep(candidate, limits)
    if candidate.entry is not None and not os.path.lexists(candidate.path):
        return (
            None
            if _is_deleted(candidate)
            else "the archive is missing, and the ledger has no entry that it was deleted"
        )
    results = verify(candidate.path, limits=limits)
    faults = (
        finding for result in results for finding in result.verdict.findings if finding.breaks is not None
    )
    finding = next(faults, None)
    return None if finding is None else f"{finding.path}: {finding.message}"


def _is_deleted(candidate: Candidate) -> bool:
    """Whether an archive is gone, and the ledger has a tombstone of it: a process was killed while deleting it."""
    archive = os.path.relpath(candidate.path, candidate.store)
    return not os.path.lexists(candidate.path) and any(
        (entry.id, entry.archive) == (candidate.id, archive)
        for entry in entries_in(candidate.store)
        if entry.event in {DELETED, ARCHIVE_DELETED}
    )


def delete(
    candidate: Candidate, *, why: str | None = None, is_wanted: Callable[[], bool] = lambda: True
) -> None:
    """Delete a candidate; the tombstone, which has the reason, comes first, so that the ledger says why the record is missing.

    `is_wanted` is called when nothing else can change it any more.
    """
    if is_url(candidate.path):
        from runcard.operations.archives.prune_remote import delete_remote  # noqa: PLC0415 - only for URLs

        delete_remote(candidate, why)
        return
    try:
        is_directory = candidate.entry is None  # of an archive, the folder is locked to change it
        with held(candidate.path if is_directory else os.path.dirname(candidate.path)) as is_there:
            if is_directory and not is_there:
                return  # another process removed it
            if is_wanted():
                _delete(candidate, why)
    except OSError as error:
        raise failure(error, candidate.path, "delete") from error


def _delete(candidate: Candidate, why: str | None) -> None:
    """Delete a candidate; the entry of an archive goes last, so that one that was deleted in part is found again."""
    if candidate.entry is None:
        _write_tombstone(candidate, why)
        take_away(candidate.path, layout.pruned_aside(candidate.store, candidate.name))
        return
    if not _is_deleted(candidate):
        _write_tombstone(candidate, why)
    for path in _files(candidate.entry):
        _unlink(candidate.store, path)
    ArchiveFolder(candidate.entry.folder).drop(candidate.entry)


def _unlink(store: str, path: str) -> None:
    with (
        contextlib.suppress(FileNotFoundError),  # another process was killed while deleting it
        own_entry(store, os.path.abspath(path)) as (folder, name),
    ):
        os.unlink(name, dir_fd=folder)


def _write_tombstone(candidate: Candidate, why: str | None) -> None:
    """Enter the deletion in the ledger. While the archive or the directory is still there, the record is not deleted."""
    now = Clock().timestamp()
    reason = {} if why is None else {"why": why}
    event, payload = (
        DELETED,
        entry_payload(candidate.kind, candidate.id, candidate.name, candidate.sha256, now, **reason),
    )
    if candidate.entry is not None:
        payload["archive"] = os.path.relpath(candidate.path, candidate.store)
        if os.path.lexists(os.path.join(candidate.store, candidate.name)):
            event, payload["kind"] = ARCHIVE_DELETED, "archive"
    else:
        for entry in ArchiveFolder.of_store(candidate.store).find(candidate.name):
            event, payload["archive"] = ARCHIVED, os.path.relpath(entry.path, candidate.store)
    with Ledger(candidate.store) as ledger:
        ledger.append(event, now, payload)
