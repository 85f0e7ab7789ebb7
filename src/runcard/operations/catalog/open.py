"""Open the catalog, and bring it up to date before it is asked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.filling import catch_up
from runcard.files.user_folders import data_folder
from runcard.settings import CATALOG, Settings, read_settings
from runcard.store import layout
from runcard.store.find_record import stores_at_hand
from runcard.store.known_stores import known_stores

_FILE = "catalog.db"


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
def open_catalog(stores: list[str] | None = None, path: str | None = None) -> Iterator[CatalogDatabase]:
    """The catalog, or that in another file, up to date with these stores, by default with all that are known."""
    with CatalogDatabase(path or catalog_path()) as database:
        for store in stores_to_ask() if stores is None else stores:
            catch_up(database, store)
        yield database
