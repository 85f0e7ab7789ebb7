"""Fill the catalog from stores: only what changed since.

A record is read again when its files have another fingerprint: size, times and inode of its document and its amendments.
`catch_up` is for questions: it looks at a store only if the folder or a ledger changed, and then only at new and vanished
names, at records that the ledger names since, and at open runs. `fill` looks at every record.

A store that cannot be listed keeps its rows and is marked as not reachable.
"""

import contextlib
import gc
import json
import marshal
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from runcard.catalog.database import CatalogDatabase, TableRows
from runcard.catalog.tables import COLUMNS_OF, RECORD_COLUMNS, TEXT_COLUMNS
from runcard.catalog.usage_totals import LABEL, OF_RECORDS, UsageTotals, label_value
from runcard.errors import RuncardError
from runcard.files import encode_name, json_name
from runcard.store import layout
from runcard.store.remote.urls import is_url

Progress = Callable[[str, int], object]  # the store, and how many of its records were read

_BATCH = 1000  # records that are written at once
_LOOK = 2000  # records that are looked at by one process at a time
_MANY = 1000  # records after which a database is tidied
_CURSOR_PARTS = {"folder", "ledgers", "archives"}
_AS_KNOWN = ""  # the fingerprint of a record that has not changed
_FILLING = 600  # seconds to wait for another process that reads a store


if TYPE_CHECKING:
    from runcard.catalog.rows import RecordRows
    from runcard.parallel.shard import ItemPlace
    from runcard.store.record import Record


class FoundRecord(NamedTuple):
    """Where a record is."""

    name: str
    path: str
    fingerprint: str
    is_archived: bool = False
    is_open: bool = False  # a session that is being recorded

    @property
    def text(self) -> str:
        """The name as the catalog has it."""
        return _text_of(self.name)

    @property
    def path_text(self) -> str:
        """The path as the catalog has it."""
        folder, _, name = self.path.rpartition("/")
        if is_url(self.path):
            return self.path
        return (
            json_name(f"{_absolute(folder)}/{name}").text if folder else json_name(os.path.abspath(name)).text
        )


def _text_of(name: str) -> str:
    """A name as the catalog has it: bytes that are not UTF-8 are escaped."""
    return name if name.isascii() else json_name(name).text


@lru_cache(maxsize=64)
def _absolute(folder: str) -> str:
    """Many records are in one folder."""
    return os.path.abspath(folder).rstrip("/")


class FillResult(NamedTuple):
    """What filling found in one store, or among the plans of one project."""

    store: str  # or the root of the project
    records: int
    read: int
    removed: int
    is_reachable: bool = True
    are_plans: bool = False


def fill(database: CatalogDatabase, store: str, progress: Progress | None = None) -> FillResult:
    """Bring the rows of a store up to date, looking at every record."""
    number = store_number(database, store)
    cursor = _look(store)
    if cursor is None:
        return _unreachable(database, store, number)
    known = fingerprints(database, number)
    opened = {name for name, *_ in _open_runs(database, number)}
    names, changed = _look_at_all(store, known, opened)
    _put_all(database, number, changed, store, progress)
    removed = known.keys() - names
    database.remove(number, sorted(removed))
    database.make_indexes()
    if len(changed) >= _MANY:
        database.engine.tidy()
    _check_open_runs(database, number)
    database.settle()
    set_cursor(database, number, cursor)
    return FillResult(store, len(names), len(changed), len(removed))


def fill_with(database: CatalogDatabase, paths: Sequence[str]) -> None:
    """Fill an empty catalog with these records only: directories and archives."""
    places = [
        FoundRecord(str(number), path, _AS_KNOWN, layout.is_archive(path))
        for number, path in enumerate(paths)
    ]
    _put_all(database, 0, places, "", None)
    database.settle()


def catch_up(database: CatalogDatabase, store: str, wait: float = _FILLING) -> FillResult | None:
    """Bring the rows of a store up to date as far as it says that it changed; None where it did not.

    Raises StoreError when another process is still reading it for the first time after `wait` seconds.
    """
    number = store_number(database, store)
    now, before = _look(store), _cursor(database, number)
    if now is None:
        return _unreachable(database, store, number)
    if before is None:
        return _fill_once(database, store, number, wait)
    running = [name for name, *_ in _open_runs(database, number)]
    if now == before and not running:
        return None
    known = fingerprints(database, number)
    opened = {place.text: place for place in _open_sessions(store)}
    suspects = {*running, *opened, *_named_since(store, before)}
    names = {json_name(name).text: name for name in layout.possible_records(store)}
    if now["folder"] != before["folder"]:
        suspects |= names.keys() ^ known.keys()
    archived = {place.text: place for place in _archived(store)}
    if now["archives"] != before["archives"]:
        suspects |= known.keys() | archived.keys()
    places = {
        text: place
        for text in suspects
        if (
            place := _directory_place(store, names.get(text), is_open=text in running)
            or archived.get(text)
            or opened.get(text)
        )
        is not None
    }
    changed = [place for name, place in places.items() if known.get(name) != place.fingerprint]
    _put_all(database, number, changed, store, None)
    removed = (suspects & known.keys()) - places.keys()
    database.remove(number, sorted(removed))
    _check_open_runs(database, number)
    database.settle()
    if now != before:
        set_cursor(database, number, now)
    records = len((known.keys() | places.keys()) - removed)
    return FillResult(store, records, len(changed), len(removed))


