"""The lines of a file of any size, in flat memory.

A line longer than `LONGEST` is given without its end. A byte order mark is left out. A file that grows meanwhile is read
as long as it was when it was opened, so that reading ends.
"""

import os
from collections.abc import Iterator
from typing import BinaryIO

LONGEST = 16 << 20  # bytes of a line; what an agent writes is far below
LINE_END = 8  # bytes that may follow the last brace of a line, and more
_BLOCK = 1 << 18
_BOM = b"\xef\xbb\xbf"


def read_lines(file: BinaryIO, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes, bool]]:
    """The number, the bytes and the completeness of each line that begins in this part of a file.

    Lines are numbered from 1, in the part. Part of a file is for a file in which no line depends on another.
    """
    position = start
    if start:
        file.seek(start - 1)
        position += _skip(file) - 1  # the line that began before
    number = 0
    while (end is None or position < end) and (line := file.readline(LONGEST)):
        number += 1
        position += len(line)
        if len(line) < LONGEST or line.endswith(b"\n"):
            yield number, line.removeprefix(_BOM) if number == 1 else line, True
        else:
            if end is None or position < end:  # otherwise this is the last line, and its rest is not needed
                position += _skip(file)
            yield number, line, False


def _skip(file: BinaryIO) -> int:
    """Read to the end of the line; how many bytes that were."""
    size = 0
    while part := file.readline(_BLOCK):
        size += len(part)
        if part.endswith(b"\n"):
            break
    return size


def open_lines(descriptor: int) -> BinaryIO:
    """A buffered file for an open descriptor."""
    os.set_blocking(descriptor, True)
    return open(descriptor, "rb", buffering=_BLOCK)
