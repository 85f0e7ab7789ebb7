"""SHA256SUMS: making, reading and comparing the listing that fixes every file of a record.

`sha256sum -c SHA256SUMS` checks the same without runcard. Comparing is a module of its own, `comparison`, which those who
only make a listing need not load. Which names a record leaves out of its listing, and whether a
difference is forgiven, is decided by those who know records.
"""

from runcard.checksums.hashing import hash_files
from runcard.checksums.listing import Listing, read
from runcard.checksums.make_listing import Contents, Symlink, make

__all__ = ["Contents", "Listing", "Symlink", "hash_files", "make", "read"]
