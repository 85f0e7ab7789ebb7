"""Whether a store and its records are as the ledgers know them, and whether the ledgers themselves hold."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from runcard.documents.chain import ChainCheck, Journal
from runcard.errors import ExitCode
from runcard.files import printable
from runcard.store import layout
from runcard.store.amendments.read import Amendments
from runcard.store.ledger import (
    ARCHIVED,
    CLOSED,
    DELETED,
    LedgerEntry,
    entries,
    history_of,
    in_order,
    ledger_state,
    ledgers,
)
from runcard.store.verification.verdict import COMPLETE, INTACT, Discrepancy, said

Record = tuple[str, str]  # its kind, and what the ledger knows it by
Book = tuple[str, Journal, ChainCheck]  # a ledger: its path, its lines, and what its chain says


class Known(NamedTuple):
    """A record that is held to the ledgers."""

    name: str  # of its directory
    word: str  # what the record is called
    record: Record
    sealed: str  # the digest of its metadata document when it was closed
    head: str | None  # of the ledger, as the document names it
    is_archived: bool = False  # whether it is looked at in its archive


def known_by(entry: LedgerEntry) -> Record:
    """A run has an id of its own; a session can be collected again under its id, so its directory tells."""
    return entry.kind, entry.path if entry.kind == "session" else entry.id


def verify_ledgers(
    store: str, books: Sequence[Book], present: Collection[Record], archived: Collection[Record] = ()
) -> Iterator[Discrepancy]:
    """What a store's ledgers miss; `present` are the records that are there, `archived` those that have an archive."""
    yield from verify_chains(books, store)
    for entry in _latest(history_of(books)):
        place = _missed(store, entry, present, archived)
        if place is not None:
            fate = "it was removed" if entry.kind == "run" else "it was removed, or renamed"
            yield Discrepancy(
                "ledger",
                printable(entry.path),
                "",
                f"the ledger has this {entry.kind}, {place}: {fate}",
                expected=entry.sha256,
                breaks=COMPLETE,
                exit_code=ExitCode.FAILED,
            )


def verify_chains(books: Iterable[Book], store: str) -> Iterator[Discrepancy]:
    """What is wrong with the ledgers of a store themselves: nobody should believe what they say then."""
    for path, journal, checked in books:
        name = os.path.relpath(path, store)
        for fault in checked.faults:
            yield said("chain", printable(name), name, f"line {fault.number}: {fault.reason}")
        if journal.torn:
            message = "the last line is torn: an entry was not finished"
            yield Discrepancy("ledger", printable(name), name, message, exit_code=ExitCode.WARNINGS)


def _missed(
    store: str, entry: LedgerEntry, present: Collection[Record], archived: Collection[Record]
) -> str | None:
    """Who does not have a record that should be there, in words; None when it is where it should be."""
    record = known_by(entry)
    if record in present:
        return None
    if entry.event != ARCHIVED:
        return "the store does not"
    if record in archived or (entry.archive and os.path.isfile(os.path.join(store, entry.archive))):
        return None
    return f"its archive {printable(entry.archive or '')} is not there"


def _latest(history: list[LedgerEntry]) -> list[LedgerEntry]:
    """What was last said of each record, by any host; those that were deleted on purpose are no loss."""
    latest = {known_by(entry): entry for entry in history if entry.kind in {"run", "session"}}
    return [entry for entry in latest.values() if entry.event != DELETED]


class _Ledger(NamedTuple):
    """One host's ledger, as records are held to it."""

    name: str
    by_record: dict[Record, list[LedgerEntry]]
    hashes: frozenset[str]


@lru_cache(
    maxsize=1
)  # a store has one ledger for all of its records: to read it for each would take for ever
def _ledgers(store: str, _: tuple[object, ...]) -> tuple[_Ledger, ...]:
    found = []
    for path, journal, _checked in ledgers(store):
        by_record: dict[Record, list[LedgerEntry]] = {}
        for entry in entries(journal):
            by_record.setdefault(known_by(entry), []).append(entry)
        hashes = frozenset(entry.line["hash"] for entry in journal.entries)
        found.append(_Ledger(os.path.basename(path), by_record, hashes))
    return tuple(found)


def verify_entries(store: str | None, known: Known, amendments: Amendments) -> Iterator[Discrepancy]:
    """Whether a record is as the ledgers of its store know it; nothing where there are none."""
    if store is None:
        return
    state = ledger_state(store)
    if not state:
        if known.head is not None and is_store(store, has_index=not known.is_archived):
            message = "the ledger of the store is gone, or this record comes from another one"
            yield _found(known, message, code=ExitCode.WARNINGS, expected=known.head)
        return
    every = _ledgers(store, state)
    mine = in_order(ledger.by_record.get(known.record, []) for ledger in every)
    if known.is_archived:  # what happened to a record that was restored since is not in its archive
        mine = mine[: max((at for at, entry in enumerate(mine, 1) if entry.event == ARCHIVED), default=None)]
    if not mine:
        yield from _unknown(known, every)
        return
    yield from _vouched(known, every, mine)
    yield from _whereabouts(known, mine)
    yield from _compared_amendments(known, mine, amendments)


