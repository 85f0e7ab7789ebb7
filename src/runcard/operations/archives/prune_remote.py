"""Deleting archives in object storage: what could be deleted, and deleting it, with an entry in the ledger beside it.

The archive goes first, so that a reader never sees a part of a record; then what is beside it.
"""

from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial

from runcard.digests import sha256_bytes
from runcard.documents.times import format_time
from runcard.encoding import Limits
from runcard.errors import MachineError, RuncardError
from runcard.observe.clock import Clock
from runcard.operations.archives.archive_remote import uploader_to
from runcard.operations.archives.candidate import Candidate, Leftover
from runcard.operations.checks.verify_remote import verify_remote_archive
from runcard.parallel.calls import CallThreads
from runcard.store.ledger import ARCHIVED, DELETED, Ledger, LedgerEntry, entry_payload
from runcard.store.record import id_of, kind_of, work_ended_at
from runcard.store.remote.bucket import bucket_of
from runcard.store.remote.folder import RemoteFolder
from runcard.store.remote.ledger import RemoteLedger
from runcard.store.remote.record import RemoteRecord
from runcard.store.remote.s3_writer import DEAD_AFTER, S3Writer
from runcard.store.remote.urls import ObjectUrl, objects_of

_AT_ONCE = 16
_DELETED = "its archive was deleted: the deletion was interrupted"
_INTERRUPTED = "its archive is not there: an upload was interrupted"
_IN_PARTS = "an upload in parts that was interrupted"


def remote_candidates(folder: RemoteFolder) -> Iterator[Candidate]:
    """The archives of a folder that could be deleted; one whose document cannot be read stays."""
    folder.latest  # noqa: B018 - read once, before there are threads
    with closing(CallThreads(_AT_ONCE)) as threads:
        calls = [threads.submit(partial(_candidate, folder, url)) for url in folder.archives]
        for call in calls:
            try:
                yield call.result()
            except MachineError:
                raise
            except RuncardError:
                pass


def remote_candidate(url: str) -> Candidate:
    """One archive, by its URL."""
    archive = ObjectUrl.parse(url)
    return _candidate(RemoteFolder(str(archive.folder)), str(archive))


def _candidate(folder: RemoteFolder, url: str) -> Candidate:
    record = RemoteRecord(url)
    document = record.document()
    ended = work_ended_at(document) or datetime.now(UTC)
    digest = sha256_bytes(document.to_bytes()).hex
    size, store, doubt = folder.size_of(url), str(record.url.folder), _doubt(folder.latest.get(url), digest)
    own = id_of(document)
    return Candidate(url, kind_of(document), own, record.name, ended, size, digest, store, None, doubt)


def _doubt(entry: LedgerEntry | None, digest: str) -> str | None:
    """Why an archive with this metadata document is not the one that the ledger knows."""
    is_other = entry is not None and _is_archived(entry) and entry.sha256 != digest
    return "the ledger knows this archive with another record" if is_other else None


def tidy_remote(folder: RemoteFolder, *, dry_run: bool) -> list[Leftover]:
    """Remove what uploads and deletions left that were killed more than a day ago; what that was.

    Only what a ledger says was deleted, or what has the mark of an upload: names like ours can be another program's.
    """
    found: list[Leftover] = []
    if folder.url.scheme == "s3":
        with suppress(MachineError):  # not everybody who may delete archives may list uploads
            found += _abort_dead(folder, dry_run=dry_run)
    limit = datetime.now(UTC) - DEAD_AFTER
    for about, states in ((_DELETED, folder.of_deleted), (_INTERRUPTED, folder.of_uploads)):
        old = [state for state in states if state.modified < limit]
        if not dry_run:
            bucket_of(folder.url).delete(state.url for state in old)
        found += [Leftover(str(state.url), state.size, about) for state in old]
    return found


def _abort_dead(folder: RemoteFolder, *, dry_run: bool) -> Iterator[Leftover]:
    """Abort uploads in parts; those of runcard began with what is beside the archive."""
    writer = S3Writer()
    for url, upload in writer.dead_uploads(folder.url):
        if folder.is_upload(url):
            if not dry_run:
                writer.abort(url, upload)
            yield Leftover(str(url), 0, _IN_PARTS)


def _is_archived(entry: LedgerEntry | None) -> bool:
    return entry is not None and entry.event == ARCHIVED


def remote_reason_to_keep(candidate: Candidate, limits: Limits | None) -> str | None:
    """Why an archive is not deleted: it is evidence if it was changed, and cannot be deleted while it is locked."""
    if candidate.doubt is not None:
        return candidate.doubt
    url = ObjectUrl.parse(candidate.path)
    if url.scheme == "s3" and (until := S3Writer().locked_until(url)) is not None:
        return f"it is locked until {format_time(until)}"
    verdict = verify_remote_archive(candidate.path, limits=limits, is_named=True).result.verdict
    finding = next((finding for finding in verdict.findings if finding.breaks is not None), None)
    return None if finding is None else f"{finding.path}: {finding.message}"


def delete_remote(candidate: Candidate, why: str | None) -> None:
    """Delete an archive and what is beside it; the entry in the ledger comes first."""
    now, folder = Clock().timestamp(), ObjectUrl.parse(candidate.store)
    more = {"archive": candidate.path.removeprefix(f"{folder}/")} | ({} if why is None else {"why": why})
    payload = entry_payload(candidate.kind, candidate.id, candidate.name, candidate.sha256, now, **more)
    store = RemoteRecord(candidate.path).store  # on this machine
    RemoteLedger(folder, uploader_to(folder).put_new).append(DELETED, now, payload)
    if store is not None:
        with Ledger(store) as ledger:
            ledger.append(DELETED, now, payload | {"archive": candidate.path})
    bucket_of(folder).delete(map(ObjectUrl.parse, objects_of(candidate.path)))
