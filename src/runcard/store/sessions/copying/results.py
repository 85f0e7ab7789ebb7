"""The results of copying a workspace and a transcript, as plain values.

Invariant: a path is in `files` or `symlinks` exactly when it was stored; one that is stored but differs from its source
has an omission as well.
"""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from runcard.checksums import Symlink
from runcard.files import file_type


class CopiedFile(NamedTuple):
    """A stored file; digests are 64 hex digits. `source_sha256` is there when masking changed the bytes."""

    path: str
    size: int
    sha256: str
    source_sha256: str | None = None


class Omission(NamedTuple):
    """A path that was not stored, or differs from its source, and why; the workspace itself has the path `.`."""

    path: str
    reason: str
    is_stored: bool = False


@dataclass(frozen=True, slots=True)
class Redaction:
    """How many secrets a rule masked in a file."""

    rule: str
    path: str
    count: int


@dataclass(frozen=True, slots=True)
class CopiedWorkspace:
    """A workspace; everything is in the order of the bytes of its path, and `excluded` counts by pattern."""

    files: tuple[CopiedFile, ...]
    symlinks: tuple[Symlink, ...]
    omissions: tuple[Omission, ...]
    excluded: dict[str, int]
    redactions: tuple[Redaction, ...]

    @property
    def size(self) -> int:
        """The bytes of all stored files."""
        return sum(file.size for file in self.files)

    @property
    def file_types(self) -> dict[str, int]:
        """The number of files by suffix, in lower case with its dot."""
        return dict(sorted(Counter(file_type(file.path) for file in self.files).items()))


@dataclass(frozen=True, slots=True)
class CopiedLog:
    """A transcript; without `file` nothing was stored, and an omission has the reason."""

    file: CopiedFile | None
    lines: int
    omissions: tuple[Omission, ...]
    redactions: tuple[Redaction, ...]
