"""Remove a directory that runcard made, with everything below it, however deep it is.

A copied workspace can hold read-only directories, and paths that are longer than the system allows. So subdirectories are
moved up to the top before their parent is removed: no path has more than two names. Most of the time of removing a file is
spent waiting for the disk, so that threads share the files.

Invariants: no link is followed, also not one that replaces a directory meanwhile. Only a limited number of directories is
open, and of names held, at any time.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from itertools import count, islice
from stat import S_ISDIR, S_ISLNK
from typing import NamedTuple

from runcard.parallel.progress import ProgressCounter
from runcard.parallel.threads import JobThreads

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER = 0o700
_THREADS = 8
_FILES_PER_THREAD = 64  # a thread takes as long to start as a few files to remove
_MOST_FILES = 4096  # of which the names are held
_MOST_DIRECTORIES = 32  # that are open at once


class _File(NamedTuple):
    """A file to remove."""

    directory: int
    name: str


def remove_tree(path: str, *, dir_fd: int | None = None) -> None:
    """Remove a file, a directory with all its contents, or a link itself."""
    if not S_ISDIR(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
        os.unlink(path, dir_fd=dir_fd)
        return
    _make_writable(path, dir_fd)
    top = os.open(path, _OPEN, dir_fd=dir_fd)
    try:
        stem = os.urandom(8).hex()  # a prefix that no name in there has
        tree = _Tree(top, (f"{stem}.{number}" for number in count()))
        pending = tree.empty(top)
        tree.remove_files()
        while pending:
            group = pending[-_MOST_DIRECTORIES:]
            del pending[-_MOST_DIRECTORIES:]
            pending += tree.remove_directories(group)
    finally:
        os.close(top)
    os.rmdir(path, dir_fd=dir_fd)


class _Tree:
    """A directory that is being removed."""

    def __init__(self, top: int, names: Iterator[str]) -> None:
        self._top, self._names = top, names
        self._files: list[_File] = []  # that are removed next

    def remove_directories(self, group: list[str]) -> list[str]:
        """Remove directories at the top; returns the names of their subdirectories, which are there now."""
        moved = []
        with ExitStack() as opened:
            for name in group:
                _make_writable(name, self._top)
                directory = os.open(name, _OPEN, dir_fd=self._top)
                opened.callback(os.close, directory)
                moved += self.empty(directory)
            self.remove_files()
        for name in group:
            os.rmdir(name, dir_fd=self._top)
        return moved

    def empty(self, directory: int) -> list[str]:
        """Note the files of a directory for removal, and move its subdirectories to the top; returns their names there."""
        folders: list[str] = []
        is_top = directory == self._top
        while True:
            kept = set(folders) if is_top else set()
            with os.scandir(directory) as scan:
                entries = list(islice((entry for entry in scan if entry.name not in kept), _MOST_FILES))
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    self._files.append(_File(directory, entry.name))
                else:
                    folders.append(entry.name if is_top else self._move(entry.name, directory))
            if len(self._files) >= _MOST_FILES or len(entries) == _MOST_FILES:
                self.remove_files()
            if len(entries) < _MOST_FILES:
                return folders

    def _move(self, name: str, directory: int) -> str:
        _make_writable(name, directory)  # moving it writes its own entry `..`
        new = next(self._names)
        os.rename(name, new, src_dir_fd=directory, dst_dir_fd=self._top)
        return new

    def remove_files(self) -> None:
        """Remove the files noted so far."""
        files, self._files = self._files, []
        if len(files) < 2 * _FILES_PER_THREAD:
            for file in files:
                _unlink(file)
        else:
            threads = min(_THREADS, len(files) // _FILES_PER_THREAD)
            JobThreads(files, lambda: nullcontext(_unlink), ProgressCounter(None)).run(threads)


def _unlink(file: _File) -> None:
    os.unlink(file.name, dir_fd=file.directory)


def _make_writable(name: str, directory: int | None) -> None:
    """Give a directory the permissions that removing its contents needs; one of another user may have them already."""
    try:
        os.chmod(name, _OWNER, dir_fd=directory, follow_symlinks=False)
    except PermissionError:
        return
    except (NotImplementedError, ValueError):  # a link by now, or a system without this check
        if S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        os.chmod(name, _OWNER, dir_fd=directory)
