"""Reading one document from disk."""

import os
import stat
import sys
from typing import BinaryIO

from runcard.documents import codec
from runcard.documents.document import Document
from runcard.documents.findings import InvalidDocument
from runcard.encoding import Limits
from runcard.errors import StoreError
from runcard.files import failure, printable

STDIN = "-"

# Not blocking, so that opening a FIFO nobody writes to does not wait for ever.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def load(path: str | os.PathLike[str], *, kind: str | None = None, limits: Limits | None = None) -> Document:
    """The document in a file; raises InvalidDocument with everything that is wrong with it."""
    name = os.fspath(path)
    try:
        return codec.load(read_document(name, limits or Limits()), kind=kind, limits=limits)
    except InvalidDocument as error:
        raise InvalidDocument(error.report, printable(name)) from None


def read_document(path: str, limits: Limits) -> bytes:
    """The bytes of a document, at most one more than the limit; `-` is standard input."""
    if path == STDIN:
        return _read(sys.stdin.buffer, limits)
    try:
        descriptor = os.open(path, _OPEN)
    except OSError as error:
        raise failure(error, path, "read") from error
    with open(descriptor, "rb", buffering=0) as file:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise StoreError(f"{printable(path)} is a directory", hint="name a file")
        os.set_blocking(descriptor, True)
        try:
            return _read(file, limits)
        except OSError as error:
            raise failure(error, path, "read") from error


def _read(file: BinaryIO, limits: Limits) -> bytes:
    parts, left = [], limits.size + 1
    while left > 0 and (part := file.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
