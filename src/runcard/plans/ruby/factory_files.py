"""Where a project keeps its factories: below `spec` and `test`, in engines too. It opens directories only.

Invariant: everything that is found lies in the project, also behind symbolic links.
"""

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from runcard.files import Entry, Kind, walk

_PLACE = re.compile(r"(?:(.*)/)?(spec|test)/factories(?:\.rb|/.*\.rb)|factories(?:\.rb|/.*\.rb)")
_INSIDE = re.compile(r"(?:.*/)?(?:spec|test)/factories/.*")
_ON_THE_WAY = re.compile(rf"(?:.*/)?(?:spec|test|factories)|{_INSIDE.pattern}")
_FOREIGN = re.compile(
    r"(?:.*/)?(?:\..*|node_modules|tmp|log|coverage|public|storage|vendor/(?:bundle|cache|gems|ruby))"
)
_OWNER = re.compile(r"(.*)/(?:spec|test)/factories(?:$|\.rb$|/)")
_ORDER = {None: 0, "test": 1, "spec": 2}

OnTrouble = Callable[[str, str, bool], object]


class FactoryFile(NamedTuple):
    """A file that may define factories: its name in the project, and where to read it."""

    name: str
    path: str


def factory_files(start: str, root: str, on_trouble: OnTrouble) -> list[FactoryFile]:
    """The files from `start` downwards that factory_bot would load, in the order in which it would.

    Both are real paths, `start` below `root` or the same. In a folder that is itself one of factories all Ruby files
    count. `on_trouble` is told the name of what was passed over, why, and whether factories may be missing for it.
    """
    name = os.path.relpath(start, root)
    if os.path.isfile(start):
        return [FactoryFile(name, start)]
    prefix = "" if name == os.curdir else f"{name}/"
    is_place = "factories" in name.split("/") or os.path.basename(start) == "factories"
    search = _FactoryFileSearch(root, on_trouble, everything=is_place)
    search.below(start, prefix)
    return sorted(search.found, key=lambda place: _load_order(place.name))


def owner_of(start: str) -> str:
    """The directory that a folder or file of factories belongs to, by its path; any other belongs to itself."""
    match = _OWNER.match(start)
    return match[1] or "/" if match else start


def _load_order(name: str) -> tuple[bool, str, int, str]:
    """Engines before the project itself, so that its own definitions come last; `test` before `spec`."""
    match = _PLACE.fullmatch(name)
    owner, kind = match.groups() if match else (None, None)
    return not owner, owner or "", _ORDER[kind], name


class _FactoryFileSearch:
    def __init__(self, root: str, on_trouble: OnTrouble, *, everything: bool) -> None:
        self.found: list[FactoryFile] = []
        self._root = root
        self._on_trouble = on_trouble
        self._everything = everything
        self._seen: set[str] = set()

    def below(self, directory: str, prefix: str) -> None:
        """Look into a directory whose name in the project is `prefix`, and into those that links there lead to."""
        waiting = [(directory, prefix)]
        while waiting:
            directory, prefix = waiting.pop()
            if directory in self._seen:
                continue
            self._seen.add(directory)
            for entry in walk(directory, on_error=self._unreadable(prefix), enter=self._enters(prefix)):
                waiting += self._look_at(Entry(prefix + entry.path, entry.kind), f"{directory}/{entry.path}")

    def _look_at(self, entry: Entry, path: str) -> list[tuple[str, str]]:
        """Take a file, or see where a link leads; the directory behind it, if it is one."""
        is_file = self._is_wanted(entry.path)
        if entry.kind is Kind.FILE and is_file:
            self.found.append(FactoryFile(entry.path, path))
        if entry.kind is not Kind.SYMLINK or not (is_file or _ON_THE_WAY.fullmatch(entry.path)):
            return []
        real = os.path.realpath(path)
        if os.path.commonpath([self._root, real]) != self._root:
            self._on_trouble(entry.path, "a link that leads out of the project: not followed", False)
        elif os.path.isdir(real) and not _INSIDE.fullmatch(entry.path):  # there, Ruby follows none either
            return [(real, f"{entry.path}/")]
        elif os.path.isfile(real) and is_file:
            self.found.append(FactoryFile(entry.path, real))
        return []

    def _is_wanted(self, name: str) -> bool:
        return name.endswith(".rb") if self._everything else bool(_PLACE.fullmatch(name))

    def _unreadable(self, prefix: str) -> Callable[[str, Exception], object]:
        def tell(path: str, error: Exception) -> None:
            self._on_trouble(prefix + path, str(error), bool(_ON_THE_WAY.fullmatch(prefix + path)))

        return tell

    def _enters(self, prefix: str) -> Callable[[str], bool]:
        return lambda path: (
            bool(_ON_THE_WAY.fullmatch(prefix + path)) or not _FOREIGN.fullmatch(prefix + path)
        )
