"""Where a bundle is packed or unpacked before it has its name: `.runcard-bundle-<8 hex digits>`, a file or a folder.

The process that works there holds its lock. One whose lock is free was left behind by a process that was killed, and the next export
or import in the same directory removes it.

Invariant: nothing is removed whose lock a process holds, or that another user owns.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from stat import S_ISDIR, S_ISREG

from runcard.errors import StoreError
from runcard.files import printable
from runcard.files.rename_noreplace import rename_noreplace
from runcard.store.remove_tree import remove_tree

_FORM = re.compile(r"\.runcard-bundle-[0-9a-f]{8}")
_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_LOOK = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW


@contextmanager
def temporary_entry(parent: str, *, folder: bool) -> Iterator[tuple[str, int]]:
    """The name of a new folder or file in `parent`, and its descriptor; it is removed unless it was renamed meanwhile."""
    remove_abandoned(parent)
    directory = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name, descriptor = _create(directory, folder=folder)
        try:
            yield name, descriptor
        finally:
            if _is_still(name, descriptor, directory):
                remove_tree(name, dir_fd=directory)
            os.close(descriptor)
    finally:
        os.close(directory)


def take_name(temporary: str, target: str) -> None:
    """Rename a file or folder that was made under a temporary name in the same folder; never replaces another."""
    folder, name = os.path.split(os.path.abspath(target))
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        rename_noreplace(temporary, name, directory)
        os.fsync(directory)
    except FileExistsError as error:
        raise StoreError(f"{printable(target)} exists already", hint="choose another name") from error
    finally:
        os.close(directory)


def _create(directory: int, *, folder: bool) -> tuple[str, int]:
    while True:
        name = f".runcard-bundle-{os.urandom(4).hex()}"
        if folder:
            os.mkdir(name, dir_fd=directory)
            descriptor = os.open(name, _LOOK, dir_fd=directory)
        else:
            descriptor = os.open(name, _FILE, 0o666, dir_fd=directory)
        with suppress(OSError):  # a file system without locks, where nothing counts as abandoned
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_still(name, descriptor, directory):
            return name, descriptor
        os.close(descriptor)  # another process took it for abandoned before it was locked


def _is_still(name: str, descriptor: int, directory: int) -> bool:
    try:
        now = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(now, os.fstat(descriptor))


def remove_abandoned(parent: str) -> None:
    """Remove abandoned files and folders in a directory; those that cannot be removed stay."""
    with suppress(OSError):
        directory = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in filter(_FORM.fullmatch, os.listdir(directory)):
                with suppress(OSError):  # another process holds its lock, or removed it
                    _remove(name, directory)
        finally:
            os.close(directory)


def _remove(name: str, directory: int) -> None:
    descriptor = os.open(name, _LOOK, dir_fd=directory)
    try:
        status = os.fstat(descriptor)
        is_ours = status.st_uid == os.geteuid() and (S_ISDIR(status.st_mode) or S_ISREG(status.st_mode))
        if is_ours:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(name, dir_fd=directory)
    finally:
        os.close(descriptor)
