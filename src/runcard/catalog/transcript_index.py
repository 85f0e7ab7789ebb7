"""The search index over transcripts, the files `output.log` of runs and agents: which words occur in which parts of them.

It is made when transcripts are first searched, and holds words only, no text: a part that may have the words is read again from
its record. So the index never decides what is a hit, and a record that is not in it is read as a whole.

WordsToFind cannot be taken out of this kind of index. Those of records that are gone are passed over. It starts anew when more than
half of it is of that kind, and as soon as a transcript has changed: after `redact`, removed text must not stay.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.transcript_text import PART, TranscriptPart, WordsToFind, parts_of
from runcard.errors import RuncardError
from runcard.store import layout
from runcard.store.record import DirectoryRecord, Record
from runcard.store.remote.urls import is_url

_BATCH = 64  # parts that are written at once
_BUILDING = 60  # seconds to wait for another process that reads transcripts
_SMALL = 100  # parts of an index that is not worth to start anew

_TABLES = """
CREATE TABLE IF NOT EXISTS transcript_records (
    store INTEGER NOT NULL, name TEXT NOT NULL, fingerprint TEXT NOT NULL,
    is_complete INTEGER NOT NULL,  -- 0: a transcript could not be read
    PRIMARY KEY (store, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS transcript_files (
    id INTEGER PRIMARY KEY, store INTEGER NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL,
    version TEXT,  -- what the file looked like; null: it is archived
    sha256 BLOB NOT NULL,
    parts INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS transcript_files_by_record ON transcript_files (store, name);
CREATE TABLE IF NOT EXISTS transcript_parts (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, start INTEGER NOT NULL, line INTEGER NOT NULL
);
"""
_ESCAPE = re.compile(r"\\\\|\\x[0-9a-f]{2}")
_NAMES = ("transcript_records", "transcript_files", "transcript_parts", "transcript_words")
_SEEN = """EXISTS (
    SELECT 1 FROM transcript_records t WHERE t.store = r.store AND t.name = r.name AND t.fingerprint = r.fingerprint{}
)"""
_HERE = "r.store IN (SELECT id FROM stores WHERE host = ?)"  # the transcripts of other hosts cannot be read
_INDEXED = _SEEN.format(" AND t.is_complete = 1")
_INSERT = {
    "transcript_records": "INSERT INTO transcript_records VALUES (?, ?, ?, ?) ON CONFLICT (store, name) "
    "DO UPDATE SET fingerprint = excluded.fingerprint, is_complete = excluded.is_complete",
    "transcript_files": "INSERT INTO transcript_files VALUES (?, ?, ?, ?, ?, ?, ?)",
    "transcript_parts": "INSERT INTO transcript_parts VALUES (?, ?, ?, ?)",
}

WithProgress = Callable[[Iterable[Any]], Iterable[Any]]  # shows progress while it iterates


class PartPlace(NamedTuple):
    """A part of a transcript in which words may occur."""

    start: int
    line: int
    version: str | None


class Candidates(NamedTuple):
    """Where words may occur, by the path of the record and of the transcript in it."""

    parts: dict[str, dict[str, list[PartPlace]]]
    unread: set[str]  # paths of records that are not in the index
    records: frozenset[int]  # the numbers of all these records


class _ChangedError(Exception):
    """A transcript is not what it was: the index must start anew."""


def open_record_at(text: str) -> Record:
    """The record in this directory or archive, whose path is as the catalog has it."""
    if is_url(text):
        from runcard.store.remote.record import RemoteRecord  # noqa: PLC0415 - only for URLs

        return RemoteRecord(text)
    path = path_of(text)
    if not layout.is_archive(path):
        return DirectoryRecord(path)
    from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415 - long to load

    return ArchivedRecord.at(path) or DirectoryRecord(path)


def path_of(text: str) -> str:
    """The path that a text of the catalog stands for: bytes that are not UTF-8 are escaped there."""
    if _ESCAPE.search(text) is None or os.path.lexists(text):
        return text
    raw = _ESCAPE.sub(lambda match: _unescaped(match[0]), text.encode().decode("latin-1"))
    return os.fsdecode(raw.encode("latin-1"))


def _unescaped(escape: str) -> str:
    return "\\" if escape == "\\\\" else chr(int(f"0{escape[1:]}", 0))


def transcripts_of(record: Record, paths: Sequence[str] | None = None) -> Iterator[tuple[str, BinaryIO]]:
    """The transcripts of a record, by their paths: that of a run, and those of agents; or some of them."""
    if paths is None:
        agents = (layout.instance_file(own, layout.OUTPUT) for own in record.instances())
        paths = [layout.OUTPUT, *agents]
    for path in paths:
        if (file := record.open(path)) is not None:
            with file:
                yield path, file


def file_version(file: BinaryIO) -> str | None:
    """What tells a version of an open file from another; None for one in an archive."""
    try:
        return _version(os.fstat(file.fileno()))
    except OSError:
        return None


def _version_at(path: str) -> str | None:
    try:
        return _version(os.lstat(path))
    except OSError:
        return None


def _version(status: os.stat_result) -> str:
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"


def update_index(database: CatalogDatabase, with_progress: WithProgress = iter) -> None:
    """Read the transcripts that are not in the index; of many processes one does so, and the others wait for it.

    What cannot be read or written is left out: it is read when it is searched.
    """
    try:
        with database.locked("transcripts", _BUILDING):
            _update(database, with_progress)
    except CatalogError as error:
        if error.is_damaged:
            raise
    except (RuncardError, OSError):
        pass


def _update(database: CatalogDatabase, with_progress: WithProgress) -> None:
    _create(database)
    stale = _stale(database)
    if stale and _is_mostly_gone(database):
        _restart(database)
        stale = _stale(database)
    try:
        _add_all(database, with_progress(stale))
    except _ChangedError:
        _restart(database)
        _add_all(database, with_progress(_stale(database)))


def forget_changed(database: CatalogDatabase) -> None:
    """Forget what the index has of records whose transcripts are not as they were: the next search reads them again.

    Nothing else tells that somebody has edited a transcript.
    """
    if not database.engine.names("table").issuperset(_NAMES):
        return
    sql = (
        "SELECT f.store, f.name, r.path, f.path, f.version FROM transcript_files f "
        "JOIN records r ON r.store = f.store AND r.name = f.name JOIN stores s ON s.id = r.store "
        "WHERE f.version IS NOT NULL AND s.is_reachable = 1 AND s.host = ?"
    )
    files = database.rows(sql, (database.host,))
    changed = {
        (store, name)
        for store, name, record, path, version in files
        if _version_at(os.path.join(path_of(record), path)) != version
    }
    if changed:
        with database.writing():
            for key in sorted(changed):
                database.query("DELETE FROM transcript_records WHERE store = ? AND name = ?", key)


def candidates(database: CatalogDatabase, words: WordsToFind) -> Candidates:
    """Where these words may occur."""
    chosen, parameters = database.engine.parts_with_words(words.words)
    sql = (
        "SELECT r.id, r.path, f.path, p.start, p.line, f.version FROM transcript_parts p "  # noqa: S608 - names of our own
        "JOIN transcript_files f ON f.id = p.file JOIN records r ON r.store = f.store AND r.name = f.name "
        f"WHERE p.id IN ({chosen}) AND {_INDEXED} AND {_HERE} ORDER BY p.id"
    )
    parts: dict[str, dict[str, list[PartPlace]]] = {}
    numbers = set()
    try:
        for number, record, file, *place in database.query(sql, (*parameters, database.host)):
            numbers.add(number)
            parts.setdefault(record, {}).setdefault(file, []).append(PartPlace(*place))
        rest = f"SELECT path, id FROM records r WHERE NOT {_INDEXED} AND {_HERE}"  # noqa: S608
        unread = dict(database.query(rest, (database.host,)).fetchall())
    except CatalogError as error:
        if error.is_damaged:
            raise
        parts, unread = (
            {},
            dict(
                database.query(f"SELECT path, id FROM records r WHERE {_HERE}", (database.host,)).fetchall()  # noqa: S608
            ),
        )
    return Candidates(parts, set(unread), frozenset({*numbers, *unread.values()}))


def _create(database: CatalogDatabase) -> None:
    known = database.engine.names("table")
    if not known.issuperset(_NAMES):
        for statement in filter(str.strip, database.engine.table_sql(_TABLES).split(";\n")):
            database.query(statement)
        for statement in database.engine.word_index():
            database.query(statement)


def _restart(database: CatalogDatabase) -> None:
    database.forget_words(_NAMES)
    _create(database)


def _stale(database: CatalogDatabase) -> list[tuple[int, str, str, str]]:
    """The closed records that are not in the index as they are now."""
    sql = (
        "SELECT r.store, r.name, r.fingerprint, r.path FROM records r JOIN stores s ON s.id = r.store "  # noqa: S608
        f"WHERE s.is_reachable = 1 AND r.is_open = 0 AND NOT {_SEEN.format('')} AND s.host = ? ORDER BY r.id"
    )
    return database.query(sql, (database.host,)).fetchall()


def _is_mostly_gone(database: CatalogDatabase) -> bool:
    (total,) = database.query("SELECT coalesce(max(id), 0) FROM transcript_parts").fetchone()
    sql = (
        "SELECT coalesce(sum(f.parts), 0) FROM transcript_files f "
        "JOIN records r ON r.store = f.store AND r.name = f.name"
    )
    (current,) = database.query(sql).fetchone()
    return bool(total > _SMALL and current < total / 2)


def _add_all(database: CatalogDatabase, records: Iterable[tuple[int, str, str, str]]) -> None:
    batch = _IndexBatch(database)
    for store, name, fingerprint, path in records:
        try:
            _add(database, batch, store, name, path)
            is_complete = True
        except CatalogError:
            raise
        except (RuncardError, OSError):
            is_complete = False
        batch.add("transcript_records", (store, name, fingerprint, int(is_complete)))
    batch.write()


def _add(database: CatalogDatabase, batch: "_IndexBatch", store: int, name: str, path: str) -> None:
    sql = "SELECT path, sha256, id FROM transcript_files WHERE store = ? AND name = ?"
    known = {file: (bytes(digest), own) for file, digest, own in database.query(sql, (store, name))}
    for file_path, file in transcripts_of(open_record_at(path)):
        version = file_version(file)
        if file_path in known:
            digest, own = known.pop(file_path)
            if _digest(file) != digest:
                raise _ChangedError
            database.query("UPDATE transcript_files SET version = ? WHERE id = ?", (version, own))
        else:
            _add_file(batch, (store, name, file_path, version), file)
    if known:
        raise _ChangedError


def _add_file(batch: "_IndexBatch", place: tuple[int, str, str, str | None], file: BinaryIO) -> None:
    own, hasher, count = batch.next_file(), sha256(), 0
    for count, part in enumerate(parts_of(file), 1):  # noqa: B007 - counted for later
        hasher.update(part.data)
        batch.add_part(own, part)
    batch.add("transcript_files", (own, *place, hasher.digest(), count))


def _digest(file: BinaryIO) -> bytes:
    hasher = sha256()
    while data := file.read(PART):
        hasher.update(data)
    return hasher.digest()


class _IndexBatch:
    """Rows that are written together. A file, and then its record, are written after their parts: a killed process leaves
    parts without a file, which are passed over."""

    def __init__(self, database: CatalogDatabase) -> None:
        self._database = database
        self._rows: list[tuple[str, tuple[Any, ...]]] = []
        self._words: list[tuple[int, str]] = []  # the texts of parts
        self._parts = 0  # in these rows
        sql = "SELECT coalesce(max(id), 0), coalesce(max(file), 0) FROM transcript_parts"
        self._last_part, self._last_file = database.query(sql).fetchone()
        (last,) = database.query("SELECT coalesce(max(id), 0) FROM transcript_files").fetchone()
        self._last_file = max(self._last_file, last)

    def next_file(self) -> int:
        self._last_file += 1
        return int(self._last_file)

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        self._rows.append((table, row))
        if self._parts >= _BATCH or len(self._rows) >= 10 * _BATCH:
            self.write()

    def add_part(self, file: int, part: TranscriptPart) -> None:
        self._last_part += 1
        self._parts += 1
        self.add("transcript_parts", (self._last_part, file, part.start, part.line))
        self._words.append((self._last_part, part.text))

    def write(self) -> None:
        with self._database.writing():
            for table, row in self._rows:
                self._database.query(_INSERT[table], row)
            self._database.engine.add_words(self._words)
        self._rows, self._words, self._parts = [], [], 0
