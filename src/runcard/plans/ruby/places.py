"""Where a project keeps its factories: below `spec` and `test`, in engines too. It opens directories only.

Symbolic links are followed as far as they stay in the project.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from runcard.errors import RuncardError, StoreError
from runcard.files import Kind, printable, walk

_PLACE = re.compile(r"(?:(.*)/)?(?:(spec|test)/)?factories(?:\.rb|/.*\.rb)")
_LINKS = re.compile(r"(?:.*/)?(?:spec|test|factories)")
_FOREIGN = {"node_modules", "tmp", "log", "coverage", "public", "storage"}
_FOREIGN_PATHS = re.compile(r"(?:.*/)?vendor/(?:bundle|cache|gems)")
_ORDER = {None: 0, "test": 1, "spec": 2}

OnTrouble = Callable[[str, str], object]


@dataclass(frozen=True, slots=True)
class Place:
    """A file that may define factories: its name in the project, and where to read it."""

    name: str
    path: str


def factory_files(directory: str, root: str, on_trouble: OnTrouble) -> list[Place]:
    """The files below a directory of a project in which factory_bot would look, in the order it would load them.

    Both are real paths. All Ruby files count when the directory itself is a folder of factories. `on_trouble` is told
    the name of what was passed over, and why.
    """
    finder = _Finder(root, on_trouble)
    below = os.path.relpath(directory, root)
    if os.path.isfile(directory):
        return [Place(below, directory)]
    is_place = "factories" in below.split("/") or os.path.basename(directory) == "factories"
    prefix = "" if below == "." else f"{below}/"
    finder.search(directory, prefix, everything=is_place)
    return sorted(finder.found, key=lambda place: _order(place.name))


def _order(name: str) -> tuple[bool, str, int, str]:
    """Engines before the project itself, so that its own definitions are the last; `test` before `spec`."""
    match = _PLACE.fullmatch(name)
    owner, kind = match.groups() if match else (None, None)
    return not owner, owner or "", _ORDER[kind], name
