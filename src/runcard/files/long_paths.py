"""Reaching what lies deep below a directory: a path may be longer than the system takes in one piece."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from runcard.files.names import encode_name

_LONGEST = 4000  # bytes; Linux takes 4,095
_OPEN = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def reach(top: int, path: str) -> Iterator[tuple[int, bytes]]:
    """A descriptor and a path relative to it that together mean `path` below the directory `top`."""
    rest, place = encode_name(path), top
    try:
        while len(rest) > _LONGEST:
            at = rest.rindex(b"/", 0, _LONGEST)
            first, rest = rest[:at], rest[at + 1 :]
            inner = os.open(first, _OPEN, dir_fd=place)
            if place != top:
                os.close(place)
            place = inner
        yield place, rest
    finally:
        if place != top:
            os.close(place)
