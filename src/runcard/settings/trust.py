"""The settings files that the user trusts: a list in the user's state folder, by path and SHA-256 of the content.

A file that was edited is not trusted any more, and neither is a copy at another path. Only `runcard config trust` writes the
list. A list that cannot be read, or belongs to another user, counts as empty.
"""

import os
from json import dumps, loads
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.errors import MachineError
from runcard.files import failure, locked, open_regular, write_atomic
from runcard.files.user_folders import is_own, make_own_folder, state_folder
from runcard.settings.files import SettingsFile

_NAME = "trusted.json"
_MAX_SIZE = 1 << 24  # bytes
_LOCK_TIMEOUT = 10.0  # seconds


class TrustEntry(NamedTuple):
    """A file that is trusted as long as its content is the same."""

    path: str
    sha256: str


def is_trusted(file: SettingsFile) -> bool:
    """Whether the user trusts this file with this content."""
    return TrustEntry(file.real_path, sha256_bytes(file.data).hex) in trusted_files()


def trusted_files() -> list[TrustEntry]:
    """All files on the list, sorted by path."""
    folder = state_folder()
    try:
        entries = loads(_read(os.path.join(folder, _NAME))) if folder else {}
    except (OSError, ValueError, RecursionError):
        return []
    if not isinstance(entries, dict):
        return []
    return [TrustEntry(path, sha256) for path, sha256 in sorted(entries.items()) if isinstance(sha256, str)]


def trust(file: SettingsFile) -> None:
    """Add a file to the list, with its content as it was read."""
    _change(file.real_path, sha256_bytes(file.data).hex)


def revoke(path: str) -> bool:
    """Remove a file from the list; False when it was not on it."""
    if path not in {file.path for file in trusted_files()}:
        return False
    _change(path, None)
    return True


def _change(path: str, sha256: str | None) -> None:
    folder = state_folder()
    if folder is None:
        raise MachineError("no home directory", hint="set HOME or XDG_STATE_HOME")
    try:
        make_own_folder(folder)
        with locked(folder, timeout=_LOCK_TIMEOUT):
            entries = {file.path: file.sha256 for file in trusted_files() if file.path != path}
            if sha256 is not None:
                entries[path] = sha256
            text = dumps(dict(sorted(entries.items())), indent=2) + "\n"
            write_atomic(os.path.join(folder, _NAME), text.encode(), mode=0o600)
    except OSError as error:
        raise failure(error, folder, "write the list of trusted files in") from error


def _read(path: str) -> bytes:
    descriptor = open_regular(path)
    try:
        if not is_own(os.fstat(descriptor)):
            return b""
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(_MAX_SIZE)
    finally:
        os.close(descriptor)
