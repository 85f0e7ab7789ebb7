"""Where a run starts, and the repository around it. Nothing is read here but names."""

import os


def absolute(directory: str | os.PathLike[str]) -> str:
    """The absolute path of a directory; as it was given when the current directory is gone."""
    try:
        return os.path.abspath(os.fspath(directory))
    except OSError:
        return os.fspath(directory)


def repository_root(directory: str) -> str | None:
    """The nearest directory, from an absolute one upwards, that has a `.git`: a folder, or a file in a worktree."""
    while not os.path.lexists(os.path.join(directory, ".git")):
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above
    return directory
