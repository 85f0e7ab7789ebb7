"""Everything below a directory, in the order of the full relative path's bytes.

It never follows a symbolic link, keeps no more in memory than the directories on the way down, and needs no recursion.
What it cannot read is an error that names it, never silently left out. It lists names and opens only directories.

Invariant: the bytes of the paths it yields are strictly increasing.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple, Self

from runcard.errors import RuncardError
from runcard.files.names import decode_name, encode_name
from runcard.files.opening import short_path
from runcard.files.os_errors import failure

OnError = Callable[[str, RuncardError], object]

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NAMES_ARE_UTF8 = sys.getfilesystemencoding() == "utf-8"


class FileKind(StrEnum):
    """What a name stands for."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"  # FIFO, socket, device

    @classmethod
    def of_mode(cls, mode: int) -> Self:
        """The kind that `st_mode` tells."""
        if S_ISREG(mode):
            return cls.FILE
        if S_ISDIR(mode):
            return cls.DIRECTORY
        return cls.SYMLINK if S_ISLNK(mode) else cls.OTHER


# Looking up a member of an enumeration takes Python 3.11 ten times as long as a name of the module.
_FILE, _DIRECTORY, _SYMLINK, _OTHER = FileKind


class FileEntry(NamedTuple):
    """A name below the root: its path with `/`, and its kind, which costs no further system call."""

    path: str
    kind: FileKind


def walk(
    root: str | os.PathLike[str],
    *,
    on_error: OnError | None = None,
    enter: Callable[[str], bool] | None = None,
) -> Iterator[FileEntry]:
    """Yield all entries below `root`, which may itself be a link; with `enter`, only below directories it agrees to.

    A directory that cannot be read raises MachineError or StoreError; with `on_error` that is called with the
    directory's path and the error, and the walk goes on without it.
    """
    try:
        top = os.open(root, _OPEN)
    except OSError as error:
        raise failure(error, os.fspath(root), "read the directory") from error
    try:
        levels = [iter(_look_into(top, "", on_error))]
        while levels:
            for entry in levels[-1]:
                if entry.kind is _DIRECTORY and entry.path[-1] == "/":
                    if enter is not None and not enter(entry.path[:-1]):
                        continue
                    levels.append(iter(_look_into(top, entry.path, on_error)))
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
    """Yield the paths of files below `root` with their sizes; one that vanished meanwhile is passed over.

    What cannot be looked at raises an error that names it.
    """
    try:
        top = os.open(root, _OPEN)
    except OSError as error:
        raise failure(error, os.fspath(root), "read the directory") from error
    try:
        for path in paths:
            try:
                with short_path(top, path) as (place, rest):
                    size = os.lstat(rest, dir_fd=place).st_size
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise failure(error, path, "look at") from error
            yield path, size
    finally:
        os.close(top)


def _look_into(top: int, path: str, on_error: OnError | None) -> list[FileEntry]:
    """What is in a directory, in order; a subdirectory is there twice, the second time, with `/`, for its contents."""
    try:
        kinds = _kinds(top, path)
    except OSError as error:
        problem = failure(error, path[:-1], "read the directory")
        if on_error is None:
            raise problem from error
        problem.__cause__ = error
        on_error(path[:-1], problem)
        return []
    # Text in ASCII has the order of its bytes, and is sorted faster.
    names = sorted(kinds) if "".join(kinds).isascii() else sorted(kinds, key=encode_name)
    return [FileEntry(path + name, kinds[name]) for name in names]


def _kinds(top: int, path: str) -> dict[str, FileKind]:
    kinds: dict[str, FileKind] = {}
    # O_NOFOLLOW: a directory that was swapped for a link since it was listed is not entered.
    with short_path(top, path[:-1] or ".") as (place, rest):
        descriptor = os.open(rest, _OPEN | os.O_NOFOLLOW, dir_fd=place)
    try:
        with os.scandir(descriptor) as scan:
            for entry in scan:
                name = entry.name if _NAMES_ARE_UTF8 else decode_name(os.fsencode(entry.name))
                if entry.is_file(follow_symlinks=False):
                    kinds[name] = _FILE
                elif entry.is_dir(follow_symlinks=False):
                    kinds[name] = kinds[name + "/"] = _DIRECTORY
                else:
                    kinds[name] = _SYMLINK if entry.is_symlink() else _OTHER
    finally:
        os.close(descriptor)
    return kinds
