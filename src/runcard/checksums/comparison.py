"""Compare a directory with its listing, and report every difference.

Symbolic links and special files are returned separately, for the caller to compare. A difference never raises.

Invariant: on an unchanged directory, `compare(root, make(root).listing)` has no differences.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from runcard.checksums.directory_listing import FILE, DirectoryWalk, Symlink
from runcard.checksums.file_errors import NotRegularError, VanishedError
from runcard.checksums.hashing import Progress, hash_files
from runcard.checksums.listing import Listing
from runcard.digests import Digest
from runcard.errors import RuncardError, StoreError
from runcard.files import FileKind, WalkEntry, encode_name


class Changed(NamedTuple):
    """The file does not have the listed digest."""

    path: str
    expected: Digest
    found: Digest


class Missing(NamedTuple):
    """The file is listed and does not exist."""

    path: str
    expected: Digest


class Unexpected(NamedTuple):
    """The file exists and is not listed."""

    path: str


class NotRegular(NamedTuple):
    """The path is listed and is no longer a regular file."""

    path: str
    found_kind: FileKind


class Unreadable(NamedTuple):
    """The file or directory could not be read, or was written to meanwhile."""

    path: str
    reason: str


Difference = Changed | Missing | Unexpected | NotRegular | Unreadable


class ListingComparison(NamedTuple):
    """All differences by path, and the symbolic links and special files that exist now."""

    differences: tuple[Difference, ...]
    symlinks: tuple[Symlink, ...]
    others: tuple[str, ...]


def compare(
    root: str | os.PathLike[str],
    listing: Listing,
    *,
    exclude: Collection[str] = (),
    progress: Progress | None = None,
) -> ListingComparison:
    """Hash every listed file and report all differences; files in `exclude` need not be listed."""
    differences = _DifferenceCollector(listing, exclude)
    tree = DirectoryWalk(root, differences.add_unreadable)
    paths = differences.check_entries(tree)
    hashed = hash_files(root, paths, progress=progress, on_error=differences.add_error)
    differences.check_digests(hashed)
    return ListingComparison(differences.sorted(), tuple(tree.symlinks), tuple(tree.others))


def compare_hashed(
    entries: Iterable[WalkEntry],
    hashed: Listing,
    listing: Listing,
    exclude: Collection[str],
    unreadable: Mapping[str, str],
) -> tuple[Difference, ...]:
    """All differences from a listing, for entries that the caller has hashed already."""
    differences = _DifferenceCollector(listing, exclude)
    for path, reason in unreadable.items():
        differences.add_unreadable(path, StoreError(reason))
    for _ in differences.check_entries(entry for entry in entries if entry.path not in unreadable):
        pass
    differences.check_digests(hashed)
    return differences.sorted()


class _DifferenceCollector:
    """Collects the differences, at most one for each path."""

    def __init__(self, listing: Listing, exclude: Collection[str]) -> None:
        self._listing, self._exclude = listing, exclude
        self._differences: dict[str, Difference] = {}

    def check_entries(self, entries: Iterable[WalkEntry]) -> Iterator[str]:
        """Yield the files that must be hashed."""
        for path, kind in entries:
            if path in self._listing:
                if kind is FILE:
                    yield path
                else:
                    self._differences[path] = NotRegular(path, kind)
            elif kind is FILE and path not in self._exclude:
                self._differences[path] = Unexpected(path)

    def add_unreadable(self, path: str, problem: RuncardError) -> None:
        self._differences[path] = Unreadable(path, problem.message)

    def add_error(self, path: str, problem: RuncardError) -> None:
        if isinstance(problem, VanishedError):
            self._differences[path] = Missing(path, self._listing[path])
        elif isinstance(problem, NotRegularError):
            self._differences[path] = NotRegular(path, problem.kind)
        else:
            self.add_unreadable(path, problem)

    def check_digests(self, hashed: Listing) -> None:
        for path in self._listing.differing(hashed):
            self._differences[path] = Changed(path, self._listing[path], hashed[path])
        unreadable = {path: each for path, each in self._differences.items() if isinstance(each, Unreadable)}
        for path in self._listing:
            if path not in hashed and path not in self._differences:
                self._differences[path] = self._absent(path, unreadable)

    def _absent(self, path: str, unreadable: Mapping[str, Unreadable]) -> Difference:
        """Missing, or Unreadable when it is in a directory that could not be read."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if (parent := unreadable.get("/".join(parts[:depth]))) is not None:
                return Unreadable(path, parent.reason)
        return Missing(path, self._listing[path])

    def sorted(self) -> tuple[Difference, ...]:
        return tuple(self._differences[path] for path in sorted(self._differences, key=encode_name))
