"""The results of copying a workspace and a transcript, as plain values.

Invariant: a path is in `files` or `symlinks` exactly when it was stored; one that is stored but differs from its source
has an omission as well.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from runcard.checksums import Symlink
from runcard.files import PathTable, file_type


class CopiedFile(NamedTuple):
    """A stored file; digests are 64 hex digits. `source_sha256` is there when masking changed the bytes."""

    path: str
    size: int
    sha256: str
    source_sha256: str | None = None


class CopiedFiles:
    """Stored files, in the order of the bytes of their paths; those of a large workspace are not all in memory."""

    def __init__(self) -> None:
        self.size = 0  # bytes of all of them
        self._facts: PathTable[tuple[int, str, str | None]] = PathTable()
        self._types: Counter[str] = Counter()

    def add(self, files: Iterable[CopiedFile]) -> None:
        """Add some files."""
        facts = {file.path: (file.size, file.sha256, file.source_sha256) for file in files}
        self._facts.update(facts)
        self._types.update(map(file_type, facts))
        self.size += sum(size for size, _, _ in facts.values())

    def __iter__(self) -> Iterator[CopiedFile]:
        return (CopiedFile(path, *facts) for path, facts in self._facts)

    def __len__(self) -> int:
        return self._types.total()

    @property
    def types(self) -> dict[str, int]:
        """The number of files by suffix, in lower case with its dot."""
        return dict(sorted(self._types.items()))


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

    files: CopiedFiles
    symlinks: tuple[Symlink, ...]
    omissions: tuple[Omission, ...]
    excluded: dict[str, int]
    redactions: tuple[Redaction, ...]


@dataclass(frozen=True, slots=True)
class CopiedLog:
    """A transcript; without `file` nothing was stored, and an omission has the reason."""

    file: CopiedFile | None
    lines: int
    omissions: tuple[Omission, ...]
    redactions: tuple[Redaction, ...]
