"""Settings files: that of the project, and the user's own.

The project's is `runcard.toml`, or the table `[tool.runcard]` of `pyproject.toml`. The nearest one is used, from the
directory of the command upwards; files are not combined. Where one directory has both, `runcard.toml` is used. A
`pyproject.toml` without such a table is skipped. The user's own is `runcard/config.toml` in the folder for configuration.

The project's file may be hostile: only regular files are read, in bounded time, and `guards` restricts its values.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from stat import S_IWOTH
from typing import Any, NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import RuncardError, UsageError
from runcard.files import NotRegularFileError, failure, open_regular, printable
from runcard.files.user_folders import config_folder

RUNCARD_TOML = "runcard.toml"
PYPROJECT_TOML = "pyproject.toml"
USER_FILE = "config.toml"

_TABLE = "tool.runcard"
_MAX_DEPTH = 8  # levels; no setting has more than two
_MAX_DOTS = 500  # in a line: the time for a dotted key grows with the square of its parts
_MAX_SIZE = 1 << 20  # bytes; a real file has a few hundred
_KEY_PATTERN = r"(?a)[\w.\-\"' ]+"  # compiled on first use: usually there is no file
_LOCATED_MESSAGE = r"(?s)(.*) \(at line (\d+), column \d+\)"


class SettingsFileError(UsageError):
    """A settings file that cannot be read."""

    is_in_command_line = False


class SettingEntry(NamedTuple):
    """The value of one key, and its line."""

    value: Any
    line: int | None


class SettingsFile(NamedTuple):
    """A settings file and its values, by key."""

    path: str  # as shown in messages
    folder: str
    entries: dict[str, SettingEntry]
    data: bytes  # the whole file
    ignored: str | None = None  # another file in the same directory that is not used

    @property
    def real_path(self) -> str:
        """The file's path with links to its folder resolved; a file that is a link itself keeps its name."""
        return os.path.join(os.path.realpath(self.folder), os.path.basename(self.path))


def find_file(directory: str) -> SettingsFile | None:
    """The project's file for commands in a directory."""
    try:
        start = folder = os.path.abspath(directory)
    except FileNotFoundError:  # it was removed
        return None
    while True:
        file = file_in_folder(folder, start)
        above = os.path.dirname(folder)
        if file is not None or above == folder:
            return file
        folder = above


def file_in_folder(folder: str, start: str | None = None) -> SettingsFile | None:
    """The project's file in one directory; in `start` it is shown by its name only."""
    path, project = (
        name if folder == start else os.path.join(folder, name) for name in (RUNCARD_TOML, PYPROJECT_TOML)
    )
    table = _pyproject(folder, project)
    data = _read(os.path.join(folder, RUNCARD_TOML), path)
    if data is not None:
        return SettingsFile(path, folder, _entries(data, path), data, PYPROJECT_TOML if table else None)
    return table


def user_file(environ: Mapping[str, str] | None = None) -> SettingsFile | None:
    """The user's own file; one that belongs to another user is an error."""
    folder = config_folder(environ)
    if folder is None:
        return None
    path = os.path.join(folder, USER_FILE)
    data = _read(path, path, is_users=True)
    return None if data is None else SettingsFile(path, folder, _entries(data, path), data)


def _pyproject(folder: str, display_path: str) -> SettingsFile | None:
    """The table of runcard in a `pyproject.toml`; None without one."""
    data = b""
    try:
        data = _read(os.path.join(folder, PYPROJECT_TOML), display_path) or b""
        if b"runcard" not in data:
            return None  # and most of them need not be parsed
        table = _parsed(_text(data, display_path), display_path).get("tool", {})
    except (RuncardError, OSError):
        if f"[{_TABLE}".encode() in data:
            raise
        return None  # other tools report the error
    table = table.get("runcard") if isinstance(table, dict) else None
    if not isinstance(table, dict):
        return None
    return SettingsFile(
        display_path, folder, dict(_flat(table, _lines(_text(data, display_path), _TABLE))), data
    )


