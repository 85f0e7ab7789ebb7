"""The ledgers of a small store, with all their lines; runcard itself reads them line by line."""

import os
from collections.abc import Iterator

from runcard.documents.chain import ChainCheck, Journal, check
from runcard.store.journal import read_journal
from runcard.store.ledger import LedgerEntry, entry_in, ledger_paths


def ledgers(store: str) -> Iterator[tuple[str, Journal, ChainCheck]]:
    """Every host's ledger in a store: its path, its lines, and what its chain says."""
    for path in ledger_paths(store):
        journal = read_journal(path)
        yield path, journal, check(journal, os.path.basename(path).removesuffix(".jsonl"))


def entries(journal: Journal) -> Iterator[LedgerEntry]:
    """The entries of a ledger."""
    return filter(None, (entry_in(entry.line) for entry in journal.entries))
