"""Copy files that a command wrote outside its run directory into the record: `outputs/<path>`.

The files are copied to the store's own folder first, and moved into the run when all are complete. So a killed process
leaves no half file in a run, and a full disk leaves room for closing the record: then none of the copies is kept.

Invariants: nothing in the run is replaced, and no symbolic link is followed, in the source or in the run. Every file is
stored, or a warning names it.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from runcard.errors import RuncardError
from runcard.files import encode_name, failure, open_directory, printable
from runcard.files.globs import PatternList
from runcard.files.rename_noreplace import rename_noreplace
from runcard.parallel import cores
from runcard.parallel.progress import ProgressCounter
from runcard.parallel.worker import DirectoryCursor, close_reader
from runcard.store import layout
from runcard.store.default_excludes import CREDENTIALS, GENERATED
from runcard.store.own_directories import open_own, own_entry
from runcard.store.remove_tree import remove_tree
from runcard.store.sessions.copying.copy_rules import CopyRules, SizeLimits
from runcard.store.sessions.copying.file_transfer import TransferOptions
from runcard.store.sessions.copying.large_files import LargeFile, LargeFileCopier
from runcard.store.sessions.copying.omission_reasons import read_failure
from runcard.store.sessions.copying.source_walk import TargetDirectories

_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_KEPT_MODE = 0o777
_NAMES_IN_WARNING = 5


class OutputFolder(NamedTuple):
    """A folder with output files: its real path, and its name below `outputs/` of the run."""

    path: str
    name: str


class OutputFile(NamedTuple):
    """A file to be copied; `is_named` if the user named the file itself, and not by a pattern or its folder."""

    folder: OutputFolder
    path: str  # relative to the folder
    is_named: bool

    @property
    def name(self) -> str:
        """Its path below `outputs/` of the run."""
        return f"{self.folder.name}/{self.path}" if self.folder.name else self.path


def copy_outputs(run: str, files: Iterable[OutputFile], omissions: Mapping[str, str]) -> list[str]:
    """Copy files into a run; returns warnings about those that are not stored, or that changed meanwhile.

    `omissions` are files that are not to be copied, with the reason; the warnings name these as well.
    """
    copier = _OutputCopier(run)
    for name, reason in omissions.items():
        copier.omit(name, reason)
    try:
        copier.run(files)
    except (RuncardError, OSError) as error:
        reason = (
            error.message if isinstance(error, RuncardError) else failure(error, run, "copy files to").message
        )
        return [f"the files of --output were not copied: {reason}"]
    return copier.warnings()


def remove_unfinished_copies(run: str) -> None:
    """Remove what a killed process copied and did not move into its run."""
    aside = layout.copied_aside(run)
    with contextlib.suppress(OSError, RuncardError), own_entry(layout.store_of(run), aside) as (own, name):
        remove_tree(name, dir_fd=own)


class _OutputCopier:
    """Copies the outputs of one run."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._reasons: dict[str, list[str]] = {}
        self._limits = SizeLimits(CopyRules())

    def run(self, files: Iterable[OutputFile]) -> None:
        folders: dict[OutputFolder, list[OutputFile]] = {}
        for file in self._without_excluded(files):
            folders.setdefault(file.folder, []).append(file)
        if not folders:
            return
        remove_unfinished_copies(self._run)
        try:
            copied = [
                (folder, self._copy_folder(folder, inner, str(number)))
                for number, (folder, inner) in enumerate(folders.items())
            ]
            for number, (folder, paths) in enumerate(copied):
                self._move_into_run(folder, paths, str(number))
        finally:
            remove_unfinished_copies(self._run)

    def warnings(self) -> list[str]:
        """A sentence for each reason why files are not stored."""
        return [f"--output: {_list(names)}: {reason}" for reason, names in self._reasons.items()]

    def _without_excluded(self, files: Iterable[OutputFile]) -> Iterator[OutputFile]:
        """The files except generated files and credentials that were not named themselves."""
        credentials = PatternList(CREDENTIALS, any_case=True)
        generated = PatternList(GENERATED, any_case=False)
        for file in files:
            if file.is_named:
                yield file
            elif _matches(credentials, file.name):
                self.omit(file.name, "may hold credentials, not copied: name the file itself")
            elif not _matches(generated, file.name):
                yield file

    def omit(self, name: str, reason: str) -> None:
        """Add a file that is not stored, or not as it was."""
        self._reasons.setdefault(reason, []).append(name)

    def _copy_folder(self, folder: OutputFolder, files: list[OutputFile], aside: str) -> list[str]:
        """Copy the files of one folder to the store's own folder; returns the paths of those that are there."""
        names = {file.path: file.name for file in files}
        with contextlib.ExitStack() as stack:
            try:
                source = stack.enter_context(_opened(folder.path))
            except OSError as error:
                for name in names.values():
                    self.omit(name, read_failure(error))
                return []
            target = stack.enter_context(self._open_aside(aside))
            directories = TargetDirectories(target, _KEPT_MODE, lazy=True)
            stack.callback(directories.close)
            for path in names:
                directories.ensure(path.rpartition("/")[0])
            options = TransferOptions(_KEPT_MODE, mask=False, scan=False, reserve=self._limits.reserve_file)
            copier = LargeFileCopier(
                source, target, [LargeFile(path, 0) for path in names], options, ProgressCounter(None)
            )
            copier.run(cores())
        for path, result in copier.results.items():
            if result.remark is not None:
                self.omit(names[path], result.remark)
        return [path for path, result in copier.results.items() if result.file is not None]

    def _open_aside(self, name: str) -> contextlib.AbstractContextManager[int]:
        store, aside = layout.store_of(self._run), layout.copied_aside(self._run)
        return open_own(store, os.path.join(aside, name), create=True, mode=0o700)

    def _move_into_run(self, folder: OutputFolder, paths: list[str], aside: str) -> None:
        """Move complete copies into the run, unless something has their name there."""
        with self._open_aside(aside) as descriptor:
            copies = DirectoryCursor(descriptor)
            try:
                for path in sorted(paths):
                    self._move(copies, OutputFile(folder, path, is_named=False))
            finally:
                copies.close()

    def _move(self, copies: DirectoryCursor, file: OutputFile) -> None:
        parent, _, name = file.path.rpartition("/")
        folders = f"{layout.OUTPUT_COPIES}/{file.name}".split("/")[:-1]
        try:
            with open_directory(self._run, *map(_native, folders), create=True) as target:
                rename_noreplace(
                    _native(name), _native(name), copies.enter(encode_name(parent)), target_directory=target
                )
        except FileExistsError:
            self.omit(file.name, "not copied: the record has a file of this name")
        except RuncardError as error:
            self.omit(file.name, f"not copied: {error.message}")
        except OSError as error:
            self.omit(file.name, f"not copied: {os.strerror(error.errno or 0)}")


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """A descriptor of a directory by its real path, in which no part may be a link by now."""
    root = os.open("/", _ROOT)
    cursor = DirectoryCursor(root)
    try:
        yield cursor.enter(encode_name(path).strip(b"/"))
    finally:
        cursor.close()
        close_reader(root)


def _matches(patterns: PatternList, path: str) -> bool:
    """Whether a pattern matches a file or one of the folders above it."""
    names = path.split("/")
    return any(
        patterns.pattern_for("/".join(names[:count]), is_folder=count < len(names)) is not None
        for count in range(1, len(names) + 1)
    )


def _list(names: list[str]) -> str:
    shown = ", ".join(map(printable, names[:_NAMES_IN_WARNING]))
    more = len(names) - _NAMES_IN_WARNING
    return f"{shown} and {more:,} more" if more > 0 else shown


def _native(name: str) -> str:
    """A name as the functions of the system take it."""
    return os.fsdecode(encode_name(name))
