"""Open the catalog, and bring it up to date before it is asked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.filling import catch_up, was_read
from runcard.errors import StoreError
from runcard.files.user_folders import data_folder
from runcard.settings import CATALOG, Settings, read_settings
from runcard.store import layout
from runcard.store.known_stores import known_stores
from runcard.store.stores_at_hand import stores_at_hand

_FILE = "catalog.db"
_PATIENCE = 4.0  # seconds to wait for other processes before a question, in all


def catalog_path(settings: Settings | None = None) -> str:
    """The file of the catalog: as the settings say, or in the user's data folder."""
    stated: str | None = (settings or read_settings())[CATALOG]
    if stated is not None:
        return os.path.abspath(stated)
    folder = data_folder()
    if folder is None:
        raise CatalogError("there is no home for the catalog", hint="name a file in RUNCARD_CATALOG")
    return os.path.join(folder, _FILE)


def stores_to_ask() -> list[str]:
    """The stores that records are looked for in: those that were noted, and those at hand."""
    at_hand = [os.path.realpath(store) for store in stores_at_hand() if is_store(store)]
    return list(dict.fromkeys([*at_hand, *known_stores()]))


def is_store(folder: str) -> bool:
    """Whether a folder has records: it has files of a store, or a directory that looks like a record."""
    return os.path.isdir(layout.own_folder(folder)) or bool(layout.records(folder))


@contextmanager
def open_catalog(
    stores: list[str] | None = None, path: str | None = None, *, reads_all: bool = True
) -> Iterator[CatalogDatabase]:
    """The catalog, or that in another file, up to date with these stores, by default with all that are known.

    If it cannot be brought up to date, because it is locked, read-only or on a full disk, it is as it was, with a warning;
    if it cannot be used at all, the stores are read into one in memory, unless `reads_all` is false.
    """
    wanted = stores_to_ask() if stores is None else stores
    try:
        with _current_catalog(wanted, path, reads_all=reads_all) as database:
            yield database
    except CatalogError as error:
        if error.is_damaged:
            with CatalogDatabase(path or catalog_path()) as damaged:
                damaged.clear()
            raise CatalogError(error.message, hint="ask again: the catalog is built anew") from error
        raise


def _current_catalog(stores: list[str], path: str | None, *, reads_all: bool) -> CatalogDatabase:
    deadline = monotonic() + _PATIENCE
    try:
        database = CatalogDatabase(path or catalog_path())
    except StoreError as error:
        if not reads_all:
            raise
        return _in_memory(stores, error)
    try:
        try:
            _catch_up_all(database, stores, deadline)
        except CatalogError as error:
            if not error.is_damaged:
                raise
            database.clear()
            _catch_up_all(database, stores, deadline)
    except StoreError as error:
        if not all(was_read(database, store) for store in stores):
            database.__exit__()
            if not reads_all:
                raise
            return _in_memory(stores, error)
        database.warning = f"{error.message}: this may not be the newest"
    except BaseException:
        database.__exit__()
        raise
    return database


def _catch_up_all(database: CatalogDatabase, stores: list[str], deadline: float) -> None:
    """Catch up with stores. Other processes are waited for until the deadline, however many stores there are."""
    with database.checked():
        for store in stores:
            left = max(0, deadline - monotonic())
            database.wait_at_most(left)
            catch_up(database, store, left)


def _in_memory(stores: list[str], error: StoreError) -> CatalogDatabase:
    database = CatalogDatabase(None)
    _catch_up_all(database, stores, monotonic())  # which nothing else uses
    database.warning = f"{error.message}: all records were read instead"
    return database
