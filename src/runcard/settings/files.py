"""The files that settings may stand in: that of the project, and the user's own.

The project's is `runcard.toml`, or the table `[tool.runcard]` of `pyproject.toml`. The directory nearest to where the
command runs decides, upwards from there; files are not mixed. Where one directory has both, `runcard.toml` counts. A
`pyproject.toml` that has no such table is passed over. The user's own is `runcard/config.toml` in the folder for
configuration.

A stranger may have written the project's file: only regular files are read, in bounded time, and which of its values
count is decided elsewhere.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from stat import S_IWOTH
from typing import Any, NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import ExitCode, RuncardError, UsageError
from runcard.files import NotRegularFileError, failure, open_regular, printable
from runcard.files.user_folders import config_folder

NAME = "runcard.toml"
PYPROJECT = "pyproject.toml"
USER = "config.toml"

_TABLE = "tool.runcard"
_DEEPEST = 8  # levels; no setting has more than two
_MOST_DOTS = 500  # in a line: the time that a dotted key takes grows with the square of its parts
_MOST = 1 << 20  # bytes; a file of settings has some hundred
_NAME = r"(?a)[\w.\-\"' ]+"  # compiled when it is first used: mostly there is no file
_PLACE = r"(?s)(.*) \(at line (\d+), column \d+\)"


class SettingsFileError(UsageError):
    """A file of settings that cannot be read as one."""

    exit_code = ExitCode.FAILED  # the command line itself is right


class FileEntry(NamedTuple):
    """What a file says about one key."""

    value: Any
    line: int | None


class SettingsFile(NamedTuple):
    """A file and all that it says, by key."""

    path: str  # as messages name it
    folder: str
    entries: dict[str, FileEntry]
    data: bytes  # the whole file
    ignored: str | None = None  # another file of the same directory that does not count

    @property
    def real_path(self) -> str:
        """The file's path without links on the way; a file that is a link itself keeps its name."""
        return os.path.join(os.path.realpath(self.folder), os.path.basename(self.path))


def find_file(directory: str) -> SettingsFile | None:
    """The project's file that counts for commands in a directory."""
    try:
        start = folder = os.path.abspath(directory)
    except FileNotFoundError:  # it was removed
        return None
    while True:
        found = file_in_folder(folder, start)
        above = os.path.dirname(folder)
        if found is not None or above == folder:
            return found
        folder = above


def file_in_folder(folder: str, start: str | None = None) -> SettingsFile | None:
    """The project's file of one directory; seen from `start`, its name is enough."""
    path, project = (name if folder == start else os.path.join(folder, name) for name in (NAME, PYPROJECT))
    table = _project(folder, project)
    data = _read(os.path.join(folder, NAME), path)
    if data is not None:
        return SettingsFile(path, folder, _entries(data, path), data, PYPROJECT if table else None)
    return table


def user_file(environ: Mapping[str, str] | None = None) -> SettingsFile | None:
    """The user's own file; one that belongs to somebody else is an error."""
    folder = config_folder(environ)
    if folder is None:
        return None
    path = os.path.join(folder, USER)
    data = _read(path, path, is_users=True)
    return None if data is None else SettingsFile(path, folder, _entries(data, path), data)


def _project(folder: str, shown: str) -> SettingsFile | None:
    """What a `pyproject.toml` says about runcard; None when it has no table for it."""
    data = b""
    try:
        data = _read(os.path.join(folder, PYPROJECT), shown) or b""
        if b"runcard" not in data:
            return None  # and most of them need not be parsed
        table = _parsed(_text(data, shown), shown).get("tool", {})
    except (RuncardError, OSError):
        if f"[{_TABLE}".encode() in data:
            raise
        return None  # other tools report what is wrong with it
    table = table.get("runcard") if isinstance(table, dict) else None
    if not isinstance(table, dict):
        return None
    return SettingsFile(shown, folder, dict(_flat(table, _lines(_text(data, shown), _TABLE))), data)


