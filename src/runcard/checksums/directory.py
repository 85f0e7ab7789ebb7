"""A directory beside its listing: making one, and finding all that differs from it.

Only regular files are hashed. Symbolic links and everything else (FIFOs, sockets, devices) are handed back beside, in
the order of their paths, for the one who wrote them down to compare. Nothing here raises because of a difference.

Invariant: on a directory that nobody touched, `compare(root, make(root).listing)` has no differences.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from runcard.checksums.hashing import hash_files
from runcard.checksums.listing import Listing
from runcard.checksums.problems import NotRegularError, VanishedError
from runcard.checksums.tally import Progress
from runcard.digests import Digest
from runcard.errors import RuncardError, StoreError
from runcard.files import Entry, Kind, OnError, decode_name, encode_name, failure, reach, walk

_FILE = Kind.FILE  # looked up for each file, which takes long in an enumeration


class Symlink(NamedTuple):
    """A symbolic link and the text it holds, which is not followed."""

    path: str
    target: str


class Contents(NamedTuple):
    """What is below a directory; `others` are the paths of FIFOs, sockets and devices."""

    listing: Listing
    symlinks: tuple[Symlink, ...]
    others: tuple[str, ...]


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
    found_kind: Kind


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


def make(
    root: str | os.PathLike[str],
    *,
    entries: Iterable[Entry] | None = None,
    exclude: Collection[str] = (),
    progress: Progress | None = None,
) -> Contents:
    """List every regular file below `root` whose relative path is not in `exclude`.

    `entries` are what a walk has found there already.
    """
    survey = _Survey(root, entries=entries)
    files = (path for path, kind in survey if kind is _FILE and path not in exclude)
    listing = hash_files(root, files, progress=progress)
    return Contents(listing, tuple(survey.symlinks), tuple(survey.others))


def compare(
    root: str | os.PathLike[str],
    listing: Listing,
    *,
    exclude: Collection[str] = (),
    progress: Progress | None = None,
) -> Comparison:
    """Hash every listed file and tell all that differs; files in `exclude` need not be listed."""
    judge = _Judge(listing, exclude)
    survey = _Survey(root, judge.unreadable)
    judge.conclude(hash_files(root, judge.listed(survey), progress=progress, on_error=judge.not_hashed))
    return Comparison(judge.verdict(), tuple(survey.symlinks), tuple(survey.others))


def judge(
    entries: Iterable[Entry],
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


class _Survey:
    """A walk that keeps the links and the other things on its way."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        on_error: OnError | None = None,
        entries: Iterable[Entry] | None = None,
    ) -> None:
        self._root, self._on_error, self._entries = root, on_error, entries
        self.symlinks: list[Symlink] = []
        self.others: list[str] = []

    def __iter__(self) -> Iterator[Entry]:
        found = walk(self._root, on_error=self._on_error) if self._entries is None else self._entries
        for entry in found:
            if entry.kind is not _FILE:
                self._note(entry)
            yield entry

    def _note(self, entry: Entry) -> None:
        if entry.kind is Kind.SYMLINK:
            self._read_link(entry.path)
        elif entry.kind is Kind.OTHER:
            self.others.append(entry.path)

    def _read_link(self, path: str) -> None:
        try:
            with _opened(self._root) as top, reach(top, path) as (place, rest):
                target = os.readlink(rest, dir_fd=place)
        except OSError as error:
            problem = failure(error, path, "read the symbolic link")
            if self._on_error is None:
                raise problem from error
            self._on_error(path, problem)
        else:
            self.symlinks.append(Symlink(path, decode_name(target)))


@contextmanager
def _opened(root: str | os.PathLike[str]) -> Iterator[int]:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Judge:
    """Collects the differences, at most one for each path."""

    def __init__(self, listing: Listing, exclude: Collection[str]) -> None:
        self._listing, self._exclude = listing, exclude
        self._differences: dict[str, Difference] = {}

    def listed(self, entries: Iterable[Entry]) -> Iterator[str]:
        """The files to be hashed."""
        for path, kind in entries:
            if path in self._listing:
                if kind is _FILE:
                    yield path
                else:
                    self._differences[path] = NotRegular(path, kind)
            elif kind is _FILE and path not in self._exclude:
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
