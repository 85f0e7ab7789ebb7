"""Verifying records: one run or session, many, or a whole store."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from runcard.documents.findings import ERROR, NOTE, Finding, Severity
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import printable
from runcard.operations.checks.verify_directories import (
    CheckedDirectory,
    is_record,
    verify_directories,
    verify_directory,
)
from runcard.operations.checks.verify_result import Verified, guarded
from runcard.store import layout
from runcard.store.ledger import in_order
from runcard.store.ledger_search import TAIL, search_ledgers
from runcard.store.record import Progress, Record
from runcard.store.verification import Verdict, missing_record, unreadable, verify_chain

if TYPE_CHECKING:
    from runcard.operations.checks.pin import PinCheck
    from runcard.store.ledger_index import LedgerIndex

_FEW = 8  # records of one store that are looked up by searching its ledgers, instead of reading them


def verify(
    *paths: str | os.PathLike[str],
    progress: Progress | None = None,
    limits: Limits | None = None,
    whole_ledgers: bool = False,
) -> Iterator[Verified]:
    """Hash everything at these paths and compare it with the recorded digests.

    A path is a run or a session, its metadata document, its archive, or a folder with records at any depth; one that is
    none of these is a finding as well. `progress` is called with the files and bytes so far of the record that is being looked at.
    For a store, the chains of its ledgers are checked as a whole. For records that are named, they are checked where they
    mention the record, and at their ends; with `whole_ledgers`, as a whole.
    """
    chains = _NamedChains(whole_ledgers=whole_ledgers)
    for are_directories, names in groupby(map(_record_path, paths), _is_directory):
        if are_directories:
            results = _directories(list(names), chains, progress, limits)
        else:
            results = (result for name in names for result in _at(name, progress, limits))
        for result in results:
            yield result
            if result.is_named and result.store is not None:
                yield from chains.findings(result)


def damage_of(path: str | os.PathLike[str]) -> str | None:
    """Why a record fails verification; None if it does not."""
    for result in verify(path):
        if not (result.verdict.intact and result.verdict.complete):
            found = next((found for found in result.verdict.findings if found.breaks), None)
            if found is None:
                return "it is damaged"
            return f"{printable(found.path)}: {found.message}" if found.path else found.message
    return None


def _record_path(path: str | os.PathLike[str]) -> str:
    """The path of a record whose metadata document was named; else the path itself."""
    name = os.fspath(path)
    is_document = os.path.basename(name) == layout.METADATA and os.path.isfile(name)
    return (os.path.dirname(name) or ".") if is_document else name


def _is_directory(name: str) -> bool:
    """Whether this is the directory of a record, or of a session that is being collected."""
    is_archive = layout.is_archive(name) and os.path.lexists(name) and not os.path.isdir(name)
    return not is_archive and (layout.is_collection(name) or is_record(name))


def _at(name: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    if layout.is_archive(name) and os.path.lexists(name) and not os.path.isdir(name):
        yield _archive(name, progress, limits)
    elif os.path.lexists(name):
        from runcard.operations.checks.verify_store import verify_archive_folder, verify_folder  # noqa: PLC0415 - long to load

        is_archive_folder = layout.is_archive_folder(name)
        yield from (verify_archive_folder if is_archive_folder else verify_folder)(name, progress, limits)
    else:
        yield from _named(name, progress, limits)


def _directories(
    names: list[str], chains: "_NamedChains", progress: Progress | None, limits: Limits | None
) -> Iterator[Verified]:
    """Records that were named by their paths."""
    with contextlib.ExitStack() as stack:
        indexes = {}
        for store, count in Counter(map(layout.store_of, names)).items():
            with contextlib.suppress(RuncardError):  # one that cannot be read is reported with the record
                if count > _FEW:
                    indexes[store] = stack.enter_context(_index_of(store))
        chains.indexes = indexes
        for checked in verify_directories(names, indexes, progress, limits):
            yield _as_named(checked)
        chains.indexes = {}


def _index_of(store: str) -> "LedgerIndex":
    from runcard.store.ledger_index import LedgerIndex  # noqa: PLC0415 - few records are searched for without it

    return LedgerIndex(store)


def _as_named(checked: CheckedDirectory) -> Verified:
    return checked.result._replace(is_named=True)


def _named(word: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """The record with this name or id, which is not a path; a finding if there is none."""
    from runcard.store.find_record import open_record  # noqa: PLC0415 - most records are named by their paths

    try:
        record = open_record(word, limits)
    except StoreError as error:
        yield Verified(word, unreadable(word, error)._replace(records=0), hint=error.full_hint)
        return
    if not record.is_archived:
        yield _as_named(verify_directory(record.path, {}, progress, limits))
        return
    yield _archive(record.path, progress, limits)
    yield from _missing_directory(record)


class _NamedChains:
    """Findings about the ledgers that records which were named were compared with, each finding once."""

    def __init__(self, *, whole_ledgers: bool) -> None:
        self._whole_ledgers = whole_ledgers
        self._checked: set[str] = set()  # stores whose ledgers were checked as a whole
        self._reported: set[tuple[str, Finding]] = set()  # by store
        self.indexes: dict[str, LedgerIndex] = {}  # of stores with many such records

    def findings(self, named: Verified) -> Iterator[Verified]:
        store = named.store
        if store is None or store in self._checked:
            return
        with contextlib.suppress(RuncardError):  # one that cannot be read is reported with the record
            found = dict.fromkeys(self._chain_findings(store, named))
            new = tuple(finding for finding in found if (store, finding) not in self._reported)
            self._reported.update((store, finding) for finding in new)
            if new:
                yield Verified(store, Verdict(new, records=0), store)

    def _chain_findings(self, store: str, named: Verified) -> Iterator[Finding]:
        index = self.indexes.get(store)
        if index is None and not self._whole_ledgers:
            if named.chain is not None:
                yield from named.chain
                return
            for ledger in search_ledgers(store, *named.mentions, tail=TAIL):
                yield from verify_chain(ledger, store)
            return
        self._checked.add(store)
        with contextlib.nullcontext(index) if index else _index_of(store) as whole:
            for indexed in whole.ledgers:
                yield from verify_chain(indexed, store)


def _missing_directory(record: Record) -> Iterator[Verified]:
    """The finding about a record that was restored from its archive, by the ledger, and is not there any more."""
    store = record.store
    if store is None or os.path.lexists(record.directory):
        return
    archived, name = record.ledger_key, record.name

    def check() -> Verdict:
        mentioned = [
            entry for ledger in search_ledgers(store, archived.name, name) for entry in ledger.entries
        ]
        keys = dict.fromkeys(entry.key for entry in mentioned if entry.path == name)
        searched = search_ledgers(store, *(key.name for key in keys))
        histories = [in_order(ledger.view(key, None).entries for ledger in searched) for key in keys]
        missing = [missing_record(store, history, {archived}) for history in histories]
        return Verdict(tuple(found for found in missing if found and found.record == printable(name)))

    result = guarded(store, check, store)
    if result.verdict.findings:
        yield result._replace(verdict=result.verdict._replace(records=0))


def _archive(path: str, progress: Progress | None, limits: Limits | None) -> Verified:
    from runcard.operations.checks.verify_archives import verify_archive  # noqa: PLC0415 - few archives are named

    mentions = (layout.archived_name(path),)
    return verify_archive(path, progress, limits)._replace(is_named=True, mentions=mentions)


class VerifySummary:
    """The verdict on everything. Of a record without findings it keeps nothing but the count."""

    def __init__(self) -> None:
        self.stores: set[str] = set()  # whose ledgers have the records
        self.severity: Severity = NOTE  # of the worst finding
        self.has_good = False  # whether there was a record or a store that did not fail
        self._intact = self._complete = True
        self._records = 0
        self._findings: list[Finding] = []

    def add(self, result: Verified) -> None:
        verdict = result.verdict
        self._intact &= verdict.intact
        self._complete &= verdict.complete
        self._records += verdict.records
        self._findings += verdict.findings
        self.severity = max(self.severity, verdict.severity, key=list(reversed(Severity)).index)
        is_empty = not verdict.records and not verdict.findings
        self.has_good |= verdict.severity is not ERROR and not is_empty
        if result.store is not None:
            self.stores.add(result.store)

    def to_dict(self, pin: "PinCheck | None" = None) -> JsonObject:
        pinned = {} if pin is None else {"pin": pin.to_dict()}
        return {
            "intact": self._intact,
            "complete": self._complete,
            "signed": None,
            "records": self._records,
            "findings": [finding.to_dict() for finding in self._findings],
            **pinned,
        }


def summary(results: Iterable[Verified], pin: "PinCheck | None" = None) -> JsonObject:
    """The verdict on everything as data."""
    total = VerifySummary()
    for result in results:
        total.add(result)
    return total.to_dict(pin)
