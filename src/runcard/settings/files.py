"""The file that settings may stand in: `runcard.toml`, or the table `[tool.runcard]` of `pyproject.toml`.

The directory nearest to where the command runs decides, upwards from there; files are not mixed. Where one directory has
both, `runcard.toml` counts. A `pyproject.toml` that has no such table is somebody else's, and is passed over.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from stat import S_ISREG, S_IWOTH
from typing import Any, NamedTuple

from runcard.errors import ExitCode, RuncardError, UsageError
from runcard.files import failure, open_regular, printable, read_stream

NAME = "runcard.toml"
PYPROJECT = "pyproject.toml"

_TABLE = "tool.runcard"
_LARGEST = 1 << 24  # bytes
# Patterns are compiled when they are first used: mostly there is no file.
_HEADER = r"\s*\[\s*([^\[\]]+?)\s*\]"
_KEY = r"(?a)\s*([\w.\-\"' ]+?)\s*="
_PLACE = r"(?s)(.*) \(at line (\d+), column \d+\)"


class BadFileError(UsageError):
    """A file of settings that cannot be read as one."""

    exit_code = ExitCode.FAILED  # the command line itself is right


class Entry(NamedTuple):
    """What a file says about one key."""

    value: Any
    line: int | None


class SettingsFile(NamedTuple):
    """A file and all that it says, by key."""

    path: str
    folder: str
    entries: dict[str, Entry]
    ignored: str | None = None  # another file of the same directory that does not count


def find_file(directory: str) -> SettingsFile | None:
    """The file that counts for commands in a directory."""
    try:
        start = folder = os.path.abspath(directory)
    except FileNotFoundError:  # it was removed
        return None
    while True:
        found = _in_folder(folder, start)
        above = os.path.dirname(folder)
        if found is not None or above == folder:
            return found
        folder = above


def _in_folder(folder: str, start: str) -> SettingsFile | None:
    path, project = (os.path.join(folder, name) for name in (NAME, PYPROJECT))
    shown = NAME if folder == start else path
    entries = _project(project, os.path.basename(project) if folder == start else project)
    if _counts(path):
        text = _text(path)
        own = dict(_flat(_parsed(text, shown), "", _lines(text, "")))
        return SettingsFile(shown, folder, own, PYPROJECT if entries else None)
    if entries is not None:
        return SettingsFile(PYPROJECT if folder == start else project, folder, entries)
    return None


def _counts(path: str) -> bool:
    """Whether a file of settings lies there; one that a stranger put where everybody may write is none."""
    try:
        status = os.stat(path)
        if not S_ISREG(status.st_mode):
            return False
        is_ours = status.st_uid in {0, os.geteuid()}
        return is_ours or not os.stat(os.path.dirname(path)).st_mode & S_IWOTH
    except OSError:
        return False


def _project(path: str, shown: str) -> dict[str, Entry] | None:
    """What a project's own file says about us; None when it has no word for us."""
    if not _counts(path):
        return None
    text = ""
    try:
        text = _text(path)
        if "runcard" not in text:
            return None  # and most of them need not be parsed
        table = _parsed(text, shown).get("tool", {})
    except (RuncardError, OSError):
        if f"[{_TABLE}" in text:
            raise
        return None  # others will complain of it
    table = table.get("runcard") if isinstance(table, dict) else None
    return dict(_flat(table, "", _lines(text, _TABLE))) if isinstance(table, dict) else None


def _text(path: str) -> str:
    try:
        with open(open_regular(path, follow=True), "rb") as file:
            data = read_stream(file, _LARGEST)
        if len(data) > _LARGEST:
            raise BadFileError(
                f"{printable(path)} is larger than {_LARGEST:,} bytes", hint="settings take a few lines"
            )
        return data.decode("utf-8-sig")
    except OSError as error:
        raise failure(error, path, "read the settings in") from error
    except UnicodeDecodeError as error:
        raise BadFileError(f"{printable(path)} is not UTF-8 text", hint="save it as UTF-8") from error


@lru_cache(maxsize=4)  # a program that records many runs asks each time
def _parsed(text: str, shown: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - only where there is a file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        placed = re.fullmatch(_PLACE, str(error))
        what, line = (placed[1], f":{placed[2]}") if placed else (str(error), "")
        raise BadFileError(
            f"{printable(shown)}{line}: this is not TOML: {printable(what)}",
            hint="correct the line, or remove it",
        ) from error


def _flat(table: dict[str, Any], above: str, lines: dict[str, int]) -> Iterator[tuple[str, Entry]]:
    for name, value in table.items():
        key = f"{above}{name}"
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{key}.", lines)
        else:
            yield key, Entry(value, _line(key, lines))


def _lines(text: str, root: str) -> dict[str, int]:
    """Where keys stand, as far as looking at lines tells: for messages only."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(_HEADER, line):
            table = _plain(header[1])
            name = table
        elif key := re.match(_KEY, line):
            name = f"{table}.{_plain(key[1])}".strip(".")
        else:
            continue
        if not root:
            found.setdefault(name, number)
        elif name.startswith(f"{root}."):
            found.setdefault(name.removeprefix(f"{root}."), number)
    return found


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))


def _line(key: str, lines: dict[str, int]) -> int | None:
    """The line of a key, or of the table that it stands in."""
    while key not in lines and "." in key:
        key = key.rpartition(".")[0]
    return lines.get(key)
