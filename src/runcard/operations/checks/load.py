"""Reading one document from disk."""

import os
import sys

from runcard.documents import reader
from runcard.documents.document import Document
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import KINDS
from runcard.encoding import Limits
from runcard.errors import StoreError, UsageError
from runcard.files import printable, read_file, read_stream, unreadable

STDIN = "-"


def load(path: str | os.PathLike[str], *, kind: str | None = None, limits: Limits | None = None) -> Document:
    """The document in a file; raises InvalidDocument with everything that is wrong with it."""
    check_kind(kind)
    name = os.fspath(path)
    try:
        data = read_document(name, limits or Limits())
        return reader.load_document(data, kind=kind, limits=limits, is_yaml=is_yaml_name(name))
    except InvalidDocument as error:
        raise InvalidDocument(error.report, printable(name)) from None


def is_yaml_name(path: str) -> bool:
    """Whether a name promises YAML: then what is no JSON is judged as YAML, however little it looks like a plan."""
    return path.endswith((".yml", ".yaml"))


def check_kind(kind: str | None) -> None:
    """Raise UsageError for the name of a kind that does not exist."""
    if kind is not None and kind not in KINDS:
        raise UsageError(f"no such kind: {kind}", hint=f"one of {', '.join(sorted(KINDS))}")


def read_document(path: str, limits: Limits) -> bytes:
    """The bytes of a document, at most one more than the limit; `-` is standard input."""
    if path != STDIN:
        return read_file(path, limits.size)
    if sys.stdin is None:
        raise StoreError("standard input is closed", hint="send the document there, or name a file")
    try:
        return read_stream(sys.stdin.buffer, limits.size)
    except OSError as error:
        raise unreadable(error, path) from error
