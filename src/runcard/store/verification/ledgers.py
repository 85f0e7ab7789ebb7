"""Whether a store still has what its ledgers know, and whether the ledgers themselves hold."""

import os
from collections.abc import Collection, Iterator

from runcard.errors import ExitCode
from runcard.files import printable
from runcard.store.ledger import DELETED, LedgerEntry, entries, in_order, ledgers
from runcard.store.verification.verdict import COMPLETE, Discrepancy, said

Record = tuple[str, str]  # its kind, and what the ledger knows it by


def known_by(entry: LedgerEntry) -> Record:
    """A run has an id of its own; a session can be collected again under its id, so its directory tells."""
    return entry.kind, entry.path if entry.kind == "session" else entry.id


def verify_ledgers(store: str, present: Collection[Record]) -> Iterator[Discrepancy]:
    """What a store's ledgers miss; `present` are the records that are there."""
    known: list[LedgerEntry] = []
    for path, journal, checked in ledgers(store):
        known += entries(journal)
        name = os.path.relpath(path, store)
        for fault in checked.faults:
            yield said("chain", printable(name), name, f"line {fault.number}: {fault.reason}")
        if journal.torn:
            message = "the last line is torn: an entry was not finished"
            yield Discrepancy("ledger", printable(name), name, message, exit_code=ExitCode.WARNINGS)
    for entry in _latest(known):
        if known_by(entry) not in present:
            fate = "it was removed" if entry.kind == "run" else "it was removed, or renamed"
            yield Discrepancy(
                "ledger",
                printable(entry.path),
                "",
                f"the ledger has this {entry.kind}, the store does not: {fate}",
                expected=entry.sha256,
                breaks=COMPLETE,
                exit_code=ExitCode.FAILED,
            )


def _latest(known: list[LedgerEntry]) -> list[LedgerEntry]:
    """What was last said of each record, by any host; those that were deleted on purpose are no loss."""
    records = [entry for entry in known if entry.kind in {"run", "session"}]
    latest = {known_by(entry): entry for entry in in_order(records)}
    return [entry for entry in latest.values() if entry.event != DELETED]
