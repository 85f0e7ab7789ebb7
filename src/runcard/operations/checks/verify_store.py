"""Verifying a folder of records: every store at it or below it, with its ledgers and archives.

A store is checked in little memory, however many records it has: of its ledgers an index is kept, and of a record that
was checked only the digest of its key.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from runcard.documents.findings import Finding, ledger_finding, record_finding
from runcard.documents.kinds import GENERATION, TEAM, detect
from runcard.encoding import Limits
from runcard.errors import ClusterError, RuncardError, StoreError
from runcard.files import failure, printable
from runcard.operations.checks.verify_directories import (
    CheckedDirectory,
    is_record,
    verify_directories,
    verify_directory,
)
from runcard.operations.checks.verify_result import Verified
from runcard.store import layout
from runcard.store.ledger import LedgerKey
from runcard.store.ledger_index import LedgerIndex, RecordKeys
from runcard.store.record import DirectoryRecord, Progress, hint_about_file
from runcard.store.signatures import read_ledger_signatures
from runcard.store.verification import Verdict, is_store, unreadable, verify_ledgers
from runcard.store.verification.ledgers import repeated_records
from runcard.store.verification.lost_runs import verify_open_marks, verify_removals

if TYPE_CHECKING:
    from runcard.operations.checks.verify_archives import ArchivesCheck
    from runcard.store.verification.anchors import AnchorIndex, SeenRecords
    from runcard.store.verification.signature_check import RecordSignature


def verify_folder(root: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """Every store at a path or below it, such as the outputs of an experiment, and every archive and bundle beside them.

    A path that is not a folder is a finding.
    """
    is_any_found = has_results = False
    verified: set[str] = set()  # archives of a store that lie elsewhere
    stores: list[str] = []
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            records, others, archives = _records_in(folder, is_root=folder == root)
        except RuncardError as error:
            is_any_found = has_results = True
            yield Verified(folder, _without_records(unreadable(folder, error)), hint=hint_about_file(folder))
            continue
        folders += [path for path in reversed(others) if not _is_hidden(path)]
        if records or _is_store(folder, is_named=folder == root):
            is_any_found = True
            stores.append(folder)
            for result in _StoreCheck(folder, records, progress, limits).results():
                has_results = has_results or not result.is_only_ledger
                if layout.is_archive(result.path):
                    verified.add(os.path.abspath(result.path))
                yield result
        for path in _loose(archives, stores, verified):
            is_any_found = has_results = True
            yield _loose_archive(path, progress, limits)
    if not is_any_found:
        nothing = StoreError(f"{printable(root)} holds no records")
        yield Verified(root, _without_records(unreadable(root, nothing)))
    elif not has_results:
        deleted = sum(map(_count_deleted, stores))
        yield Verified(root, Verdict((), records=0), os.path.abspath(root), deleted=deleted)


def _loose(archives: list[str], stores: list[str], verified: set[str]) -> list[str]:
    """The archives that are in no store's folder of archives, and were not verified with a store."""
    own = tuple(f"{layout.archive_folder(store)}/" for store in stores)
    return [path for path in archives if not path.startswith(own) and os.path.abspath(path) not in verified]


def _loose_archive(path: str, progress: Progress | None, limits: Limits | None) -> Verified:
    """The verdict on an archive or a bundle that is not a store's; a note on what may be other data."""
    from runcard.operations.checks.verify_archives import verify_archive  # noqa: PLC0415 - most folders have none

    if _may_hold_record(path):
        return verify_archive(path, progress, limits)
    message = "it was not verified: nothing tells that it holds a record; name it to verify it"
    found = record_finding("limits", printable(path), "", message)
    return Verified(path, Verdict((found,), records=0))


def _may_hold_record(path: str) -> bool:
    """Whether the folder in an archive is named like the archive, or like a record; also if it cannot be opened."""
    from runcard.store.archives.scan import first_folder  # noqa: PLC0415 - as above

    try:
        folder = first_folder(path)
    except OSError:
        return True
    return folder is not None and (folder == layout.archived_name(path) or layout.is_dated(folder))


def verify_archive_folder(
    folder: str, progress: Progress | None, limits: Limits | None
) -> Iterator[Verified]:
    """All archives in a folder of them."""
    from runcard.operations.checks.verify_archives import ArchivesCheck  # noqa: PLC0415 - most stores have none

    path = os.path.abspath(folder)
    store = os.path.dirname(path) if layout.is_own_archive_folder(path) else None
    findings: list[Finding] = []
    present = RecordKeys()
    with ExitStack() as stack:
        index = None if store is None else _open_index(store, findings, stack)
        if store is not None:
            for record in filter(_is_surely_record, _folders_in(store)):
                present.add(DirectoryRecord(record).ledger_key)
        history = index.archive_history() if index else []
        archives = ArchivesCheck(folder, store, history, present, is_alone=True)
        yield from archives.verified(progress, limits)
    if findings := [*findings, *archives.findings]:
        yield Verified(folder, Verdict(tuple(findings), records=0), store)


