"""Deleting archives in object storage: what could be deleted, and deleting it, with an entry in the ledger beside it.

The archive goes first, so that a reader never sees a part of a record; then what is beside it.
"""

from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial

from runcard.digests import sha256_bytes
from runcard.encoding import Limits
from runcard.errors import MachineError, RuncardError
from runcard.observe.clock import Clock
from runcard.operations.archives.candidate import Candidate
from runcard.operations.checks.verify_remote import verify_remote_archive
from runcard.parallel.calls import CallThreads
from runcard.store.ledger import DELETED, Ledger, entry_payload
from runcard.store.record import id_of, kind_of, work_ended_at
from runcard.store.remote.bucket import bucket_of
from runcard.store.remote.folder import RemoteFolder
from runcard.store.remote.ledger import RemoteLedger
from runcard.store.remote.record import RemoteRecord
from runcard.store.remote.s3_writer import DEAD_AFTER, S3Writer
from runcard.store.remote.urls import ObjectUrl, objects_of

_AT_ONCE = 16


def remote_candidates(folder: RemoteFolder) -> Iterator[Candidate]:
    """The archives of a folder that could be deleted; one whose document cannot be read stays."""
    with closing(CallThreads(_AT_ONCE)) as threads:
        calls = [threads.submit(partial(_candidate, folder, url)) for url in folder.archives]
        for call in calls:
            with suppress(RuncardError):
                yield call.result()


def remote_candidate(url: str) -> Candidate:
    """One archive, by its URL."""
    archive = ObjectUrl.parse(url)
    return _candidate(RemoteFolder(str(archive.folder)), str(archive))


def _candidate(folder: RemoteFolder, url: str) -> Candidate:
    record = RemoteRecord(url)
    document = record.document()
    ended = work_ended_at(document) or datetime.now(UTC)
    digest = sha256_bytes(document.to_bytes()).hex
    size, store = folder.size_of(url), str(folder.url)
    return Candidate(url, kind_of(document), id_of(document), record.name, ended, size, digest, store, None)


def tidy_remote(folder: RemoteFolder) -> None:
    """Remove what uploads left that were killed more than a day ago."""
    now, bucket = datetime.now(UTC), bucket_of(folder.url)
    old = [url for url in folder.interrupted() if now - folder.objects[url].modified > DEAD_AFTER]
    bucket.delete(map(ObjectUrl.parse, old))
    if folder.url.scheme == "s3":
        with suppress(MachineError):  # not everybody who may delete archives may list uploads
            S3Writer().abort_dead(folder.url)


def remote_reason_to_keep(candidate: Candidate, limits: Limits | None) -> str | None:
    """Why an archive is not deleted: it is evidence if it was changed."""
    verdict = verify_remote_archive(candidate.path, limits=limits).result.verdict
    finding = next((finding for finding in verdict.findings if finding.breaks is not None), None)
    return None if finding is None else f"{finding.path}: {finding.message}"


def delete_remote(candidate: Candidate, why: str | None) -> None:
    """Delete an archive and what is beside it; the entry in the ledger comes first."""
    now, folder = Clock().timestamp(), ObjectUrl.parse(candidate.store)
    more = {"archive": candidate.path.removeprefix(f"{folder}/")} | ({} if why is None else {"why": why})
    payload = entry_payload(candidate.kind, candidate.id, candidate.name, candidate.sha256, now, **more)
    store = RemoteRecord(candidate.path).store  # on this machine
    RemoteLedger(folder).append(DELETED, now, payload)
    if store is not None:
        with Ledger(store) as ledger:
            ledger.append(DELETED, now, payload | {"archive": candidate.path})
    bucket_of(folder).delete(map(ObjectUrl.parse, objects_of(candidate.path)))
