"""Whether a record is what it was when it was closed. Everything is hashed, always.

Two verdicts, apart: *intact* (what is there is unchanged, or amended in the open) and *complete* (nothing is missing, no
tail was cut). Every finding names its file. What nobody can see without a signature is said in the docs.
"""

from runcard.store.verification.ledgers import Book, Record, is_store, known_by, verify_chains, verify_ledgers
from runcard.store.verification.lost_runs import verify_open_marks
from runcard.store.verification.run import run_id_of_journal, verify_archived_run, verify_run
from runcard.store.verification.session import verify_archived_session, verify_collection, verify_session
from runcard.store.verification.verdict import (
    COMPLETE,
    EFFECTS,
    INTACT,
    Discrepancy,
    Verdict,
    said,
    unreadable,
)

__all__ = [
    "COMPLETE",
    "EFFECTS",
    "INTACT",
    "Book",
    "Discrepancy",
    "Record",
    "Verdict",
    "is_store",
    "known_by",
    "run_id_of_journal",
    "said",
    "unreadable",
    "verify_archived_run",
    "verify_archived_session",
    "verify_chains",
    "verify_collection",
    "verify_ledgers",
    "verify_open_marks",
    "verify_run",
    "verify_session",
]
