"""A work tree: its commit, and whether it differs from it.

Files with a filter (Git LFS, for example) cannot be compared with their commit without running that filter, which is never
done. As long as git knows from their times that they are unchanged, they are clean; otherwise it is unknown.

Submodules count by their commit, and those in `.gitmodules` by their own status as well.

Invariant: `is_dirty` is None where it is unknown, never a guess.
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

from runcard.files import check_relative, decode_name
from runcard.observe.git.command import Git, GitError

_COMMIT = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCHES = b"refs/heads/"
_FIND = ("rev-parse", "--show-toplevel", "--absolute-git-dir", "HEAD", "--symbolic-full-name", "HEAD")
_FATAL = 128  # git's exit code for what it cannot do
_STATUS = (
    *("status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignored=no"),
    *("--no-renames", "--ignore-submodules=dirty"),
)
_FIELDS = {b"1": 8, b"2": 9, b"u": 10}  # of a line of `git status`, before the path


class WorkTree:
    """One work tree; `top` is its top directory. Paths of `ignore` do not count."""

    def __init__(self, git: Git, commit: str | None, branch: str | None, ignore: Sequence[bytes]) -> None:
        self.top = git.directory
        self.commit, self.branch = commit, branch
        self._git, self._ignored = git, ignore

    @classmethod
    def find(
        cls, directory: bytes, variables: Mapping[str, str], deadline: float, ignore: Sequence[bytes] = ()
    ) -> Self | None:
        """The work tree that a directory is in; None without one, or when git refuses to read it."""
        git = Git(directory, variables, deadline)
        try:
            lines = git.read(*_FIND, accept=(0, _FATAL)).split(b"\n")[:-1]
            if len(lines) == 4 and _COMMIT.fullmatch(lines[2]):
                return cls(git.at(*lines[:2]), lines[2].decode(), _branch(lines[3]), ignore)
            if len(lines) == 3:  # no commit yet, so git repeats HEAD and fails
                git = git.at(*lines[:2])
                reference = git.read("symbolic-ref", "--quiet", "HEAD", accept=(0, 1, _FATAL))
                return cls(git, None, _branch(reference.strip()), ignore)
        except GitError:
            pass
        return None

    def status(self) -> "WorkTreeStatus":
        """Compare the work tree with its commit; raises GitError."""
        drivers = self._drivers()
        git = self._git.without_filters(drivers)
        entries = git.read(*_STATUS, *self.pathspecs).split(b"\0")
        tracked = [entry.split(b" ", _FIELDS[entry[:1]])[-1] for entry in entries if entry[:1] in _FIELDS]
        return WorkTreeStatus(
            tree=self,
            git=git,
            tracked=tracked,
            filtered=_filtered(git, tracked, drivers),
            has_untracked=any(entry.startswith(b"? ") for entry in entries),
            submodules={path: tree._status_or_none() for path, tree in self._submodules().items()},  # noqa: SLF001
        )

    def without_filters(self) -> Git:
        """Git for this tree that starts no filter which the repository names; raises GitError."""
        return self._git.without_filters(self._drivers())

    @property
    def pathspecs(self) -> tuple[bytes | str, ...]:
        """The paths that the commands check: all except the ignored ones."""
        inside = [path for path in self._ignored if path.startswith(self.top + b"/")]
        excluded = [b":(top,exclude,literal)" + path[len(self.top) + 1 :] for path in inside]
        return ("--", ":(top)", *excluded)

    def _drivers(self) -> set[bytes]:
        """The filter drivers that the configuration names."""
        command = ("config", "--null", "--name-only", "--get-regexp", r"^filter\.")
        printed = self._git.read(*command, accept=(0, 1))
        names = [name.removeprefix(b"filter.") for name in printed.split(b"\0")]
        return {name.rpartition(b".")[0] for name in names if b"." in name}

    def _submodules(self) -> dict[bytes, Self]:
        """The submodules that are checked out, by path."""
        names = os.path.join(self.top, b".gitmodules")
        if os.path.islink(names) or not os.path.isfile(names):
            return {}
        pattern = r"^submodule\..*\.path$"
        printed = self._git.read("config", "--file", names, "--null", "--get-regexp", pattern, accept=(0, 1))
        paths = {entry.partition(b"\n")[2] for entry in printed.split(b"\0") if entry}
        trees = {path: self._submodule(path) for path in sorted(paths)}
        return {path: tree for path, tree in trees.items() if tree is not None}

    def _submodule(self, path: bytes) -> Self | None:
        folder = os.path.join(self.top, path)
        if check_relative(decode_name(path)) or not os.path.lexists(os.path.join(folder, b".git")):
            return None
        tree = self.find(folder, self._git.variables, self._git.deadline, self._ignored)
        # Git searches upwards: without a usable repository here it would find this work tree again.
        return tree if tree is not None and tree.top == folder else None

    def _status_or_none(self) -> "WorkTreeStatus | None":
        try:
            return self.status()
        except GitError:
            return None


class WorkTreeStatus(NamedTuple):
    """The changes of a work tree. `filtered` are those of the `tracked` changes that have a filter."""

    tree: WorkTree
    git: Git
    tracked: list[bytes]
    filtered: set[bytes]
    has_untracked: bool
    submodules: dict[bytes, "WorkTreeStatus | None"]

    @property
    def is_dirty(self) -> bool | None:
        """Whether tracked files differ from the commit, or there are files neither tracked nor ignored."""
        if self.has_untracked or len(self.filtered) < len(self.tracked):
            return True
        states = [None if module is None else module.is_dirty for module in self.submodules.values()]
        if True in states:
            return True
        return None if self.filtered or None in states else False


def _filtered(git: Git, paths: list[bytes], drivers: set[bytes]) -> set[bytes]:
    if not drivers or not paths:
        return set()
    stdin = b"".join([path + b"\0" for path in paths])
    fields = git.read("check-attr", "-z", "--stdin", "filter", stdin=stdin).split(b"\0")
    return {path for path, value in zip(fields[::3], fields[2::3], strict=False) if value in drivers}


def _branch(reference: bytes) -> str | None:
    if not reference.startswith(_BRANCHES):
        return None  # detached
    return decode_name(reference.removeprefix(_BRANCHES))
