"""Verifying records: one run or session, many, or a whole store."""

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from runcard.documents.findings import INTACT, Finding, ledger_finding
from runcard.documents.kinds import GENERATION, TEAM, detect
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import failure, printable
from runcard.operations.checks.verify_result import Verified, guarded
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.store.ledger import DELETED, LedgerEntry, LedgerKey, entries, history_of, ledgers
from runcard.store.record import SESSION, DirectoryRecord, Progress, Record
from runcard.store.verification import (
    LedgerFile,
    Verdict,
    is_store,
    unreadable,
    verify_chains,
    verify_ledgers,
    verify_record,
)

if TYPE_CHECKING:
    from runcard.operations.checks.pin import PinCheck
    from runcard.operations.checks.verify_archives import ArchivesCheck


def verify(
    *paths: str | os.PathLike[str], progress: Progress | None = None, limits: Limits | None = None
) -> Iterator[Verified]:
    """Hash everything at these paths and compare it with the recorded digests.

    A path is a run or a session, its metadata document, its archive, or a folder with records at any depth; one that is
    none of these is a finding as well. `progress` is called with the files and bytes so far of the record that is being looked at.
    """
    named: set[str] = set()  # stores whose ledgers were checked for the sake of one record
    for path in paths:
        for result in _at(os.fspath(path), progress, limits):
            yield result
            if result.is_named and result.store is not None and result.store not in named:
                named.add(result.store)
                yield from _verify_chains_of(result.store)


def damage_of(path: str | os.PathLike[str]) -> str | None:
    """Why a record fails verification; None if it does not."""
    for result in verify(path):
        if not (result.verdict.intact and result.verdict.complete):
            found = next((found for found in result.verdict.findings if found.breaks), None)
            if found is None:
                return "it is damaged"
            return f"{printable(found.path)}: {found.message}" if found.path else found.message
    return None


