"""The Python packages that this interpreter can import, with their versions.

Both are read from the names of the `*.dist-info` and `*.egg-info` entries on the path. Only where the name has no version
(an old kind of editable installation), the metadata file inside is read. Packages in archives, and those that are imported
in other ways than by the path, are not found. Nothing is imported.

A folder is read again only when it has changed: a program can record many runs.

Invariant: a package has its normalised name, and the first folder on the path that has it wins, as for an import. Two
versions in one folder give None: it is unknown which one is imported.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator

from runcard.files import open_regular

_NAME_AND_VERSION = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*?)-([0-9A-Za-z][0-9A-Za-z.!+_]*)(?:-py\d[\d.]*(?:-.*)?)?\.(?:dist-info|egg-info|egg)"
)
_ENDINGS = (".dist-info", ".egg-info")
_LEFTOVER = "~"  # what an interrupted removal leaves starts with this
_RUNS = re.compile("[-_.]+")
_NAME = "[A-Za-z0-9][A-Za-z0-9._-]*"
_VERSION = "[0-9A-Za-z][0-9A-Za-z.!+_-]*"
_HEAD = 64 * 1024  # bytes of a metadata file that are read
_UNSETTLED = 3.0  # seconds in which a folder can change again without a new time
_MOST_FOLDERS = 100  # that are remembered

# The packages of a folder, and the state that it had then, by its path.
_known_folders: dict[str, tuple[tuple[int, ...], dict[str, str | None]]] = {}


def packages(path: Iterable[object]) -> dict[str, str | None]:
    """The version of each package on a path such as `sys.path`, sorted by name."""
    versions: dict[str, str | None] = {}
    for folder in dict.fromkeys(path):
        if isinstance(folder, str):  # imports ignore everything else
            versions = _in_folder(folder or os.curdir) | versions
    return dict(sorted(versions.items()))


def _in_folder(folder: str) -> dict[str, str | None]:
    state = _settled_state(folder)
    known = _known_folders.get(folder)
    if known is not None and known[0] == state:
        return known[1]
    names = entries(folder)
    versions = _versions(folder, names)
    if state is not None and all(map(_NAME_AND_VERSION.fullmatch, names)):  # no file was read
        if len(_known_folders) >= _MOST_FOLDERS:
            _known_folders.clear()
        _known_folders[folder] = state, versions
    return versions


def _settled_state(folder: str) -> tuple[int, ...] | None:
    """What changes whenever a name is added or removed; None if it might not."""
    try:
        status = os.stat(folder)
    except (OSError, ValueError):
        return None
    if not status.st_ctime + _UNSETTLED < time.time():
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def entries(folder: str) -> list[str]:
    """The names that stand for packages."""
    try:
        names = os.listdir(folder)
    except (OSError, ValueError):  # missing folders, and archives
        return []
    return [name for name in names if name.endswith(_ENDINGS) and not name.startswith(_LEFTOVER)]


def _versions(folder: str, names: Iterable[str]) -> dict[str, str | None]:
    here: dict[str, str | None] = {}
    for name, version in _names_and_versions(folder, names):
        key = normalized(name)
        here[key] = version if here.get(key, version) == version else None
    return here


def _names_and_versions(folder: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    if folder.endswith(".egg") and (match := _NAME_AND_VERSION.fullmatch(os.path.basename(folder))):
        yield match[1], match[2]
    for entry in names:
        if found := name_and_version(folder, entry):
            yield found


def name_and_version(folder: str, entry: str) -> tuple[str, str] | None:
    """Those of one package."""
    match = _NAME_AND_VERSION.fullmatch(entry)
    return (match[1], match[2]) if match else _from_metadata(os.path.join(folder, entry))


def normalized(name: str) -> str:
    """The name of a package as others refer to it."""
    return _RUNS.sub("-", name).lower()


def _from_metadata(entry: str) -> tuple[str, str] | None:
    """Name and version in the metadata file; for an old installation the entry can be that file itself."""
    for file in (os.path.join(entry, "METADATA"), os.path.join(entry, "PKG-INFO"), entry):
        try:
            with open(open_regular(file, follow=True), encoding="utf-8", errors="replace") as text:
                head = text.read(_HEAD).split("\n\n", 1)[0]
        except OSError:
            continue
        name, version = _field("Name", head, _NAME), _field("Version", head, _VERSION)
        return (name, version) if name and version else None
    return None


def _field(field: str, head: str, form: str) -> str | None:
    match = re.search(rf"^{field}:[ \t]*(.*?)[ \t\r]*$", head, re.MULTILINE | re.IGNORECASE)
    return match[1] if match and re.fullmatch(form, match[1]) else None