def is_store(folder: str, *, has_index: bool = True) -> bool:
    """Whether a folder without a ledger is a store all the same, and not a place that a record was copied to."""
    marks = [layout.own_folder(folder), layout.collections(folder)]
    index = os.path.join(layout.archive_folder(folder), layout.ARCHIVE_INDEX)
    return any(map(os.path.isdir, marks)) or (has_index and os.path.isfile(index))


def _unknown(known: Known, every: tuple[_Ledger, ...]) -> Iterator[Discrepancy]:
    message = f"the ledger of the store does not know this {known.word}"
    yield _found(known, message, code=ExitCode.WARNINGS)
    if known.head is not None and not any(known.head in ledger.hashes for ledger in every):
        message = (
            f"the ledger was cut, or this {known.word} comes from another store: what it saw there is gone"
        )
        yield _found(known, message, code=ExitCode.WARNINGS, expected=known.head)


def _vouched(known: Known, every: tuple[_Ledger, ...], mine: list[LedgerEntry]) -> Iterator[Discrepancy]:
    """Whether a ledger that the record itself names has it with this document.

    The document names the entry before its own, in the ledger of the host that closed it. A ledger without that entry
    may be anybody's, and proves nothing.
    """
    having = [ledger for ledger in every if known.record in ledger.by_record]
    own = [ledger for ledger in having if known.head is None or known.head in ledger.hashes]
    if not own:
        yield _not_vouched(known, every, having, mine)
    trusted = [entry for ledger in own or having for entry in ledger.by_record[known.record]]
    closings = [entry for entry in trusted if entry.event == CLOSED] or trusted
    if all(entry.sha256 != known.sealed for entry in closings):
        message = f"the ledger knows this {known.word} with another metadata document"
        yield _found(known, message, breaks=INTACT, expected=closings[-1].sha256, found=known.sealed)
    elif other := next((one for one in mine if one.event == CLOSED and one.sha256 != known.sealed), None):
        message = f"another ledger has this {known.word} with another metadata document"
        # Where the document names no entry, nobody can tell which ledger is right.
        effect = {"breaks": INTACT} if known.head is None else {"code": ExitCode.WARNINGS}
        yield _found(known, message, expected=other.sha256, found=known.sealed, **effect)


def _not_vouched(
    known: Known, every: tuple[_Ledger, ...], having: list[_Ledger], mine: list[LedgerEntry]
) -> Discrepancy:
    named = next((ledger.name for ledger in every if known.head in ledger.hashes), None)
    if named is not None:
        message = (
            f"the document names {printable(named)}, which does not have this {known.word};"
            f" what {printable(having[0].name)} says of it proves nothing"
        )
        return _found(known, message, code=ExitCode.WARNINGS, expected=known.head)
    if all(entry.event != CLOSED for entry in mine):
        message = f"this {known.word} was closed in another store, whose ledger is not here"
        return _found(known, message, code=ExitCode.WARNINGS, expected=known.head)
    message = f"the ledger was cut: the entry before this {known.word}'s is gone"
    return _found(known, message, breaks=COMPLETE, expected=known.head)


def _whereabouts(known: Known, mine: list[LedgerEntry]) -> Iterator[Discrepancy]:
    """Whether it lies where the ledger has it, and at all."""
    if known.name not in {os.path.basename(entry.path) for entry in mine}:
        message = f"the ledger has this {known.word} as {printable(mine[0].path)}: it was moved, or copied"
        yield _found(known, message, code=ExitCode.WARNINGS, expected=mine[0].path)
    if mine[-1].event == DELETED:
        message = f"the ledger says that this {known.word} was deleted on purpose, and it is here"
        yield _found(known, message, code=ExitCode.WARNINGS)


def _compared_amendments(
    known: Known, mine: list[LedgerEntry], amendments: Amendments
) -> Iterator[Discrepancy]:
    """The ledger knows where the amendments ended: none can be cut off, or added, unseen."""
    ends = [entry.amendments for entry in mine if entry.amendments is not None]
    lines = amendments.journal.entries if amendments.journal else []
    hashes = {entry.line["seq"]: entry.line["hash"] for entry in lines}
    end = max(ends, key=lambda head: head.count, default=None)
    if end is not None and hashes.get(end.count) != end.head:
        if (lost := end.count - len(hashes)) > 0:
            message = f"the last {lost} amendments were cut off"
            yield said("tail", printable(known.name), layout.AMENDMENTS, message, expected=end.head)
        else:
            message = "the amendments are not those that the ledger knows"
            yield said("chain", printable(known.name), layout.AMENDMENTS, message, expected=end.head)
    elif (more := len(hashes) - (end.count if end else 0)) > 0:
        message = f"the ledger does not know the last {more} amendments"
        name, path = printable(known.name), layout.AMENDMENTS
        yield Discrepancy("ledger", name, path, message, exit_code=ExitCode.WARNINGS)


def _found(
    known: Known,
    message: str,
    *,
    breaks: str | None = None,
    code: ExitCode = ExitCode.FAILED,
    **facts: str | None,
) -> Discrepancy:
    name, path = printable(known.name), layout.METADATA
    return Discrepancy("ledger", name, path, message, breaks=breaks, exit_code=code, **facts)
