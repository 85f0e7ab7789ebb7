"""Checking that a record is unchanged since it was closed. Everything is hashed, always.

There are two verdicts: *intact* (the files are unchanged, or changed by recorded amendments) and *complete* (nothing is
missing, no end was cut off). Every finding names its file. The docs say what cannot be detected without a signature.
"""

from runcard.store.verification.ledgers import LedgerFile, is_store, verify_chains, verify_ledgers
from runcard.store.verification.run import RunCheck
from runcard.store.verification.verdict import Verdict, unreadable
from runcard.store.verification.verify_record import verify_record

__all__ = [
    "LedgerFile",
    "RunCheck",
    "Verdict",
    "is_store",
    "unreadable",
    "verify_chains",
    "verify_ledgers",
    "verify_record",
]
