"""Pruning: deleting what is old, or too much, and leaving a tombstone in the ledger.

Only what is closed and what is still what it was when it was closed is deleted: a record that was changed is evidence of
something. What would go is told first; nothing is deleted that was not told.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from runcard.digests import sha256_bytes
from runcard.documents.run.generation import Generation
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError
from runcard.files import failure, printable, walk_files
from runcard.observe.clock import Clock, time_before
from runcard.operations.checks.verify import verify
from runcard.store import layout
from runcard.store.amendments.read import read_amendments
from runcard.store.archives.index import ArchiveEntry, ArchiveFolder
from runcard.store.archives.owner import check_place
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.replace_directory import finish_removals, held, take_away, tidy_archives
from runcard.store.ledger import ARCHIVE_DELETED, ARCHIVED, DELETED, Ledger, entries, entry_payload, ledgers
from runcard.store.own_directories import own_entry
from runcard.store.record import DirectoryRecord, id_of, kind_of, start_of


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record or an archive that could go."""

    path: str
    kind: str  # session or run
    id: str
    name: str
    start: datetime
    bytes: int  # that it takes
    sha256: str  # of its metadata document
    store: str
    entry: ArchiveEntry | None  # of an archive

    def to_dict(self) -> JsonObject:
        return {
            "path": printable(self.path),
            "kind": self.kind,
            "archive": self.entry is not None,
            "bytes": self.bytes,
        }


def candidates(
    stores: Iterable[str],
    *,
    older_than: timedelta | None = None,
    max_size: int | None = None,
    kind: str | None = None,
) -> list[Candidate]:
    """What would go, oldest first: all that is older, and as much as is needed for stores not to take more.

    With `kind` only sessions go, or only runs: a store can hold both.
    """
    chosen: list[Candidate] = []
    limit = time_before(older_than) if older_than is not None else None
    for store in stores:
        finish_removals(store)
        tidy_archives(store)
        may_go = (one for one in _all(store) if kind in {None, one.kind})
        found = sorted(may_go, key=lambda one: (one.start, not _is_outdated(one), one.path))
        old = [one for one in found if limit is not None and one.start <= limit]
        rest = [one for one in found if one not in old]
        held_now = store_size(store) - sum(one.bytes for one in old)
        while max_size is not None and held_now > max_size and rest:
            old.append(rest.pop(0))
            held_now -= old[-1].bytes
        chosen += old
    return chosen


def _is_outdated(one: Candidate) -> bool:
    """Whether an archive lacks what was amended since its record was restored: it goes before the directory, which has all."""
    if one.entry is None:
        return False
    try:
        now = read_amendments(os.path.join(one.store, one.name)).entries
        return bool(now) and now != ArchivedRecord(one.path, one.entry).amendments().entries
    except (RuncardError, OSError):
        return True


def store_size(store: str) -> int:
    """The bytes of all files in a store, its archives included."""
    return sum(size for _, size in walk_files(store)) if os.path.isdir(store) else 0


def _all(store: str) -> Iterator[Candidate]:
    for path in layout.records(store):
        with contextlib.suppress(RuncardError):  # open, or no record of ours: it stays
            document = DirectoryRecord(path).closed_document()
            size = sum(size for _, size in walk_files(path))
            yield _candidate(path, document, size, layout.store_of(path), None)
    for entry in ArchiveFolder.of_store(store):
        with contextlib.suppress(RuncardError, OSError):
            check_place(entry)
            document = ArchivedRecord(entry.path, entry).document()
            size = sum(os.path.getsize(path) for path in _files(entry) if os.path.exists(path))
            yield _candidate(entry.path, document, size, os.path.abspath(store), entry)


def _candidate(
    path: str, document: Team | Generation, size: int, store: str, entry: ArchiveEntry | None
) -> Candidate:
    name = entry.name if entry else os.path.basename(path)
    moment = start_of(document) or datetime.now(UTC)
    digest = sha256_bytes(document.to_bytes()).hex
    return Candidate(path, kind_of(document), id_of(document), name, moment, size, digest, store, entry)


def _files(entry: ArchiveEntry) -> list[str]:
    """What belongs to an archive, the archive itself first."""
    return [entry.path, layout.member_index(entry.path), layout.metadata_copy(entry.path)]


def prune(
    chosen: Iterable[Candidate],
    *,
    limits: Limits | None = None,
    on_kept: Callable[[Candidate, str], object],
) -> Iterator[Candidate]:
    """Delete what was chosen, as far as it is intact and complete; `on_kept` hears of the rest, and why it stays."""
    for one in chosen:
        reason = _why_not(one, limits)
        if reason is not None:
            on_kept(one, reason)
            continue
        try:
            _delete(one)
        except OSError as error:
            raise failure(error, one.path, "delete") from error
        yield one


def _why_not(one: Candidate, limits: Limits | None) -> str | None:
    """Why something is not deleted."""
    if one.entry is not None and not os.path.lexists(one.path):
        return (
            None
            if _has_tombstone(one)
            else "the archive is gone, and no entry in the ledger says that it was deleted"
        )
    results = verify(one.path, limits=limits)
    wrong = (found for result in results for found in result.verdict.findings if found.breaks is not None)
    found = next(wrong, None)
    return None if found is None else f"{found.path}: {found.message}"


def _has_tombstone(one: Candidate) -> bool:
    """Whether a deletion of this archive was entered: somebody was killed while deleting it."""
    archive = os.path.relpath(one.path, one.store)
    every = (entry for _, journal, _ in ledgers(one.store) for entry in entries(journal))
    return any(
        (entry.id, entry.archive) == (one.id, archive)
        for entry in every
        if entry.event in {DELETED, ARCHIVE_DELETED}
    )


def _delete(one: Candidate) -> None:
    """The tombstone first: whoever finds the record gone finds out why."""
    with contextlib.ExitStack() as stack:
        if one.entry is None and not stack.enter_context(held(one.path)):
            return  # somebody else took it away
        _write_tombstone(one)
        if one.entry is None:
            take_away(one.path, layout.pruned_aside(one.store, one.name))
            return
        archive, *beside = _files(one.entry)
        _unlink(one.store, archive)
        ArchiveFolder(one.entry.folder).drop(one.entry)
        for path in beside:
            _unlink(one.store, path)


def _unlink(store: str, path: str) -> None:
    with (
        contextlib.suppress(FileNotFoundError),  # somebody was killed while deleting it
        own_entry(store, os.path.abspath(path)) as (folder, name),
    ):
        os.unlink(name, dir_fd=folder)


def _write_tombstone(one: Candidate) -> None:
    """Say in the ledger what goes; as long as the other of the two is there, the record is not gone."""
    now = Clock().timestamp()
    event, payload = DELETED, entry_payload(one.kind, one.id, one.name, one.sha256, now)
    if one.entry is not None:
        payload["archive"] = os.path.relpath(one.path, one.store)
        if os.path.lexists(os.path.join(one.store, one.name)):
            event, payload["kind"] = ARCHIVE_DELETED, "archive"
    else:
        for entry in ArchiveFolder.of_store(one.store).find(one.name):
            event, payload["archive"] = ARCHIVED, os.path.relpath(entry.path, one.store)
    with Ledger(one.store) as ledger:
        ledger.append(event, now, payload)
