"""List a directory: the digests of its regular files, its symbolic links and its special files.

Only regular files are hashed. Symbolic links and special files (FIFOs, sockets, devices) are returned separately, in the
order of their paths. `runcard.checksums.comparison` compares a directory with its listing.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from runcard.checksums.hashing import Progress, hash_files
from runcard.checksums.listing import Listing
from runcard.files import FileKind, OnError, WalkEntry, decode_name, failure, short_path, walk

FILE = FileKind.FILE  # needed for each file, and slow to look up in an enumeration


class Symlink(NamedTuple):
    """A symbolic link and its target as text; it is not followed."""

    path: str
    target: str


class DirectoryContents(NamedTuple):
    """The contents of a directory; `others` are the paths of FIFOs, sockets and devices."""

    listing: Listing
    symlinks: tuple[Symlink, ...]
    others: tuple[str, ...]


def make(
    root: str | os.PathLike[str],
    *,
    entries: Iterable[WalkEntry] | None = None,
    exclude: Collection[str] = (),
    progress: Progress | None = None,
    on_error: OnError | None = None,
) -> DirectoryContents:
    """List every regular file below `root` whose relative path is not in `exclude`.

    `entries` are the results of an earlier walk. A path that cannot be listed raises an error; with `on_error`, that is
    called with the path and the error instead.
    """
    tree = DirectoryWalk(root, on_error, entries)
    files = (path for path, kind in tree if kind is FILE and path not in exclude)
    listing = hash_files(root, files, progress=progress, on_error=on_error)
    return DirectoryContents(listing, tuple(tree.symlinks), tuple(tree.others))


class DirectoryWalk:
    """A walk that also collects symbolic links and special files."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        on_error: OnError | None = None,
        entries: Iterable[WalkEntry] | None = None,
    ) -> None:
        self._root, self._on_error, self._entries = root, on_error, entries
        self.symlinks: list[Symlink] = []
        self.others: list[str] = []

    def __iter__(self) -> Iterator[WalkEntry]:
        entries = walk(self._root, on_error=self._on_error) if self._entries is None else self._entries
        for entry in entries:
            if entry.kind is not FILE:
                self._collect(entry)
            yield entry

    def _collect(self, entry: WalkEntry) -> None:
        if entry.kind is FileKind.SYMLINK:
            self._read_link(entry.path)
        elif entry.kind is FileKind.OTHER:
            self.others.append(entry.path)

    def _read_link(self, path: str) -> None:
        try:
            with _open_root(self._root) as top, short_path(top, path) as (directory, name):
                target = os.readlink(name, dir_fd=directory)
        except OSError as error:
            problem = failure(error, path, "read the symbolic link")
            if self._on_error is None:
                raise problem from error
            problem.__cause__ = error
            self._on_error(path, problem)
        else:
            self.symlinks.append(Symlink(path, decode_name(target)))


@contextmanager
def _open_root(root: str | os.PathLike[str]) -> Iterator[int]:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
