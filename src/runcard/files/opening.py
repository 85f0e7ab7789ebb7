"""Open files and directories whose names or contents may be hostile.

Only regular files are read: opening a FIFO or a device could block forever, or change its state. Directories of a store
are entered without following symbolic links, so a link in a cloned repository cannot redirect what runcard deletes, moves
or writes.

Invariants: opening never blocks; a descriptor from `open_regular` is a regular file; `open_directory` and
`open_parent_below` follow no link below `root`, even if a part of the path is swapped for a link meanwhile.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISLNK, S_ISREG, S_ISSOCK

from runcard.errors import StoreError
from runcard.files.names import encode_name, printable

_LONGEST_PATH = 4000  # bytes; Linux accepts 4,095
# O_NONBLOCK: opening a FIFO without a writer would wait forever.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY_PATH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_TYPES = (
    (S_ISDIR, "directory"),
    (S_ISLNK, "symbolic link"),
    (S_ISFIFO, "FIFO"),
    (S_ISSOCK, "socket"),
    (S_ISCHR, "device"),
    (S_ISBLK, "device"),
)


class NotRegularFileError(OSError):
    """A regular file was expected, and something else was found."""

    def __init__(self, path: str, mode: int) -> None:
        self.type = type_name(mode)
        super().__init__(errno.EINVAL, f"this is a {self.type}, not a regular file", path)


def type_name(mode: int) -> str:
    """The file type of `st_mode`, for messages."""
    return next((name for matches, name in _TYPES if matches(mode)), "regular file")


def open_regular(
    path: str | bytes | os.PathLike[str], *, follow: bool = False, dir_fd: int | None = None
) -> int:
    """Open a regular file for reading; with `follow`, `path` may be a link to one.

    Raises NotRegularFileError, an OSError, for anything else. Never blocks.
    """
    try:
        descriptor = os.open(path, _READ if follow else _READ | os.O_NOFOLLOW, dir_fd=dir_fd)
    except OSError as error:
        # A socket, or a device without a driver.
        if error.errno in {errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP}:
            mode = os.stat(path, dir_fd=dir_fd, follow_symlinks=follow).st_mode
            raise NotRegularFileError(os.fsdecode(path), mode) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if not S_ISREG(mode):
        os.close(descriptor)
        raise NotRegularFileError(os.fsdecode(path), mode)
    return descriptor


def open_readable(path: str, *, follow: bool = True) -> int:
    """Open any kind of file for reading, without blocking; the caller checks its type."""
    return os.open(path, _READ if follow else _READ | os.O_NOFOLLOW)


def list_directory(directory: int, path: str) -> list[str]:
    """List the directory `path`, which is in the open `directory`; no link is followed.

    Raises StoreError if it is a link or a file.
    """
    inner = _enter(os.path.basename(path), directory, path, None)
    try:
        return os.listdir(inner)
    finally:
        os.close(inner)


@contextmanager
def open_directory(root: str, *names: str, create: bool = False, mode: int = 0o777) -> Iterator[int]:
    """Open the directory `names` below `root`; no link below `root` is followed.

    With `create`, missing directories are created. Raises StoreError if one of the names is a link or a file, and OSError,
    such as FileNotFoundError, for everything else. `root` itself is the user's and may be a link.
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
    """Open a directory inside another one; with `mode`, create it if it is missing."""
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
    file_type = type_name(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    return StoreError(
        f"{printable(path)} is a {file_type}, not a directory; runcard follows no links there",
        hint="remove it if you did not put it there; to move a store, link the store's directory itself",
    )


@contextmanager
def open_parent_below(root: str, path: str) -> Iterator[tuple[int, bytes]]:
    """Open the parent directory of a relative path below `root`; yields its descriptor and the last name.

    No link below `root` is followed: a link on the way raises OSError.
    """
    *folders, name = encode_name(path).split(b"/")
    parent = os.open(root, _DIRECTORY_PATH)
    try:
        for folder in folders:
            child = os.open(folder, _DIRECTORY_PATH | os.O_NOFOLLOW, dir_fd=parent)
            os.close(parent)
            parent = child
        yield parent, name
    finally:
        os.close(parent)


@contextmanager
def short_path(top: int, path: str) -> Iterator[tuple[int, bytes]]:
    """A directory descriptor and a path relative to it, for `path` below the directory `top`.

    The path is short enough for a system call, however deep it is below `top`.
    """
    rest, directory = encode_name(path), top
    try:
        while len(rest) > _LONGEST_PATH:
            at = rest.rindex(b"/", 0, _LONGEST_PATH)
            first, rest = rest[:at], rest[at + 1 :]
            child = os.open(first, _DIRECTORY_PATH | os.O_NOFOLLOW, dir_fd=directory)
            if directory != top:
                os.close(directory)
            directory = child
        yield directory, rest
    finally:
        if directory != top:
            os.close(directory)
