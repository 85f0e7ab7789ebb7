"""Fill the catalog: `runcard index`."""

import os
from collections.abc import Iterator, Sequence

from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.filling import FillResult, Progress, fill
from runcard.errors import StoreError
from runcard.files import printable
from runcard.operations.catalog.open import catalog_path, is_store, stores_to_ask
from runcard.store import layout
from runcard.store.known_stores import note_store

_DEEPEST = 8  # folders below a root in which stores are looked for


def index(
    roots: Sequence[str] = (), *, rebuild: bool = False, progress: Progress | None = None
) -> Iterator[FillResult]:
    """Bring the catalog up to date with all known stores, or with those at and below `roots`, looking at every record.

    With `rebuild` it is emptied first.
    """
    stores = [store for root in roots for store in _stores_below(root)] if roots else stores_to_ask()
    with CatalogDatabase(catalog_path()) as database:
        if rebuild:
            database.clear()
        done: list[str] = []
        for store in dict.fromkeys(map(os.path.realpath, stores)):
            note_store(store)
            yield _fill(database, store, done, progress)
            done.append(store)


def _fill(
    database: CatalogDatabase, store: str, done: Sequence[str], progress: Progress | None
) -> FillResult:
    """Fill a store. A catalog that turns out to be damaged is replaced, and the stores that are done are read again."""
    try:
        with database.checked():
            return fill(database, store, progress)
    except CatalogError as error:
        if not error.is_damaged:
            raise
    database.clear()
    for earlier in done:
        fill(database, earlier)
    return fill(database, store, progress)


def _stores_below(root: str) -> list[str]:
    """The stores at a folder and below it; raises StoreError where there are none."""
    if not os.path.isdir(root):
        raise StoreError(f"{printable(root)} is not a folder", hint="name a folder that has records below it")
    found, work = [], [(root, 0)]
    while work:
        folder, depth = work.pop()
        if is_store(folder):
            found.append(folder)
        elif depth < _DEEPEST:
            work += [(os.path.join(folder, name), depth + 1) for name in layout.possible_records(folder)]
    if not found:
        raise StoreError(
            f"there are no records at {printable(root)} or below", hint="name the folder of a store"
        )
    return sorted(found)
