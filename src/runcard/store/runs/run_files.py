"""Write runcard's files into a run's directory, where the user's program may write at the same time.

A process that the run left behind may remove files, or the directory: writing is retried. A user's file that has one of
runcard's names is moved to `user/`; where to is decided first and done later, so that it can be recorded in between.

Invariants: a link with the name of a runcard file is replaced, never followed; no user file is lost.
"""

import contextlib
import errno
import os
import time
from collections.abc import Callable, Collection, Iterable
from itertools import count

from runcard.checksums.unstable_directory import GONE_ERRNOS
from runcard.files import Sync, SyncAll, failure, fsync_directory, write_atomic
from runcard.files.rename_noreplace import rename_noreplace
from runcard.store import layout
from runcard.store.locks import lock_folder

_PAUSES = (0, 0.001, 0.01, 0.05, 0.1)  # seconds before each try, in a directory that comes and goes
_NAME_IN_USE = {errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST}
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


Contents = bytes | Callable[[], Iterable[bytes]]  # the second for those that are too long for memory


def write_run_file(run: str, name: str, data: Contents, *, sync: Sync | SyncAll) -> None:
    """Make `data` the contents of a file in the directory of a run, atomically. For `sync` see `write_atomic`."""
    path = os.path.join(run, name)
    try:
        write_atomic(path, _blocks(data), follow=False, sync=sync)
    except OSError as error:
        if error.errno not in GONE_ERRNOS | _NAME_IN_USE:
            raise failure(error, path, "write") from error
        _write_from_store(run, name, data, sync)


def _blocks(data: Contents) -> bytes | Iterable[bytes]:
    return data if isinstance(data, bytes) else data()


def _write_from_store(run: str, name: str, data: Contents, sync: Sync | SyncAll) -> None:
    """Write the file in the store's own folder, which the user's processes leave alone, and move it into the run."""
    own = layout.own_folder(layout.store_of(run))
    temporary = os.path.join(own, f".{name}.{os.urandom(4).hex()}.tmp")
    try:
        with lock_folder(own):  # or another process removes it as a leftover
            write_atomic(temporary, _blocks(data), sync=sync if isinstance(sync, Sync) else Sync.FILE)
            if not isinstance(sync, Sync):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # nothing is left to sync
                    sync(os.path.basename(temporary))
            try:
                _move_with_retries(temporary, run, name)
            except BaseException:
                os.unlink(temporary)
                raise
    except OSError as error:
        raise failure(error, os.path.join(run, name), "write") from error


def _move_with_retries(temporary: str, run: str, name: str) -> None:
    for last, pause in enumerate(_PAUSES, 1 - len(_PAUSES)):
        time.sleep(pause)
        try:
            os.makedirs(run, exist_ok=True)
            _move_once(temporary, run, name)
            fsync_directory(run)
        except OSError as error:
            if last == 0 or error.errno not in GONE_ERRNOS:
                raise
        else:
            return


def _move_once(temporary: str, run: str, name: str) -> None:
    directory = os.open(run, _DIRECTORY)
    try:
        os.rename(temporary, name, dst_dir_fd=directory)
    except OSError as error:
        if error.errno not in _NAME_IN_USE:
            raise
        os.rename(name, f"{name}.{os.urandom(4).hex()}", src_dir_fd=directory, dst_dir_fd=directory)
        os.rename(temporary, name, dst_dir_fd=directory)
    finally:
        os.close(directory)


def user_file_moves(run: str, names: Collection[str]) -> dict[str, str]:
    """Where user files with runcard's names are to go: by name, the new path relative to the run."""
    if not names:
        return {}
    folder = next(name for name in _numbered(layout.USER, "-") if _is_folder_or_free(os.path.join(run, name)))
    return {name: _free_path(run, folder, name) for name in names}


def move_user_files(run: str, moves: dict[str, str]) -> None:
    """Move each file to its new path; never over another file."""
    directory = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name, path in moves.items():
            os.makedirs(os.path.join(run, os.path.dirname(path)), exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # removed by a process that is still running
                rename_noreplace(name, path, directory)
    finally:
        os.close(directory)


def _free_path(run: str, folder: str, name: str) -> str:
    paths = (f"{folder}/{numbered}" for numbered in _numbered(name, "."))
    return next(path for path in paths if not os.path.lexists(os.path.join(run, path)))


def _numbered(name: str, separator: str) -> Iterable[str]:
    yield name
    for number in count(2):
        yield f"{name}{separator}{number}"


def _is_folder_or_free(path: str) -> bool:
    """Whether files can go there; a link may lead out of the run, and a file is the user's."""
    return not os.path.lexists(path) or (os.path.isdir(path) and not os.path.islink(path))
