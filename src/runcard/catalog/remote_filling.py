"""Fill the catalog from a folder of archives in object storage: only what changed since, by one listing.

An object has another ETag when it has other bytes. The rows of a record are read from what is beside its archive, several
records at a time.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial

from runcard.catalog import filling
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.filling import FillResult, FoundRecord, Progress
from runcard.catalog.rows import RecordRows
from runcard.errors import StoreError
from runcard.parallel.calls import CallThreads
from runcard.parallel.current_cluster import current_cluster
from runcard.store import layout
from runcard.store.remote.folder import RemoteFolder
from runcard.store.remote.known_archives import KnownArchive, note_archives
from runcard.store.remote.record import RemoteRecord
from runcard.store.remote.urls import is_url

_AT_ONCE = 16  # records that are read at the same time
_BATCH = 10 * _AT_ONCE  # records that are written at once


def fill_remote(database: CatalogDatabase, url: str, progress: Progress | None = None) -> FillResult:
    """Bring the rows of a folder of archives up to date; raises RuncardError if it cannot be listed, or never had any."""
    folder = RemoteFolder(url)
    store = str(folder.url)
    places = {place.text: place for place in _places(folder)}
    if not places and store not in filled_folders(database):
        raise StoreError(f"there are no archives at {store} or below", hint="check the bucket and the prefix")
    number = filling.store_number(database, store)
    known = filling.fingerprints(database, number)
    changed = [place for name, place in places.items() if known.get(name) != place.fingerprint]
    first, done = database.take_numbers(len(changed)) if changed else 0, 0
    for start in range(0, len(changed), _BATCH):
        batch = changed[start : start + _BATCH]
        rows = dict(zip((place.path for place in batch), _read(batch), strict=True))
        database.put(number, filling.table_rows(number, first + start, batch, lambda place: rows[place.path]))  # noqa: B023 - called at once
        done += len(batch)
        if progress is not None:
            progress(store, done)
    removed = known.keys() - places.keys()
    database.remove(number, sorted(removed))
    database.make_indexes()
    database.settle()
    filling.set_cursor(database, number, {})
    ids = database.query("SELECT record_id, path FROM records WHERE store = ?", (number,)).fetchall()
    note_archives(store, [KnownArchive(own, layout.archived_name(path), path) for own, path in ids])
    return FillResult(store, len(places), len(changed), len(removed))


def remote_rows(url: str) -> RecordRows:
    """The rows of the record in an archive, by its URL. It needs nothing else, so that many can be read on many machines."""
    return filling.read_rows(RemoteRecord(url).in_store(None))


def _rows_on_worker(url: str, _: object) -> RecordRows:
    return remote_rows(url)


def filled_folders(database: CatalogDatabase) -> list[str]:
    """The URLs of the folders that have rows."""
    rows = database.query("SELECT path FROM stores WHERE host = ?", (database.host,)).fetchall()
    return sorted(path for (path,) in rows if is_url(path))


def _places(folder: RemoteFolder) -> Iterator[FoundRecord]:
    """The archives, each by its path in the folder: two that began in the same second have the same name."""
    for url in folder.archives:
        state = folder.objects[url]
        fingerprint = f"remote {state.size}:{state.etag}"
        name = url.removeprefix(f"{folder.url}/").removesuffix(layout.PACKED)
        yield FoundRecord(name, url, fingerprint, is_archived=True)


def _read(places: Sequence[FoundRecord]) -> Iterator[RecordRows]:
    """The rows of records: in threads, or on the workers of a cluster."""
    if current_cluster() is not None:
        from runcard.parallel.forks import work_in_order  # noqa: PLC0415 - only with a cluster
        from runcard.parallel.shard import ItemPlace  # noqa: PLC0415

        urls = [place.path for place in places]
        yield from work_in_order(urls, _rows_on_worker, place=lambda url: ItemPlace(url, 0))
        return
    with closing(CallThreads(_AT_ONCE)) as threads:
        calls = [threads.submit(partial(remote_rows, place.path)) for place in places]
        for call in calls:
            yield call.result()