def _at(name: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    if os.path.basename(name) == layout.METADATA and os.path.isfile(name):
        name = os.path.dirname(name) or "."
    if layout.is_archive(name) and os.path.lexists(name) and not os.path.isdir(name):
        yield _archive(name, progress, limits)._replace(is_named=True)
    elif layout.is_collection(name) or _is_record(name):
        yield _verify_directory(DirectoryRecord(name, limits), progress, limits)._replace(is_named=True)
    elif os.path.lexists(name):
        yield from (
            _folder_of_archives(name, progress, limits)
            if layout.is_archive_folder(name)
            else _folder(name, progress, limits)
        )
    else:
        yield from _named(name, progress, limits)


def _named(word: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """The record with this name or id, which is not a path; a finding if there is none."""
    try:
        record = open_record(word, limits)
    except StoreError as error:
        yield Verified(word, unreadable(word, error)._replace(records=0), hint=error.full_hint)
        return
    if not record.is_archived:
        yield _verify_directory(DirectoryRecord(record.path, limits), progress, limits)._replace(
            is_named=True
        )
        return
    yield _archive(record.path, progress, limits)._replace(is_named=True)
    yield from _missing_directory(record)


def _verify_chains_of(store: str) -> Iterator[Verified]:
    """Findings about the ledgers that a single record was compared with."""
    with contextlib.suppress(RuncardError):  # one that cannot be read is reported with the record
        if findings := tuple(verify_chains(ledgers(store), store)):
            yield Verified(store, Verdict(findings, records=0), store)


def _missing_directory(record: Record) -> Iterator[Verified]:
    """The finding about a record that was restored from its archive, by the ledger, and is not there any more."""
    store = record.store
    if store is None or os.path.lexists(record.directory):
        return
    archived = {record.ledger_key}
    name = printable(record.name)

    def check() -> Verdict:
        findings = verify_ledgers(store, list(ledgers(store)), (), archived)
        return Verdict(tuple(finding for finding in findings if finding.record == name))

    result = guarded(store, check, store)
    if result.verdict.findings:
        yield result._replace(verdict=result.verdict._replace(records=0))


def _archive(path: str, progress: Progress | None, limits: Limits | None) -> Verified:
    from runcard.operations.checks.verify_archives import verify_archive  # noqa: PLC0415 - as above

    return verify_archive(path, progress, limits)


def _folder_of_archives(folder: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """All archives in a folder of them."""
    from runcard.operations.checks.verify_archives import ArchivesCheck  # noqa: PLC0415 - as above

    path = os.path.abspath(folder)
    store = os.path.dirname(path) if layout.is_own_archive_folder(path) else None
    findings: list[Finding] = []
    history: list[LedgerEntry] = []
    present: set[LedgerKey] = set()
    if store is not None:
        history = history_of(_ledger_files(store, findings))
        present = {DirectoryRecord(path).ledger_key for path in _folders_in(store) if _is_surely_record(path)}
    archives = ArchivesCheck(folder, store, history, present, is_alone=True)
    yield from archives.verified(progress, limits)
    if findings := [*findings, *archives.findings]:
        yield Verified(folder, Verdict(tuple(findings), records=0), store)


def _archives_of(store: str, present: set[LedgerKey], history: list[LedgerEntry]) -> "ArchivesCheck | None":
    """The archives of a store; None if there is no folder of archives and the ledger has none."""
    has_archived = any(entry.archive is not None for entry in history)
    if not has_archived and not os.path.isdir(layout.archive_folder(store)):
        return None
    from runcard.operations.checks.verify_archives import ArchivesCheck  # noqa: PLC0415 - as above

    return ArchivesCheck(layout.archive_folder(store), store, history, present)


def _is_record(path: str) -> bool:
    """Whether this is a record; also true when that cannot be found out, so that verifying it reports why."""
    return any(
        layout.may_be_file(os.path.join(path, name), follow=True)
        for name in (layout.METADATA, layout.JOURNAL, layout.AUDIT, layout.CHECKSUMS)
    )


def _verify_directory(record: DirectoryRecord, progress: Progress | None, limits: Limits | None) -> Verified:
    """The verdict on a record in its directory."""
    path, store = record.path, record.store
    if layout.is_collection(path):
        from runcard.store.verification.session import verify_collection  # noqa: PLC0415 - long to load

        return guarded(path, partial(verify_collection, path))
    if record.is_instance:
        problem = StoreError(f"{printable(path)} is an instance, which is a part of a session")
        return Verified(path, unreadable(path, problem)._replace(records=0))
    real = os.path.realpath(path)
    if record.kind == SESSION and os.path.basename(real) != record.name:  # its name is a part of its chains
        record = DirectoryRecord(real, limits)
    result = guarded(path, partial(verify_record, record, progress=progress, limits=limits), store)
    is_open = any(finding.kind == "open" for finding in result.verdict.findings)
    return result._replace(verdict=_as_of_now(record, result.verdict)) if is_open else result


def _as_of_now(run: DirectoryRecord, verdict: Verdict) -> Verdict:
    """The verdict on a run that is not closed, with the current state of its process and its ledger entry."""
    findings = [
        finding._replace(message=_open_message(run)) if finding.kind == "open" else finding
        for finding in verdict.findings
    ]
    if run.id in {entry.id for _, journal, _ in ledgers(run.store) for entry in entries(journal)}:
        message = "it says that it is not closed, and the ledger has it as closed"
        findings.append(ledger_finding(findings[0].record or "", layout.METADATA, message, breaks=INTACT))
    return verdict._replace(findings=tuple(findings))


def _open_message(run: DirectoryRecord) -> str:
    from runcard.operations.checks.show import state_now  # noqa: PLC0415 - few runs are open

    status, remark = state_now(run.path, run.raw_document)
    if status == "interrupted":
        return f"the run was interrupted and is not closed: {remark}"
    return f"the run is not closed: {remark or 'it is still running'}"


def _folder(root: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """Every store at a path or below it, such as the outputs of an experiment; a path that is not a folder is a finding."""
    is_any_found = has_results = False
    stores: list[str] = []
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            inner = _folders_in(folder)
        except RuncardError as error:
            is_any_found = has_results = True
            yield Verified(folder, unreadable(folder, error)._replace(records=0))
            continue
        is_record = _is_record if folder == root else _is_surely_record
        records = [path for path in inner if is_record(path)]
        if records or _is_store(folder, is_named=folder == root):
            is_any_found = True
            stores.append(folder)
            for result in _store(folder, records, progress, limits):
                has_results = True
                yield result
        passed_over = set(records)
        folders += [path for path in reversed(inner) if path not in passed_over and not _is_hidden(path)]
    if not is_any_found:
        nothing = StoreError(f"{printable(root)} holds no records")
        yield Verified(root, unreadable(root, nothing)._replace(records=0))
    elif not has_results:
        deleted = sum(map(_count_deleted, stores))
        yield Verified(root, Verdict((), records=0), os.path.abspath(root), deleted=deleted)


def _count_deleted(store: str) -> int:
    """How many records of a store were deleted on purpose."""
    return len({entry.key for entry in history_of(_ledger_files(store, [])) if entry.event == DELETED})


def _folders_in(folder: str) -> list[str]:
    if not os.path.isdir(folder):
        reason = "is not a record" if os.path.lexists(folder) else "does not exist"
        raise StoreError(f"{printable(folder) or chr(39) * 2} {reason}")
    own = {layout.own_folder(folder), layout.collections(folder)}
    try:
        with os.scandir(folder) as scan:
            return sorted(
                entry.path for entry in scan if entry.is_dir(follow_symlinks=False) and entry.path not in own
            )
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


def _store(
    store: str, records: list[str], progress: Progress | None, limits: Limits | None
) -> Iterator[Verified]:
    from runcard.store.verification.lost_runs import verify_open_marks  # noqa: PLC0415 - not for single records

    present: set[LedgerKey] = set()
    closed = heads = (
        0  # records with chains, which a closing enters in a ledger; those of them that name its head
    )
    findings: list[Finding] = []
    try:
        for record in (DirectoryRecord(path, limits) for path in records):
            present.add(record.ledger_key)
            closed += bool(record.raw_document.get("event_chains"))
            heads += record.raw_document.get("ledger_head") is not None
            yield _verify_directory(record, progress, limits)
        for path in layout.open_collections(store):
            yield _verify_directory(DirectoryRecord(path), progress, limits)
        files = _ledger_files(store, findings)
        archives = _archives_of(store, present, history_of(files))
        if archives is not None:
            yield from archives.verified(progress, limits)
            findings += archives.findings
        findings += verify_ledgers(store, files, present, archives.records if archives else ())
        findings += verify_open_marks(store)
        findings += _missing_ledger(store, closed, heads)
        findings += archives.outside_archives() if archives else ()
    except RuncardError as error:
        findings += unreadable(store, error).findings
    except OSError as error:
        findings += unreadable(store, failure(error, str(error.filename or store), "read")).findings
    if findings:
        yield Verified(store, Verdict(tuple(findings), records=0), os.path.abspath(store))


def _ledger_files(store: str, findings: list[Finding]) -> list[LedgerFile]:
    """The ledgers of a store; an error adds a finding to `findings`."""
    try:
        return list(ledgers(store))
    except RuncardError as error:
        findings += unreadable(store, error).findings
        return []


def _missing_ledger(store: str, closed: int, heads: int) -> Iterator[Finding]:
    """Several closed records were in a store with a ledger; one alone may have been copied.

    In a folder that is surely a store, each record that names a head has a finding of its own.
    """
    if layout.ledger_paths(store) or (is_store(store) and heads):
        return
    if closed > 1 or (closed and is_store(store)):
        message = "there are closed records, and no ledger: it was removed, or these are copies"
        yield ledger_finding(printable(store), "", message)


def summary(results: list[Verified], pin: "PinCheck | None" = None) -> JsonObject:
    """The verdict on everything as data."""
    pinned = {} if pin is None else {"pin": pin.to_dict()}
    return {
        "intact": all(result.verdict.intact for result in results),
        "complete": all(result.verdict.complete for result in results),
        "signed": None,
        "records": sum(result.verdict.records for result in results),
        "findings": [finding.to_dict() for result in results for finding in result.verdict.findings],
        **pinned,
    }
