"""Checking a store and its records against the ledgers, and the chains of the ledgers themselves."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.findings import (
    ANCHOR,
    COMPLETE,
    INTACT,
    LEDGER,
    WARNING,
    Finding,
    ledger_finding,
    record_finding,
)
from runcard.files import check_relative, printable
from runcard.store import layout
from runcard.store.amendments.read import Amendments
from runcard.store.ledger import (
    ARCHIVED,
    CLOSED,
    DELETED,
    REIMPORTED,
    LedgerEntry,
    LedgerKey,
    LedgerView,
    in_order,
)
from runcard.store.ledger_search import LedgerSearch
from runcard.store.remote.urls import is_url

if TYPE_CHECKING:  # one record needs no index
    from runcard.store.ledger_index import IndexedLedger, LedgerIndex, RecordKeys
    from runcard.store.ledger_search import SearchedLedger


class LedgerFacts(NamedTuple):
    """The facts about a record that are compared with the ledgers."""

    name: str  # of its directory
    word: str  # run or session
    key: LedgerKey
    sealed: str  # the digest of its metadata document when it was closed
    head: str | None  # of the ledger, as the document names it
    is_archived: bool = False  # whether it is looked at in its archive


def verify_ledgers(
    index: "LedgerIndex", present: "RecordKeys", archived: Collection[LedgerKey] = ()
) -> Iterator[Finding]:
    """Findings about the ledgers, and about records that they have and the store has not.

    `present` are those that are there as directories, `archived` those in archives of the store, all of which were read.
    """
    for ledger in index.ledgers:
        yield from verify_chain(ledger, index.store)
    missing = []
    for entries in index.absent(present):
        own = [place.entry for place in entries]
        finding = missing_record(index.store, own, archived, are_read=True)
        if finding is not None:
            missing.append((entries[0].time, entries[0].line, finding))
    yield from (finding for _, _, finding in sorted(missing, key=itemgetter(0, 1)))


def repeated_records(index: "LedgerIndex", present: Iterable[tuple[LedgerKey, str]]) -> Iterator[Finding]:
    """Findings about records that are in the store under several names, each of which a ledger has.

    A name that no ledger has is reported with the record.
    """
    names: dict[LedgerKey, list[str]] = {}
    for key, name in present:
        names.setdefault(key, []).append(name)
    for key, all_names in names.items():
        if len(all_names) > 1:
            entries = in_order(view.entries for view in index.views(key, None))
            known = sorted({os.path.basename(entry.path) for entry in entries}.intersection(all_names))
            if len(known) > 1:
                places = " and as ".join(map(printable, known))
                message = f"the same {key.kind} is here as {places}: one of them is a copy"
                yield ledger_finding(printable(known[-1]), "", message)


def missing_record(
    store: str,
    own_entries: Sequence[LedgerEntry],
    archived: Collection[LedgerKey] = (),
    *,
    are_read: bool = False,
) -> Finding | None:
    """The finding about a record that is not in the store as a directory; None if it is where its last entry says.

    `archived` are records whose archives were read; with `are_read`, all those in the store were.
    """
    entry = own_entries[-1]
    if entry.kind not in {"run", "session"} or entry.event in {DELETED, REIMPORTED}:
        return None
    place = _missing_place(store, entry, archived, are_read=are_read)
    if place is None:
        return None
    fate = "it was removed" if entry.kind == "run" else "it was removed, or renamed"
    message = f"the ledger has this {entry.kind}, {place}: {fate}"
    return ledger_finding(printable(entry.path), "", message, breaks=COMPLETE, expected=entry.sha256)


def is_removed_record(finding: Finding) -> bool:
    """Whether a finding is about a record that is gone, lost or deleted by an entry that nobody signed."""
    is_about_record = finding.kind in {LEDGER, ANCHOR} and not finding.path and finding.found is None
    is_gone = finding.breaks == COMPLETE or finding.severity is WARNING
    return is_about_record and is_gone and finding.expected is not None


def verify_chain(ledger: "IndexedLedger | SearchedLedger", store: str) -> Iterator[Finding]:
    """Findings about the chain of a ledger, as far as it was checked: a broken ledger is not evidence."""
    name = os.path.relpath(ledger.path, store)
    for fault in ledger.faults:
        yield record_finding("chain", printable(name), name, f"line {fault.number}: {fault.reason}")
    if ledger.is_torn:
        message = "the last line is torn: an entry was not finished"
        yield ledger_finding(printable(name), name, message)


def _missing_place(
    store: str, entry: LedgerEntry, archived: Collection[LedgerKey], *, are_read: bool
) -> str | None:
    """Where a record is missing, in words; None if it is where it should be."""
    if entry.event != ARCHIVED:
        return "the store does not"
    if entry.key in archived or is_url(entry.archive):
        return None
    archive = entry.archive or ""
    if not os.path.isfile(os.path.join(store, archive)):
        return f"its archive {printable(archive)} is not there"
    if are_read and check_relative(archive) is None:
        return f"its archive {printable(archive)} does not hold it"
    return None


def verify_entries(
    store: str | None,
    facts: LedgerFacts,
    amendments: Amendments,
    index: "LedgerIndex | LedgerSearch | None" = None,
) -> Iterator[Finding]:
    """Compare a record with the ledgers of its store, if there are any; without an index of them, they are searched."""
    if store is None:
        return
    lookup = LedgerSearch(store) if index is None else index
    if not lookup.ledgers:
        if facts.head is None:
            return
        if is_store(store, has_index=not facts.is_archived):
            message = "the ledger of the store is missing, or this record comes from another store"
            yield _finding(facts, message, expected=facts.head)
        elif index is None or isinstance(
            index, LedgerSearch
        ):  # of a folder, it is said once, for all of its records
            message = (
                "the ledger that it names is not here: whether other records were removed cannot be told"
            )
            yield record_finding("limits", printable(facts.name), layout.METADATA, message)
        return
    findings = list(_compare(facts, lookup.views(facts.key, facts.head), amendments))
    if findings and not lookup.is_current():
        now = LedgerSearch(store)
        findings = list(_compare(facts, now.views(facts.key, facts.head), amendments))
    yield from findings


def _compare(facts: LedgerFacts, views: Sequence[LedgerView], amendments: Amendments) -> Iterator[Finding]:
    own_entries = in_order(view.entries for view in views)
    if facts.is_archived:  # later entries, of a restored record, are not about its archive
        own_entries = own_entries[
            : max((at for at, entry in enumerate(own_entries, 1) if entry.event == ARCHIVED), default=None)
        ]
    if not own_entries:
        yield from _unknown(facts, views)
        return
    yield from _check_entries(facts, views, own_entries)
    yield from _check_path(facts, own_entries)
    yield from _check_amendments(facts, own_entries, amendments)


def is_store(folder: str, *, has_index: bool = True) -> bool:
    """Whether a folder without a ledger is a store all the same, and not a place that a record was copied to."""
    own, index = layout.own_folder(folder), os.path.join(layout.archive_folder(folder), layout.ARCHIVE_INDEX)
    # A record that was restored leaves the originals of its documents here.
    has_own = os.path.isdir(own) and os.listdir(own) != [os.path.basename(layout.originals(folder))]
    return has_own or os.path.isdir(layout.collections(folder)) or (has_index and os.path.isfile(index))


def _unknown(facts: LedgerFacts, views: Sequence[LedgerView]) -> Iterator[Finding]:
    message = f"the ledger of the store does not know this {facts.word}"
    yield _finding(facts, message)
    if facts.head is not None and not any(view.has_head for view in views):
        message = (
            f"this {facts.word} comes from another store, such as an imported bundle, or the ledger was cut: "
            "it names an entry that is not there"
        )
        yield _finding(facts, message, expected=facts.head)


def _check_entries(
    facts: LedgerFacts, views: Sequence[LedgerView], own_entries: list[LedgerEntry]
) -> Iterator[Finding]:
    """Whether a ledger that the record itself names has it with this document.

    The document names the entry before its own, in the ledger of the host that closed it. A ledger without that entry
    may come from another store, and proves nothing.
    """
    holders = [view for view in views if view.entries]
    own = [view for view in holders if facts.head is None or view.has_head]
    if not own:
        yield _unconfirmed(facts, views, holders, own_entries)
    trusted = [entry for view in own or holders for entry in view.entries]
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
    views: Sequence[LedgerView],
    holders: list[LedgerView],
    own_entries: list[LedgerEntry],
) -> Finding:
    named = next((view.name for view in views if view.has_head), None)
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
            were = "amendment was" if lost == 1 else f"{lost:,} amendments were"
            message = f"the last {were} cut off"
            yield record_finding("tail", printable(facts.name), layout.AMENDMENTS, message, expected=end.head)
        else:
            message = "the amendments are not those that the ledger knows"
            yield record_finding(
                "chain", printable(facts.name), layout.AMENDMENTS, message, expected=end.head
            )
    elif (more := len(hashes) - (end.count if end else 0)) > 0:
        last = "amendment" if more == 1 else f"{more:,} amendments"
        message = f"the ledger does not know the last {last}"
        name, path = printable(facts.name), layout.AMENDMENTS
        yield ledger_finding(name, path, message)


def _finding(
    facts: LedgerFacts, message: str, *, breaks: str | None = None, **compared: str | None
) -> Finding:
    return ledger_finding(printable(facts.name), layout.METADATA, message, breaks=breaks, **compared)
