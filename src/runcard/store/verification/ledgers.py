"""Checking a store and its records against the ledgers, and the chains of the ledgers themselves."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from runcard.documents.chain import ChainCheck, Journal
from runcard.documents.findings import COMPLETE, INTACT, Finding, ledger_finding, record_finding
from runcard.files import printable
from runcard.store import layout
from runcard.store.amendments.read import Amendments
from runcard.store.ledger import (
    ARCHIVED,
    CLOSED,
    DELETED,
    LedgerEntry,
    LedgerKey,
    entries,
    history_of,
    in_order,
    ledger_state,
    ledgers,
)

LedgerFile = tuple[str, Journal, ChainCheck]  # its path, its lines, and the check of its chain


class LedgerFacts(NamedTuple):
    """The facts about a record that are compared with the ledgers."""

    name: str  # of its directory
    word: str  # run or session
    key: LedgerKey
    sealed: str  # the digest of its metadata document when it was closed
    head: str | None  # of the ledger, as the document names it
    is_archived: bool = False  # whether it is looked at in its archive


def verify_ledgers(
    store: str,
    books: Sequence[LedgerFile],
    present: Collection[LedgerKey],
    archived: Collection[LedgerKey] = (),
) -> Iterator[Finding]:
    """Findings about records that the ledgers have and the store has not, neither `present` in it nor `archived`."""
    yield from verify_chains(books, store)
    for entry in _latest(history_of(books)):
        place = _missing_place(store, entry, present, archived)
        if place is not None:
            fate = "it was removed" if entry.kind == "run" else "it was removed, or renamed"
            message = f"the ledger has this {entry.kind}, {place}: {fate}"
            yield ledger_finding(printable(entry.path), "", message, breaks=COMPLETE, expected=entry.sha256)


def verify_chains(books: Iterable[LedgerFile], store: str) -> Iterator[Finding]:
    """Findings about the chains of a store's ledgers: a broken ledger is not evidence."""
    for path, journal, checked in books:
        name = os.path.relpath(path, store)
        for fault in checked.faults:
            yield record_finding("chain", printable(name), name, f"line {fault.number}: {fault.reason}")
        if journal.torn:
            message = "the last line is torn: an entry was not finished"
            yield ledger_finding(printable(name), name, message)


def _missing_place(
    store: str, entry: LedgerEntry, present: Collection[LedgerKey], archived: Collection[LedgerKey]
) -> str | None:
    """Where a record is missing, in words; None if it is where it should be."""
    record = entry.key
    if record in present:
        return None
    if entry.event != ARCHIVED:
        return "the store does not"
    if record in archived or (entry.archive and os.path.isfile(os.path.join(store, entry.archive))):
        return None
    return f"its archive {printable(entry.archive or '')} is not there"


def _latest(history: list[LedgerEntry]) -> list[LedgerEntry]:
    """The last entry about each record, by any host, without those that were deleted on purpose."""
    latest = {entry.key: entry for entry in history if entry.kind in {"run", "session"}}
    return [entry for entry in latest.values() if entry.event != DELETED]


class _LedgerLookup(NamedTuple):
    """One host's ledger, to look records up in."""

    name: str
    by_record: dict[LedgerKey, list[LedgerEntry]]
    hashes: frozenset[str]


@lru_cache(
    maxsize=1
)  # a store has one ledger for all of its records: reading it for each would take too long
def _ledgers(store: str, _: tuple[object, ...]) -> tuple[_LedgerLookup, ...]:
    lookups = []
    for path, journal, _checked in ledgers(store):
        by_record: dict[LedgerKey, list[LedgerEntry]] = {}
        for entry in entries(journal):
            by_record.setdefault(entry.key, []).append(entry)
        hashes = frozenset(entry.line["hash"] for entry in journal.entries)
        lookups.append(_LedgerLookup(os.path.basename(path), by_record, hashes))
    return tuple(lookups)


def verify_entries(store: str | None, facts: LedgerFacts, amendments: Amendments) -> Iterator[Finding]:
    """Compare a record with the ledgers of its store, if there are any."""
    if store is None:
        return
    state = ledger_state(store)
    if not state:
        if facts.head is not None and is_store(store, has_index=not facts.is_archived):
            message = "the ledger of the store is missing, or this record comes from another store"
            yield _finding(facts, message, expected=facts.head)
        return
    lookups = _ledgers(store, state)
    own_entries = in_order(ledger.by_record.get(facts.key, []) for ledger in lookups)
    if facts.is_archived:  # later entries, of a restored record, are not about its archive
        own_entries = own_entries[
            : max((at for at, entry in enumerate(own_entries, 1) if entry.event == ARCHIVED), default=None)
        ]
    if not own_entries:
        yield from _unknown(facts, lookups)
        return
    yield from _check_entries(facts, lookups, own_entries)
    yield from _check_path(facts, own_entries)
    yield from _check_amendments(facts, own_entries, amendments)


