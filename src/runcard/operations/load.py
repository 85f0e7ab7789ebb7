"""Reading one document from disk."""

import errno
import os
import stat
import sys
from typing import BinaryIO

from runcard.documents import codec
from runcard.documents.document import Document
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import KINDS
from runcard.encoding import Limits
from runcard.errors import RuncardError, StoreError, UsageError
from runcard.files import failure, printable

STDIN = "-"

# Not blocking, so that opening a FIFO nobody writes to does not wait for ever.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_STEP = 1 << 16


def load(path: str | os.PathLike[str], *, kind: str | None = None, limits: Limits | None = None) -> Document:
    """The document in a file; raises InvalidDocument with everything that is wrong with it."""
    check_kind(kind)
    name = os.fspath(path)
    try:
        return codec.load(read_document(name, limits or Limits()), kind=kind, limits=limits)
    except InvalidDocument as error:
        raise InvalidDocument(error.report, printable(name)) from None


def check_kind(kind: str | None) -> None:
    """Raise UsageError for the name of a kind that does not exist."""
    if kind is not None and kind not in KINDS:
        raise UsageError(f"no such kind: {kind}", hint=f"one of {', '.join(sorted(KINDS))}")


def read_document(path: str, limits: Limits) -> bytes:
    """The bytes of a document, at most one more than the limit; `-` is standard input."""
    try:
        if path == STDIN:
            return _read_stdin(limits)
        descriptor = os.open(path, _OPEN)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise StoreError(f"{printable(path)} is a directory", hint="name a file")
            os.set_blocking(descriptor, True)
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                return _read(file, limits, status.st_size)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unreadable(error, path) from error


def unreadable(error: OSError, path: str) -> RuncardError:
    """Why a file that somebody named cannot be read."""
    if isinstance(error, FileNotFoundError):
        return StoreError(f"{printable(path)} does not exist", hint="check the path")
    if error.errno == errno.ENXIO:
        return StoreError(f"{printable(path)} is a socket or a device, not a file", hint="name a file")
    return failure(error, path, "read")


def _read_stdin(limits: Limits) -> bytes:
    if sys.stdin is None:
        raise StoreError("standard input is closed", hint="send the document there, or name a file")
    return _read(sys.stdin.buffer, limits)


def _read(file: BinaryIO, limits: Limits, size: int = 0) -> bytes:
    """What there is, at most one byte more than the limit; `size` is what the system says, which may be too little."""
    parts, left = [], limits.size + 1
    step = max(size + 1, _STEP)  # to ask for much more than there is would take longer than reading it
    while left > 0 and (part := file.read(min(left, step))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
