"""Checking that a record is unchanged since it was closed. Everything is hashed, always.

There are four verdicts. Two are about the files: *intact* (the files are unchanged, or changed by recorded amendments) and
*complete* (nothing is missing, no end was cut off). Two are about the maker: *signed* and *time-stamped*. Every finding
names its file. The docs say what cannot be detected without a signature.
"""

from runcard.store.verification.ledgers import (
    is_removed_record,
    is_store,
    missing_record,
    verify_chain,
    verify_ledgers,
)
from runcard.store.verification.run import RunCheck
from runcard.store.verification.verdict import Verdict, unreadable
from runcard.store.verification.verify_record import verify_record

__all__ = [
    "RunCheck",
    "Verdict",
    "is_removed_record",
    "is_store",
    "missing_record",
    "unreadable",
    "verify_chain",
    "verify_ledgers",
    "verify_record",
]