def is_store(folder: str, *, has_index: bool = True) -> bool:
    """Whether a folder without a ledger is a store all the same, and not a place that a record was copied to."""
    marks = [layout.own_folder(folder), layout.collections(folder)]
    index = os.path.join(layout.archive_folder(folder), layout.ARCHIVE_INDEX)
    return any(map(os.path.isdir, marks)) or (has_index and os.path.isfile(index))


def _unknown(facts: LedgerFacts, lookups: tuple[_LedgerLookup, ...]) -> Iterator[Finding]:
    message = f"the ledger of the store does not know this {facts.word}"
    yield _finding(facts, message)
    if facts.head is not None and not any(facts.head in ledger.hashes for ledger in lookups):
        message = (
            f"this {facts.word} comes from another store, such as an imported bundle, or the ledger was cut: "
            "it names an entry that is not there"
        )
        yield _finding(facts, message, expected=facts.head)


def _check_entries(
    facts: LedgerFacts, lookups: tuple[_LedgerLookup, ...], own_entries: list[LedgerEntry]
) -> Iterator[Finding]:
    """Whether a ledger that the record itself names has it with this document.

    The document names the entry before its own, in the ledger of the host that closed it. A ledger without that entry
    may come from another store, and proves nothing.
    """
    holders = [ledger for ledger in lookups if facts.key in ledger.by_record]
    own = [ledger for ledger in holders if facts.head is None or facts.head in ledger.hashes]
    if not own:
        yield _unconfirmed(facts, lookups, holders, own_entries)
    trusted = [entry for ledger in own or holders for entry in ledger.by_record[facts.key]]
    closings = [entry for entry in trusted if entry.event == CLOSED] or trusted
    if all(entry.sha256 != facts.sealed for entry in closings):
        message = f"the ledger knows this {facts.word} with another metadata document"
        yield _finding(facts, message, breaks=INTACT, expected=closings[-1].sha256, found=facts.sealed)
    elif other := next(
        (entry for entry in own_entries if entry.event == CLOSED and entry.sha256 != facts.sealed), None
    ):
        message = f"another ledger has this {facts.word} with another metadata document"
        # If the document names no entry, either ledger may be right.
        breaks = INTACT if facts.head is None else None
        yield _finding(facts, message, breaks=breaks, expected=other.sha256, found=facts.sealed)


def _unconfirmed(
    facts: LedgerFacts,
    lookups: tuple[_LedgerLookup, ...],
    holders: list[_LedgerLookup],
    own_entries: list[LedgerEntry],
) -> Finding:
    named = next((ledger.name for ledger in lookups if facts.head in ledger.hashes), None)
    if named is not None:
        message = (
            f"the document names {printable(named)}, which does not have this {facts.word};"
            f" what {printable(holders[0].name)} says of it proves nothing"
        )
        return _finding(facts, message, expected=facts.head)
    if all(entry.event != CLOSED for entry in own_entries):
        message = f"this {facts.word} was closed in another store, whose ledger is not here"
        return _finding(facts, message, expected=facts.head)
    message = f"the ledger was cut: the entry before this {facts.word}'s is missing"
    return _finding(facts, message, breaks=COMPLETE, expected=facts.head)


def _check_path(facts: LedgerFacts, own_entries: list[LedgerEntry]) -> Iterator[Finding]:
    """Whether the record is where the ledger has it."""
    if facts.name not in {os.path.basename(entry.path) for entry in own_entries}:
        message = (
            f"the ledger has this {facts.word} as {printable(own_entries[0].path)}: it was moved, or copied"
        )
        yield _finding(facts, message, expected=own_entries[0].path)
    if own_entries[-1].event == DELETED:
        message = f"the ledger says that this {facts.word} was deleted on purpose, and it is here"
        yield _finding(facts, message)


def _check_amendments(
    facts: LedgerFacts, own_entries: list[LedgerEntry], amendments: Amendments
) -> Iterator[Finding]:
    """The ledger knows where the amendments ended: none can be cut off, or added, unseen."""
    ends = [entry.amendments for entry in own_entries if entry.amendments is not None]
    lines = amendments.journal.entries if amendments.journal else []
    hashes = {entry.line["seq"]: entry.line["hash"] for entry in lines}
    end = max(ends, key=lambda head: head.count, default=None)
    if end is not None and hashes.get(end.count) != end.head:
        if (lost := end.count - len(hashes)) > 0:
            message = f"the last {lost} amendments were cut off"
            yield record_finding("tail", printable(facts.name), layout.AMENDMENTS, message, expected=end.head)
        else:
            message = "the amendments are not those that the ledger knows"
            yield record_finding(
                "chain", printable(facts.name), layout.AMENDMENTS, message, expected=end.head
            )
    elif (more := len(hashes) - (end.count if end else 0)) > 0:
        message = f"the ledger does not know the last {more} amendments"
        name, path = printable(facts.name), layout.AMENDMENTS
        yield ledger_finding(name, path, message)


def _finding(
    facts: LedgerFacts, message: str, *, breaks: str | None = None, **compared: str | None
) -> Finding:
    return ledger_finding(printable(facts.name), layout.METADATA, message, breaks=breaks, **compared)
