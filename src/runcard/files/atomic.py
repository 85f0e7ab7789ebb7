"""Writing a document so that a reader sees the old one or the new one, whole.

The bytes go to a temporary file in the same directory, reach the disk, take the name in one step, and then the
directory reaches the disk. It writes single documents; many files are made durable in other ways.

Invariants: after an error the old document is untouched and the temporary file gone; at no moment can the new file be
read by somebody whom its final mode shuts out. A process that is killed can leave its temporary file behind:
`.<name>.<8 hex digits>.tmp`.
"""

import contextlib
import errno
import os
from collections.abc import Callable
from enum import Enum
from functools import cache
from stat import S_IMODE, S_ISLNK

_NAME_MAX = 255
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Sync(Enum):
    """What reaches the disk before the new document takes its name."""

    FILE = "it"
    FILE_SYSTEM = "it, and all that was written to the same file system before"
    LATER = "nothing: the caller makes many files durable together"


def write_atomic(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    mode: int | None = None,
    replace: bool = True,
    follow: bool = True,
    sync: Sync = Sync.FILE,
) -> None:
    """Make `data` the contents of `path`, durably unless many files are to be made durable together.

    Without `mode` a file that is replaced hands its permission bits on, and a new one gets what the umask says. A
    symbolic link stays: what it points to is replaced; without `follow` it raises an OSError (ELOOP). With
    `replace=False` anything that has the name, a link included, raises FileExistsError. Every OSError names `path`.
    """
    given = os.fspath(path)
    try:
        if _write(given, data, mode, sync, replace=replace):
            return
        if not follow:
            raise _endless()
        real = os.path.realpath(given)
        if not _write(real, data, mode, sync, replace=True):
            raise _endless()
    except OSError as error:
        # The system names the temporary file, or none at all: that would help nobody.
        raise OSError(error.errno, error.strerror, given) from error


def fsync_directory(path: str | os.PathLike[str]) -> None:
    """Make the names in a directory durable: what was created, renamed or removed there."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_filesystem(path: str | os.PathLike[str]) -> None:
    """Make everything durable that was written to the file system of a directory, in one step."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync_filesystem_of(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        os.close(descriptor)


def _sync_filesystem_of(descriptor: int) -> None:
    call = _syncfs()
    if call is None:
        os.sync()  # which may be done later, while a document must be whole before it takes its name
        os.fsync(descriptor)
    elif number := call(descriptor):
        raise OSError(number, os.strerror(number))


@cache
def _syncfs() -> Callable[[int], int] | None:
    """The system's call, which gives an error number or 0; None where there is none."""
    import ctypes  # noqa: PLC0415 - see _take_name

    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    return call and (lambda descriptor: ctypes.get_errno() if call(descriptor) else 0)


def _endless() -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _write(path: str, data: bytes, mode: int | None, sync: Sync, *, replace: bool) -> bool:
    """Write, unless what has the name is a link that should stay: then the answer is False."""
    folder, name = os.path.split(path)
    directory = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        old = _mode_of(directory, name)
        if replace and old is not None and S_ISLNK(old):
            return False
        wanted = old & 0o777 if mode is None and old is not None else mode
        _write_in(directory, name, data, wanted, sync, replace=replace)
    finally:
        os.close(directory)
    return True


def _write_in(
    directory: int, name: str, data: bytes, wanted: int | None, sync: Sync, *, replace: bool
) -> None:
    descriptor, temporary = _create(directory, name, 0o666 if wanted is None else wanted)
    try:
        try:
            if wanted is not None and S_IMODE(os.fstat(descriptor).st_mode) != wanted:
                os.fchmod(descriptor, wanted)  # what the umask took away; the file is still empty
            write_all(descriptor, data)
            if sync is Sync.FILE:
                os.fsync(descriptor)
            elif sync is Sync.FILE_SYSTEM:
                _sync_filesystem_of(descriptor)
        finally:
            os.close(descriptor)
        _take_name(directory, temporary, name, replace=replace)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):  # an interrupt can come just after the name was taken
            os.unlink(temporary, dir_fd=directory)
        raise
    if sync is not Sync.LATER:
        os.fsync(directory)


def _mode_of(directory: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _create(directory: int, name: str, mode: int) -> tuple[int, str]:
    """A new file that nobody else has; its name is that of the document, as much of it as fits."""
    while True:
        ending = f".{os.urandom(4).hex()}.tmp"
        stem = os.fsencode(name)[: _NAME_MAX - 1 - len(ending)].decode("utf-8", "ignore")
        temporary = os.fsdecode(f".{stem}{ending}".encode())  # whatever the locale can say
        try:
            return os.open(temporary, _CREATE, mode, dir_fd=directory), temporary
        except FileExistsError:
            continue


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of it, however little the system takes at once."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _take_name(directory: int, temporary: str, name: str, *, replace: bool) -> None:
    if replace:
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        return
    # Here, because it loads ctypes, which costs more than a durable write and which most programs never need.
    from runcard.files.rename_noreplace import rename_noreplace  # noqa: PLC0415

    rename_noreplace(temporary, name, directory)
