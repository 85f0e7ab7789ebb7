"""Rename a file or directory without replacing an existing one.

Plain `rename` replaces the target. Linux can rename without replacing. Where the kernel or the file system cannot, a file
is renamed in two steps with a hard link, and a directory by creating an empty target first.

Invariant: an existing target is never changed.
"""

import errno
import os
import stat
from collections.abc import Callable
from functools import cache

_RENAME_NOREPLACE = 1
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def rename_noreplace(source: str, target: str, directory: int, target_directory: int | None = None) -> None:
    """Rename within an open directory, or to another one; raises FileExistsError if `target` exists."""
    to = directory if target_directory is None else target_directory
    try:
        _renameat2(source, target, directory, to)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        _in_two_steps(source, target, directory, to)


def _in_two_steps(source: str, target: str, directory: int, to: int) -> None:
    if stat.S_ISDIR(os.stat(source, dir_fd=directory, follow_symlinks=False).st_mode):
        os.mkdir(target, dir_fd=to)  # renaming a directory onto an empty one replaces it
        os.rename(source, target, src_dir_fd=directory, dst_dir_fd=to)
        return
    os.link(source, target, src_dir_fd=directory, dst_dir_fd=to, follow_symlinks=False)
    os.unlink(source, dir_fd=directory)


def _renameat2(source: str, target: str, directory: int, to: int) -> None:
    call = _system_call()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if number := call(directory, os.fsencode(source), to, os.fsencode(target), _RENAME_NOREPLACE):
        raise OSError(number, os.strerror(number), target)


@cache
def _system_call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """The system call, which returns an error number or 0; None if the system has none."""
    import ctypes  # noqa: PLC0415 - as long to load as ten modules of this package, and checks rename nothing

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return call and (lambda *arguments: ctypes.get_errno() if call(*arguments) else 0)
