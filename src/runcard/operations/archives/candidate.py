"""A record or an archive that could be deleted."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.store.archives.index import ArchiveEntry
from runcard.store.remote.urls import is_url


class Leftover(NamedTuple):
    """What a command left that was killed while it deleted or archived a record."""

    path: str
    bytes: int
    about: str

    def to_dict(self) -> JsonObject:
        return {"path": printable(self.path), "bytes": self.bytes, "about": self.about}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record or an archive that could be deleted."""

    path: str
    kind: str  # session or run
    id: str
    name: str
    ended: datetime  # its work
    bytes: int  # that it takes
    sha256: str  # of its metadata document
    store: str
    entry: ArchiveEntry | None  # of an archive in a folder on this machine
    doubt: str | None = None  # a reason to keep it that is known before it is verified

    def to_dict(self) -> JsonObject:
        return {
            "path": printable(self.path),
            "kind": self.kind,
            "archive": self.entry is not None or is_url(self.path),
            "bytes": self.bytes,
        }
