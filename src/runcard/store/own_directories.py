"""The directories of a store that are runcard's own: `.runcard`, `.open`, `archive`, and those below them.

A store can come from another person, in a cloned repository for example, and a symbolic link in the place of one of these
directories would redirect what runcard deletes, moves or writes. So they are entered one by one, from the store down, and
no link is followed. The store's own directory is the user's and may be a link.

Invariants: a link raises StoreError that names it; work with a descriptor from here stays in the directory that was
checked, even if a part of its path is replaced meanwhile.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from runcard.files import failure, open_directory
from runcard.store import layout


@contextmanager
def open_own(store: str, folder: str, *, create: bool = False, mode: int = 0o777) -> Iterator[int]:
    """A descriptor of a directory of the store's own, by its path, which begins with `store`.

    With `create` it is made where it is missing. Raises StoreError for a link or a file in its place, and OSError, such as
    FileNotFoundError, for everything else.
    """
    names = filter(None, folder[len(store) :].split("/"))
    with open_directory(store or ".", *names, create=create, mode=mode) as descriptor:
        yield descriptor


@contextmanager
def own_entry(store: str, path: str) -> Iterator[tuple[int, str]]:
    """A descriptor of the directory that holds a path of the store's own, and the name in it."""
    folder, name = os.path.split(path)
    with open_own(store, folder) as descriptor:
        yield descriptor, name


def list_own(store: str, folder: str) -> list[str]:
    """The names in a directory of the store's own; none where it does not exist."""
    try:
        with open_own(store, folder) as descriptor:
            return os.listdir(descriptor)
    except FileNotFoundError:
        return []


def check_own(store: str, *folders: str) -> None:
    """Raise StoreError if one of the store's own directories is a link; one that does not exist is fine."""
    for folder in folders or (layout.own_folder(store),):
        try:
            with open_own(store, folder):
                pass
        except (FileNotFoundError, NotADirectoryError):  # also the store itself
            continue
        except OSError as error:
            raise failure(error, folder, "open") from error