def _fill_once(database: CatalogDatabase, store: str, number: int, wait: float) -> FillResult | None:
    """Fill a store that was never read; of many processes one reads it, and the others wait for it."""
    with database.locked("filling", wait, number):
        return fill(database, store) if _cursor(database, number) is None else None


def forget(database: CatalogDatabase, store: str) -> None:
    """Remove a store and its records."""
    number = store_number(database, store)
    database.remove(number, list(fingerprints(database, number)))
    database.query("DELETE FROM stores WHERE id = ?", (number,))
    database.settle()


def _open_runs(database: CatalogDatabase, store: int) -> list[tuple[str, str, str]]:
    """The runs of a store that are open as far as the catalog knows: their names, paths and statuses."""
    return database.query(
        "SELECT name, path, status FROM records WHERE store = ? AND is_open = 1", (store,)
    ).fetchall()


def _check_open_runs(database: CatalogDatabase, number: int) -> None:
    """Note which open runs are interrupted: nothing in a store changes when a process dies."""
    for name, path, status in _open_runs(database, number):
        now = _open_status(path)
        if now is not None and now != status:
            sql = "UPDATE records SET status = ? WHERE store = ? AND name = ? AND is_open = 1"
            database.query(sql, (now, number, name))


def _open_status(path: str) -> str | None:
    from runcard.catalog.reading import open_status  # noqa: PLC0415 - as below
    from runcard.store.record import DirectoryRecord  # noqa: PLC0415

    try:
        return open_status(path, DirectoryRecord(path).raw_document)
    except (RuncardError, OSError):
        return None


def store_number(database: CatalogDatabase, store: str) -> int:
    path = store if is_url(store) else json_name(os.path.abspath(store)).text
    own, sql = (database.host, path), "SELECT id FROM stores WHERE host = ? AND path = ?"
    found = database.query(sql, own).fetchone()
    if found is None:
        database.query("INSERT INTO stores (host, path) VALUES (?, ?) ON CONFLICT DO NOTHING", own)
        found = database.query(sql, own).fetchone()
    return int(found[0])


def was_read(database: CatalogDatabase, store: str) -> bool:
    """Whether the rows of a store are all there, even if they are not the newest."""
    path = json_name(os.path.abspath(store)).text
    sql = "SELECT 1 FROM stores WHERE host = ? AND path = ? AND (cursor IS NOT NULL OR is_reachable = 0)"
    return database.query(sql, (database.host, path)).fetchone() is not None


def _unreachable(database: CatalogDatabase, store: str, number: int) -> FillResult:
    sql = "UPDATE stores SET is_reachable = 0, cursor = NULL WHERE id = ? AND is_reachable = 1"
    database.query(sql, (number,))
    (count,) = database.query("SELECT count(*) FROM records WHERE store = ?", (number,)).fetchone()
    return FillResult(store, count, 0, 0, is_reachable=False)


def fingerprints(database: CatalogDatabase, store: int) -> dict[str, str]:
    return dict(database.query("SELECT name, fingerprint FROM records WHERE store = ?", (store,)).fetchall())


def _put_all(
    database: CatalogDatabase,
    number: int,
    places: Sequence[FoundRecord],
    store: str,
    progress: Progress | None,
) -> None:
    """Read records, on all cores, and write their rows, batch by batch."""
    if not places:
        return
    from runcard.parallel.forks import work_in_order  # noqa: PLC0415 - as below

    first = database.take_numbers(len(places))
    batches = [(first + start, places[start : start + _BATCH]) for start in range(0, len(places), _BATCH)]

    count = 0
    for data in work_in_order(batches, partial(_read_rows_of, store=number), place=_place):
        with _without_collector():
            rows: TableRows = marshal.loads(data)  # noqa: S302 - of our own process
            database.put(number, rows)
        count += len(rows["records"])
        if progress is not None:
            progress(store, count)


