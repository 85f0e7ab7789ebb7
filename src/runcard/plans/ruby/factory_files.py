"""The factory files of a project: below `spec` and `test`, also in engines, and any other that calls `FactoryBot.define`.

Invariant: every file is in the project, also behind symbolic links.
"""

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from runcard.files import FileKind, WalkEntry, walk

_FACTORY_FILE = re.compile(r"(?:(.*)/)?(spec|test)/factories(?:\.rb|/.*\.rb)|factories(?:\.rb|/.*\.rb)")
_IN_FACTORIES = re.compile(r"(?:.*/)?(?:spec|test)/factories/.*")
_PARENT = re.compile(rf"(?:.*/)?(?:spec|test|factories)|{_IN_FACTORIES.pattern}")
_IGNORED = re.compile(
    r"(?:.*/)?(?:\..*|node_modules|tmp|log|coverage|public|storage|vendor/(?:bundle|cache|gems|ruby))"
)
_OWNER = re.compile(r"(.*)/(?:spec|test)/factories(?:$|\.rb$|/)")
_SEARCHED = 1 << 20  # bytes of a file that are searched for `FactoryBot.define`
_ORDER = {None: 0, "test": 1, "spec": 2}

_CALLS = re.compile(rb"\bFactory(?:Bot|Girl)\.(?:define|modify)\b")

OnSkip = Callable[[str, str, bool], object]


class FactoryFile(NamedTuple):
    """A file that may define factories: its name in the project, and where to read it."""

    name: str
    path: str


def factory_files(start: str, root: str, on_skip: OnSkip) -> list[FactoryFile]:
    """The files below `start` that factory_bot would load, in its order.

    Both are real paths, `start` below `root` or the same. In a folder of factories all
    Ruby files count. `on_skip` gets the name of a skipped entry, the reason, and whether factories may be missing.
    """
    name = os.path.relpath(start, root)
    if os.path.isfile(start):
        return [FactoryFile(name, start)]
    prefix = "" if name == os.curdir else f"{name}/"
    is_factory_folder = "factories" in name.split("/") or os.path.basename(start) == "factories"
    search = _FactoryFileSearch(root, on_skip, everything=is_factory_folder)
    search.below(start, prefix)
    known = {os.path.realpath(file.path) for file in search.files}  # a link can lead to another place
    buffer = bytearray(_SEARCHED)  # one for all files: a new one for each takes most of the time
    others = [
        file for file in search.others if file.path not in known and _defines_factories(file.path, buffer)
    ]
    return sorted([*others, *search.files], key=lambda file: _load_order(file.name))


def owner_of(start: str) -> str:
    """The directory that a folder or file of factories belongs to; any other path belongs to itself."""
    match = _OWNER.match(start)
    return match[1] or "/" if match else start


def _load_order(name: str) -> tuple[bool, str, int, str]:
    """Engines before the project itself, so that its own definitions come last; `test` before `spec`."""
    match = _FACTORY_FILE.fullmatch(name)
    owner, kind = match.groups() if match else (os.path.dirname(name), None)
    return not owner, owner or "", _ORDER[kind], name


def _defines_factories(path: str, buffer: bytearray) -> bool:
    """Whether a file calls `FactoryBot.define` or `FactoryBot.modify`; a file that cannot be read does not."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        size = os.readv(descriptor, [buffer])
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return buffer.find(b"Factory", 0, size) >= 0 and _CALLS.search(buffer, 0, size) is not None


class _FactoryFileSearch:
    def __init__(self, root: str, on_skip: OnSkip, *, everything: bool) -> None:
        self.files: list[FactoryFile] = []
        self.others: list[FactoryFile] = []  # Ruby files in other places
        self._root = root
        self._on_skip = on_skip
        self._everything = everything
        self._seen: set[str] = set()

    def below(self, directory: str, prefix: str) -> None:
        """Search a directory whose name in the project is `prefix`, and the directories that its links point to."""
        waiting = [(directory, prefix)]
        while waiting:
            directory, prefix = waiting.pop()
            if directory in self._seen:
                continue
            self._seen.add(directory)
            for entry in walk(directory, on_error=self._unreadable(prefix), enter=self._enters(prefix)):
                waiting += self._visit(
                    WalkEntry(prefix + entry.path, entry.kind), f"{directory}/{entry.path}"
                )

    def _visit(self, entry: WalkEntry, path: str) -> list[tuple[str, str]]:
        """Take a file, or follow a link; returns the directory that the link points to, if it is one."""
        is_file = self._is_factory_file(entry.path)
        if entry.kind is FileKind.FILE and not is_file and entry.path.endswith(".rb"):
            self.others.append(FactoryFile(entry.path, path))
        if entry.kind is FileKind.FILE and is_file:
            self.files.append(FactoryFile(entry.path, path))
        if entry.kind is not FileKind.SYMLINK or not (is_file or _PARENT.fullmatch(entry.path)):
            return []
        real = os.path.realpath(path)
        if os.path.commonpath([self._root, real]) != self._root:
            self._on_skip(entry.path, "a link that points out of the project: not followed", False)
        elif os.path.isdir(real) and not _IN_FACTORIES.fullmatch(
            entry.path
        ):  # there, Ruby does not follow links either
            return [(real, f"{entry.path}/")]
        elif os.path.isfile(real) and is_file:
            self.files.append(FactoryFile(entry.path, real))
        return []

    def _is_factory_file(self, name: str) -> bool:
        return name.endswith(".rb") if self._everything else bool(_FACTORY_FILE.fullmatch(name))

    def _unreadable(self, prefix: str) -> Callable[[str, Exception], object]:
        def tell(path: str, error: Exception) -> None:
            self._on_skip(prefix + path, str(error), bool(_PARENT.fullmatch(prefix + path)))

        return tell

    def _enters(self, prefix: str) -> Callable[[str], bool]:
        return lambda path: bool(_PARENT.fullmatch(prefix + path)) or not _IGNORED.fullmatch(prefix + path)
