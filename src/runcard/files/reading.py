"""Read the whole of a file that a user named or that belongs to a record, without ever blocking."""

import errno
import os
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from runcard.errors import RuncardError, StoreError
from runcard.files.names import printable
from runcard.files.opening import NotRegularFileError, open_readable, open_regular
from runcard.files.os_errors import failure

_GROWTH_BLOCK = 1 << 20  # bytes, for a file that grows while it is read
_BLOCK = 1 << 16  # asking for much more than there is takes longer than reading it


def read_file(path: str, most: int, *, only_regular: bool = False) -> bytes:
    """Read a file, at most one byte more than `most`, so that the caller can tell that it is too large.

    A pipe that the user named is read to its end. With `only_regular`, for paths from a document or a folder, anything but
    a regular file is an error.
    """
    try:
        descriptor = open_regular(path, follow=True) if only_regular else open_readable(path)
        try:
            if S_ISDIR(os.fstat(descriptor).st_mode):
                raise StoreError(f"{printable(path)} is a directory", hint="name a file")
            os.set_blocking(descriptor, True)
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                return read_stream(file, most)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unreadable(error, path) from error


def read_stream(file: BinaryIO, most: int) -> bytes:
    """Read the rest of a stream, at most one byte more than `most`."""
    parts, left = [], most + 1
    while left > 0 and (part := file.read(min(left, _BLOCK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def unreadable(error: OSError, path: str) -> RuncardError:
    """The error for a file that the user named and that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return StoreError(f"{printable(path) or repr('')} does not exist", hint="check the path")
    if isinstance(error, NotRegularFileError) and error.type != "directory":
        return StoreError(f"{printable(path)} is a {error.type}, not a file", hint="name a file")
    if isinstance(error, IsADirectoryError | NotRegularFileError):
        return StoreError(f"{printable(path)} is a directory", hint="name a file")
    if error.errno == errno.ENXIO:
        return StoreError(f"{printable(path)} is a socket or a device, not a file", hint="name a file")
    return failure(error, path, "read")


def read_regular(path: str) -> bytes | None:
    """The bytes of a regular file; None for a FIFO or a device. A link raises OSError (ELOOP)."""
    descriptor = open_readable(path, follow=False)
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            return None
        parts: list[bytes] = []
        size = status.st_size + 1  # one byte more, to see that it is the end
        while part := os.read(descriptor, size):
            if len(part) == status.st_size and not parts:
                return part
            parts.append(part)
            size = _GROWTH_BLOCK
        return b"".join(parts)
    finally:
        os.close(descriptor)
