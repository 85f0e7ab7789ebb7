"""Walking through a workspace: which files are to be copied, which links kept, what is left out.

Directories are entered name by name from an open root, so that one that is swapped for a link meanwhile is not followed,
and no path is too long. One that is left out is not looked into, and counts once.

Invariant: every path in the workspace is yielded, a kept link, an omission, or below or among what a pattern left out.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from stat import S_ISREG
from typing import NamedTuple

from runcard.checksums import Symlink
from runcard.files import FileKind, decode_name, encode_name, printable
from runcard.files.globs import parse_gitignore
from runcard.store.sessions.copying.links import stays_inside
from runcard.store.sessions.copying.omission_reasons import not_stored, refusal, special_kind
from runcard.store.sessions.copying.results import Omission
from runcard.store.sessions.copying.selection import IgnoreFile, Judge, LeftOut
from runcard.store.sessions.copying.target_dirs import Tree
from runcard.store.sessions.copying.worker import Folder, close_reader, open_source

_IGNORE_FILE = ".gitignore"
_LARGEST_IGNORE_FILE = 1024 * 1024
_NAMES_ARE_UTF8 = sys.getfilesystemencoding() == "utf-8"
_FILE, _DIRECTORY, _SYMLINK, _OTHER = FileKind  # see runcard.files.walk


class _Visit(NamedTuple):
    """A directory to be looked into: its path, why it is left out if it is, and the `.gitignore` files above it."""

    path: str
    left_out: LeftOut | None
    ignored: tuple[IgnoreFile, ...]


class Survey:
    """One walk; iterating gives the paths of files to be copied, makes directories and links, and fills the rest."""

    def __init__(
        self,
        root: int,
        judge: Judge,
        tree: Tree,
        *,
        gitignore: bool,
        skip: set[tuple[int, int]],
    ) -> None:
        self.symlinks: list[Symlink] = []
        self.omissions: list[Omission] = []
        self.excluded: Counter[str] = Counter()
        self._root, self._judge, self._tree = root, judge, tree
        self._gitignore, self._skip = gitignore, skip
        self._folder = Folder(root)

    def __iter__(self) -> Iterator[str]:
        waiting = [_Visit("", None, ())]
        try:
            while waiting:
                visit = waiting.pop()
                inner: list[_Visit] = []
                yield from self._look_into(visit, inner)
                waiting += reversed(inner)
        finally:
            self._folder.close()

    def _look_into(self, visit: _Visit, inner: list[_Visit]) -> Iterator[str]:
        kinds = self._enter(visit)
        ignored = visit.ignored
        if self._gitignore and visit.left_out is None and kinds.get(_IGNORE_FILE) is _FILE:
            ignored = (*ignored, *self._ignore_file(visit.path))
        prefix = f"{visit.path}/" if visit.path else ""
        for name in sorted(kinds):
            path, kind = prefix + name, kinds[name]
            reason = self._judge.verdict(path, visit.left_out, ignored, is_folder=kind is _DIRECTORY)
            if kind is _DIRECTORY and (reason is None or self._judge.leads_on(path)):
                inner.append(_Visit(path, reason, ignored))
            elif reason is not None:
                self.excluded[reason.pattern] += 1
            elif kind is _FILE:
                yield path
            elif kind is _SYMLINK:
                self._keep_link(path, visit.path, name)
            else:
                self._name_special(path, visit.path, name)

    def omit(self, path: str, reason: str, *, is_stored: bool = False) -> None:
        self.omissions.append(Omission(path, reason, is_stored))

    def _enter(self, visit: _Visit) -> dict[str, FileKind]:
        """What is in a directory: nothing, when it cannot be read or is the store itself."""
        try:
            kinds, status = self._read(visit.path)
        except OSError as error:
            self.omit(visit.path or ".", refusal(error))
            return {}
        if (status.st_dev, status.st_ino) in self._skip:
            self._leave_out_the_store(visit.path)
            return {}
        try:
            self._tree.note(visit.path, status, wanted=visit.left_out is None)
        except OSError as error:
            self.omit(visit.path, not_stored(error, visit.path))
            return {}
        return kinds

    def _leave_out_the_store(self, path: str) -> None:
        if path:
            self.excluded[f"/{path}/"] += 1
        else:
            self.omit(".", "the workspace is the store itself, which cannot contain itself")

    def _read(self, path: str) -> tuple[dict[str, FileKind], os.stat_result]:
        kinds: dict[str, FileKind] = {}
        descriptor = open_source(b".", self._folder.enter(encode_name(path)), os.O_DIRECTORY)
        try:
            status = os.fstat(descriptor)
            with os.scandir(descriptor) as scan:
                for entry in scan:
                    name = entry.name if _NAMES_ARE_UTF8 else decode_name(os.fsencode(entry.name))
                    if entry.is_file(follow_symlinks=False):
                        kinds[name] = _FILE
                    elif entry.is_dir(follow_symlinks=False):
                        kinds[name] = _DIRECTORY
                    else:
                        kinds[name] = _SYMLINK if entry.is_symlink() else _OTHER
        finally:
            close_reader(descriptor)
        return kinds, status

    def _ignore_file(self, path: str) -> list[IgnoreFile]:
        name = f"{path}/{_IGNORE_FILE}" if path else _IGNORE_FILE
        try:
            descriptor = open_source(_IGNORE_FILE.encode(), self._folder.enter(encode_name(path)))
            try:
                status = os.fstat(descriptor)
                if not S_ISREG(status.st_mode) or status.st_size > _LARGEST_IGNORE_FILE:
                    self.omit(name, "not heeded: it is no file of patterns")
                    return []
                data = os.read(descriptor, _LARGEST_IGNORE_FILE)
            finally:
                close_reader(descriptor)
        except OSError as error:
            self.omit(name, f"not heeded: it cannot be read: {error.strerror}")
            return []
        return [IgnoreFile(f"{path}/" if path else "", parse_gitignore(decode_name(data)))]

    def _keep_link(self, path: str, folder: str, name: str) -> None:
        try:
            where, raw = self._folder.enter(encode_name(folder)), encode_name(name)
            target, status = os.readlink(raw, dir_fd=where), os.stat(raw, dir_fd=where, follow_symlinks=False)
            inside = stays_inside(self._root, encode_name(folder), target)
        except OSError as error:
            self.omit(path, f"a symbolic link, and nobody can tell where it leads: {error.strerror}")
            return
        if inside:
            self._store_link(path, target, status)
        else:
            text = printable(decode_name(target))
            self.omit(path, f"a symbolic link that leads out of the workspace, to {text}: not followed")

    def _store_link(self, path: str, target: bytes, status: os.stat_result) -> None:
        folder, _, name = path.rpartition("/")
        try:
            remark = self._tree.link(folder, name, target, status)
        except OSError as error:
            self.omit(path, not_stored(error, path))
            return
        self.symlinks.append(Symlink(path, decode_name(target)))
        if remark is not None:
            self.omit(path, remark, is_stored=True)

    def _name_special(self, path: str, folder: str, name: str) -> None:
        try:
            where = self._folder.enter(encode_name(folder))
            mode = os.stat(encode_name(name), dir_fd=where, follow_symlinks=False).st_mode
        except OSError as error:
            self.omit(path, f"gone before it was looked at: {error.strerror}")
        else:
            self.omit(path, f"a {special_kind(mode)}: never opened")
