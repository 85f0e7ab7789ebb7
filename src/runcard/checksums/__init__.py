"""SHA256SUMS: making, reading and comparing the listing that fixes every file of a record.

`sha256sum -c SHA256SUMS` checks the same without runcard. Which names a record leaves out of its listing, and whether a
difference is forgiven, is decided by those who know records.
"""

from runcard.checksums.directory import (
    Changed,
    Comparison,
    Contents,
    Difference,
    Missing,
    NotRegular,
    Symlink,
    Unexpected,
    Unreadable,
    compare,
    make,
)
from runcard.checksums.hashing import hash_files
from runcard.checksums.listing import Listing, read
from runcard.checksums.problems import NotRegularError, UnsteadyError, VanishedError

__all__ = [
    "Changed",
    "Comparison",
    "Contents",
    "Difference",
    "Listing",
    "Missing",
    "NotRegular",
    "NotRegularError",
    "Symlink",
    "Unexpected",
    "Unreadable",
    "UnsteadyError",
    "VanishedError",
    "compare",
    "hash_files",
    "make",
    "read",
]
