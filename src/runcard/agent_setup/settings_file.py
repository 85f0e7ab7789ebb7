"""A settings file of an agent tool: reading it, and replacing it only as it was read.

Nothing is written to a file that is a link, read-only, of another user, or that was changed since it was read.
"""

import contextlib
import os
from stat import S_ISLNK, S_ISREG, S_IWUSR
from typing import NamedTuple

from runcard.errors import RuncardError, StoreError
from runcard.files import failure, printable, read_regular, type_name, write_atomic
from runcard.files.user_folders import is_own

_LARGEST = 16 << 20  # bytes
_PRIVATE = 0o600
_BOM = "\ufeff"


class SettingsText(NamedTuple):
    """The content of a file; None if there is no file."""

    path: str
    data: bytes | None

    @property
    def text(self) -> str | None:
        """Without a byte order mark."""
        return None if self.data is None else self.data.decode("utf-8").removeprefix(_BOM)

    def encode(self, text: str) -> bytes:
        """Another text as this file has it."""
        has_mark = self.data is not None and self.data.startswith(_BOM.encode())
        return ((_BOM if has_mark else "") + text).encode("utf-8")


def read_settings_text(path: str, top: str | None = None) -> SettingsText:
    """Read a file that can be changed; StoreError says why it cannot. No folder below `top` may be a link."""
    shown = printable(path)
    if top is not None and (link := _linked_folder(path, top)) is not None:
        raise StoreError(f"{printable(link)} is a symbolic link: nothing was written", hint="remove the link")
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return SettingsText(path, None)
    except OSError as error:
        raise failure(error, path, "read") from error
    if S_ISLNK(status.st_mode):
        target = printable(os.path.realpath(path))
        raise StoreError(
            f"{shown} is a symbolic link to {target}: nothing was written",
            hint="replace the link with the file, run this again, and put the link back",
        )
    if not S_ISREG(status.st_mode):
        raise StoreError(f"{shown} is a {type_name(status.st_mode)}, not a file", hint="move it away")
    if not is_own(status):
        raise StoreError(
            f"{shown} belongs to another user: nothing was written", hint="run this as its owner"
        )
    if not status.st_mode & S_IWUSR:
        raise StoreError(f"{shown} is read-only: nothing was written", hint=f"chmod u+w {shown}")
    if status.st_size > _LARGEST:
        raise StoreError(f"{shown} is larger than 16 MB: nothing was written", hint="check what is in it")
    read = SettingsText(path, _read(path))
    try:
        read.text  # noqa: B018
    except UnicodeDecodeError as error:
        raise broken(path, "it is not UTF-8") from error
    return read


def broken(path: str, why: str) -> RuncardError:
    """The error for a file that cannot be understood."""
    return StoreError(
        f"{printable(path)} is broken: {why}; nothing was written", hint="correct it, then run this again"
    )


def _linked_folder(path: str, top: str) -> str | None:
    folder = os.path.dirname(path)
    while len(folder) > len(top):
        if os.path.islink(folder):
            return folder
        folder = os.path.dirname(folder)
    return None


def _read(path: str) -> bytes:
    try:
        return read_regular(path) or b""
    except OSError as error:
        raise failure(error, path, "read") from error


def check_unchanged(before: SettingsText) -> None:
    """Raise StoreError if a file changed since it was read."""
    if read_settings_text(before.path).data != before.data:
        raise StoreError(
            f"{printable(before.path)} was changed meanwhile: nothing was written", hint="run this again"
        )


def replace_settings(before: SettingsText, after: bytes | None) -> list[str]:
    """Write a file, or with None delete it; the folders that were made for it. StoreError if it changed since it was read."""
    check_unchanged(before)
    path = before.path
    made = _missing_folders(os.path.dirname(path))
    try:
        if after is None:
            os.unlink(path)
            return []
        os.makedirs(os.path.dirname(path), exist_ok=True)
        is_state = os.path.basename(path) == ".claude.json"  # it has logins
        mode = _PRIVATE if before.data is None and is_state else None
        write_atomic(path, after, mode=mode, follow=False)
    except OSError as error:
        raise failure(error, path, "write") from error
    return made


def _missing_folders(folder: str) -> list[str]:
    """The folders that do not exist, the outermost first."""
    missing: list[str] = []
    while folder and not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def remove_folders(folders: list[str]) -> None:
    """Remove folders that were made, as far as they are empty."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