def _place(batch: tuple[int, Sequence[FoundRecord]]) -> "ItemPlace":
    """Where the records of a batch are, for the workers of a cluster: a batch is as much as one is given at once."""
    from runcard.parallel.cluster import SHARD_BYTES  # noqa: PLC0415 - only with a cluster
    from runcard.parallel.shard import ItemPlace  # noqa: PLC0415

    return ItemPlace(batch[1][0].path, SHARD_BYTES)


def _read_rows_of(batch: tuple[int, Sequence[FoundRecord]], _: object, store: int) -> bytes:
    with _without_collector():
        return marshal.dumps(table_rows(store, *batch, _read_place))  # of a fork, much faster than pickle


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Without looking for garbage: documents have no cycles, and have many objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_place(place: FoundRecord) -> "RecordRows | None":
    """The rows of a record; None if it was removed meanwhile."""
    rows = read_rows(_record(place))
    return None if "problem" in rows.record and not os.path.lexists(place.path) else rows


def table_rows(
    store: int, first: int, places: Sequence[FoundRecord], read: "Callable[[FoundRecord], RecordRows | None]"
) -> TableRows:
    """The rows of some records, whose numbers are `first` and those that follow."""
    tables: TableRows = {table: [] for table in COLUMNS_OF}
    totals = UsageTotals()
    for own, place in enumerate(places, first):
        if (rows := read(place)) is None:
            continue
        tables["records"].append(
            (
                *(own, store, place.text, place.path_text),
                *(int(place.is_archived), place.fingerprint),
                *map(rows.record.get, RECORD_COLUMNS),
            )
        )
        tables["facts"] += [(own, key, *fact) for key, fact in rows.facts.items()]
        tables["instances"] += [(own, *row) for row in rows.instances]
        tables["usage"] += [(own, number, *row) for number, row in enumerate(rows.usage)]
        tables["calls"] += [(own, number, *row) for number, row in enumerate(rows.calls)]
        tables["files"] += [(own, *file) for file in rows.files]
        tables["relations"] += [(own, *relation) for relation in rows.relations]
        tables["texts"].append((own, *(rows.texts.get(name, "") for name in TEXT_COLUMNS)))
        if rows.usage:
            labels = [(key, label_value(*fact)) for key, fact in rows.facts.items() if key.startswith(LABEL)]
            values = {name: rows.record.get(column) for name, column in OF_RECORDS.items()}
            totals.add(values, labels, rows.usage)
    tables["usage_totals"] = totals.rows()
    return tables


def read_rows(record: "Record") -> "RecordRows":
    """The rows of a record. What reads it takes long to load, and most questions find nothing new."""
    from runcard.catalog import reading  # noqa: PLC0415

    return reading.read_rows(record)


def _record(place: FoundRecord) -> "Record":
    from runcard.store.record import DirectoryRecord  # noqa: PLC0415

    if place.is_open:
        from runcard.store.sessions.live_record import OpenSession  # noqa: PLC0415 - few sessions are open

        return OpenSession(place.path)
    if not place.is_archived:
        return DirectoryRecord(place.path)
    from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415 - long to load

    return ArchivedRecord.at(place.path) or DirectoryRecord(place.path)


def _look_at_all(
    store: str, known: Mapping[str, str], open_runs: Collection[str]
) -> tuple[set[str], list[FoundRecord]]:
    """The names of all records of a store: in directories, and archived ones without one. And those that changed since."""
    names: set[str] = set()
    changed = []
    for name, fingerprint in _fingerprints_in(store, known, open_runs):
        if fingerprint is not None:
            names.add(_text_of(name))
            if fingerprint != _AS_KNOWN:
                changed.append(FoundRecord(name, os.path.join(store, name), fingerprint))
    for place in (*_archived(store), *_open_sessions(store)):
        if place.text not in names:
            names.add(place.text)
            if known.get(place.text) != place.fingerprint:
                changed.append(place)
    return names, changed


def _fingerprints_in(
    store: str, known: Mapping[str, str], open_runs: Collection[str]
) -> Iterator[tuple[str, str | None]]:
    """The directories of a store, looked at on all cores, with _AS_KNOWN or a new fingerprint; None for one that is no record."""
    from runcard.parallel.forks import work_in_order  # noqa: PLC0415 - as below

    names = layout.possible_records(store)
    some = [names[start : start + _LOOK] for start in range(0, len(names), _LOOK)]

    def look(name: str) -> str | None:
        fingerprint = _fingerprint(f"{store or os.curdir}/{name}", is_open=_text_of(name) in open_runs)
        return (
            _AS_KNOWN if fingerprint is not None and fingerprint == known.get(_text_of(name)) else fingerprint
        )

    def look_at(names: Sequence[str], _: object) -> bytes:
        return marshal.dumps([*map(look, names)])

    for chunk, data in zip(some, work_in_order(some, look_at), strict=True):
        yield from zip(chunk, marshal.loads(data), strict=True)  # noqa: S302 - of our own process


