"""Private files for the command of a run: its configuration, which the variable RUNCARD_CONFIG names, settings, and programs.

They hold the values that the user gave, secrets included. So they are not a part of the record: they are in memory if the
system has a directory for that, only their owner can read them, and they are removed when the command has ended. If runcard
is killed, the process that closes the run removes them, and `runcard close` those of all runs. While runcard works for the
command, it holds their locks.

Invariant: the name of a file contains the id of the run, so that it is never taken for the file of another run.
"""

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from stat import S_ISDIR, S_ISREG

from runcard.encoding import JsonObject, decode_json, encode_json
from runcard.errors import EncodingError
from runcard.files import is_safe_id, printable, read_regular, write_all
from runcard.files.temporary_files import HOUR
from runcard.files.user_folders import is_own
from runcard.store.journal import try_lock

VARIABLE = "RUNCARD_CONFIG"

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FORM = r"runcard-((config|settings)-[A-Za-z0-9._-]+\.json|programs-[A-Za-z0-9._-]+)"
_TEMPORARY = ("/dev/shm", "/tmp", "/var/tmp")  # noqa: S108 - the file is new, and private


_held: dict[str, int] = {}  # descriptors of the files that this process wrote, with their locks


def write_config(run_id: str, configuration: JsonObject) -> str:
    """Write the configuration for the command of a run; returns the path. Raises OSError if there is no place for it."""
    return _write(_name(run_id), encode_json(configuration))


def write_program_settings(run_id: str, data: bytes) -> str:
    """Write settings for a program that the command of a run starts; returns the path. Raises OSError."""
    return _write(_name(run_id, "settings"), data)


def make_program_folder(run_id: str, fill: Callable[[str], bool]) -> str | None:
    """Make a folder with programs for the command of a run; returns the path, or None if there is no place for it.

    `fill` writes the programs, and says whether the system runs them there.
    """
    for path in _paths(_folder_name(run_id)):
        try:
            os.mkdir(path, 0o700)
        except OSError:
            continue
        try:
            _hold(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            if fill(path):
                return path
        except OSError:
            pass
        _remove_folder(path)
        _let_go(path)
    return None


def _write(name: str, data: bytes) -> str:
    problem = OSError(errno.ENOENT, os.strerror(errno.ENOENT), "/tmp")  # noqa: S108
    for path in _paths(name):
        try:
            descriptor = os.open(path, _CREATE, 0o600)
        except OSError as error:
            problem = error
            continue
        try:
            write_all(descriptor, data)
        except OSError as error:
            problem = error
            os.unlink(path)
            os.close(descriptor)
            continue
        _hold(path, descriptor)
        return path
    raise problem


def read_config(run_id: str) -> JsonObject | None:
    """The configuration of the run that this process belongs to; None if the variable does not name its file."""
    path = os.environ.get(VARIABLE, "")
    if os.path.basename(path) != _name(run_id):
        return None
    try:
        configuration = decode_json(read_regular(path) or b"")
    except (EncodingError, OSError):  # the command removed it, or wrote to it
        return None
    return configuration if isinstance(configuration, dict) else None


def remove_config(run_id: str) -> None:
    """Remove the files of a run, wherever they are."""
    if is_safe_id(run_id):
        for path in (*_paths(_name(run_id)), *_paths(_name(run_id, "settings"))):
            with contextlib.suppress(OSError):
                os.unlink(path)
            _let_go(path)
        for path in _paths(_folder_name(run_id)):
            if os.path.lexists(path):
                _remove_folder(path)
            _let_go(path)


def _hold(path: str, descriptor: int) -> None:
    """Lock a file or folder as long as this process has it, so that it is not taken for one that a killed run left."""
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _held[path] = descriptor


def _let_go(path: str) -> None:
    if (descriptor := _held.pop(path, None)) is not None:
        os.close(descriptor)


def _remove_folder(path: str) -> None:
    import shutil  # noqa: PLC0415 - most runs have no folder

    shutil.rmtree(path, ignore_errors=True)


def left_configs() -> Iterator[str]:
    """What a killed runcard of this user left: nobody holds its lock, and it is an hour old."""
    for folder in dict.fromkeys(os.path.dirname(path) for path in _paths("any")):
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(folder) if re.fullmatch(_FORM, name)]
            yield from (path for name in sorted(names) if _is_left(path := os.path.join(folder, name)))


def _is_left(path: str) -> bool:
    try:
        status = os.lstat(path)
        is_expected = S_ISREG(status.st_mode) if path.endswith(".json") else S_ISDIR(status.st_mode)
        if not is_expected or not is_own(status) or time.time() - status.st_mtime < HOUR:
            return False
        descriptor = try_lock(path, shared=True)
    except OSError:
        return False
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def remove_left_configs() -> list[str]:
    """Remove these; a message for each."""
    removed = []
    for path in left_configs():
        if path.endswith(".json"):
            with contextlib.suppress(OSError):
                os.unlink(path)
        else:
            _remove_folder(path)
        if not os.path.lexists(path):
            removed.append(f"removed the configuration of a killed run: {printable(path)}")
    return removed


def _paths(name: str) -> list[str]:
    """Where a file may be, the best place first."""
    runtime, temporary = os.environ.get("XDG_RUNTIME_DIR", ""), os.environ.get("TMPDIR", "")
    folders = (runtime, _TEMPORARY[0], temporary, *_TEMPORARY[1:])
    return [os.path.join(folder, name) for folder in folders if os.path.isabs(folder)]


def _folder_name(run_id: str) -> str:
    return f"runcard-programs-{run_id}"


def _name(run_id: str, kind: str = "config") -> str:
    return f"runcard-{kind}-{run_id}.json"
