"""A directory and its listing: what is there, and making one of it.

Only regular files are hashed. Symbolic links and everything else (FIFOs, sockets, devices) are handed back beside, in
the order of their paths, for the one who writes them down. What differs later is found by `runcard.checksums.comparison`.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from runcard.checksums.hashing import hash_files
from runcard.checksums.listing import Listing
from runcard.checksums.progress import Progress
from runcard.files import FileEntry, FileKind, OnError, decode_name, failure, short_path, walk

FILE = FileKind.FILE  # looked up for each file, which takes long in an enumeration


class Symlink(NamedTuple):
    """A symbolic link and the text it holds, which is not followed."""

    path: str
    target: str


class Contents(NamedTuple):
    """What is below a directory; `others` are the paths of FIFOs, sockets and devices."""

    listing: Listing
    symlinks: tuple[Symlink, ...]
    others: tuple[str, ...]


def make(
    root: str | os.PathLike[str],
    *,
    entries: Iterable[FileEntry] | None = None,
    exclude: Collection[str] = (),
    progress: Progress | None = None,
    on_error: OnError | None = None,
) -> Contents:
    """List every regular file below `root` whose relative path is not in `exclude`.

    `entries` are what a walk has found there already. What cannot be listed raises; with `on_error` that is called with
    the path and the error instead.
    """
    survey = Survey(root, on_error, entries)
    files = (path for path, kind in survey if kind is FILE and path not in exclude)
    listing = hash_files(root, files, progress=progress, on_error=on_error)
    return Contents(listing, tuple(survey.symlinks), tuple(survey.others))


class Survey:
    """A walk that keeps the links and the other things on its way."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        on_error: OnError | None = None,
        entries: Iterable[FileEntry] | None = None,
    ) -> None:
        self._root, self._on_error, self._entries = root, on_error, entries
        self.symlinks: list[Symlink] = []
        self.others: list[str] = []

    def __iter__(self) -> Iterator[FileEntry]:
        found = walk(self._root, on_error=self._on_error) if self._entries is None else self._entries
        for entry in found:
            if entry.kind is not FILE:
                self._note(entry)
            yield entry

    def _note(self, entry: FileEntry) -> None:
        if entry.kind is FileKind.SYMLINK:
            self._read_link(entry.path)
        elif entry.kind is FileKind.OTHER:
            self.others.append(entry.path)

    def _read_link(self, path: str) -> None:
        try:
            with _opened(self._root) as top, short_path(top, path) as (place, rest):
                target = os.readlink(rest, dir_fd=place)
        except OSError as error:
            problem = failure(error, path, "read the symbolic link")
            if self._on_error is None:
                raise problem from error
            problem.__cause__ = error
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
