"""This installation and this machine: optional parts of runcard, agent tools in PATH, disk space."""

import os
from collections.abc import Iterable, Mapping
from stat import S_IWGRP, S_IWOTH
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.extras import install_command, missing_modules
from runcard.files.user_folders import state_folder

LOW_SPACE = 10**9  # bytes
_ABOUT = {
    "ruby": "test plans for Ruby code: `runcard plan`",
    "tokens": "counting the tokens of input files",
    "arrow": "Parquet files: `runcard export --to parquet`; tables of `runcard.Catalog`",
    "sign": "signatures: `runcard sign`",
    "postgres": "the catalog in PostgreSQL: the setting `catalog.url`",
    "s3": "archives in object storage: `runcard archive --to s3://…`",
    "cluster": "work on many records at once: `--workers`, `--cluster`",
    "web": "the page in a browser: `runcard serve`, `runcard export --to html`",
    "mcp": "the MCP server: `runcard mcp`",
    "sdk": "the vendors' libraries, for `runcard.watch`",
}  # what each extra gives
_METERED = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "OpenCode"}
_OTHERS = {
    "aider": "Aider",
    "amp": "Amp",
    "copilot": "GitHub Copilot CLI",
    "crush": "Crush",
    "cursor-agent": "Cursor",
    "goose": "Goose",
    "qwen": "Qwen Code",
}


class ExtraState(NamedTuple):
    """An optional part of runcard."""

    name: str
    missing: tuple[str, ...]  # modules
    about: str

    @property
    def install(self) -> str:
        return install_command(self.name)

    def to_dict(self) -> JsonObject:
        is_installed = not self.missing
        install = None if is_installed else self.install
        return {
            "name": self.name,
            "installed": is_installed,
            "missing": list(self.missing),
            "about": self.about,
            "install": install,
        }


class ClientProgram(NamedTuple):
    """An agent tool in PATH."""

    name: str
    title: str
    path: str
    is_metered: bool  # `runcard run` knows how to point it at the meter

    def to_dict(self) -> JsonObject:
        return {"name": self.name, "title": self.title, "path": self.path, "metered": self.is_metered}


class DiskSpace(NamedTuple):
    """A file system that records or sessions are on."""

    path: str
    free: int
    total: int

    @property
    def is_low(self) -> bool:
        return self.free < LOW_SPACE

    def to_dict(self) -> JsonObject:
        return {"path": self.path, "free_bytes": self.free, "total_bytes": self.total, "low": self.is_low}


def extras() -> list[ExtraState]:
    """The optional parts, and which modules they lack."""
    return [ExtraState(name, missing_modules(name), about) for name, about in _ABOUT.items()]


def clients(environ: Mapping[str, str]) -> list[ClientProgram]:
    """The agent tools in PATH."""
    folders = [folder or os.curdir for folder in environ.get("PATH", "").split(os.pathsep)]
    found = []
    for name, title in (_METERED | _OTHERS).items():
        paths = (os.path.join(folder, name) for folder in folders)
        path = next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)
        if path is not None:
            found.append(ClientProgram(name, title, path, name in _METERED))
    return found


def open_state_folder(environ: Mapping[str, str]) -> str | None:
    """The folder with the user's key and the list of trusted files, if other users can write to it."""
    folder = state_folder(environ)
    try:
        mode = os.stat(folder).st_mode if folder else 0
    except OSError:
        return None
    return folder if mode & (S_IWGRP | S_IWOTH) else None


def disk_space(paths: Iterable[str]) -> list[DiskSpace]:
    """The file systems of these paths, each once."""
    devices: dict[int, DiskSpace] = {}
    for path in paths:
        folder = os.path.abspath(path)
        while not os.path.isdir(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        try:
            device, space = os.stat(folder).st_dev, os.statvfs(folder)
        except OSError:
            continue
        disk = DiskSpace(folder, space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize)
        devices.setdefault(device, disk)
    return list(devices.values())
