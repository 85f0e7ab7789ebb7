"""Everything below a directory, in the order of the full relative path's bytes.

It never follows a symbolic link, keeps no more in memory than the directories on the way down, and needs no recursion.
What it cannot read is an error that names it, never silently left out. It lists names and opens only directories.

Invariant: the bytes of the paths it yields are strictly increasing.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple, Self

from runcard.errors import RuncardError
from runcard.files.failures import failure
from runcard.files.names import decode_name, encode_name

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NAMES_ARE_UTF8 = sys.getfilesystemencoding() == "utf-8"


class Kind(StrEnum):
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


class Entry(NamedTuple):
    """A name below the root: its path with `/`, and its kind, which costs no further system call."""

    path: str
    kind: Kind


def walk(
    root: str | os.PathLike[str], *, on_error: Callable[[str, RuncardError], object] | None = None
) -> Iterator[Entry]:
    """Yield all entries below `root`, which may itself be a link.

    A directory that cannot be read raises MachineError or StoreError; with `on_error` that is called with the
    directory's path and the error, and the walk goes on without it.
    """
    try:
        top = os.open(root, _DIRECTORY)
    except OSError as error:
        raise failure(error, os.fspath(root), "read the directory") from error
    try:
        yield from _walk_below(top, on_error)
    finally:
        os.close(top)


def _walk_below(top: int, on_error: Callable[[str, RuncardError], object] | None) -> Iterator[Entry]:
    waiting: list[tuple[str, Kind | None]] = [("", None)]
    while waiting:
        path, kind = waiting.pop()
        if kind is not None:
            yield Entry(path, kind)
            continue
        try:
            found = _entries(top, path)
        except OSError as error:
            problem = failure(error, path[:-1], "read the directory")
            if on_error is None:
                raise problem from error
            on_error(path[:-1], problem)
        else:
            waiting.extend([(path + name, found[name]) for name in _last_first(found)])


def _entries(top: int, path: str) -> dict[str, Kind | None]:
    """The names in a directory; each subdirectory has a second one, with `/`, where its contents belong in the order."""
    # O_NOFOLLOW: a directory that was swapped for a link since it was listed is not entered.
    descriptor = os.open(encode_name(path.rstrip("/") or "."), _DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    found: dict[str, Kind | None] = {}
    try:
        with os.scandir(descriptor) as scan:
            for entry in scan:
                name = entry.name if _NAMES_ARE_UTF8 else decode_name(os.fsencode(entry.name))
                if entry.is_file(follow_symlinks=False):
                    found[name] = Kind.FILE
                elif entry.is_dir(follow_symlinks=False):
                    found[name] = Kind.DIRECTORY
                    found[name + "/"] = None
                else:
                    found[name] = Kind.SYMLINK if entry.is_symlink() else Kind.OTHER
    finally:
        os.close(descriptor)
    return found


def _last_first(names: Collection[str]) -> list[str]:
    if "".join(names).isascii():  # then text has the order of its bytes, and is sorted faster
        return sorted(names, reverse=True)
    return sorted(names, key=encode_name, reverse=True)
