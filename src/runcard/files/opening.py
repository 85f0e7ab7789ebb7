"""Opening files and directories that somebody else may have put there.

A regular file is the only thing that is read: a FIFO or a device could block for ever, or change state by being opened. A
directory of runcard's own is entered without following symbolic links, so a link in a cloned repository cannot redirect
what runcard deletes, moves or writes.

Invariants: opening never blocks; a descriptor from `open_regular` is a regular file; one from `open_directory` was
reached through no link below `root`.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISLNK, S_ISREG, S_ISSOCK

from runcard.errors import StoreError
from runcard.files.names import printable

_REGULAR = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TYPES = (
    (S_ISDIR, "directory"),
    (S_ISLNK, "symbolic link"),
    (S_ISFIFO, "FIFO"),
    (S_ISSOCK, "socket"),
    (S_ISCHR, "device"),
    (S_ISBLK, "device"),
)


class NotRegularFileError(OSError):
    """Something else than a regular file lies where one was expected."""

    def __init__(self, path: str, mode: int) -> None:
        self.type = type_name(mode)
        super().__init__(errno.EINVAL, f"this is a {self.type}, not a regular file", path)


def type_name(mode: int) -> str:
    """What `st_mode` says a path is, for messages."""
    return next((name for matches, name in _TYPES if matches(mode)), "regular file")


def open_regular(
    path: str | bytes | os.PathLike[str], *, follow: bool = False, dir_fd: int | None = None
) -> int:
    """A descriptor for reading a regular file; with `follow`, `path` may be a link to one.

    Raises NotRegularFileError, which is an OSError, for anything else, and never waits.
    """
    try:
        descriptor = os.open(path, _REGULAR if follow else _REGULAR | os.O_NOFOLLOW, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in {
            errno.ENXIO,
            errno.ENODEV,
            errno.EOPNOTSUPP,
        }:  # a socket, or a device without driver
            mode = os.stat(path, dir_fd=dir_fd, follow_symlinks=follow).st_mode
            raise NotRegularFileError(os.fsdecode(path), mode) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if not S_ISREG(mode):
        os.close(descriptor)
        raise NotRegularFileError(os.fsdecode(path), mode)
    return descriptor


def names_in(directory: int, path: str) -> list[str]:
    """The names in the directory `path`, which lies in the open `directory`; no link is followed.

    Raises StoreError when it is a link or a file.
    """
    inner = _enter(os.path.basename(path), directory, path, None)
    try:
        return os.listdir(inner)
    finally:
        os.close(inner)


@contextmanager
def open_directory(root: str, *names: str, create: bool = False, mode: int = 0o777) -> Iterator[int]:
    """A descriptor of the directory `names` below `root`; no link below `root` is followed.

    With `create`, directories that are missing are made. Raises StoreError when one of the names is a link or a file,
    and OSError, such as FileNotFoundError, for everything else. `root` itself is the user's and may be a link.
    """
    descriptor = os.open(root, _DIRECTORY & ~os.O_NOFOLLOW)
    try:
        at = root
        for name in names:
            at = os.path.join(at, name)
            inner = _enter(name, descriptor, at, mode if create else None)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _enter(name: str, directory: int, path: str, mode: int | None) -> int:
    """Open a directory inside another one; `mode` is for making it where it is missing."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if mode is None:
            raise
        with suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=directory)
        return _enter(name, directory, path, None)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise _not_a_directory(name, directory, path) from error
        raise


def _not_a_directory(name: str, directory: int, path: str) -> StoreError:
    found = type_name(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    return StoreError(
        f"{printable(path)} is a {found}, not a directory; runcard follows no links there",
        hint="remove it if you did not put it there; to move a store, link the store's directory itself",
    )
