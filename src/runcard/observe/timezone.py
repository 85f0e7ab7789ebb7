"""The time zone of the machine, by its IANA name.

It is determined like in the C library: by the variable TZ, and without it by the file /etc/localtime. /etc/timezone is only
a note about that file; it is used where it matches the file's contents. A rule without a name
(`CET-1CEST,M3.5.0,M10.5.0/3`) is not a zone, and neither is a name that the zone database lacks. Without a database any
well-formed name is accepted.

Invariant: nothing is guessed. `UTC` is returned only where the machine runs on UTC.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping

_DATABASES = ("usr/share/zoneinfo", "usr/lib/zoneinfo", "usr/share/lib/zoneinfo", "etc/zoneinfo")
_NAME = r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*"
_UTC_RULE = r"UTC[+-]?0+"
_VARIANTS = ("posix", "right")  # folders with the same zones again, without and with leap seconds
_NOT_ZONES = {"localtime", "posixrules", "Factory"}
_UNIVERSAL = {"UTC", "Etc/UTC", "UCT", "Etc/UCT", "Universal", "Etc/Universal", "Zulu", "Etc/Zulu"}
_LINKS = 8  # that may lead from /etc/localtime to the database
_LARGEST = 1 << 20  # bytes of a zone file; real ones have a few thousand


def timezone(variables: Mapping[str, str], root: str = "/") -> str | None:
    """The zone of a program with these environment variables; None when it has no known name."""
    value = variables.get("TZ")
    return _of_system(root) if value is None else _of_variable(value.removeprefix(":"), root)


def _of_variable(text: str, root: str) -> str | None:
    if not text or re.fullmatch(_UTC_RULE, text):
        return "UTC"  # an empty TZ means UTC, too
    if text == "/etc/localtime":
        return _of_system(root)
    return _zone_name(_after_database(text) if text.startswith("/") else text, root)


def _of_system(root: str) -> str | None:
    localtime = os.path.join(root, "etc/localtime")
    if target := _link_into_database(localtime):
        return _zone_name(target, root)
    try:
        with open(localtime, "rb") as file:
            contents = file.read(_LARGEST)
    except FileNotFoundError:
        return "UTC" if (time.timezone, *time.tzname) == (0, "UTC", "UTC") else None
    except OSError:
        return None
    return _by_contents(contents, root)


def _link_into_database(path: str) -> str | None:
    for _ in range(_LINKS):
        try:
            target = os.readlink(path)
        except OSError:
            return None
        if name := _after_database(target):
            return name
        path = os.path.join(os.path.dirname(path), target)
    return None


def _after_database(path: str) -> str | None:
    """`Europe/Berlin` of `/usr/share/zoneinfo/Europe/Berlin`."""
    return path.partition("/zoneinfo/")[2] or None


def _zone_name(name: str | None, root: str) -> str | None:
    if name is None:
        return None
    first, _, rest = name.partition("/")
    name = rest if first in _VARIANTS else name
    if name in _NOT_ZONES or not re.fullmatch(_NAME, name):
        return None
    folders = _databases(root)
    if not folders:
        return name if "/" in name or name in _UNIVERSAL else None
    return name if any(_is_zone(os.path.join(folder, name)) for folder in folders) else None


def _databases(root: str) -> list[str]:
    return [folder for place in _DATABASES if os.path.isdir(folder := os.path.join(root, place))]


def _is_zone(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"TZif"
    except OSError:
        return False


def _by_contents(contents: bytes, root: str) -> str | None:
    """The zone with this file. Several can have the same; then /etc/timezone decides, or which one is not an alias."""
    names = {name for folder in _databases(root) for name in _files_with(contents, folder)}
    if len(names) <= 1:
        return next(iter(names), None)
    note = (_text(os.path.join(root, "etc/timezone")) or "").strip()
    if note in names:
        return note
    if names <= _UNIVERSAL:
        return "UTC"
    main = names.intersection(_main_zones(root))
    return main.pop() if len(main) == 1 else None


def _files_with(contents: bytes, folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        if place == folder:
            folders[:] = [name for name in folders if name not in _VARIANTS]
        for file in files:
            path = os.path.join(place, file)
            name = os.path.relpath(path, folder)
            if name not in _NOT_ZONES and re.fullmatch(_NAME, name) and _has(path, contents):
                yield name


def _has(path: str, contents: bytes) -> bool:
    try:
        if os.stat(path).st_size != len(contents):
            return False
        with open(path, "rb") as file:
            return file.read() == contents
    except OSError:
        return False


def _main_zones(root: str) -> Iterator[str]:
    """Zones that are not aliases, from the table `codes, coordinates, zone, comment` in the database."""
    for folder in _databases(root):
        for line in (_text(os.path.join(folder, "zone1970.tab")) or "").splitlines():
            fields = line.split("\t")
            if len(fields) > 2 and not line.startswith("#"):
                yield fields[2]


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None
