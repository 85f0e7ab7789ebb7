"""A user's files under names that runcard takes: they go aside, and nothing is lost.

Where they go is decided first and done later, so that it can be written down in between.
"""

import contextlib
import os
from collections.abc import Collection, Iterable
from itertools import count

from runcard.files.rename_noreplace import rename_noreplace
from runcard.store import layout


def places(run: str, names: Collection[str]) -> dict[str, str]:
    """Where files of a run's directory go: by name, the path relative to it."""
    if not names:
        return {}
    folder = next(name for name in _numbered(layout.USER, "-") if _is_folder_or_free(os.path.join(run, name)))
    return {name: _free(run, folder, name) for name in names}


def put_aside(run: str, moves: dict[str, str]) -> None:
    """Move each file to its place, where nothing may be."""
    directory = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name, place in moves.items():
            os.makedirs(os.path.join(run, os.path.dirname(place)), exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # a process that is still at work took it away
                rename_noreplace(name, place, directory)
    finally:
        os.close(directory)


def _free(run: str, folder: str, name: str) -> str:
    paths = (f"{folder}/{numbered}" for numbered in _numbered(name, "."))
    return next(path for path in paths if not os.path.lexists(os.path.join(run, path)))


def _numbered(name: str, mark: str) -> Iterable[str]:
    yield name
    for number in count(2):
        yield f"{name}{mark}{number}"


def _is_folder_or_free(path: str) -> bool:
    """Whether files can go there; a link may lead out of the run, and a file is the user's."""
    return not os.path.lexists(path) or (os.path.isdir(path) and not os.path.islink(path))
