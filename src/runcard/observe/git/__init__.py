"""What a run was made from, as git knows it: the commit, the branch, and changes that no commit has.

Git is asked by running it. It writes nothing to the repository, takes no lock there, and starts no program that a
repository names. Without git, outside a repository, or where git refuses to look (a repository of somebody else), there
is nothing to tell.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.observe.git.changes import diff_sha256
from runcard.observe.git.command import GitError
from runcard.observe.git.worktree import WorkTree
from runcard.observe.paths import absolute_path

TIMEOUT = 10.0  # seconds for everything

__all__ = ["TIMEOUT", "git", "growing"]


def git(
    directory: str | os.PathLike[str],
    *,
    ignore: Sequence[str | os.PathLike[str]] = (),
    timeout: float = TIMEOUT,
) -> JsonObject | None:
    """`commit`, `branch`, `dirty` and `diff_sha256` of the repository that a directory lies in; None without one.

    `branch` is None for a detached HEAD, `commit` before the first one. Paths of `ignore` do not make a work tree
    dirty: what a run writes into its own store is no change of what it was made from.
    """
    states = growing(absolute_path(directory), dict(os.environ), ignore=ignore, timeout=timeout)
    return next(reversed(list(states)), None)


def growing(
    directory: str,
    variables: Mapping[str, str],
    *,
    ignore: Sequence[str | os.PathLike[str]] = (),
    timeout: float = TIMEOUT,
) -> Iterator[JsonObject]:
    """The same for an absolute directory, with more known at each step; what takes longest comes last."""
    left_out = [os.path.realpath(os.path.join(os.fsencode(directory), os.fsencode(path))) for path in ignore]
    tree = WorkTree.find(os.fsencode(directory), variables, time.monotonic() + timeout, left_out)
    if tree is None:
        return
    branch = None if tree.branch is None else json_name(tree.branch).text
    state: JsonObject = {"commit": tree.commit, "branch": branch, "dirty": None, "diff_sha256": None}
    yield state
    try:
        seen = tree.examine()
    except GitError:
        return
    yield (state := {**state, "dirty": seen.is_dirty})
    yield {**state, "diff_sha256": diff_sha256(seen)}
