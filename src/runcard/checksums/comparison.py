"""Compare a directory with its listing, and report every difference.

Symbolic links and special files are returned separately, for the caller to compare. A difference never raises.

Invariant: on an unchanged directory, `compare(root, make(root).listing)` has no differences.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from runcard.checksums.directory_listing import FILE, DirectoryWalk, Symlink
from runcard.checksums.file_errors import NotRegularError, VanishedError
from runcard.checksums.hashing import Progress, hash_in_parts
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


class KnownFile(NamedTuple):
    """A regular file that the caller has read: its digest in hex, and its size."""

    hex: str
    size: int


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
    known: Mapping[str, KnownFile] = MappingProxyType({}),
) -> ListingComparison:
    """Hash every listed file and report all differences; files in `exclude` need not be listed.

    Files in `known` are not read again; they count as hashed.
    """
    differences = _DifferenceCollector(exclude)
    tree = DirectoryWalk(root, differences.add_unreadable)
    taken: list[KnownFile] = []

    def paths() -> Iterator[str]:
        for path in differences.check_entries(tree, listing):
            if path in known:
                taken.append(known[path])
                differences.check_digests({path: known[path].hex})
            else:
                yield path

    def report(files: int, size: int) -> None:
        if progress is not None:
            progress(files + len(taken), size + sum(file.size for file in taken))

    for hashed in hash_in_parts(root, paths(), progress=report, on_error=differences.add_error):
        differences.check_digests(hashed)
    return ListingComparison(differences.sorted(), tuple(tree.symlinks), tuple(tree.others))


def compare_hashed(
    entries: Iterable[tuple[WalkEntry, str]],
    listing: Listing,
    exclude: Collection[str],
    unreadable: Mapping[str, str],
) -> tuple[Difference, ...]:
    """All differences from a listing, for entries in the order of their paths, each with its digest if it is a file."""
    differences = _DifferenceCollector(exclude)
    for path, reason in unreadable.items():
        differences.add_unreadable(path, StoreError(reason))
    found = ""  # the digest of the last entry

    def readable() -> Iterator[WalkEntry]:
        nonlocal found
        for entry, found in entries:  # noqa: B007 - read below
            if entry.path not in unreadable:
                yield entry

    for path in differences.check_entries(readable(), listing):
        differences.check_digests({path: found})
    return differences.sorted()


class _DifferenceCollector:
    """Collects the differences, at most one for each path."""

    def __init__(self, exclude: Collection[str]) -> None:
        self._exclude = exclude
        self._expected: dict[str, str] = {}  # digests in hex of files that are being hashed
        self._absent: dict[str, str] = {}  # the same of files that do not exist
        self._differences: dict[str, Difference] = {}

    def check_entries(self, entries: Iterable[WalkEntry], listing: Listing) -> Iterator[str]:
        """Yield the files that must be hashed. Both are in the order of their paths."""
        for path, kind, digits in _side_by_side(iter(entries), listing.hex_items()):
            if kind is None:
                self._absent[path] = digits or ""
            elif digits is None:
                if kind is FILE and path not in self._exclude:
                    self._differences[path] = Unexpected(path)
            elif kind is FILE:
                self._expected[path] = digits
                yield path
            else:
                self._differences[path] = NotRegular(path, kind)

    def add_unreadable(self, path: str, problem: RuncardError) -> None:
        self._differences[path] = Unreadable(path, problem.message)

    def add_error(self, path: str, problem: RuncardError) -> None:
        expected = self._expected.pop(path)
        if isinstance(problem, VanishedError):
            self._differences[path] = Missing(path, Digest("sha256", expected))
        elif isinstance(problem, NotRegularError):
            self._differences[path] = NotRegular(path, problem.kind)
        else:
            self.add_unreadable(path, problem)

    def check_digests(self, hashed: Mapping[str, str]) -> None:
        for path, found in hashed.items():
            expected = self._expected.pop(path)
            if found != expected:
                self._differences[path] = Changed(path, Digest("sha256", expected), Digest("sha256", found))

    def sorted(self) -> tuple[Difference, ...]:
        unreadable = {path: each for path, each in self._differences.items() if isinstance(each, Unreadable)}
        for path, expected in (self._absent | self._expected).items():
            if path not in self._differences:
                self._differences[path] = _absent(path, expected, unreadable)
        return tuple(self._differences[path] for path in sorted(self._differences, key=encode_name))


def _absent(path: str, expected: str, unreadable: Mapping[str, Unreadable]) -> Difference:
    """Missing, or Unreadable when it is in a directory that could not be read."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if (parent := unreadable.get("/".join(parts[:depth]))) is not None:
            return Unreadable(path, parent.reason)
    return Missing(path, Digest("sha256", expected))


def _side_by_side(
    entries: Iterator[WalkEntry], digests: Iterator[tuple[str, str]]
) -> Iterator[tuple[str, FileKind | None, str | None]]:
    """Each path once, with its kind if it exists and its digest if it is listed."""
    entry, listed = next(entries, None), next(digests, None)
    while entry is not None or listed is not None:
        if entry is not None and listed is not None and entry.path == listed[0]:
            yield entry.path, entry.kind, listed[1]
            entry, listed = next(entries, None), next(digests, None)
        elif listed is None or (entry is not None and _key(entry) < encode_name(listed[0])):
            yield cast("WalkEntry", entry).path, cast("WalkEntry", entry).kind, None
            entry = next(entries, None)
        else:
            yield listed[0], None, listed[1]
            listed = next(digests, None)


def _key(entry: WalkEntry) -> bytes:
    return encode_name(entry.path)
