"""Removing a directory that runcard made, with everything below it, however deep that is.

A copied workspace can hold directories that nobody may write, and paths that are longer than the system takes. So what lies
in a directory is moved up to the top before the directory is removed: two open directories are enough.

Invariant: no link is followed, also not one that somebody puts in the place of a directory meanwhile.
"""

import errno
import os
from collections.abc import Iterator
from itertools import count
from stat import S_ISDIR, S_ISLNK

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER = 0o700


def remove_tree(path: str, *, dir_fd: int | None = None) -> None:
    """Remove a file, or a directory with all that is in it; of a link, the link."""
    if not S_ISDIR(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
        os.unlink(path, dir_fd=dir_fd)
        return
    _let_owner_in(path, dir_fd)
    top = os.open(path, _OPEN, dir_fd=dir_fd)
    try:
        stem = os.urandom(8).hex()  # which no name in there has
        names = (f"{stem}.{number}" for number in count())
        waiting = _emptied(top, None, names)
        while waiting:
            name = waiting.pop()
            _let_owner_in(name, top)
            inner = os.open(name, _OPEN, dir_fd=top)
            try:
                waiting += _emptied(inner, top, names)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path, dir_fd=dir_fd)


def _emptied(directory: int, top: int | None, names: Iterator[str]) -> list[str]:
    """Remove the files of a directory and move its directories to the top, which has none for its own; their names."""
    with os.scandir(directory) as scan:
        entries = list(scan)
    folders = []
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=directory)
            continue
        name = entry.name
        if top is not None:
            _let_owner_in(name, directory)  # to move it, its own entry `..` is written
            name = next(names)
            os.rename(entry.name, name, src_dir_fd=directory, dst_dir_fd=top)
        folders.append(name)
    return folders


def _let_owner_in(name: str, directory: int | None) -> None:
    """Give a directory the permissions that removing its contents needs."""
    try:
        os.chmod(name, _OWNER, dir_fd=directory, follow_symlinks=False)
    except (NotImplementedError, ValueError):  # a link by now, or a system that cannot tell one here
        if S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        os.chmod(name, _OWNER, dir_fd=directory)
