"""Which run made a file, from which inputs, and so on up to the first: `runcard whence`.

Files are compared by their content, never by names or times. Two runs with the same output are both named.
"""

import os
from dataclasses import dataclass, field

from runcard.catalog.database import CatalogDatabase
from runcard.catalog.rows import digest_bytes
from runcard.catalog.searching import FileMatch, files_with, inputs_of, records_of_commit
from runcard.digests import sha256_stream
from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import open_regular, printable, unreadable
from runcard.observe.git import resolve_commit
from runcard.operations.catalog.open import open_catalog

_DEEPEST = 20  # runs, one after another
_MOST = 1000  # files that are followed


@dataclass(frozen=True)
class SourceFile:
    """A file that a run read, and the runs that made it."""

    path: str
    digest: str
    made_by: "tuple[Maker, ...]"

    def to_dict(self, reader: FileMatch) -> JsonObject:
        """As JSON; a maker that started after the reader is marked."""
        return {
            "file": self.path,
            "digest": self.digest,
            "made_by": [
                maker.to_dict() | {"started_later": maker.started_after(reader)} for maker in self.made_by
            ],
        }


@dataclass(frozen=True)
class Maker:
    """A run that made a file."""

    match: FileMatch
    inputs: tuple[SourceFile, ...] = ()

    def started_after(self, reader: FileMatch) -> bool:
        """Whether it started after the run that read the file, which so had the same content from elsewhere."""
        started = self.match.started
        return started is not None and reader.started is not None and started > reader.started

    def to_dict(self) -> JsonObject:
        return _entry(self.match) | {"inputs": [source.to_dict(self.match) for source in self.inputs]}


@dataclass(frozen=True)
class Whence:
    """Where a file comes from, and who read it."""

    digest: str | None  # None: a commit was asked for
    made_by: tuple[Maker, ...]
    read_by: tuple[FileMatch, ...] = field(default=())
    warning: str | None = None  # why the catalog is not up to date

    def to_dict(self) -> JsonObject:
        return {
            "digest": self.digest,
            "made_by": [maker.to_dict() for maker in self.made_by],
            "read_by": [_entry(match) for match in self.read_by],
        }


def whence(
    target: str | None = None,
    *,
    commit: str | None = None,
    catalog: str | None = None,
    stores: list[str] | None = None,
) -> Whence:
    """The records that made a file (a path, or a digest), or that were made with a commit of the code.

    Raises StoreError if there are none.
    """
    if (target is None) == (commit is None):
        raise UsageError(
            "name a FILE or a DIGEST, or pass --commit", hint="how to name one: runcard whence --help"
        )
    with open_catalog(stores, catalog) as database:
        if target is None:
            return _of_commit(database, str(commit))
        digest = _digest(target)
        sources = _Sources(database)
        made_by = sources.makers(digest, 0)
        read_by = tuple(files_with(database, digest, is_input=True))
        warning = database.warning
    if not made_by and not read_by:
        raise StoreError(
            f"no known record made or read {printable(target)}",
            hint="records of a folder that was never used here are found after `runcard index` in it",
        )
    return Whence(f"sha256:{digest.hex()}", made_by, read_by, warning)


def _of_commit(database: CatalogDatabase, revision: str) -> Whence:
    commit = resolve_commit(revision, os.getcwd()) or revision.lower()
    if len(commit) < 4 or not set(commit) <= set("0123456789abcdef"):
        raise UsageError(
            f"{revision!r} is not a commit", hint="write its hash, or run this in its repository"
        )
    found = tuple(Maker(match) for match in records_of_commit(database, commit))
    if not found:
        raise StoreError(
            f"no known record was made with the commit {commit}", hint="see: runcard ls --columns id,commit"
        )
    return Whence(None, found, warning=database.warning)


def _digest(target: str) -> bytes:
    """The digest of a file; or the one that is written there, if there is no such file."""
    if not os.path.lexists(target) and (stated := digest_bytes(target.lower())) is not None:
        return stated
    if target.startswith("sha256:") and not os.path.lexists(target):
        raise UsageError(
            f"{printable(target)} is not a digest", hint="write all 64 hex digits of it, or name the file"
        )
    try:
        with open(open_regular(target, follow=True), "rb") as file:
            return bytes.fromhex(sha256_stream(file).hex)
    except OSError as error:
        raise unreadable(error, target) from error


class _Sources:
    """Follows files upwards; each file is followed once."""

    def __init__(self, database: CatalogDatabase) -> None:
        self._database = database
        self._followed: set[bytes] = set()

    def makers(self, digest: bytes, depth: int) -> tuple[Maker, ...]:
        if digest in self._followed or len(self._followed) >= _MOST or depth > _DEEPEST:
            return ()
        self._followed.add(digest)
        found = files_with(self._database, digest, is_input=False)
        return tuple(Maker(match, self._inputs(match, depth)) for match in found)

    def _inputs(self, match: FileMatch, depth: int) -> tuple[SourceFile, ...]:
        inputs = inputs_of(self._database, match.record)
        return tuple(
            SourceFile(path, f"sha256:{digest.hex()}", self.makers(digest, depth + 1))
            for path, digest in inputs
        )


def _entry(match: FileMatch) -> JsonObject:
    entry: JsonObject = {"id": match.id, "path": match.path, "file": match.file, "started": match.started}
    return entry | ({"stored_on": match.stored_on} if match.stored_on else {})
