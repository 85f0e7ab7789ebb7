"""Reading one document from disk."""

import os
import sys
from typing import TYPE_CHECKING, Literal, overload

from runcard.documents import reader
from runcard.documents.document import Document
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import KINDS
from runcard.encoding import Limits
from runcard.errors import StoreError, UsageError
from runcard.files import printable, read_file, read_stream, unreadable

if TYPE_CHECKING:  # a command imports those of the documents that it reads
    from runcard.documents.archive_index import ArchiveIndex
    from runcard.documents.run.generation import Generation
    from runcard.documents.session.instance import Instance
    from runcard.documents.session.manifest import Manifest
    from runcard.documents.session.team import Team
    from runcard.documents.testplan.plan import TestPlan

STDIN = "-"

StrPath = str | os.PathLike[str]


@overload
def load(path: StrPath, *, kind: Literal["generation"], limits: Limits | None = None) -> "Generation": ...
@overload
def load(path: StrPath, *, kind: Literal["team"], limits: Limits | None = None) -> "Team": ...
@overload
def load(path: StrPath, *, kind: Literal["instance"], limits: Limits | None = None) -> "Instance": ...
@overload
def load(path: StrPath, *, kind: Literal["manifest"], limits: Limits | None = None) -> "Manifest": ...
@overload
def load(
    path: StrPath, *, kind: Literal["archive-index"], limits: Limits | None = None
) -> "ArchiveIndex": ...
@overload
def load(path: StrPath, *, kind: Literal["testplan"], limits: Limits | None = None) -> "TestPlan": ...
@overload
def load(path: StrPath, *, kind: str | None = None, limits: Limits | None = None) -> Document: ...
def load(path: StrPath, *, kind: str | None = None, limits: Limits | None = None) -> Document:
    """Read the document in a file.

    The kind is detected from the content. With `kind`, a document of another kind is invalid, and type checkers know the
    class of the result. Raises InvalidDocument with all findings.
    """
    check_kind(kind)
    name = os.fspath(path)
    try:
        data = read_document(name, limits or Limits())
        return reader.load_document(data, kind=kind, limits=limits, is_yaml=is_yaml_name(name))
    except InvalidDocument as error:
        raise InvalidDocument(error.report, printable(name)) from None


def is_yaml_name(path: str) -> bool:
    """Whether a name is that of a YAML file: then a text that is not JSON is checked as YAML, even if it does not look like a plan."""
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
