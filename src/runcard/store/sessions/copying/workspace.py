"""Copy a workspace, on all cores.

Small files are copied while the workspace is walked, by this process and by helper processes. All others follow in
threads.

Invariant: every file that was selected is stored or is an omission; none is lost silently.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from stat import S_ISREG

from runcard.checksums import Symlink
from runcard.files import encode_name, failure
from runcard.masking import secret_scanner
from runcard.parallel import cores
from runcard.parallel.progress import Amount, ProgressCounter
from runcard.parallel.worker import SMALL_FILE, DirectoryCursor, close_reader
from runcard.store.sessions.copying.copy_rules import CopyRules, SizeLimits
from runcard.store.sessions.copying.file_transfer import TransferOptions, TransferResult
from runcard.store.sessions.copying.large_files import LargeFile, LargeFileCopier
from runcard.store.sessions.copying.omission_reasons import read_failure, write_failure
from runcard.store.sessions.copying.results import CopiedFile, CopiedWorkspace, Omission, Redaction
from runcard.store.sessions.copying.selection import FileSelection
from runcard.store.sessions.copying.small_files import SmallFileCopier
from runcard.store.sessions.copying.source_walk import TargetDirectories, WorkspaceWalk

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
            return CopiedWorkspace((), (), (Omission(".", _open_failure(source, error)),), {}, ())
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
        self._files: list[CopiedFile] = []
        self._redactions: list[Redaction] = []
        self._selected: list[str] = []
        self._named: list[str] = []  # files that the user named, which are not searched for secrets

    def run(self) -> CopiedWorkspace:
        try:
            remaining = self._copy_small_files()
            self._copy_remaining(remaining)
            self._walk.omissions += self._directories.finish()
        finally:
            self._directories.close()
        self._report_lost_files()
        self._progress.finish()
        return CopiedWorkspace(
            tuple(sorted(self._files, key=_by_path)),
            tuple(sorted(self._walk.symlinks, key=_by_path)),
            tuple(sorted(self._walk.omissions, key=_by_path)),
            dict(sorted(self._walk.excluded.items())),
            tuple(sorted(self._redactions, key=_by_path)),
        )

    def _copy_small_files(self) -> list[str]:
        """Copy the small files; returns the paths of the others."""
        limit = self._rules.max_file_size
        if self._rules.mask or (limit is not None and limit < SMALL_FILE):
            return [*self._paths(), *self._named]
        clues = secret_scanner.scan_patterns() if self._rules.scan else ()
        copier = SmallFileCopier(
            self._source, self._target, self._rules.kept_mode, self._limits, self._progress, clues
        )
        copier.run(self._paths())
        self._files += copier.files
        return copier.remaining + self._named

    def _paths(self) -> Iterator[str]:
        """The files to copy except the named ones; their directories exist in the target when they are yielded."""
        for path in self._walk:
            try:
                self._directories.ensure(path.rpartition("/")[0])
            except OSError as error:
                self._walk.omit(path, write_failure(error, path))
                continue
            self._selected.append(path)
            if self._selection.is_named(path):
                self._named.append(path)
            else:
                yield path

    def _copy_remaining(self, paths: Iterable[str]) -> None:
        rules = self._rules
        files = self._within_limits(paths)
        self._progress.expect(len(files), sum(file.size for file in files))
        options = TransferOptions(rules.kept_mode, rules.mask, rules.scan, self._limits.reserve_file)
        copier = LargeFileCopier(self._source, self._target, files, options, self._progress)
        copier.run(
            1 if rules.mask else cores()
        )  # masking holds the interpreter's lock: more threads would only wait
        self._add_results(copier.results)

    def _within_limits(self, paths: Iterable[str]) -> list[LargeFile]:
        """The files that fit within the limits, in the order of their paths; the others are omitted."""
        files: list[LargeFile] = []
        named = set(self._named)
        cursor = DirectoryCursor(self._source)
        try:
            for path in sorted(paths, key=encode_name):
                size = _size(cursor, path)
                if reason := self._limits.reserve_file(size):
                    self._walk.omit(path, reason)
                else:
                    files.append(LargeFile(path, size, scan=path not in named))
        finally:
            cursor.close()
        return files

    def _add_results(self, results: dict[str, TransferResult]) -> None:
        for path, (file, redactions, remark) in results.items():
            if file is not None:
                self._files.append(file)
            if remark is not None:
                self._walk.omit(path, remark, is_stored=file is not None)
            self._redactions += redactions

    def _report_lost_files(self) -> None:
        """Check that every selected file is stored or omitted."""
        done = {file.path for file in self._files} | {each.path for each in self._walk.omissions}
        for path in self._selected:
            if path not in done:
                self._walk.omit(path, "lost by a bug in runcard: please report it")


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


def _by_path(entry: CopiedFile | Symlink | Omission | Redaction) -> bytes:
    return encode_name(entry.path)