def _entries(data: bytes, display_path: str) -> dict[str, SettingEntry]:
    text = _text(data, display_path)
    return dict(_flat(_parsed(text, display_path), _lines(text, "")))


def _read(path: str, display_path: str, *, is_users: bool = False) -> bytes | None:
    """The bytes of a settings file; None where there is none, or one that is ignored."""
    if not os.access(path, os.F_OK, effective_ids=os.access in os.supports_effective_ids):
        return None  # mostly; an error would cost more than the rest
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
                f"{printable(display_path)} belongs to another user", hint="change its owner, or remove it"
            )
        if not is_users and _is_from_another_user(path, status):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(_MAX_SIZE + 1)
    except OSError as error:
        raise failure(error, path, "read the settings in") from error
    finally:
        os.close(descriptor)
    if len(data) > _MAX_SIZE:
        raise SettingsFileError(
            f"{printable(display_path)} is larger than 1 MiB", hint="keep only settings in it"
        )
    return data


def _trusted_owners() -> set[int]:
    return {0, os.geteuid()}


def _is_from_another_user(path: str, status: os.stat_result) -> bool:
    """Whether another user put a file, or a link to one, where everyone may write, such as /tmp."""
    if not os.stat(os.path.dirname(path)).st_mode & S_IWOTH:
        return False
    return not {status.st_uid, os.lstat(path).st_uid} <= _trusted_owners()


def _text(data: bytes, display_path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsFileError(
            f"{printable(display_path)} is not UTF-8 text", hint="save it as UTF-8"
        ) from error


@lru_cache(maxsize=4)  # a program that records many runs reads it each time
def _parsed(text: str, display_path: str) -> JsonObject:
    import tomllib  # noqa: PLC0415 - only where there is a file

    if max(line.count(".") for line in text.split("\n")) > _MAX_DOTS:
        raise _too_deep(display_path)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise _too_deep(display_path) from error
    except ValueError as error:  # not only TOMLDecodeError: also for a number with too many digits
        located = re.fullmatch(_LOCATED_MESSAGE, str(error))
        message, line = (located[1], f":{located[2]}") if located else (str(error), "")
        raise SettingsFileError(
            f"{printable(display_path)}{line}: invalid TOML: {printable(message)}",
            hint="correct or remove the line",
        ) from error


def _too_deep(display_path: str) -> SettingsFileError:
    return SettingsFileError(
        f"{printable(display_path)} is nested too deeply", hint="use at most two levels of tables"
    )


def _flat(root: JsonObject, lines: dict[str, int]) -> Iterator[tuple[str, SettingEntry]]:
    """All values with their dotted keys; what is too deep to be a setting stays one value."""
    pending = [(name, value) for name, value in reversed(root.items())]
    while pending:
        key, value = pending.pop()
        if isinstance(value, dict) and value and key.count(".") < _MAX_DEPTH:
            pending += [(f"{key}.{name}", inner) for name, inner in reversed(value.items())]
        else:
            yield key, SettingEntry(value, _line(key, lines))


def _lines(text: str, root: str) -> dict[str, int]:
    """The lines of keys, as far as a simple scan finds them: for messages only."""
    numbers: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _header(line):
            name = table = _plain(header)
        elif key := _key(line):
            name = f"{table}.{_plain(key)}".strip(".")
        else:
            continue
        if not root:
            numbers.setdefault(name, number)
        elif name.startswith(f"{root}."):
            numbers.setdefault(name.removeprefix(f"{root}."), number)
    return numbers


def _header(line: str) -> str | None:
    """The name of the table that a line starts."""
    before, sign, _ = line.strip().removeprefix("[").partition("]")
    return before if sign and line.lstrip().startswith("[") and "[" not in before else None


def _key(line: str) -> str | None:
    before, sign, _ = line.partition("=")
    return before if sign and re.fullmatch(_KEY_PATTERN, before.strip()) else None


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))


def _line(key: str, lines: dict[str, int]) -> int | None:
    """The line of a key, or of its table."""
    while key not in lines and "." in key:
        key = key.rpartition(".")[0]
    return lines.get(key)
