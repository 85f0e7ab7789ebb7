"""Which stores a server reads: nothing outside of them can be named, listed, searched or opened.

A record is named by its id, the name of its directory, `@latest`, or a path inside a store. Links are resolved first, so a
link in a store that leads elsewhere names nothing.
"""

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import TypedDict

from runcard.encoding import Limits
from runcard.errors import StoreError
from runcard.files import printable
from runcard.files.user_folders import data_folder
from runcard.operations.catalog.open import is_store
from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings
from runcard.store import layout
from runcard.store.find_record import open_record
from runcard.store.name_search import find_by_name
from runcard.store.record import DirectoryRecord, Record

_HINT = (
    "list_records lists those that can be read; more stores can be read if the server is started with --store"
)


class CatalogChoice(TypedDict):
    """Arguments of the operations that ask a catalog."""

    catalog: str  # its file
    stores: list[str]  # that it is brought up to date with


class ReadableStores:
    """The stores that a server reads: those that it was started with, or the configured ones and those of experiments."""

    def __init__(self, folders: Sequence[str] = (), *, limits: Limits | None = None) -> None:
        self._named = [os.path.realpath(folder) for folder in folders]
        self._limits = limits
        self._here = os.path.realpath(os.curdir)

    @property
    def folders(self) -> list[str]:
        """The real paths of the stores, whether or not they are there yet."""
        if self._named:
            return self._named
        settings = read_settings()
        configured = [os.path.realpath(folder) for folder in (settings[OUTPUTS], settings[ARTIFACTS_DIR])]
        experiments = [os.path.realpath(folder) for folder in layout.experiment_outputs()]
        inside = [folder for folder in experiments if _is_inside(folder, self._here)]
        return list(dict.fromkeys([*configured, *inside]))

    @property
    def existing(self) -> list[str]:
        return [folder for folder in self.folders if is_store(folder)]

    def catalog(self) -> CatalogChoice:
        """A catalog of these stores alone: that of the user has all others as well."""
        folder, stores = data_folder(), self.existing
        if folder is None:
            raise StoreError("there is no home for the catalog", hint="set XDG_DATA_HOME to a folder")
        key = sha256("\0".join(stores).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return {"catalog": os.path.join(folder, f"mcp-{key}.db"), "stores": stores}

    def open(self, word: str) -> Record:
        """The record that a word names; raises StoreError for one that is not in these stores."""
        if "\0" not in word and os.path.realpath(word) in self.folders:
            raise StoreError(
                f"{printable(word)} is a store, not a record",
                hint="list_records lists its records: name one of them",
            )
        if os.sep in word or word in {os.curdir, os.pardir} or "\0" in word:
            record = self._at(word)
        else:
            record = find_by_name(word, only=self.folders).open(self._limits)
        self._check(record, word)
        return record

    def _at(self, path: str) -> Record:
        if "\0" in path or os.pardir in path.split(os.sep):
            raise StoreError(
                f"the path {printable(path)!r} is refused: it contains '..' or a NUL byte", hint=_HINT
            )
        real = os.path.realpath(path)
        if not self._has(real):
            raise _outside(path)
        return open_record(real, self._limits)

    def _check(self, record: Record, word: str) -> None:
        """Refuse a record that is elsewhere, or whose document is: a link or a ledger can lead there."""
        real = os.path.realpath(record.path)
        if not self._has(real):
            raise _outside(word)
        document = os.path.join(record.path, layout.METADATA)
        if isinstance(record, DirectoryRecord) and os.path.islink(document):
            raise StoreError(
                f"the document of {printable(word)} is a link",
                hint="the record was changed: see what verify_record says",
            )

    def _has(self, real: str) -> bool:
        return any(_is_inside(real, folder) and real != folder for folder in self.folders)


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _outside(word: str) -> StoreError:
    """The same whether something is there or not."""
    return StoreError(f"{printable(word)} is not a record of the stores of this server", hint=_HINT)
