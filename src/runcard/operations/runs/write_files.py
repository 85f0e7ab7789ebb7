"""Writing the files of a record into its directory, also while a process that the run left behind removes them.

Invariant: a link that has the name of a file of ours is replaced, never followed.
"""

import errno
import os
import time

from runcard.checksums.unstable_directory import GONE_ERRNOS
from runcard.files import Sync, failure, fsync_directory, write_atomic
from runcard.store import layout
from runcard.store.runs.directory import alone

_PAUSES = (0, 0.001, 0.01, 0.05, 0.1)  # seconds before each try, in a directory that comes and goes
_IN_THE_WAY = {errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST}
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def write(run: str, name: str, data: bytes, *, sync: Sync) -> None:
    """Make `data` the contents of a file in the directory of a run, in one step."""
    path = os.path.join(run, name)
    try:
        write_atomic(path, data, follow=False, sync=sync)
    except OSError as error:
        if error.errno not in GONE_ERRNOS | _IN_THE_WAY:
            raise failure(error, path, "write") from error
        _write_aside(run, name, data, sync)


def _write_aside(run: str, name: str, data: bytes, sync: Sync) -> None:
    """Write the file in the store's own folder, where the user's processes have no business, and move it from there."""
    own = layout.own_folder(layout.store_of(run))
    temporary = os.path.join(own, f".{name}.{os.urandom(4).hex()}.tmp")
    try:
        with alone(own):  # or somebody takes it for a leftover
            write_atomic(temporary, data, sync=sync)
            try:
                _move(temporary, run, name)
            except BaseException:
                os.unlink(temporary)
                raise
    except OSError as error:
        raise failure(error, os.path.join(run, name), "write") from error


def _move(temporary: str, run: str, name: str) -> None:
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
        if error.errno not in _IN_THE_WAY:
            raise
        os.rename(name, f"{name}.{os.urandom(4).hex()}", src_dir_fd=directory, dst_dir_fd=directory)
        os.rename(temporary, name, dst_dir_fd=directory)
    finally:
        os.close(directory)