def _open_sessions(store: str) -> Iterator[FoundRecord]:
    """The sessions that are being recorded: they change with every line of a journal."""
    try:
        folders = layout.live_sessions(store)
    except (OSError, RuncardError):
        return
    for folder in folders:
        from runcard.store.sessions.live_start import read_live_start  # noqa: PLC0415 - few sessions are open

        with contextlib.suppress(RuncardError, OSError):
            journals = [_stat_text(path) or "-" for path in layout.live_journals(folder)]
            yield FoundRecord(
                read_live_start(folder).name, folder, f"open {' '.join(journals)}", is_open=True
            )


def _directory_place(store: str, name: str | None, *, is_open: bool) -> FoundRecord | None:
    if name is None:
        return None
    folder = os.path.join(store, name)
    fingerprint = _fingerprint(folder, is_open=is_open)
    return None if fingerprint is None else FoundRecord(name, folder, fingerprint)


def _fingerprint(folder: str, *, is_open: bool = False) -> str | None:
    """What tells a version of a record from another; None where there is no record. That of an open run changes with its journals."""
    document, amendments = _stat_text(f"{folder}/{layout.METADATA}"), f"{folder}/{layout.AMENDMENTS}"
    if document is None and not layout.has_lost_its_document(folder):
        return None
    # Most records have none, and `access` says so faster than the error of `lstat`.
    closed = f"{document or '-'} {(os.access(amendments, os.F_OK) and _stat_text(amendments)) or '-'}"
    return f"{closed} {' '.join(_journals(folder))}" if is_open else closed


def _journals(run: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for path in layout.journals(run):
            yield _stat_text(path) or "-"


def _archived(store: str) -> list[FoundRecord]:
    """The archives that the index of a store lists; none where it cannot be read."""
    if not os.path.lexists(layout.archive_folder(store)):
        return []
    from runcard.store.archives.index import ArchiveFolder  # noqa: PLC0415 - long to load

    try:
        entries = list(ArchiveFolder.of_store(store))
    except (RuncardError, OSError):
        return []
    stats = ((entry, _stat_text(entry.path)) for entry in entries)
    return [
        FoundRecord(entry.name, entry.path, f"archive {text}", is_archived=True)
        for entry, text in stats
        if text is not None
    ]


def _stat_text(path: str) -> str | None:
    """What tells a version of a file from another; None where there is no regular file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not S_ISREG(status.st_mode):
        return None
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def _look(store: str) -> dict[str, object] | None:
    """What a store looks like from outside; None where it cannot be reached."""
    try:
        status = os.stat(store)
        if not S_ISDIR(status.st_mode):
            return None
        ledgers = {os.path.basename(path): os.stat(path).st_size for path in layout.ledger_paths(store)}
    except (OSError, RuncardError):
        return None
    index = os.path.join(layout.archive_folder(store), layout.ARCHIVE_INDEX)
    look: dict[str, object] = {
        "folder": status.st_mtime_ns,
        "ledgers": ledgers,
        "archives": _stat_text(index),
    }
    opened = [place.text for place in _open_sessions(store)]
    return look | ({"open": opened} if opened else {})


def _cursor(database: CatalogDatabase, store: int) -> dict[str, object] | None:
    (text,) = database.query("SELECT cursor FROM stores WHERE id = ?", (store,)).fetchone()
    try:
        cursor = json.loads(text or "null")
    except ValueError:  # somebody else wrote it: the store is read anew
        return None
    return cursor if isinstance(cursor, dict) and cursor.keys() >= _CURSOR_PARTS else None


def set_cursor(database: CatalogDatabase, store: int, cursor: dict[str, object]) -> None:
    database.query("UPDATE stores SET cursor = ?, is_reachable = 1 WHERE id = ?", (json.dumps(cursor), store))


def _named_since(store: str, before: dict[str, object]) -> Iterator[str]:
    """The names of records in the lines that were added to the ledgers of a store."""
    sizes = before["ledgers"]
    for path in layout.ledger_paths(store):
        start = sizes.get(os.path.basename(path), 0) if isinstance(sizes, dict) else 0
        with contextlib.suppress(OSError), open(path, "rb") as file:
            file.seek(start)
            for line in file:
                with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                    name = json.loads(line)["payload"]["path"]
                    if isinstance(name, str) and name and "/" not in name and encode_name(name):
                        yield name
