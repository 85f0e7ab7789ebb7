"""The Python packages that this interpreter can import, with their versions.

Read off the names of the `*.dist-info` and `*.egg-info` entries on the path, which is how installers state both. Only
where a name does not say it (an editable installation of the old kind) the file inside is looked at. What is imported
from archives, or by other means than the path, is not seen. Nothing is imported.

Invariant: a package is known by its normalised name, and the first place on the path that has it wins, as when it is
imported. Two versions in one place say nothing about which of them is there: then the version is None.
"""

import os
import re
from collections.abc import Iterable, Iterator

from runcard.files import open_regular

_LABELLED = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*?)-([0-9A-Za-z][0-9A-Za-z.!+_]*)(?:-py\d[\d.]*(?:-.*)?)?\.(?:dist-info|egg-info|egg)"
)
_ENDINGS = (".dist-info", ".egg-info")
_LEFT_BEHIND = "~"  # what an interrupted removal leaves begins so
_RUNS = re.compile("[-_.]+")
_NAME = "[A-Za-z0-9][A-Za-z0-9._-]*"
_VERSION = "[0-9A-Za-z][0-9A-Za-z.!+_-]*"
_HEAD = 64 * 1024  # bytes of a metadata file that are looked at


def packages(path: Iterable[object]) -> dict[str, str | None]:
    """The version of each package that a path such as `sys.path` leads to, sorted by name."""
    found: dict[str, str | None] = {}
    for folder in dict.fromkeys(path):
        if isinstance(folder, str):  # whatever else is put there, imports pass it over
            found = _in_folder(folder or os.curdir) | found
    return dict(sorted(found.items()))


def _in_folder(folder: str) -> dict[str, str | None]:
    here: dict[str, str | None] = {}
    for name, version in _labels(folder):
        key = _RUNS.sub("-", name).lower()
        here[key] = version if here.get(key, version) == version else None
    return here


def _labels(folder: str) -> Iterator[tuple[str, str]]:
    if folder.endswith(".egg") and (match := _LABELLED.fullmatch(os.path.basename(folder))):
        yield match[1], match[2]
    try:
        entries = os.listdir(folder)
    except (OSError, ValueError):  # paths name folders that are not there, and archives
        return
    for entry in entries:
        if entry.endswith(_ENDINGS) and not entry.startswith(_LEFT_BEHIND):
            match = _LABELLED.fullmatch(entry)
            label = (match[1], match[2]) if match else _stated(os.path.join(folder, entry))
            if label:
                yield label


def _stated(entry: str) -> tuple[str, str] | None:
    """Name and version as the metadata file states them; the entry of an old installation can be that file itself."""
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
