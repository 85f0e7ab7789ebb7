"""Verifying records in their directories: one, or many on all cores or on a cluster."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.documents.findings import COMPLETE, INTACT, Finding, ledger_finding
from runcard.encoding import Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import printable, shell_word
from runcard.operations.checks.verify_result import Verified, guarded
from runcard.store import layout
from runcard.store.ledger import LedgerKey
from runcard.store.ledger_search import TAIL, LedgerSearch, search_ledgers
from runcard.store.record import SESSION, DirectoryRecord, Progress
from runcard.store.verification import Verdict, unreadable, verify_chain, verify_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runcard.parallel.shard import ItemPlace
    from runcard.store.ledger_index import LedgerIndex


class CheckedDirectory(NamedTuple):
    """The verdict on a record, and what the check of its store needs to know about it."""

    result: Verified
    key: LedgerKey
    head: Any  # of the ledger, as the document states it
    has_chains: bool  # which closing enters in a ledger


def verify_directories(
    paths: Sequence[str],
    indexes: "Mapping[str, LedgerIndex]",
    progress: Progress | None,
    limits: Limits | None,
) -> Iterator[CheckedDirectory]:
    """The verdicts on records, in their order; `indexes` are those of the ledgers of their stores, where there are any."""

    if len(paths) == 1:
        return (verify_directory(path, indexes, progress, limits) for path in paths)
    from runcard.parallel.forks import work_in_order  # noqa: PLC0415 - it loads pickle

    check = partial(_check_files, indexes=indexes, limits=limits)
    return map(_as_of_now, work_in_order(paths, check, progress, place=_place))


def _place(path: str) -> "ItemPlace":
    """Where a record is, and its size, for the workers of a cluster."""
    from runcard.files import walk_files  # noqa: PLC0415 - only with a cluster
    from runcard.parallel.shard import ItemPlace  # noqa: PLC0415

    size = 0
    with suppress(OSError, RuncardError):  # verifying it reports that
        for _, each in walk_files(path):
            size += each
    return ItemPlace(path, size)


def is_record(path: str) -> bool:
    """Whether this is a record; also true when that cannot be found out, so that verifying it reports why."""
    return any(
        layout.may_be_file(os.path.join(path, name), follow=True)
        for name in (layout.METADATA, layout.JOURNAL, layout.AUDIT, layout.CHECKSUMS)
    )


def verify_directory(
    path: str, indexes: "Mapping[str, LedgerIndex]", progress: Progress | None, limits: Limits | None
) -> CheckedDirectory:
    """The verdict on a record in its directory; without an index, the ledgers of its store are searched."""
    return _as_of_now(_check_files(path, progress, indexes, limits))


def _check_files(
    path: str, progress: Progress | None, indexes: "Mapping[str, LedgerIndex]", limits: Limits | None
) -> CheckedDirectory:
    """What any process can say that sees the files of a record."""
    record = DirectoryRecord(path, limits)
    lookup = indexes.get(record.store) or LedgerSearch(record.store, tail=TAIL)
    result = _verified(record, lookup, progress, limits)
    key, head = record.ledger_key, record.raw_document.get("ledger_head")
    has_chains = bool(record.raw_document.get("event_chains"))
    if isinstance(lookup, LedgerSearch) and result.store is not None:
        result = result._replace(chain=_chain_findings(lookup, key, head))
    return CheckedDirectory(result, key, head, has_chains)


def _chain_findings(search: LedgerSearch, key: LedgerKey, head: object) -> tuple[Finding, ...]:
    """Findings about the ledgers where they mention a record: its id, or the entry before its own."""
    try:
        searched = search.find(key.name, head if isinstance(head, str) else None)
    except RuncardError:  # it is reported with the record
        return ()
    return tuple(finding for ledger in searched for finding in verify_chain(ledger, search.store))


def _verified(
    record: DirectoryRecord,
    lookup: "LedgerIndex | LedgerSearch | None",
    progress: Progress | None,
    limits: Limits | None,
) -> Verified:
    path, store = record.path, record.store
    if layout.is_collection(path):
        from runcard.store.verification.session import verify_collection  # noqa: PLC0415 - long to load

        return guarded(path, partial(verify_collection, path))
    if record.is_instance:
        problem = StoreError(f"{printable(path)} is an instance, which is a part of a session")
        return Verified(path, unreadable(path, problem)._replace(records=0))
    if record.kind == SESSION and os.path.basename(real := os.path.realpath(path)) != record.name:
        record = DirectoryRecord(real, limits)  # its name is a part of its chains
        if isinstance(lookup, LedgerSearch) and lookup.store != record.store:
            lookup = None
    check = partial(verify_record, record, progress=progress, limits=limits, index=lookup)
    return guarded(path, check, store)


def _as_of_now(checked: CheckedDirectory) -> CheckedDirectory:
    """The same; of a run that is not closed, with the current state of its process, which may be one of this machine."""
    result = checked.result
    is_open = any(finding.kind == "open" for finding in result.verdict.findings)
    if not is_open or layout.is_collection(result.path):
        return checked
    verdict = _with_state(DirectoryRecord(result.path), result.verdict)
    return checked._replace(result=result._replace(verdict=verdict))


def _with_state(run: DirectoryRecord, verdict: Verdict) -> Verdict:
    """The verdict on a run that is not closed, with the current state of its process and its ledger entry."""
    findings = [
        finding._replace(message=_open_message(run)) if finding.kind == "open" else finding
        for finding in verdict.findings
    ]
    name = findings[0].record or ""
    try:
        ledgers = search_ledgers(run.store, run.id)
    except RuncardError as error:
        findings.append(ledger_finding(name, layout.METADATA, error.message, breaks=COMPLETE))
    else:
        if any(entry.id == run.id for ledger in ledgers for entry in ledger.entries):
            message = "it says that it is not closed, and the ledger has it as closed"
            findings.append(ledger_finding(name, layout.METADATA, message, breaks=INTACT))
    return verdict._replace(findings=tuple(findings))


def _open_message(run: DirectoryRecord) -> str:
    from runcard.operations.checks.show import state_now  # noqa: PLC0415 - few runs are open

    status, remark = state_now(run.path, run.raw_document)
    if status == "interrupted":
        command = f"runcard close {shell_word(run.path)}"
        return f"the run was interrupted and is not closed: {remark}; to close it: {command}"
    return f"the run is not closed: {remark or 'it is still running'}"