def _without_records(verdict: Verdict) -> Verdict:
    return verdict._replace(records=0)


def _count_deleted(store: str) -> int:
    """How many records of a store were deleted on purpose."""
    with ExitStack() as stack:
        index = _open_index(store, [], stack)
        return index.count_deleted() if index else 0


def _open_index(store: str, findings: list[Finding], stack: ExitStack) -> LedgerIndex | None:
    """The index of the ledgers of a store; if one cannot be read, None and one more in `findings`."""
    try:
        return stack.enter_context(LedgerIndex(store))
    except RuncardError as error:
        findings += unreadable(store, error).findings
        return None


def _records_in(folder: str, *, is_root: bool) -> tuple[list[str], list[str], list[str]]:
    """The records in a folder, the other folders in it, and the archives."""
    records: list[str] = []
    others: list[str] = []
    folders, archives = _content_of(folder)
    for path in folders:
        (records if (is_record if is_root else _is_surely_record)(path) else others).append(path)
    return records, others, archives


def _folders_in(folder: str) -> list[str]:
    return _content_of(folder)[0]


def _content_of(folder: str) -> tuple[list[str], list[str]]:
    """The folders in a folder but its own, and the archives."""
    if not os.path.isdir(folder):
        reason = "is not a record" if os.path.lexists(folder) else "does not exist"
        raise StoreError(f"{printable(folder) or chr(39) * 2} {reason}")
    own = {layout.own_folder(folder), layout.collections(folder)}
    try:
        with os.scandir(folder) as scan:
            entries = list(scan)
        folders = (entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        archives = (
            entry.path
            for entry in entries
            if layout.is_archive(entry.name) and entry.is_file(follow_symlinks=False)
        )
        return sorted(path for path in folders if path not in own), sorted(archives)
    except OSError as error:
        raise failure(error, folder, "read the directory") from error


def _is_surely_record(path: str) -> bool:
    """Whether a folder that was not named is surely a record: other programs have checksums and metadata too."""
    journals = (layout.JOURNAL, layout.AUDIT)
    return any(layout.may_be_file(os.path.join(path, name)) for name in journals) or (
        detect(DirectoryRecord(path).raw_document) in {GENERATION, TEAM}
    )


def _is_store(folder: str, *, is_named: bool) -> bool:
    """Whether a folder is a store although it has no records now."""
    archive = layout.archive_folder(folder)
    marks = [layout.own_folder(folder), layout.collections(folder)]
    has_index = os.path.isfile(os.path.join(archive, layout.ARCHIVE_INDEX))
    return any(map(os.path.isdir, marks)) or has_index or (is_named and bool(layout.archives_in(archive)))


def _is_hidden(path: str) -> bool:
    return os.path.basename(path).startswith(".")


class _StoreCheck:
    """The check of one store."""

    def __init__(
        self, store: str, records: list[str], progress: Progress | None, limits: Limits | None
    ) -> None:
        self._store, self._records = store, records
        self._progress, self._limits = progress, limits
        self._present = RecordKeys()
        self._closed = self._heads = 0  # records with chains; those of them that name the head of a ledger
        self._findings: list[Finding] = []  # about the store
        self._anchors: AnchorIndex | None = None  # None: there are none
        self._seen: SeenRecords | None = None  # the same
        self._events: Counter[str] = Counter()  # of its ledgers
        self._has_signed = False  # whether a record is signed
        self._signatures: tuple[RecordSignature, ...] = ()  # of its ledgers, those that are right

    def results(self) -> Iterator[Verified]:
        """The verdict on each record, and at the end that on the ledgers."""
        store = self._store
        try:
            with ExitStack() as stack:
                index = _open_index(store, self._findings, stack)
                self._open_anchors()
                yield from map(self._anchored, self._directories(index))
                index = self._newest(index, stack)
                yield from map(self._anchored, self._ledgers_and_archives(index))
                if self._anchors is not None and self._seen is not None:
                    is_signed = bool(self._signatures)
                    self._findings += self._anchors.missing(self._seen, index, is_ledger_signed=is_signed)
        except ClusterError:
            raise
        except RuncardError as error:
            self._findings += unreadable(store, error).findings
        except OSError as error:
            self._findings += unreadable(store, failure(error, str(error.filename or store), "read")).findings
        verdict = Verdict(tuple(self._findings), records=0, signatures=self._signatures)
        yield Verified(store, verdict, os.path.abspath(store), ledger=self._events)

    def _open_anchors(self) -> None:
        if not layout.anchor_names(self._store):
            return
        from runcard.store.verification.anchors import AnchorIndex, SeenRecords  # noqa: PLC0415 - most stores have none

        self._anchors, self._seen = AnchorIndex(self._store), SeenRecords()
        self._findings += self._anchors.findings

    def _anchored(self, result: Verified) -> Verified:
        """A result with what the anchors prove about its record."""
        self._has_signed = self._has_signed or bool(result.verdict.signatures)
        if self._anchors is None or self._seen is None:
            return result
        self._seen.add(result.verdict.identity)
        return result._replace(verdict=self._anchors.applied(result.verdict))

    def _directories(self, index: LedgerIndex | None) -> Iterator[Verified]:
        indexes = {} if index is None else {os.path.abspath(self._store): index}
        for checked in verify_directories(self._records, indexes, self._progress, self._limits):
            self._add(checked)
            yield checked.result
        for path in layout.open_collections(self._store):
            if layout.is_new_live_session(path):
                continue
            yield verify_directory(path, indexes, self._progress, None).result

    def _add(self, checked: CheckedDirectory) -> None:
        self._present.add(checked.key)
        self._closed += checked.has_chains
        self._heads += checked.head is not None

    def _newest(self, index: LedgerIndex | None, stack: ExitStack) -> LedgerIndex | None:
        """The index of the ledgers as they are now, if records were closed, archived or deleted meanwhile."""
        if index is None or index.is_current():
            return index
        index.close()
        known = set(self._records)
        for path in _folders_in(self._store):
            if path not in known and _is_surely_record(path):
                self._present.add(DirectoryRecord(path, self._limits).ledger_key)
        return _open_index(self._store, self._findings, stack)

    def _ledgers_and_archives(self, index: LedgerIndex | None) -> Iterator[Verified]:
        archives = self._archives(index)
        if archives is not None:
            yield from archives.verified(self._progress, self._limits)
            self._findings += archives.findings
        if index is not None:
            self._events = index.events
            archived = archives.records if archives else set[LedgerKey]()
            self._findings += verify_ledgers(index, self._present, archived)
            if self._present.has_repeated():
                keys = ((DirectoryRecord(path).ledger_key, os.path.basename(path)) for path in self._records)
                self._findings += repeated_records(index, keys)
            self._check_signatures(index, archived)
        self._findings += verify_open_marks(self._store)
        self._findings += verify_removals(self._store)
        self._findings += _missing_ledger(self._store, self._closed, self._heads)
        self._findings += archives.outside_archives() if archives else ()

    def _check_signatures(self, index: LedgerIndex, archived: set[LedgerKey]) -> None:
        """Compare the ledgers with what was signed."""
        try:
            data = read_ledger_signatures(self._store)
        except RuncardError as error:
            self._findings.append(
                record_finding("signature", printable(self._store), layout.LEDGER_SIGNATURES, error.message)
            )
            return
        if data is None:
            if self._has_signed:
                message = "the ledger is not signed: records that are removed from its end are not noticed"
                self._findings.append(record_finding("limits", printable(self._store), "", message))
            return
        from runcard.store.verification.ledger_signatures import LedgerSignatureCheck  # noqa: PLC0415 - most have none

        check = LedgerSignatureCheck(index, self._limits or Limits(), self._present, archived)
        self._findings += check.findings(data)
        self._signatures = tuple(check.good)

    def _archives(self, index: LedgerIndex | None) -> "ArchivesCheck | None":
        """The archives of the store; None if there is no folder of archives and the ledger has none."""
        folder = layout.archive_folder(self._store)
        history = index.archive_history() if index else []
        if not history and not os.path.isdir(folder):
            return None
        from runcard.operations.checks.verify_archives import ArchivesCheck  # noqa: PLC0415 - as above

        return ArchivesCheck(folder, self._store, history, self._present)


def _missing_ledger(store: str, closed: int, heads: int) -> Iterator[Finding]:
    """There are closed records, and no ledger, which they name or which a store has.

    In a folder that is surely a store, each record that names a head has a finding of its own.
    """
    if layout.ledger_paths(store) or (is_store(store) and heads):
        return
    if heads:
        name = "1 record names" if heads == 1 else f"{heads:,} records name"
        message = f"{name} a ledger that is not here: it was removed, perhaps with other records, or these are copies"
        yield ledger_finding(printable(store), "", message)
    elif closed > 1 or (closed and is_store(store)):
        message = "there are closed records, and no ledger: it was removed, or these are copies"
        yield ledger_finding(printable(store), "", message)
