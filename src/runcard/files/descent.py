"""Changing a file below a directory whose names come from a document: no symbolic link is passed on the way.

Invariant: what is opened, replaced or removed here lies in the directory, also when somebody swaps a part of the path for
a link meanwhile.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from runcard.files.names import encode_name

_OPEN = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def beneath(root: str, path: str) -> Iterator[tuple[int, bytes]]:
    """A descriptor of the directory that a relative path lies in, and the name there; raises OSError at a link."""
    *folders, name = encode_name(path).split(b"/")
    place = os.open(root, _OPEN)
    try:
        for folder in folders:
            inner = os.open(folder, _OPEN | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = inner
        yield place, name
    finally:
        os.close(place)
