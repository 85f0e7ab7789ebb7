"""Whether a store still has what its ledgers know, and whether the ledgers themselves hold."""

import os
from collections.abc import Collection, Iterator
from datetime import UTC, datetime

from runcard.documents.times import instant
from runcard.errors import ExitCode
from runcard.files import printable
from runcard.store.ledger import ARCHIVED, DELETED, LedgerEntry, entries, ledgers
from runcard.store.verification.verdict import COMPLETE, Discrepancy, said

_NEVER = datetime.min.replace(tzinfo=UTC)

Record = tuple[str, str]  # its kind, and what the ledger knows it by


def known_by(entry: LedgerEntry) -> Record:
    """A run has an id of its own; a session can be collected again under its id, so its directory tells."""
    return entry.kind, entry.path if entry.kind == "session" else entry.id


def verify_ledgers(
    store: str, present: Collection[Record], archived: Collection[Record] = ()
) -> Iterator[Discrepancy]:
    """What a store's ledgers miss; `present` are the records that are there, `archived` those that have an archive."""
    known: list[LedgerEntry] = []
    for path, journal, checked in ledgers(store):
        name = os.path.relpath(path, store)
        for fault in checked.faults:
            yield said("chain", printable(name), name, f"line {fault.number}: {fault.reason}")
        if journal.torn:
            message = "the last line is torn: an entry was not finished"
            yield Discrepancy("ledger", printable(name), name, message, exit_code=ExitCode.WARNINGS)
        known += [entry for entry in entries(journal) if entry.kind in {"run", "session"}]
    for entry in _latest(known):
        place = _missed(store, entry, present, archived)
        if place is not None:
            yield Discrepancy(
                "ledger",
                printable(entry.path),
                "",
                f"the ledger has this {entry.kind}, {place}: it was removed",
                expected=entry.sha256,
                breaks=COMPLETE,
                exit_code=ExitCode.FAILED,
            )


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


def _latest(known: list[LedgerEntry]) -> list[LedgerEntry]:
    """What was last said of each record, on whichever host, but for those that were deleted on purpose."""
    by_time = sorted(known, key=lambda entry: instant(entry.time) or _NEVER)
    latest = {known_by(entry): entry for entry in by_time}
    return [entry for entry in latest.values() if entry.event != DELETED]
