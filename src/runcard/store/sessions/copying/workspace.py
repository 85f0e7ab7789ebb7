"""Copy a workspace, on all cores.

Small files are copied while the workspace is walked, by this process and by helper processes. All others follow in
threads.

Invariant: every file that was selected is stored or is an omission; none is lost silently.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from stat import S_ISREG

from runcard.checksums import Symlink
from runcard.files import PathTable, encode_name, failure
from runcard.masking import secret_scanner
from runcard.parallel import cores
from runcard.parallel.progress import Amount, ProgressCounter
from runcard.parallel.worker import SMALL_FILE, DirectoryCursor, close_reader
from runcard.store.sessions.copying.copy_rules import CopyRules, SizeLimits
from runcard.store.sessions.copying.file_transfer import TransferOptions, TransferResult
from runcard.store.sessions.copying.large_files import LargeFile, LargeFileCopier
from runcard.store.sessions.copying.omission_reasons import read_failure, write_failure
from runcard.store.sessions.copying.results import CopiedFiles, CopiedWorkspace, Omission, Redaction
from runcard.store.sessions.copying.selection import FileSelection, is_configuration
from runcard.store.sessions.copying.small_files import SmallFileCopier
from runcard.store.sessions.copying.source_walk import TargetDirectories, WorkspaceWalk

_MOST_AT_ONCE = 8192  # files that are shared between the threads
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def copy_workspace(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    rules: CopyRules,
    progress: Callable[[Amount], object] | None = None,
) -> CopiedWorkspace:
    """Copy the directory `source`, which may itself be a link, to `target`, which is created.

    `progress` is called at most ten times a second, and once at the end.
    """
    selection = FileSelection(rules)  # first, because it raises for a malformed pattern
    with contextlib.ExitStack() as stack:
        target_root = _create(os.fspath(target))
        stack.callback(close_reader, target_root)
        try:
            source_root = os.open(source, _DIRECTORY)
        except OSError as error:
            return CopiedWorkspace(CopiedFiles(), (), (Omission(".", _open_failure(source, error)),), {}, ())
        stack.callback(close_reader, source_root)
        return _WorkspaceCopier(source_root, target_root, rules, selection, ProgressCounter(progress)).run()


def _open_failure(source: str | os.PathLike[str], error: OSError) -> str:
    if not os.path.lexists(source):
        return "it does not exist"
    is_other = os.path.exists(source) and not os.path.isdir(source)
    return "it is not a directory" if is_other else f"the workspace {read_failure(error)}"


def _create(target: str) -> int:
    try:
        os.mkdir(target, 0o700)
        return os.open(target, _DIRECTORY)
    except OSError as error:
        raise failure(error, target, "make the directory") from error


class _WorkspaceCopier:
    """Copies one workspace, from one open directory to another."""

    def __init__(
        self,
        source: int,
        target: int,
        rules: CopyRules,
        selection: FileSelection,
        progress: ProgressCounter,
    ) -> None:
        self._source, self._target, self._rules, self._progress = source, target, rules, progress
        self._selection = selection
        self._limits = SizeLimits(rules)
        self._directories = TargetDirectories(target, rules.kept_mode, lazy=selection.has_include)
        self._walk = WorkspaceWalk(
            source,
            selection,
            self._directories,
            gitignore=rules.gitignore,
            skip=_identities(rules.skip, target),
        )
        self._files = CopiedFiles()
        self._redactions: list[Redaction] = []
        self._named: set[str] = set()  # files that the user named, which are not searched for secrets

    def run(self) -> CopiedWorkspace:
        try:
            remaining = self._copy_small_files()
            self._copy_remaining(remaining)
            self._walk.omissions += self._directories.finish()
        finally:
            self._directories.close()
        self._progress.finish()
        return CopiedWorkspace(
            self._files,
            tuple(sorted(self._walk.symlinks, key=_by_path)),
            tuple(sorted(self._walk.omissions, key=_by_path)),
            dict(sorted(self._walk.excluded.items())),
            tuple(sorted(self._redactions, key=_by_path)),
        )

    def _copy_small_files(self) -> PathTable[bool]:
        """Copy the small files; returns the paths of the others."""
        limit = self._rules.max_file_size
        if self._rules.mask or (limit is not None and limit < SMALL_FILE):
            remaining: PathTable[bool] = PathTable()
            for path in self._paths():
                remaining[path] = True
            remaining.update(dict.fromkeys(self._named, True))
            return remaining
        clues = secret_scanner.scan_patterns() if self._rules.scan else ()
        copier = SmallFileCopier(
            self._source, self._target, self._rules.kept_mode, self._limits, self._progress, clues
        )
        copier.run(self._unmasked_paths(copier.remaining))
        self._files = copier.files
        copier.remaining.update(dict.fromkeys(self._named, True))
        return copier.remaining

    def _paths(self) -> Iterator[str]:
        """The files to copy except the named ones; their directories exist in the target when they are yielded."""
        for path in self._walk:
            try:
                self._directories.ensure(path.rpartition("/")[0])
            except OSError as error:
                self._walk.omit(path, write_failure(error, path))
                continue
            if self._selection.is_named(path):
                self._named.add(path)
            else:
                yield path

    def _unmasked_paths(self, masked: PathTable[bool]) -> Iterator[str]:
        """The files to copy except the named ones and configurations, which are added to `masked`."""
        for path in self._paths():
            if self._rules.scan and is_configuration(path):
                masked[path] = True
            else:
                yield path

    def _copy_remaining(self, paths: PathTable[bool]) -> None:
        rules = self._rules
        sizes, total = self._within_limits(paths)
        self._progress.expect(len(sizes), total)
        options = TransferOptions(rules.kept_mode, rules.mask, rules.scan, self._limits.reserve_file)
        files = (LargeFile(path, size, scan=path not in self._named) for path, size in sizes)
        while some := list(islice(files, _MOST_AT_ONCE)):
            copier = LargeFileCopier(self._source, self._target, some, options, self._progress)
            # Masking holds the interpreter's lock: more threads would only wait.
            copier.run(1 if rules.mask else cores())
            self._add_results(copier.results)
            for file in some:
                if file.path not in copier.results:
                    self._walk.omit(file.path, "lost by a bug in runcard: please report it")

    def _within_limits(self, paths: PathTable[bool]) -> tuple[PathTable[int], int]:
        """The files that fit within the limits with their sizes, and the sum of these; the others are omitted.

        The limits are for the files in the order of their paths.
        """
        sizes: PathTable[int] = PathTable()
        total = 0
        cursor = DirectoryCursor(self._source)
        try:
            for path, _ in paths:
                size = _size(cursor, path)
                if reason := self._limits.reserve_file(size):
                    self._walk.omit(path, reason)
                else:
                    sizes[path] = size
                    total += size
        finally:
            cursor.close()
        return sizes, total

    def _add_results(self, results: dict[str, TransferResult]) -> None:
        self._files.add(result.file for result in results.values() if result.file is not None)
        for path, (file, redactions, remark) in results.items():
            if remark is not None:
                self._walk.omit(path, remark, is_stored=file is not None)
            self._redactions += redactions


def _identities(paths: Iterable[str], target: int) -> set[tuple[int, int]]:
    """The device and inode numbers of the directories that exist, and of the target."""
    statuses = [os.fstat(target)]
    for path in paths:
        with contextlib.suppress(OSError):
            statuses.append(os.stat(path))
    return {(status.st_dev, status.st_ino) for status in statuses}


def _size(cursor: DirectoryCursor, path: str) -> int:
    """The size of a file; 0 when it is not a file any more, which copying it will report."""
    parent, _, name = encode_name(path).rpartition(b"/")
    try:
        status = os.stat(name, dir_fd=cursor.enter(parent), follow_symlinks=False)
    except OSError:
        return 0
    return status.st_size if S_ISREG(status.st_mode) else 0


def _by_path(entry: Symlink | Omission | Redaction) -> bytes:
    return encode_name(entry.path)
