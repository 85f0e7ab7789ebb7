"""The state of the git repository that a run starts in: commit, branch, and uncommitted changes.

The program `git` is run. It writes nothing to the repository, takes no lock there, and starts no program that the
repository names. Without git, outside a repository, or where git refuses (a repository of another user), there is no state.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.observe.git.changes import diff_sha256
from runcard.observe.git.command import Git, GitError
from runcard.observe.git.worktree import WorkTree
from runcard.observe.paths import absolute_path

TIMEOUT = 10.0  # seconds for everything

__all__ = ["TIMEOUT", "git", "git_states", "resolve_commit"]


def git(
    directory: str | os.PathLike[str],
    *,
    ignore: Sequence[str | os.PathLike[str]] = (),
    timeout: float = TIMEOUT,
) -> JsonObject | None:
    """`commit`, `branch`, `dirty` and `diff_sha256` of the repository that a directory is in; None without one.

    `branch` is None for a detached HEAD, `commit` before the first one. Paths of `ignore` do not make a work tree
    dirty: the store of a run is not part of its sources.
    """
    states = git_states(absolute_path(directory), dict(os.environ), ignore=ignore, timeout=timeout)
    return next(reversed(list(states)), None)


def git_states(
    directory: str,
    variables: Mapping[str, str],
    *,
    ignore: Sequence[str | os.PathLike[str]] = (),
    timeout: float = TIMEOUT,
) -> Iterator[JsonObject]:
    """The same for an absolute directory, with more known at each step; what takes longest comes last."""
    ignored = [os.path.realpath(os.path.join(os.fsencode(directory), os.fsencode(path))) for path in ignore]
    tree = WorkTree.find(os.fsencode(directory), variables, time.monotonic() + timeout, ignored)
    if tree is None:
        return
    branch = None if tree.branch is None else json_name(tree.branch).text
    state: JsonObject = {"commit": tree.commit, "branch": branch, "dirty": None, "diff_sha256": None}
    yield state
    try:
        status = tree.status()
    except GitError:
        return
    yield (state := {**state, "dirty": status.is_dirty})
    yield {**state, "diff_sha256": diff_sha256(status)}


def resolve_commit(revision: str, directory: str) -> str | None:
    """The hash of the commit that a revision, such as `HEAD~1`, names in the repository of a directory; None without one."""
    command = Git(os.fsencode(directory), dict(os.environ), time.monotonic() + TIMEOUT)
    try:
        output = command.read(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
    except GitError:
        return None
    return output.decode("ascii", "replace").strip() or None
