"""Verifying archives in object storage: one, or a folder of them with the ledgers of all hosts.

`verify_remote_archive` needs nothing but a URL, so that many archives can be verified on many machines; `folder_findings`
then compares their digests with the ledgers.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import NamedTuple

from runcard.documents.findings import COMPLETE, INTACT, Finding, ledger_finding
from runcard.encoding import Limits
from runcard.errors import StoreError
from runcard.files import printable
from runcard.operations.checks.verify_result import Verified
from runcard.parallel.calls import CallThreads
from runcard.parallel.current_cluster import current_cluster
from runcard.store.ledger import ARCHIVED, LedgerEntry
from runcard.store.record import Progress
from runcard.store.remote.folder import RemoteFolder
from runcard.store.remote.record import RemoteRecord
from runcard.store.remote.urls import ObjectUrl
from runcard.store.verification import Verdict, unreadable, verify_record

_AT_ONCE = 8  # archives


class VerifiedArchive(NamedTuple):
    """The verdict on one archive."""

    result: Verified
    sha256: str | None  # of the archive; None if it could not be read
    files: int = 0  # that were read
    bytes: int = 0


def verify_remote(url: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """An archive, or all archives of a folder, and then its ledgers."""
    if ObjectUrl.parse(url).is_archive:
        yield verify_remote_archive(url, progress=progress, limits=limits, is_named=True).result
        return
    folder = RemoteFolder(url)
    digests: dict[str, str | None] = {}
    for archive, verified in zip(folder.archives, _all(folder, limits), strict=True):
        digests[archive] = verified.sha256
        if progress is not None:
            progress(verified.files, verified.bytes)
        yield verified.result
    findings = tuple(folder_findings(folder, digests))
    if findings or not digests:
        is_empty = not (findings or folder.ledgers)
        nothing = unreadable(str(folder.url), StoreError(f"{printable(str(folder.url))} holds no records"))
        yield Verified(
            str(folder.url), nothing._replace(records=0) if is_empty else Verdict(findings, records=0)
        )


def _all(folder: RemoteFolder, limits: Limits | None) -> Iterator[VerifiedArchive]:
    """Several at a time, in order: in threads, or on the workers of a cluster."""
    archives = folder.archives
    if current_cluster() is not None:
        from runcard.parallel.forks import work_in_order  # noqa: PLC0415 - only with a cluster
        from runcard.parallel.shard import ItemPlace  # noqa: PLC0415

        check = partial(_verify_on_worker, limits=limits)
        yield from work_in_order(archives, check, place=lambda url: ItemPlace(url, folder.objects[url].size))
        return
    with closing(CallThreads(_AT_ONCE)) as threads:
        for start in range(0, len(archives), _AT_ONCE):
            some = archives[start : start + _AT_ONCE]
            calls = [threads.submit(partial(verify_remote_archive, url, limits=limits)) for url in some]
            for call in calls:
                yield call.result()


def _verify_on_worker(url: str, progress: Progress, limits: Limits | None) -> VerifiedArchive:
    return verify_remote_archive(url, progress=progress, limits=limits)


def verify_remote_archive(
    url: str, *, progress: Progress | None = None, limits: Limits | None = None, is_named: bool = False
) -> VerifiedArchive:
    """The verdict on an archive, by its URL. All of it is read.

    One that is named is also compared with the ledger of the store on this machine that it came from, if there is one.
    Raises MachineError if the server cannot be reached or refuses: that says nothing about the archive.
    """
    record = RemoteRecord(url)
    if not is_named:
        record.in_store(None)
    try:
        verdict = verify_record(record, limits=limits, progress=progress)
        store = record.store
    except StoreError as error:
        return VerifiedArchive(Verified(record.path, unreadable(record.path, error), is_named=is_named), None)
    result = Verified(record.path, verdict, store, is_named=is_named, mentions=(record.name,))
    contents = record.scan()
    return VerifiedArchive(result, contents.sha256, contents.files, contents.bytes)


def folder_findings(folder: RemoteFolder, digests: Mapping[str, str | None]) -> Iterator[Finding]:
    """Findings about the ledgers of a folder, given the digests of its archives by their URLs."""
    for ledger in folder.ledgers:
        yield from ledger.findings
    for url, entry in folder.latest.items():
        yield from _entry_findings(url, entry, digests)
    for url in (*digests, *folder.misnamed):
        if url not in folder.latest:
            yield ledger_finding(printable(url), "", "no ledger has this archive")
    for state in folder.of_uploads:
        message = "its archive is not there: an upload was interrupted"
        yield ledger_finding(printable(str(state.url)), "", message)
    for state in folder.of_deleted:
        message = "its archive was deleted: the deletion was interrupted"
        yield ledger_finding(printable(str(state.url)), "", message)


def _entry_findings(url: str, entry: LedgerEntry, digests: Mapping[str, str | None]) -> Iterator[Finding]:
    """Whether an archive is as the last entry about it says."""
    name = printable(url)
    if entry.event != ARCHIVED:
        if url in digests:
            yield ledger_finding(
                name, "", "the ledger says that this archive was deleted on purpose, and it is here"
            )
        return
    if url not in digests:
        message = f"the ledger has this archive of {printable(entry.id)}, and it is not there: it was removed"
        yield ledger_finding(name, "", message, breaks=COMPLETE, expected=entry.archive_sha256)
    elif (found := digests[url]) is not None and found != entry.archive_sha256:
        message = "the ledger knows this archive with another digest"
        yield ledger_finding(name, "", message, breaks=INTACT, expected=entry.archive_sha256, found=found)