def _entries(data: bytes, shown: str) -> dict[str, FileEntry]:
    text = _text(data, shown)
    return dict(_flat(_parsed(text, shown), _lines(text, "")))


def _read(path: str, shown: str, *, is_users: bool = False) -> bytes | None:
    """The bytes of a file of settings; None where none lies there, or one that does not count."""
    try:
        descriptor = open_regular(path, follow=True)
    except PermissionError as error:
        if not os.path.lexists(path):
            return None
        raise failure(error, path, "read the settings in") from error
    except (OSError, NotRegularFileError):
        return None
    try:
        status = os.fstat(descriptor)
        if is_users and status.st_uid not in _trusted_owners():
            raise SettingsFileError(
                f"{printable(shown)} belongs to another user", hint="make it your own, or remove it"
            )
        if not is_users and _is_planted(path, status):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise failure(error, path, "read the settings in") from error
    finally:
        os.close(descriptor)
    if len(data) > _MOST:
        raise SettingsFileError(f"{printable(shown)} is larger than 1 MiB", hint="settings are a few lines")
    return data


def _trusted_owners() -> set[int]:
    return {0, os.geteuid()}


def _is_planted(path: str, status: os.stat_result) -> bool:
    """Whether a stranger put a file, or a link to one, where everybody may write, such as /tmp."""
    if not os.stat(os.path.dirname(path)).st_mode & S_IWOTH:
        return False
    return not {status.st_uid, os.lstat(path).st_uid} <= _trusted_owners()


def _text(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsFileError(f"{printable(shown)} is not UTF-8 text", hint="save it as UTF-8") from error


@lru_cache(maxsize=4)  # a program that records many runs asks each time
def _parsed(text: str, shown: str) -> JsonObject:
    import tomllib  # noqa: PLC0415 - only where there is a file

    if max(line.count(".") for line in text.split("\n")) > _MOST_DOTS:
        raise _too_deep(shown)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise _too_deep(shown) from error
    except ValueError as error:  # also of a number with too many digits, which is no TOMLDecodeError
        placed = re.fullmatch(_PLACE, str(error))
        what, line = (placed[1], f":{placed[2]}") if placed else (str(error), "")
        raise SettingsFileError(
            f"{printable(shown)}{line}: this is not TOML: {printable(what)}",
            hint="correct the line, or remove it",
        ) from error


def _too_deep(shown: str) -> SettingsFileError:
    return SettingsFileError(f"{printable(shown)} is nested too deep", hint="no setting is below two tables")


def _flat(root: JsonObject, lines: dict[str, int]) -> Iterator[tuple[str, FileEntry]]:
    """All values with their dotted keys; what is nested too deep to be a setting stays one value."""
    waiting = [(name, value) for name, value in reversed(root.items())]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict) and value and key.count(".") < _DEEPEST:
            waiting += [(f"{key}.{name}", inner) for name, inner in reversed(value.items())]
        else:
            yield key, FileEntry(value, _line(key, lines))


def _lines(text: str, root: str) -> dict[str, int]:
    """Where keys stand, as far as looking at lines tells: for messages only."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _header(line):
            name = table = _plain(header)
        elif key := _key(line):
            name = f"{table}.{_plain(key)}".strip(".")
        else:
            continue
        if not root:
            found.setdefault(name, number)
        elif name.startswith(f"{root}."):
            found.setdefault(name.removeprefix(f"{root}."), number)
    return found


def _header(line: str) -> str | None:
    """The name of the table that a line begins."""
    before, sign, _ = line.strip().removeprefix("[").partition("]")
    return before if sign and line.lstrip().startswith("[") and "[" not in before else None


def _key(line: str) -> str | None:
    before, sign, _ = line.partition("=")
    return before if sign and re.fullmatch(_NAME, before.strip()) else None


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))


def _line(key: str, lines: dict[str, int]) -> int | None:
    """The line of a key, or of the table that it stands in."""
    while key not in lines and "." in key:
        key = key.rpartition(".")[0]
    return lines.get(key)
