"""Where the files of a record come from that is being verified: its directory, or an archive."""

import os
from typing import TYPE_CHECKING, Protocol

from runcard.checksums import Listing
from runcard.checksums.comparison import Comparison, compare
from runcard.errors import StoreError
from runcard.files import failure, printable, read_regular
from runcard.store import layout
from runcard.store.amendments.read import Amendments, parse_amendments

if (
    TYPE_CHECKING
):  # archives are opened by threads, which take long to load and which a directory does not need
    from runcard.checksums.progress import Progress
    from runcard.store.archives.scan import Fault


_MOST = (
    1 << 30
)  # bytes of a file that is read as a whole; nobody needs so much memory for one that was made to be huge


class TooLargeError(StoreError):
    """A document, list or journal that is too large to be read as a whole."""


class Source(Protocol):
    """A record, wherever it lies."""

    @property
    def name(self) -> str:
        """The name of its directory."""

    @property
    def store(self) -> str | None:
        """The store whose ledgers know it; None where nobody can tell."""

    @property
    def faults(self) -> "list[Fault]":
        """What is wrong with the place itself."""

    def read(self, name: str) -> bytes | None:
        """A file of the record itself; None when there is none. Raises RuncardError when it cannot be read."""

    def has(self, name: str) -> bool:
        """Whether anything has this name."""

    def has_file(self, name: str) -> bool:
        """Whether a file has this name."""

    def instances(self) -> list[str]:
        """The instances of a session that have a document."""

    def amendments(self) -> Amendments:
        """What was changed in the open."""

    def compare(self, listing: Listing, progress: "Progress | None") -> Comparison:
        """All that differs from the list of checksums."""


def opened(path: str) -> "Directory":
    """A record in its directory; raises OSError when nobody may look into it at all."""
    os.scandir(path).close()
    return Directory(path)


class Directory:
    """A record in its directory; what a link leads to is never read."""

    faults: "list[Fault]" = []  # noqa: RUF012 - a directory has none, and nobody adds one

    def __init__(self, path: str) -> None:
        self._path = path
        self.name = os.path.basename(path)
        self.store = layout.store_of(path)

    def read(self, name: str) -> bytes | None:
        path = os.path.join(self._path, name)
        if not layout.may_be_file(path):
            return None
        try:
            if os.lstat(path).st_size > _MOST:
                raise TooLargeError(f"{printable(name)} is larger than 1 GiB: it was not read")
            return read_regular(path)
        except OSError as error:
            raise failure(error, path, "read") from error

    def has(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self._path, name))

    def has_file(self, name: str) -> bool:
        return layout.may_be_file(os.path.join(self._path, name))

    def instances(self) -> list[str]:
        documents = layout.session_documents(self._path)
        folders = [os.path.split(os.path.dirname(path)) for path in documents]
        return [name for above, name in folders if os.path.basename(above) == layout.INSTANCES]

    def amendments(self) -> Amendments:
        return parse_amendments(self.read(layout.AMENDMENTS))

    def compare(self, listing: Listing, progress: "Progress | None") -> Comparison:
        return compare(self._path, listing, exclude=layout.NOT_LISTED, progress=progress)
