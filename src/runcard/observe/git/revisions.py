"""The files that changed since a revision: in the work tree, or in the index.

The default revision is the commit where the branch left the main branch. In a shallow clone there may be no such commit;
then the files are compared with the main branch itself, and a note says so. Renamed files keep their old name, so that
their contents can be compared. Deleted files are left out.
"""

import os
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from runcard.errors import StoreError
from runcard.files import decode_name, printable
from runcard.observe.git.command import GitError
from runcard.observe.git.worktree import WorkTree

TIMEOUT = 60.0  # seconds for all commands
_MAIN = (
    *("refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master"),
    *("refs/heads/main", "refs/heads/master"),
)
_DIFF = ("diff", "--name-status", "-z", "-M", "--diff-filter=ACMRT", "--no-ext-diff", "--no-textconv")


class ChangedFile(NamedTuple):
    """A file that changed, and its name before; None for a new file."""

    path: str  # in the repository
    old_path: str | None


class Changes:
    """The changes of a repository since a revision."""

    def __init__(self, directory: str, base: str | None, *, staged: bool = False) -> None:
        variables = dict(os.environ)
        tree = WorkTree.find(os.fsencode(os.path.abspath(directory)), variables, time.monotonic() + TIMEOUT)
        if tree is None:
            raise StoreError(
                f"{printable(directory)} is not in a git repository",
                hint="run it in a repository, or pass --root",
            )
        self.top = decode_name(tree.top)
        self.note: str | None = None  # about the revision
        self._staged = staged
        try:
            self._git = tree.without_filters()
            self.commit = tree.commit if staged else self._base(base, tree.commit, variables)
        except GitError as error:
            raise _failure(error) from error

    def files(self, ending: str) -> list[ChangedFile]:
        """The files with an ending that were changed or added, in the order of their paths."""
        try:
            return sorted(self._files(f":(top,glob)**/*{ending}"))
        except GitError as error:
            raise _failure(error) from error

    def old_content(self, file: ChangedFile) -> bytes | None:
        """The contents of a file at the revision; None for a new file."""
        if file.old_path is None or self.commit is None:
            return None
        try:
            return self._git.read("cat-file", "blob", os.fsencode(f"{self.commit}:{file.old_path}"))
        except GitError:
            return None

    def _files(self, pattern: str) -> Iterator[ChangedFile]:
        if self._staged:
            yield from _renamed(self._git.read(*_DIFF, "--cached", "--", pattern))
            return
        if self.commit is None:
            names = self._git.read(
                "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", pattern
            )
        else:
            yield from _renamed(self._git.read(*_DIFF, self.commit, "--", pattern))
            names = self._git.read("ls-files", "-z", "--others", "--exclude-standard", "--", pattern)
        for name in set(names.split(b"\0")[:-1]):
            if os.path.lexists(os.path.join(os.fsencode(self.top), name)):
                yield ChangedFile(decode_name(name), None)

    def _base(self, base: str | None, head: str | None, variables: Mapping[str, str]) -> str | None:
        """The commit to compare with; None before the first commit."""
        if head is None:
            return None
        if base is not None:
            commit = self._commit(base)
            if commit is None:
                raise StoreError(
                    f"the revision {printable(base)} does not exist here",
                    hint="fetch it first; a shallow clone has few revisions (fetch-depth: 0 fetches all)",
                )
            return self._common(commit, head, base)
        named = variables.get("GITHUB_BASE_REF")
        for name in ((f"refs/remotes/origin/{named}",) if named else ()) + _MAIN:
            commit = self._commit(name)
            if commit is not None:
                return self._common(commit, head, name)
        return head

    def _commit(self, name: str) -> str | None:
        try:
            output = self._git.read(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
            )
        except GitError:
            return None
        return output.decode("ascii", "replace").strip() or None

    def _common(self, commit: str, head: str, name: str) -> str:
        """The last commit that a revision and the branch have in common."""
        output = (
            self._git.read("merge-base", commit, head, accept=(0, 1, 128)).decode("ascii", "replace").strip()
        )
        if not output:
            short = name.removeprefix("refs/remotes/").removeprefix("refs/heads/")
            self.note = (
                f"no common commit with {printable(short)} in this clone: compared with {printable(short)} itself; "
                "fetch more history to compare with the start of the branch"
            )
        return output or commit


def _renamed(output: bytes) -> Iterator[ChangedFile]:
    """The entries of `git diff --name-status -z`: a status, then one path, or two if it was renamed or copied."""
    fields = iter(output.split(b"\0")[:-1])
    for status in fields:
        path = decode_name(next(fields, b""))
        if status[:1] in {b"R", b"C"}:
            yield ChangedFile(decode_name(next(fields, b"")), path)
        else:
            yield ChangedFile(path, None if status == b"A" else path)


def _failure(error: GitError) -> StoreError:
    return StoreError(f"git cannot be used: {error}", hint="check that `git status` works here")
