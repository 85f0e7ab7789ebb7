"""Walk a workspace: find the files to copy, and create its directories and links in the target.

Directories are entered name by name from an open root, so that one that is replaced by a link meanwhile is not followed,
and no path is too long. An excluded directory is not entered, and counts once.

Invariant: every path of the workspace is yielded, a copied directory or link, an omission, or excluded.
"""

import errno
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from stat import S_ISREG
from typing import NamedTuple

from runcard.checksums import Symlink
from runcard.files import FileKind, decode_name, encode_name, printable, type_name
from runcard.files.globs import parse_gitignore
from runcard.files.walk import read_kinds
from runcard.parallel.worker import DirectoryCursor, close_reader, open_source
from runcard.store.sessions.copying.omission_reasons import attribute_failure, read_failure, write_failure
from runcard.store.sessions.copying.results import Omission
from runcard.store.sessions.copying.selection import Exclusion, FileSelection, IgnoreFile

_IGNORE_FILE = ".gitignore"
_MAX_IGNORE_FILE = 1024 * 1024
_NAMES_ARE_UTF8 = sys.getfilesystemencoding() == "utf-8"
_FILE, _DIRECTORY, _SYMLINK, _OTHER = FileKind  # see runcard.files.walk
_MAX_LINKS = 40  # on the way to a target, as in the kernel


class _PendingDirectory(NamedTuple):
    """A directory still to be read: its path, its exclusion if it has one, and the `.gitignore` files above it."""

    path: str
    exclusion: Exclusion | None
    ignore_files: tuple[IgnoreFile, ...]


class WorkspaceWalk:
    """One walk; iterating yields the paths of the files to copy, and fills the other results."""

    def __init__(
        self,
        root: int,
        selection: FileSelection,
        target: "TargetDirectories",
        *,
        gitignore: bool,
        skip: set[tuple[int, int]],
    ) -> None:
        self.symlinks: list[Symlink] = []
        self.omissions: list[Omission] = []
        self.excluded: Counter[str] = Counter()
        self._root, self._selection, self._target = root, selection, target
        self._gitignore, self._skip = gitignore, skip
        self._cursor = DirectoryCursor(root)

    def __iter__(self) -> Iterator[str]:
        pending = [_PendingDirectory("", None, ())]
        try:
            while pending:
                inner: list[_PendingDirectory] = []
                yield from self._walk_directory(pending.pop(), inner)
                pending += reversed(inner)
        finally:
            self._cursor.close()

    def omit(self, path: str, reason: str, *, is_stored: bool = False) -> None:
        self.omissions.append(Omission(path, reason, is_stored))

    def _walk_directory(self, directory: _PendingDirectory, inner: list[_PendingDirectory]) -> Iterator[str]:
        kinds = self._enter(directory)
        ignore_files = directory.ignore_files
        if self._gitignore and directory.exclusion is None and self._has_ignore_file(directory.path):
            ignore_files = (*ignore_files, *self._read_ignore_file(directory.path))
        prefix = f"{directory.path}/" if directory.path else ""
        for name, kind in kinds:
            path = prefix + name
            exclusion = self._selection.exclusion(
                path, directory.exclusion, ignore_files, is_folder=kind is _DIRECTORY
            )
            if kind is _DIRECTORY and (exclusion is None or self._selection.is_on_the_way(path)):
                inner.append(_PendingDirectory(path, exclusion, ignore_files))
            elif exclusion is not None:
                self.excluded[exclusion.pattern] += 1
            elif kind is _FILE:
                yield path
            elif kind is _SYMLINK:
                self._copy_link(path, directory.path, name)
            else:
                self._omit_special(path, directory.path, name)

    def _enter(self, directory: _PendingDirectory) -> Iterable[tuple[str, FileKind]]:
        """The names in a directory with their kinds: none when it cannot be read or is the store itself."""
        path = directory.path
        try:
            kinds, status = self._read(path)
        except OSError as error:
            self.omit(path or ".", read_failure(error))
            return ()
        if (status.st_dev, status.st_ino) in self._skip:
            self._exclude_store(path)
            return ()
        try:
            self._target.add(path, status, create=directory.exclusion is None)
        except OSError as error:
            self.omit(path, write_failure(error, path))
            return ()
        return kinds

    def _exclude_store(self, path: str) -> None:
        if path:
            self.excluded[f"/{path}/"] += 1
        else:
            self.omit(".", "the workspace is the store itself, which cannot contain itself")

    def _read(self, path: str) -> tuple[Iterable[tuple[str, FileKind]], os.stat_result]:
        descriptor = open_source(b".", self._cursor.enter(encode_name(path)), os.O_DIRECTORY)
        try:
            status = os.fstat(descriptor)  # first: reading may change the time of the last access
            return read_kinds(descriptor), status
        finally:
            close_reader(descriptor)

    def _has_ignore_file(self, path: str) -> bool:
        try:
            directory = self._cursor.enter(encode_name(path))
            return S_ISREG(os.stat(_IGNORE_FILE, dir_fd=directory, follow_symlinks=False).st_mode)
        except OSError:
            return False

    def _read_ignore_file(self, path: str) -> list[IgnoreFile]:
        name = f"{path}/{_IGNORE_FILE}" if path else _IGNORE_FILE
        try:
            descriptor = open_source(_IGNORE_FILE.encode(), self._cursor.enter(encode_name(path)))
            try:
                status = os.fstat(descriptor)
                if not S_ISREG(status.st_mode) or status.st_size > _MAX_IGNORE_FILE:
                    self.omit(name, "its patterns are not used: not a regular file of at most 1 MiB")
                    return []
                data = os.read(descriptor, _MAX_IGNORE_FILE)
            finally:
                close_reader(descriptor)
        except OSError as error:
            self.omit(name, f"its patterns are not used: cannot be read: {error.strerror}")
            return []
        return [IgnoreFile(f"{path}/" if path else "", parse_gitignore(decode_name(data)))]

    def _copy_link(self, path: str, folder: str, name: str) -> None:
        try:
            directory, raw = self._cursor.enter(encode_name(folder)), encode_name(name)
            link = os.readlink(raw, dir_fd=directory)
            status = os.stat(raw, dir_fd=directory, follow_symlinks=False)
            is_inside = stays_inside(self._root, encode_name(folder), link)
        except OSError as error:
            self.omit(path, f"a symbolic link that cannot be resolved: {error.strerror}")
            return
        if is_inside:
            self._store_link(path, link, status)
        else:
            text = printable(decode_name(link))
            self.omit(path, f"a symbolic link that leads out of the workspace, to {text}: not followed")

    def _store_link(self, path: str, link: bytes, status: os.stat_result) -> None:
        folder, _, name = path.rpartition("/")
        try:
            problem = self._target.create_link(folder, name, link, status)
        except OSError as error:
            self.omit(path, write_failure(error, path))
            return
        self.symlinks.append(Symlink(path, decode_name(link)))
        if problem is not None:
            self.omit(path, problem, is_stored=True)

    def _omit_special(self, path: str, folder: str, name: str) -> None:
        try:
            directory = self._cursor.enter(encode_name(folder))
            mode = os.stat(encode_name(name), dir_fd=directory, follow_symlinks=False).st_mode
        except OSError as error:
            self.omit(path, f"vanished before it was examined: {error.strerror}")
        else:
            self.omit(path, f"a {type_name(mode)}: never opened")


