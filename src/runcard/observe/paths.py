"""Paths: the directory a run starts in, the repository around it, and paths in messages."""

import os

from runcard.files import decode_name, printable


def absolute_path(directory: str | os.PathLike[str]) -> str:
    """The absolute path of a directory; unchanged when the current directory is gone."""
    try:
        return os.path.abspath(os.fspath(directory))
    except OSError:
        return os.fspath(directory)


def repository_root(directory: str) -> str | None:
    """The nearest directory, from an absolute one upwards, with a `.git`: a folder, or a file in a worktree."""
    while not os.path.lexists(os.path.join(directory, ".git")):
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above
    return directory


def display_path(path: str) -> str:
    """A path as a message can show it."""
    return printable(decode_name(os.fsencode(path)))
