"""The Python packages that this interpreter can import, with their versions.

Both are read from the names of the `*.dist-info` and `*.egg-info` entries on the path. Only where the name has no version
(an old kind of editable installation), the metadata file inside is read. Packages in archives, and those that are imported
in other ways than by the path, are not found. Nothing is imported.

Invariant: a package has its normalised name, and the first folder on the path that has it wins, as for an import. Two
versions in one folder give None: it is unknown which one is imported.
"""

import os
import re
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


def packages(path: Iterable[object]) -> dict[str, str | None]:
    """The version of each package on a path such as `sys.path`, sorted by name."""
    versions: dict[str, str | None] = {}
    for folder in dict.fromkeys(path):
        if isinstance(folder, str):  # imports ignore everything else
            versions = _in_folder(folder or os.curdir) | versions
    return dict(sorted(versions.items()))


def _in_folder(folder: str) -> dict[str, str | None]:
    here: dict[str, str | None] = {}
    for name, version in _names_and_versions(folder):
        key = _RUNS.sub("-", name).lower()
        here[key] = version if here.get(key, version) == version else None
    return here


def _names_and_versions(folder: str) -> Iterator[tuple[str, str]]:
    if folder.endswith(".egg") and (match := _NAME_AND_VERSION.fullmatch(os.path.basename(folder))):
        yield match[1], match[2]
    try:
        entries = os.listdir(folder)
    except (OSError, ValueError):  # missing folders, and archives
        return
    for entry in entries:
        if entry.endswith(_ENDINGS) and not entry.startswith(_LEFTOVER):
            match = _NAME_AND_VERSION.fullmatch(entry)
            found = (match[1], match[2]) if match else _from_metadata(os.path.join(folder, entry))
            if found:
                yield found


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