class TargetDirectories:
    """The directories and links of the copy; with `lazy`, directories are created only when something is put in.

    A directory is created with all rights of its owner. It gets the permissions and times of its source at the end, when
    nothing is written to it any more. A failure raises OSError, or is returned when the directory or link itself exists.
    """

    def __init__(self, root: int, kept_mode: int, *, lazy: bool) -> None:
        self._cursor = DirectoryCursor(root)
        self._kept_mode, self._lazy = kept_mode, lazy
        self._created = {""}
        self._attributes: dict[str, tuple[int, int, int]] = {}  # mode, access time, modification time

    def close(self) -> None:
        self._cursor.close()

    def add(self, path: str, status: os.stat_result, *, create: bool) -> None:
        """Add a directory of the source; without `create`, it is created when something in it is copied."""
        self._attributes[path] = (status.st_mode, status.st_atime_ns, status.st_mtime_ns)
        if create and not self._lazy:
            self.ensure(path)

    def ensure(self, path: str) -> None:
        """Create a directory and its parents unless they exist."""
        missing = []
        while path not in self._created:
            missing.append(path)
            path = path.rpartition("/")[0]
        for path in reversed(missing):
            parent, _, name = path.rpartition("/")
            os.mkdir(encode_name(name), 0o700, dir_fd=self._cursor.enter(encode_name(parent)))
            self._created.add(path)

    def create_link(self, folder: str, name: str, link: bytes, status: os.stat_result) -> str | None:
        """Create a symbolic link with the times of its source; the reason when they cannot be set."""
        self.ensure(folder)
        directory, raw = self._cursor.enter(encode_name(folder)), encode_name(name)
        os.symlink(link, raw, dir_fd=directory)
        try:
            times = (status.st_atime_ns, status.st_mtime_ns)
            os.utime(raw, ns=times, dir_fd=directory, follow_symlinks=False)
        except OSError as error:
            return attribute_failure(error, "times")
        return None

    def finish(self) -> list[Omission]:
        """Set the times and permissions of all directories; returns those for which that failed."""
        omissions: list[Omission] = []
        attributes = {path: each for path, each in self._attributes.items() if path in self._created}
        for path, (_, accessed, modified) in attributes.items():
            try:
                os.utime(b".", ns=(accessed, modified), dir_fd=self._cursor.enter(encode_name(path)))
            except OSError as error:
                omissions.append(Omission(path or ".", attribute_failure(error, "times"), is_stored=True))
        # Inner directories first: an outer one may deny its owner access.
        for path, (mode, _, _) in reversed(attributes.items()):
            if mode & self._kept_mode != 0o700:
                try:
                    os.chmod(b".", mode & self._kept_mode, dir_fd=self._cursor.enter(encode_name(path)))
                except OSError as error:
                    reason = attribute_failure(error, "permissions")
                    omissions.append(Omission(path or ".", reason, is_stored=True))
        return omissions


def stays_inside(root: int, folder: bytes, link: bytes) -> bool:
    """Whether a link in `folder` with the text `link` leads to nothing outside the directory `root`.

    It is resolved step by step, without the system following anything, because it can lead out through another link. An
    absolute link leads out even when it points into the workspace: in the copy, it would point to the source. A loop
    leads nowhere, and so not out. Raises OSError when a step cannot be read.
    """
    here = folder.split(b"/") if folder else []
    steps = [link]
    for _ in range(_MAX_LINKS):
        step = steps.pop()
        if step.startswith(b"/"):
            return False
        steps += reversed([part for part in step.split(b"/") if part not in {b"", b"."}])
        while steps:
            part = steps.pop()
            if part == b"..":
                if not here:
                    return False
                here.pop()
            elif (inner := _link_text(root, [*here, part])) is None:
                here.append(part)
            else:
                steps.append(inner)
                break
        else:
            return True
    return True


def _link_text(root: int, parts: list[bytes]) -> bytes | None:
    """The text of a symbolic link; None for anything else."""
    try:
        return os.readlink(b"/".join(parts), dir_fd=root)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT, errno.ENOTDIR}:
            return None
        raise
