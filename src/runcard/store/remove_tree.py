"""Remove a directory that runcard made, with everything below it, however deep it is.

A copied workspace can hold read-only directories, and paths that are longer than the system allows. So subdirectories are
moved up to the top before their parent is removed: two open directories are enough.

Invariant: no link is followed, also not one that replaces a directory meanwhile.
"""

import errno
import os
from collections.abc import Iterator
from itertools import count
from stat import S_ISDIR, S_ISLNK

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER = 0o700


def remove_tree(path: str, *, dir_fd: int | None = None) -> None:
    """Remove a file, a directory with all its contents, or a link itself."""
    if not S_ISDIR(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
        os.unlink(path, dir_fd=dir_fd)
        return
    _make_writable(path, dir_fd)
    top = os.open(path, _OPEN, dir_fd=dir_fd)
    try:
        stem = os.urandom(8).hex()  # a prefix that no name in there has
        names = (f"{stem}.{number}" for number in count())
        pending = _empty(top, None, names)
        while pending:
            name = pending.pop()
            _make_writable(name, top)
            inner = os.open(name, _OPEN, dir_fd=top)
            try:
                pending += _empty(inner, top, names)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path, dir_fd=dir_fd)


def _empty(directory: int, top: int | None, names: Iterator[str]) -> list[str]:
    """Remove the files of a directory and move its subdirectories to `top` (None: it is the top); returns their names."""
    with os.scandir(directory) as scan:
        entries = list(scan)
    folders = []
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=directory)
            continue
        name = entry.name
        if top is not None:
            _make_writable(name, directory)  # moving it writes its own entry `..`
            name = next(names)
            os.rename(entry.name, name, src_dir_fd=directory, dst_dir_fd=top)
        folders.append(name)
    return folders


def _make_writable(name: str, directory: int | None) -> None:
    """Give a directory the permissions that removing its contents needs."""
    try:
        os.chmod(name, _OWNER, dir_fd=directory, follow_symlinks=False)
    except (NotImplementedError, ValueError):  # a link by now, or a system without this check
        if S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        os.chmod(name, _OWNER, dir_fd=directory)
