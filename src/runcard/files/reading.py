"""Reading a file that may be anything: one that a user named, or one of a record; never waiting for ever."""

import errno
import os
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from runcard.errors import RuncardError, StoreError
from runcard.files.names import printable
from runcard.files.opening import NotRegularFileError, open_regular
from runcard.files.os_errors import failure

_MORE = 1 << 20  # bytes, of a file that grows meanwhile
_STEP = 1 << 16  # to ask for much more than there is would take longer than reading it
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Not blocking, so that opening a FIFO nobody writes to does not wait for ever.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def read_file(path: str, most: int, *, only_regular: bool = False) -> bytes:
    """The bytes of a file, at most one more than `most`, so that the caller sees when there are too many.

    A pipe that the user named is read to its end. With `only_regular`, for paths that a document or a folder gave, what is
    not a regular file is an error.
    """
    try:
        descriptor = open_regular(path, follow=True) if only_regular else os.open(path, _OPEN)
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
    """What is left of a stream, at most one byte more than `most`."""
    parts, left = [], most + 1
    while left > 0 and (part := file.read(min(left, _STEP))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def unreadable(error: OSError, path: str) -> RuncardError:
    """Why a file that somebody named cannot be read."""
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
    descriptor = os.open(path, _READ)
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            return None
        parts, size = (
            [],
            status.st_size + 1,
        )  # one more: so a file is read in one step, and its end in another
        while part := os.read(descriptor, size):
            parts.append(part)
            size = _MORE
        return b"".join(parts)
    finally:
        os.close(descriptor)
