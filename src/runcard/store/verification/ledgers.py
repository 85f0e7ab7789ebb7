"""Whether a store still has what its ledgers know, and whether the ledgers themselves hold."""

import os
from collections.abc import Collection, Iterator

from runcard.documents import chain
from runcard.errors import ExitCode
from runcard.files import printable
from runcard.store.ledger import DELETED, LedgerEntry, entries, ledgers
from runcard.store.verification.verdict import COMPLETE, Discrepancy, said

Record = tuple[str, str]  # its kind, and what the ledger knows it by


def known_by(entry: LedgerEntry) -> Record:
    """A run has an id of its own; a session can be collected again under its id, so its directory tells."""
    return entry.kind, entry.path if entry.kind == "session" else entry.id


def verify_ledgers(store: str, present: Collection[Record]) -> Iterator[Discrepancy]:
    """What a store's ledgers miss; `present` are the records that are there."""
    for path, journal, checked in ledgers(store):
        name = os.path.relpath(path, store)
        for fault in checked.faults:
            yield said("chain", printable(name), name, f"line {fault.number}: {fault.reason}")
        if journal.torn:
            message = "the last line is torn: an entry was not finished"
            yield Discrepancy("ledger", printable(name), name, message, exit_code=ExitCode.WARNINGS)
        for entry in _latest(journal):
            if known_by(entry) not in present:
                yield Discrepancy(
                    "ledger",
                    printable(entry.path),
                    "",
                    f"the ledger has this {entry.kind}, the store does not: it was removed",
                    expected=entry.sha256,
                    breaks=COMPLETE,
                    exit_code=ExitCode.FAILED,
                )


def _latest(journal: chain.Journal) -> list[LedgerEntry]:
    """What was last said of each record, but for those that were deleted on purpose."""
    known = [entry for entry in entries(journal) if entry.kind in {"run", "session"}]
    latest = {known_by(entry): entry for entry in known}
    return [entry for entry in latest.values() if entry.event != DELETED]
