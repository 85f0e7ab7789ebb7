"""Directories with many files, and a check of their digests."""

from pathlib import Path
from typing import NamedTuple

from runcard.checksums import hash_files
from runcard.digests import sha256_bytes


class ManyFiles(NamedTuple):
    """A directory, and the contents of its files by path."""

    root: Path
    files: dict[str, bytes]


def assert_right(root: Path, files: dict[str, bytes]) -> None:
    listing = hash_files(root, files)
    assert dict(listing) == {path: sha256_bytes(data) for path, data in files.items()}
