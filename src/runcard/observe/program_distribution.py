"""The installed distribution that a program belongs to, and its version.

A module or a script belongs to the distribution whose list of files, RECORD, names it; a file of a project that is
installed in editable mode belongs to that project. Nothing is imported.

Invariant: if no distribution has the file, or several have it, the result is None.
"""

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache

from runcard.encoding import decode_json
from runcard.errors import RuncardError
from runcard.files import open_regular
from runcard.observe.packages import entries, name_and_version, normalized

_MAX_RECORD = 1 << 26  # bytes
_MAX_DIRECT_URL = 1 << 16
_SCRIPTS = "bin"  # the folder of an environment's scripts
_LIBRARIES = ("site-packages", "dist-packages")
_DIST_INFO = ".dist-info"

Distribution = tuple[str, str]  # its name and its version


def distribution_of(file: str, path: Iterable[object]) -> Distribution | None:
    """The distribution that a module or a script belongs to; `path` is one such as `sys.path`."""
    return _distribution_of(
        os.path.abspath(file), tuple(folder for folder in path if isinstance(folder, str))
    )


@lru_cache(maxsize=100)
def _distribution_of(file: str, path: tuple[str, ...]) -> Distribution | None:
    if os.path.basename(os.path.dirname(file)) == _SCRIPTS:
        script = os.path.realpath(file)  # installers link to scripts of environments elsewhere
        return _first(_owners(folder, script) for folder in _libraries(script))
    folder = max((folder for folder in path if _is_below(file, folder)), key=len, default=None)
    if folder is not None and _dist_infos(folder):
        return _first([_owners(folder, file)])
    return _editable_owner(file, path)


def _first(results: Iterable[list[Distribution]]) -> Distribution | None:
    """The distribution in the first result that is not empty, if it is the only one there."""
    owners = next((owners for owners in results if owners), [])
    return owners[0] if len(owners) == 1 else None


def _is_below(file: str, folder: str) -> bool:
    return file.startswith(os.path.join(os.path.abspath(folder), ""))


def _libraries(script: str) -> Iterator[str]:
    """The folders with the distributions of the environment that has this script."""
    library = os.path.join(os.path.dirname(os.path.dirname(script)), "lib")
    try:
        names = sorted(name for name in os.listdir(library) if name.startswith("python"))
    except OSError:
        return
    yield from (os.path.join(library, name, packages) for name in names for packages in _LIBRARIES)


def _dist_infos(folder: str) -> list[str]:
    return [entry for entry in entries(folder) if entry.endswith(_DIST_INFO)]


def _owners(folder: str, file: str) -> list[Distribution]:
    """The distributions in a folder that list a file. One with the file's own name is looked at first."""
    relative = os.path.relpath(file, folder)
    names = {normalized(os.path.splitext(part)[0]) for part in relative.split(os.sep)}
    line = os.fsencode(f"\n{relative},")
    dist_infos = _dist_infos(folder)
    similar = [entry for entry in dist_infos if normalized(entry.split("-", 1)[0]) in names]
    for group in (similar, [entry for entry in dist_infos if entry not in similar]):
        listed = [entry for entry in group if line in b"\n" + _read(folder, entry, "RECORD", _MAX_RECORD)]
        if owners := [owner for entry in listed if (owner := name_and_version(folder, entry))]:
            return owners
    return []


def _editable_owner(file: str, path: tuple[str, ...]) -> Distribution | None:
    """The project installed in editable mode whose folder has this file: the innermost one."""
    projects = {
        project: (folder, entry)
        for folder in path
        for entry in _dist_infos(folder)
        if (project := _editable_project(folder, entry)) and _is_below(file, project)
    }
    return name_and_version(*projects[max(projects, key=len)]) if projects else None


def _editable_project(folder: str, entry: str) -> str | None:
    data = _read(folder, entry, "direct_url.json", _MAX_DIRECT_URL)
    if not data:
        return None
    try:
        origin = decode_json(data)
    except RuncardError:
        return None
    if not isinstance(origin, dict) or not isinstance(origin.get("dir_info"), dict):
        return None
    url = origin.get("url")
    if origin["dir_info"].get("editable") is not True or not isinstance(url, str):
        return None
    from urllib.parse import unquote  # noqa: PLC0415 - few distributions are editable

    project = unquote(url.removeprefix("file://")) if url.startswith("file:///") else ""
    return project if project.strip("/") else None  # the root of the file system is no project


def _read(folder: str, entry: str, name: str, limit: int) -> bytes:
    """A file of a distribution; nothing if it cannot be read."""
    try:
        with open(open_regular(os.path.join(folder, entry, name), follow=True), "rb") as file:
            return file.read(limit)
    except OSError:
        return b""
