"""Where the bytes of an archive come from: a file here, or an object in a bucket.

All that reads archives asks for `size` bytes in parts, by offset, so it does not matter where they are.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from runcard.files import open_regular


class ArchiveSource(Protocol):
    """The bytes of one archive."""

    @property
    def size(self) -> int:
        """How many there are."""

    def read(self, offset: int, length: int) -> bytes:
        """Some of them; fewer at the end."""


class FileSource:
    """An archive in an open file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)


@contextmanager
def open_descriptor(descriptor: int) -> Iterator[ArchiveSource]:
    """An archive in an open file, which stays open."""
    yield FileSource(descriptor)


@contextmanager
def open_file(path: str) -> Iterator[ArchiveSource]:
    """An archive on this machine."""
    descriptor = open_regular(path, follow=True)
    try:
        yield FileSource(descriptor)
    finally:
        os.close(descriptor)
