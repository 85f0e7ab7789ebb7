"""Copying a workspace, on all cores.

Small files are copied in passing while the directories are walked through, by this process and helpers. What is large or
odd is left for threads that look closely. The caller sees none of this.

Invariant: every file that was to be copied is stored or an omission; none is lost in silence.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from stat import S_ISREG

from runcard.checksums import Symlink
from runcard.checksums.helper_pool import cores
from runcard.files import encode_name, failure
from runcard.masking import secret_scanner
from runcard.store.sessions.copying.large_files import Order, Outcome
from runcard.store.sessions.copying.limits import Limits
from runcard.store.sessions.copying.omission_reasons import not_stored, refusal
from runcard.store.sessions.copying.options import CopyRules
from runcard.store.sessions.copying.progress import Progress, Tally
from runcard.store.sessions.copying.results import Copied, CopiedFile, Omission, Redaction
from runcard.store.sessions.copying.selection import Judge
from runcard.store.sessions.copying.small_files import Passing
from runcard.store.sessions.copying.source_walk import Survey
from runcard.store.sessions.copying.target_dirs import Tree
from runcard.store.sessions.copying.threads import Job, copy_all
from runcard.store.sessions.copying.worker import SMALL, Folder, close_reader

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def copy_workspace(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    rules: CopyRules,
    progress: Progress | None = None,
) -> Copied:
    """Copy the directory `source`, which may itself be a link, to `target`, which is made.

    `progress` is called at most ten times a second, and once at the end.
    """
    judge = Judge(rules)  # first, because it knows when a pattern is wrong
    with contextlib.ExitStack() as open_ones:
        bottom = _make(os.fspath(target))
        open_ones.callback(close_reader, bottom)
        try:
            top = os.open(source, _FOLDER)
        except OSError as error:
            return _nothing(_why_not(source, error))
        open_ones.callback(close_reader, top)
        return _Copy(top, bottom, rules, judge, Tally(progress)).run()


def _why_not(source: str | os.PathLike[str], error: OSError) -> str:
    if not os.path.lexists(source):
        return "there is no workspace"
    is_other = os.path.exists(source) and not os.path.isdir(source)
    return "it is no directory" if is_other else f"the workspace {refusal(error)}"


def _make(target: str) -> int:
    try:
        os.mkdir(target, 0o700)
        return os.open(target, _FOLDER)
    except OSError as error:
        raise failure(error, target, "make the directory") from error


def _nothing(reason: str) -> Copied:
    return Copied((), (), (Omission(".", reason),), {}, ())


class _Copy:
    """One workspace on its way."""

    def __init__(self, top: int, bottom: int, rules: CopyRules, judge: Judge, tally: Tally) -> None:
        self._top, self._bottom, self._rules, self._tally = top, bottom, rules, tally
        self._judge = judge
        self._limits = Limits(rules)
        self._tree = Tree(bottom, rules.kept_mode, lazy=judge.is_choosy)
        self._survey = Survey(
            top,
            judge,
            self._tree,
            gitignore=rules.gitignore,
            skip=_identities(rules.skip, bottom),
        )
        self._files: list[CopiedFile] = []
        self._redactions: list[Redaction] = []
        self._planned: list[str] = []
        self._named: list[str] = []  # files that the user named, which are not searched for secrets

    def run(self) -> Copied:
        try:
            rest = self._in_passing()
            self._closely(rest)
            self._survey.omissions += self._tree.finish()
        finally:
            self._tree.close()
        self._name_the_lost()
        self._tally.finish()
        return Copied(
            tuple(sorted(self._files, key=_by_path)),
            tuple(sorted(self._survey.symlinks, key=_by_path)),
            tuple(sorted(self._survey.omissions, key=_by_path)),
            dict(sorted(self._survey.excluded.items())),
            tuple(sorted(self._redactions, key=_by_path)),
        )

    def _in_passing(self) -> list[str]:
        """Copy the small files; returns the paths of those still to do."""
        largest = self._rules.max_file_size
        if self._rules.mask or (largest is not None and largest < SMALL):
            return [*self._paths(), *self._named]
        clues = secret_scanner.scan_patterns() if self._rules.scan else ()
        passing = Passing(self._top, self._bottom, self._rules.kept_mode, self._limits, self._tally, clues)
        passing.run(self._paths())
        self._files += passing.files
        return passing.rest + self._named

    def _paths(self) -> Iterator[str]:
        """The files to be copied but the named ones; each has its directory in the target by then."""
        for path in self._survey:
            try:
                self._tree.ensure(path.rpartition("/")[0])
            except OSError as error:
                self._survey.omit(path, not_stored(error, path))
                continue
            self._planned.append(path)
            if self._judge.is_named(path):
                self._named.append(path)
            else:
                yield path

    def _closely(self, paths: Iterable[str]) -> None:
        """Copy the rest; what goes beyond the limits is decided in the order of the paths, before anything starts."""
        jobs: list[Job] = []
        named = set(self._named)
        folder = Folder(self._top)
        try:
            for path in sorted(paths, key=encode_name):
                size = _size(folder, path)
                if reason := self._limits.refuse(size):
                    self._survey.omit(path, reason)
                else:
                    jobs.append(Job(path, size, scan=path not in named))
        finally:
            folder.close()
        self._tally.expect(len(jobs), sum(job.size for job in jobs))
        order = Order(self._rules.kept_mode, self._rules.mask, self._rules.scan, self._limits.refuse)
        # Masking keeps the interpreter busy, so a second thread would only get in its way.
        self._write_down(
            copy_all(self._top, self._bottom, jobs, order, self._tally, 1 if order.mask else cores())
        )

    def _write_down(self, outcomes: dict[str, Outcome]) -> None:
        for path, (file, redactions, remark) in outcomes.items():
            if file is not None:
                self._files.append(file)
            if remark is not None:
                self._survey.omit(path, remark, is_stored=file is not None)
            self._redactions += redactions

    def _name_the_lost(self) -> None:
        """Compare what was planned with what has an outcome: there should be no difference."""
        done = {file.path for file in self._files} | {each.path for each in self._survey.omissions}
        for path in self._planned:
            if path not in done:
                self._survey.omit(path, "got lost: a defect of runcard, please report it")


def _identities(paths: Iterable[str], target: int) -> set[tuple[int, int]]:
    """Directories by what they are, not by what they are called: those that exist, and the target."""
    found = [os.fstat(target)]
    for path in paths:
        with contextlib.suppress(OSError):
            found.append(os.stat(path))
    return {(status.st_dev, status.st_ino) for status in found}


def _size(folder: Folder, path: str) -> int:
    """The size of a file; nothing for what is gone or no file any more: who copies it will say so."""
    parent, _, name = encode_name(path).rpartition(b"/")
    try:
        status = os.stat(name, dir_fd=folder.enter(parent), follow_symlinks=False)
    except OSError:
        return 0
    return status.st_size if S_ISREG(status.st_mode) else 0


def _by_path(entry: CopiedFile | Symlink | Omission | Redaction) -> bytes:
    return encode_name(entry.path)
