"""Trusting the settings file of a project, so that it may set anything.

The file is read once: the settings that are shown are those that are trusted, even if the file changes meanwhile.
"""

import os
from dataclasses import dataclass
from typing import Any

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.files import printable
from runcard.settings import Setting, Settings, SettingValue
from runcard.settings.files import PYPROJECT_TOML, RUNCARD_TOML, SettingsFile, file_in_folder, find_file
from runcard.settings.trust import TrustEntry, is_trusted, revoke, trust, trusted_files


@dataclass(frozen=True, slots=True)
class TrustedFile:
    """A file that is trusted now, and what it may set because of that."""

    file: TrustEntry
    allowed: tuple[tuple[Setting[Any], SettingValue[Any]], ...]
    is_new: bool  # whether it was not trusted before

    def to_dict(self) -> JsonObject:
        allowed = [
            {"key": setting.key, "value": value_text(setting, value)} for setting, value in self.allowed
        ]
        return {**self.file._asdict(), "new": self.is_new, "allowed": allowed}


def value_text(setting: Setting[Any], value: SettingValue[Any]) -> str:
    """A value as a person would write it."""
    return printable(setting.value_type.show(value.value))


def trust_file(path: str | None = None) -> TrustedFile:
    """Trust the settings file of a project: the one that counts here, or the one at `path`, a file or a folder."""
    file = _file_at(path)
    if file is None:
        where = "here" if path is None else f"at {printable(path)}"
        raise StoreError(
            f"there is no settings file of a project {where}",
            hint=f"it is {RUNCARD_TOML}, or {PYPROJECT_TOML} with a table [tool.runcard]; all settings: runcard config",
        )
    allowed = tuple(Settings({}, os.environ, file).values_needing_trust())
    is_new = not is_trusted(file)
    trust(file)
    return TrustedFile(TrustEntry(file.real_path, sha256_bytes(file.data).hex), allowed, is_new)


def list_trust() -> list[tuple[TrustEntry, str]]:
    """The files on the list of trusted files, each with its state: `trusted`, `changed` or `gone`."""
    return [(file, _state(file)) for file in trusted_files()]


def _state(file: TrustEntry) -> str:
    if not os.path.exists(file.path):
        return "gone"
    current = _file_at(file.path)
    return "trusted" if current is not None and is_trusted(current) else "changed"


def revoke_trust(path: str | None = None) -> str:
    """Revoke the trust in a file, also a deleted one; returns its path."""
    place = _place_of(path)
    if not revoke(place):
        raise StoreError(
            f"{printable(place)} is not trusted", hint="`runcard config trust --list` shows which are"
        )
    return place


def _file_at(path: str | None) -> SettingsFile | None:
    if path is None:
        return find_file(".")
    folder = os.path.abspath(path)
    if os.path.isdir(folder):
        return file_in_folder(folder)
    folder, name = os.path.split(folder)
    file = file_in_folder(folder)
    return file if file is not None and os.path.basename(file.path) == name else None


def _place_of(path: str | None) -> str:
    """The path of a file on the list of trusted files; a deleted one must be named."""
    file = _file_at(path)
    if file is not None:
        return file.real_path
    folder, name = os.path.split(os.path.abspath(RUNCARD_TOML if path is None else path))
    return os.path.join(os.path.realpath(folder), name)
