"""Reaching what lies deeper than a path can say: the system takes no path of more than 4,095 bytes at once.

A long path is walked in stages. No symbolic link at the end of a stage is followed.
"""

import os

from runcard.files.names import encode_name

_STAGE = 3840  # bytes; a name has 255 at most, so there is a `/` in each
_THROUGH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_directory(top: int, path: str) -> int:
    """Open a directory by its path from another one that is open; it is no symbolic link."""
    return _open(top, encode_name(path) or b".", _OPEN | os.O_NOFOLLOW)


def read_link(root: str | os.PathLike[str], path: str) -> bytes:
    """The text of the symbolic link at a path below `root`."""
    folder, _, name = encode_name(path).rpartition(b"/")
    top = os.open(root, _OPEN)
    try:
        parent = _open(top, folder or b".", _THROUGH)
        try:
            return os.readlink(name, dir_fd=parent)
        finally:
            os.close(parent)
    finally:
        os.close(top)


def _open(top: int, path: bytes, flags: int) -> int:
    here = top
    try:
        while len(path) > _STAGE:
            cut = path.rindex(b"/", 0, _STAGE)
            inner = os.open(path[:cut], _THROUGH, dir_fd=here)
            if here != top:
                os.close(here)
            here, path = inner, path[cut + 1 :]
        return os.open(path, flags, dir_fd=here)
    finally:
        if here != top:
            os.close(here)
