"""Write a file atomically: a reader sees the old or the new contents, never a part.

The bytes are written to a temporary file in the same directory and synced to disk; then it is renamed, and the directory
is synced. This is for single documents; many files are synced together: see `sync`.

Invariants: after an error the old file is unchanged and the temporary file is removed; the new file is never readable by
users whom its final mode excludes. A process that is killed can leave its temporary file behind:
`.<name>.<8 hex digits>.tmp`.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from enum import Enum
from stat import S_IMODE, S_ISLNK

_NAME_MAX = 255
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Sync(Enum):
    """What is synced to disk before the new file is renamed."""

    FILE = "the file"
    CONTENTS = "the file; the caller syncs the directory, once for many files"
    LATER = "nothing: the caller syncs many files together"


SyncAll = Callable[[str], object]  # syncs the temporary file of this name, and others with it


def write_atomic(
    path: str | os.PathLike[str],
    data: bytes | Iterable[bytes],
    *,
    mode: int | None = None,
    replace: bool = True,
    follow: bool = True,
    sync: Sync | SyncAll = Sync.FILE,
) -> None:
    """Make `data`, as a whole or in blocks, the contents of `path`, synced to disk as far as `sync` says.

    A function as `sync` is called with the name of the temporary file, which is in the same directory, before it is renamed.
    Without `mode`, a replaced file keeps its permission bits, and a new one follows the umask. A symbolic link stays, and
    its target is replaced; without `follow` it raises an OSError (ELOOP). With `replace=False`, anything of that name, a
    link included, raises FileExistsError. Every OSError names `path`.
    """
    name = os.fspath(path)
    try:
        if _write(name, data, mode, sync, replace=replace):
            return
        if not follow:
            raise _link_loop()
        real = os.path.realpath(name)
        if not _write(real, data, mode, sync, replace=True):
            raise _link_loop()
    except OSError as error:
        # The system names the temporary file, or no file at all.
        raise OSError(error.errno, error.strerror, name) from error


def _link_loop() -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _write(
    path: str, data: bytes | Iterable[bytes], mode: int | None, sync: Sync | SyncAll, *, replace: bool
) -> bool:
    """Write the file; returns False, and writes nothing, if the name is a link that must stay."""
    folder, name = os.path.split(path)
    directory = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        old_mode = _mode_of(directory, name)
        if replace and old_mode is not None and S_ISLNK(old_mode):
            return False
        new_mode = old_mode & 0o777 if mode is None and old_mode is not None else mode
        _write_in(directory, name, data, new_mode, sync, replace=replace)
    finally:
        os.close(directory)
    return True


def _write_in(
    directory: int,
    name: str,
    data: bytes | Iterable[bytes],
    mode: int | None,
    sync: Sync | SyncAll,
    *,
    replace: bool,
) -> None:
    descriptor, temporary = create_temporary(directory, name, 0o666 if mode is None else mode)
    try:
        try:
            if mode is not None and S_IMODE(os.fstat(descriptor).st_mode) != mode:
                os.fchmod(descriptor, mode)  # bits that the umask removed; the file is still empty
            for block in (data,) if isinstance(data, bytes) else data:
                write_all(descriptor, block)
            if sync in {Sync.FILE, Sync.CONTENTS}:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if not isinstance(sync, Sync):
            sync(temporary)
        _rename(directory, temporary, name, replace=replace)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):  # an interrupt can come just after the rename
            os.unlink(temporary, dir_fd=directory)
        raise
    if sync not in {Sync.LATER, Sync.CONTENTS}:
        os.fsync(directory)


def _mode_of(directory: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def create_temporary(directory: int, name: str, mode: int) -> tuple[int, str]:
    """Create a new temporary file; its name contains that of the document, cut if it is too long."""
    while True:
        ending = f".{os.urandom(4).hex()}.tmp"
        stem = os.fsencode(name)[: _NAME_MAX - 1 - len(ending)].decode("utf-8", "ignore")
        temporary = os.fsdecode(f".{stem}{ending}".encode())  # in every locale
        try:
            return os.open(temporary, _CREATE, mode, dir_fd=directory), temporary
        except FileExistsError:
            continue


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all data, in as many calls as the system needs."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _rename(directory: int, temporary: str, name: str, *, replace: bool) -> None:
    if replace:
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        return
    # Imported here because it loads ctypes, which takes longer than a write and is rarely needed.
    from runcard.files.rename_noreplace import rename_noreplace  # noqa: PLC0415

    rename_noreplace(temporary, name, directory)
