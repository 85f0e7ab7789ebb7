"""Walk a directory tree, in the order of the bytes of the relative paths.

It never follows a symbolic link, keeps only the current branch in memory, of that only so many names, and does not recurse. A directory that cannot be
read is an error that names it. Only directories are opened.

Invariant: the bytes of the yielded paths are strictly increasing.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple, Self

from runcard.errors import RuncardError
from runcard.files.names import decode_name
from runcard.files.opening import short_path
from runcard.files.os_errors import failure
from runcard.files.path_table import PathTable, in_byte_order

OnError = Callable[[str, RuncardError], object]

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOST_NAMES = 16384  # of a directory that are in memory before the rest goes into a table
_NAMES_ARE_UTF8 = sys.getfilesystemencoding() == "utf-8"


class FileKind(StrEnum):
    """The kind of a directory entry."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"  # FIFO, socket, device

    @classmethod
    def of_mode(cls, mode: int) -> Self:
        """The kind of an `st_mode`."""
        if S_ISREG(mode):
            return cls.FILE
        if S_ISDIR(mode):
            return cls.DIRECTORY
        return cls.SYMLINK if S_ISLNK(mode) else cls.OTHER


# In Python 3.11, looking up a member of an enumeration takes ten times as long as a name of the module.
_FILE, _DIRECTORY, _SYMLINK, _OTHER = FileKind


class WalkEntry(NamedTuple):
    """An entry below the root: its path with `/`, and its kind."""

    path: str
    kind: FileKind


def walk(
    root: str | os.PathLike[str],
    *,
    on_error: OnError | None = None,
    enter: Callable[[str], bool] | None = None,
) -> Iterator[WalkEntry]:
    """Yield all entries below `root`, which may be a link; with `enter`, skip directories for which it returns False.

    A directory that cannot be read raises MachineError or StoreError; with `on_error`, it is called with the
    directory's path and the error, and the walk skips the directory.
    """
    try:
        top = os.open(root, _OPEN)
    except OSError as error:
        raise failure(error, os.fspath(root), "read the directory") from error
    try:
        levels = [_entries(top, "", on_error)]
        while levels:
            for entry in levels[-1]:
                if entry.kind is _DIRECTORY and entry.path[-1] == "/":
                    if enter is not None and not enter(entry.path[:-1]):
                        continue
                    levels.append(_entries(top, entry.path, on_error))
                    break
                yield entry
            else:
                levels.pop()
    finally:
        os.close(top)


def walk_files(root: str | os.PathLike[str]) -> Iterator[tuple[str, int]]:
    """Yield the path and the size of every regular file below `root`."""
    return sizes(root, (path for path, kind in walk(root) if kind is _FILE))


def sizes(root: str | os.PathLike[str], paths: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the paths of files below `root` with their sizes; one that no longer exists is skipped.

    Any other error names the path.
    """
    try:
        top = os.open(root, _OPEN)
    except OSError as error:
        raise failure(error, os.fspath(root), "read the directory") from error
    try:
        for path in paths:
            try:
                with short_path(top, path) as (directory, name):
                    size = os.lstat(name, dir_fd=directory).st_size
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise failure(error, path, "look at") from error
            yield path, size
    finally:
        os.close(top)


def _entries(top: int, path: str, on_error: OnError | None) -> Iterator[WalkEntry]:
    """The entries of a directory, in order; a subdirectory occurs twice, the second time, with `/`, for its contents."""
    try:
        kinds = _kinds(top, path)
    except OSError as error:
        problem = failure(error, path[:-1], "read the directory")
        if on_error is None:
            raise problem from error
        problem.__cause__ = error
        on_error(path[:-1], problem)
        return iter(())
    return (WalkEntry(path + name, kind) for name, kind in kinds)


def _kinds(top: int, path: str) -> Iterable[tuple[str, FileKind]]:
    if not path:
        return read_kinds(top, twice=True)
    # O_NOFOLLOW: a directory that was swapped for a link since it was listed is not entered.
    with short_path(top, path[:-1] or ".") as (directory, relative):
        descriptor = os.open(relative, _OPEN | os.O_NOFOLLOW, dir_fd=directory)
    try:
        return read_kinds(descriptor, twice=True)
    finally:
        os.close(descriptor)


def read_kinds(descriptor: int, *, twice: bool = False) -> Iterable[tuple[str, FileKind]]:
    """The names in an open directory with their kinds, in order; with `twice`, a subdirectory again with a `/`."""
    kinds: dict[str, FileKind] = {}
    many: PathTable[FileKind] | None = None
    with os.scandir(descriptor) as scan:
        for entry in scan:
            name = entry.name if _NAMES_ARE_UTF8 else decode_name(os.fsencode(entry.name))
            if entry.is_file(follow_symlinks=False):
                kinds[name] = _FILE
            elif entry.is_dir(follow_symlinks=False):
                kinds[name] = _DIRECTORY
                if twice:
                    kinds[name + "/"] = _DIRECTORY
            else:
                kinds[name] = _SYMLINK if entry.is_symlink() else _OTHER
            if len(kinds) >= _MOST_NAMES:
                many = PathTable() if many is None else many
                many.update(kinds)
                kinds = {}
    if many is None:
        return [(name, kinds[name]) for name in in_byte_order(kinds)]
    many.update(kinds)
    return ((name, FileKind(kind)) for name, kind in many)
