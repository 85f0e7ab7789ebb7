"""SHA256SUMS: create, read and compare the listing with the digest of every file of a record.

`sha256sum -c SHA256SUMS` checks the same without runcard. Comparing is a separate module, `comparison`, so that creating a
listing does not load it. Callers decide which files of a record are not listed and which differences are allowed.
"""

from runcard.checksums.directory_listing import DirectoryContents, Symlink, make
from runcard.checksums.hashing import hash_files
from runcard.checksums.listing import Listing, listing_blocks, listing_digest, read, read_file

__all__ = [
    "DirectoryContents",
    "Listing",
    "Symlink",
    "hash_files",
    "listing_blocks",
    "listing_digest",
    "make",
    "read",
    "read_file",
]
