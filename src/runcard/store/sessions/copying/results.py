"""What became of a workspace and of a transcript: plain values, for whoever writes the documents.

Invariant: a path is in `files` or `symlinks` exactly when it was stored; what is stored and not quite as it was in the
source has an omission beside.
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
    """What was not stored, or not as it was in the source, and why; the workspace itself has the path `.`."""

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
class Copied:
    """A workspace: everything in the order of the bytes of its path; `excluded` counts by pattern."""

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
        """How many files have which last suffix, in lower case with its dot, or none."""
        return dict(sorted(Counter(file_type(file.path) for file in self.files).items()))


@dataclass(frozen=True, slots=True)
class CopiedLog:
    """A transcript; without `file` nothing was stored, and an omission says why."""

    file: CopiedFile | None
    lines: int
    omissions: tuple[Omission, ...]
    redactions: tuple[Redaction, ...]
