"""Private files for the command of a run: its configuration, which the variable RUNCARD_CONFIG names, settings, and programs.

They hold the values that the user gave, secrets included. So they are not a part of the record: they are in memory if the
system has a directory for that, only their owner can read them, and they are removed when the command has ended. If runcard
is killed, the process that closes the run removes them.

Invariant: the name of a file contains the id of the run, so that it is never taken for the file of another run.
"""

import contextlib
import errno
import os
from collections.abc import Callable

from runcard.encoding import JsonObject, decode_json, encode_json
from runcard.errors import EncodingError
from runcard.files import is_safe_id, read_regular, write_all

VARIABLE = "RUNCARD_CONFIG"

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY = ("/dev/shm", "/tmp", "/var/tmp")  # noqa: S108 - the file is new, and private


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
            if fill(path):
                return path
        except OSError:
            pass
        _remove_folder(path)
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
        else:
            return path
        finally:
            os.close(descriptor)
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
        for path in _paths(_folder_name(run_id)):
            if os.path.lexists(path):
                _remove_folder(path)


def _remove_folder(path: str) -> None:
    import shutil  # noqa: PLC0415 - most runs have no folder

    shutil.rmtree(path, ignore_errors=True)


def _paths(name: str) -> list[str]:
    """Where a file may be, the best place first."""
    runtime, temporary = os.environ.get("XDG_RUNTIME_DIR", ""), os.environ.get("TMPDIR", "")
    folders = (runtime, _TEMPORARY[0], temporary, *_TEMPORARY[1:])
    return [os.path.join(folder, name) for folder in folders if os.path.isabs(folder)]


def _folder_name(run_id: str) -> str:
    return f"runcard-programs-{run_id}"


def _name(run_id: str, kind: str = "config") -> str:
    return f"runcard-{kind}-{run_id}.json"
