"""A directory beside the listing that was made of it: all that differs.

Symbolic links and everything else that is no regular file are handed back beside, for the one who wrote them down to
compare. Nothing here raises because of a difference.

Invariant: on a directory that nobody touched, `compare(root, make(root).listing)` has no differences.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from runcard.checksums.hashing import hash_files
from runcard.checksums.listing import Listing
from runcard.checksums.make_listing import FILE, Survey, Symlink
from runcard.checksums.problems import NotRegularError, VanishedError
from runcard.checksums.progress import Progress
from runcard.digests import Digest
from runcard.errors import RuncardError, StoreError
from runcard.files import FileEntry, FileKind, encode_name


class Changed(NamedTuple):
    """The file has other bytes than listed."""

    path: str
    expected: Digest
    found: Digest


class Missing(NamedTuple):
    """The file is listed and not there."""

    path: str
    expected: Digest


class Unexpected(NamedTuple):
    """The file is there and not listed."""

    path: str


class NotRegular(NamedTuple):
    """What is listed as a file is something else now."""

    path: str
    found_kind: FileKind


class Unreadable(NamedTuple):
    """Nobody can tell: a file or directory that could not be read, or was written to meanwhile."""

    path: str
    reason: str


Difference = Changed | Missing | Unexpected | NotRegular | Unreadable


class Comparison(NamedTuple):
    """All differences by path, and the links and other things that are there now."""

    differences: tuple[Difference, ...]
    symlinks: tuple[Symlink, ...]
    others: tuple[str, ...]


def compare(
    root: str | os.PathLike[str],
    listing: Listing,
    *,
    exclude: Collection[str] = (),
    progress: Progress | None = None,
) -> Comparison:
    """Hash every listed file and tell all that differs; files in `exclude` need not be listed."""
    judge = _Judge(listing, exclude)
    survey = Survey(root, judge.unreadable)
    judge.conclude(hash_files(root, judge.listed(survey), progress=progress, on_error=judge.not_hashed))
    return Comparison(judge.verdict(), tuple(survey.symlinks), tuple(survey.others))


def judge(
    entries: Iterable[FileEntry],
    found: Listing,
    listing: Listing,
    exclude: Collection[str],
    unreadable: Mapping[str, str],
) -> tuple[Difference, ...]:
    """All that differs from a listing, when what is there was found and hashed by somebody else."""
    judge = _Judge(listing, exclude)
    for path, reason in unreadable.items():
        judge.unreadable(path, StoreError(reason))
    for _ in judge.listed(entry for entry in entries if entry.path not in unreadable):
        pass
    judge.conclude(found)
    return judge.verdict()


class _Judge:
    """Collects the differences, at most one for each path."""

    def __init__(self, listing: Listing, exclude: Collection[str]) -> None:
        self._listing, self._exclude = listing, exclude
        self._differences: dict[str, Difference] = {}

    def listed(self, entries: Iterable[FileEntry]) -> Iterator[str]:
        """The files to be hashed."""
        for path, kind in entries:
            if path in self._listing:
                if kind is FILE:
                    yield path
                else:
                    self._differences[path] = NotRegular(path, kind)
            elif kind is FILE and path not in self._exclude:
                self._differences[path] = Unexpected(path)

    def unreadable(self, path: str, problem: RuncardError) -> None:
        self._differences[path] = Unreadable(path, problem.message)

    def not_hashed(self, path: str, problem: RuncardError) -> None:
        if isinstance(problem, VanishedError):
            self._differences[path] = Missing(path, self._listing[path])
        elif isinstance(problem, NotRegularError):
            self._differences[path] = NotRegular(path, problem.kind)
        else:
            self.unreadable(path, problem)

    def conclude(self, found: Listing) -> None:
        for path in self._listing.differing(found):
            self._differences[path] = Changed(path, self._listing[path], found[path])
        closed = {path: entry for path, entry in self._differences.items() if isinstance(entry, Unreadable)}
        for path in self._listing:
            if path not in found and path not in self._differences:
                self._differences[path] = self._not_seen(path, closed)

    def _not_seen(self, path: str, closed: Mapping[str, Unreadable]) -> Difference:
        """Missing, unless it lies in a directory that could not be looked into."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if (above := closed.get("/".join(parts[:depth]))) is not None:
                return Unreadable(path, above.reason)
        return Missing(path, self._listing[path])

    def verdict(self) -> tuple[Difference, ...]:
        return tuple(self._differences[path] for path in sorted(self._differences, key=encode_name))
