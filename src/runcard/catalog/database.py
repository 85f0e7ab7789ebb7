"""The file of the catalog: an SQLite database.

It is a cache. A file that is damaged, of another version or not a catalog is put aside, as `….replaced`, and an empty catalog
takes its place. One process does so, under a lock, and the others use what it made.
"""

import contextlib
import itertools
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Self
from urllib.parse import quote

from runcard.catalog.tables import (
    APPLICATION_ID,
    COLUMNS_OF,
    INDEXES,
    TABLES,
    TOTAL_COLUMNS,
    TOTAL_KEYS,
    USAGE_COLUMNS,
    VERSION,
    VIEWS,
)
from runcard.catalog.usage_totals import LABEL, OF_RECORDS, UsageTotals, label_value
from runcard.errors import StoreError
from runcard.files import locked, printable
from runcard.files.user_folders import make_own_folder

_BUSY = 4.0  # seconds to wait for another writer
_CACHE = 64 << 10  # KiB of the file that are kept in memory
_REPLACING = 4  # seconds to wait for another process that replaces the file
_SUFFIXES = ("", "-wal", "-shm")
_NOT_DAMAGED = {  # locked or not accessible: then it may be good
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM),
}
_INSERT = {
    table: f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - names of our own
    for table, columns in COLUMNS_OF.items()
}
_TOTALS = "usage_totals"
_ADD_TOTALS = (
    f"INSERT INTO {_TOTALS} ({', '.join((*TOTAL_KEYS, *TOTAL_COLUMNS))}) "  # noqa: S608
    f"VALUES ({', '.join('?' * len((*TOTAL_KEYS, *TOTAL_COLUMNS)))}) ON CONFLICT ({', '.join(TOTAL_KEYS)}) "
    f"DO UPDATE SET {', '.join(f'{name} = {_TOTALS}.{name} + excluded.{name}' for name in TOTAL_COLUMNS)}"
)
_DROP_EMPTY_TOTALS = (
    f"DELETE FROM {_TOTALS} WHERE {' AND '.join(f'{key} = ?' for key in TOTAL_KEYS)} AND parts = 0"  # noqa: S608
)
_DELETE = [f"DELETE FROM {table} WHERE {columns[0]} = ?" for table, columns in COLUMNS_OF.items()]  # noqa: S608
_NAME = COLUMNS_OF["records"].index("name")
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_FIXED = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}  # as in a folder that cannot be written
_memories = itertools.count()

TableRows = dict[str, list[tuple[Any, ...]]]  # the rows of some records, by table


class CatalogError(StoreError):
    """The catalog cannot be used, or not be written: it is locked, read-only, on a full disk, or damaged."""

    def __init__(self, message: str, *, hint: str | None = None, is_damaged: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.is_damaged = is_damaged


class CatalogDatabase:
    """An open catalog; to be closed, or used in a `with` block. What goes wrong with it is a CatalogError."""

    def __init__(self, path: str | None) -> None:
        """Open the catalog in a file; without a path, make one that only this process has, in memory."""
        self.path = path or "in memory"
        self.warning: str | None = None  # why it is not up to date
        self._has_locks = path is not None
        if path is None:
            self.uri = f"file:runcard-{os.getpid()}-{next(_memories)}?mode=memory&cache=shared"  # for readers
        else:
            self.uri = f"file:{quote(os.path.abspath(path))}"
        with self.checked():
            self._connection = self._open() if path is not None else self._open_in_memory()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object = None, error: BaseException | None = None, *__: object) -> None:
        self._connection.close()
        if isinstance(error, sqlite3.Error):  # while rows were read
            with self.checked():
                raise error

    def _open_in_memory(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.uri, uri=True, isolation_level=None)
        _make_tables(connection)
        return connection

    def _open(self) -> sqlite3.Connection:
        connection = self._current()
        if connection is not None:
            return connection
        make_own_folder(os.path.dirname(os.path.abspath(self.path)))
        with self.locked("lock", _REPLACING):
            connection = self._current()  # another process may have built it meanwhile
            if connection is None:
                self._replace()
                connection = self._current()
        if connection is None:
            raise CatalogError(f"the catalog {printable(self.path)} cannot be created")
        return connection

    def _current(self) -> sqlite3.Connection | None:
        """A connection to a catalog of this version; None where there is none, or another."""
        if not os.path.exists(self.path):
            return None
        try:
            return self._connect(self.uri)
        except sqlite3.DatabaseError as error:
            code = _code(error)
            if code not in _NOT_DAMAGED:
                return None
            if code not in _FIXED:
                raise
        uri = f"{self.uri}?immutable=1"  # nothing can be written beside it
        connection = self._connect(uri)
        self.uri, self._has_locks = uri, False
        return connection

    def _connect(self, uri: str) -> sqlite3.Connection | None:
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY, isolation_level=None)
        try:
            connection.execute(f"PRAGMA cache_size = -{_CACHE}")
            connection.execute("PRAGMA synchronous = OFF")  # what a power cut damages is built anew
            marks = [
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            ]
            if marks == [APPLICATION_ID, VERSION]:
                connection.execute("SELECT 1 FROM records LIMIT 1")
                return connection
        except sqlite3.DatabaseError:
            connection.close()
            raise
        connection.close()
        return None

    def _replace(self) -> None:
        """Make an empty catalog under another name, and put it in its place."""
        new = f"{self.path}.new"  # one process at a time makes it, under the lock; a killed one may have left it
        try:
            for suffix in _SUFFIXES:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(new + suffix)
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                _make_tables(connection)
            for suffix in reversed(_SUFFIXES):  # nothing is lost, whatever the file was
                with contextlib.suppress(FileNotFoundError):
                    os.replace(self.path + suffix, f"{self.path}.replaced{suffix}")
            os.replace(new, self.path)
        except BaseException:
            for suffix in _SUFFIXES:
                with contextlib.suppress(OSError):
                    os.unlink(new + suffix)
            raise

    @contextlib.contextmanager
    def locked(self, suffix: str, timeout: float) -> Iterator[None]:
        """Hold a lock beside the catalog, which only processes that replace or fill it take."""
        if not self._has_locks:
            yield
            return
        path = f"{self.path}.{suffix}"
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with locked(path, timeout=timeout):
            yield

    def clear(self) -> None:
        """Start again with an empty catalog."""
        with self.checked():
            with self.locked("lock", _REPLACING):
                self._connection.close()
                self._replace()
            self._connection = self._open()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction; of several processes, one writes at a time."""
        self.query("BEGIN IMMEDIATE")
        try:
            with self.checked():
                yield
                self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a full disk has ended it already
                self._connection.execute("ROLLBACK")
            raise

    def query(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> sqlite3.Cursor:
        """The rows of a question."""
        with self.checked():
            return self._connection.execute(sql, parameters)

    def wait_at_most(self, seconds: float) -> None:
        """Wait no longer than this for another writer."""
        self.query(f"PRAGMA busy_timeout = {max(0, round(seconds * 1000))}")

    def columns(self, cursor: sqlite3.Cursor) -> list[str]:
        """The names of the columns of a result."""
        return [column[0] for column in cursor.description or ()]

    @contextlib.contextmanager
    def checked(self) -> Iterator[None]:
        """Raise what goes wrong as a CatalogError; to be used where rows are read, too."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise CatalogError(
                f"the catalog {printable(self.path)} cannot be used: {_reason(error)}",
                hint="name another place in RUNCARD_CATALOG, or delete the file: it is only a cache",
                is_damaged=isinstance(error, sqlite3.DatabaseError) and _code(error) in _DAMAGED,
            ) from error

    def make_indexes(self) -> None:
        """Make the indexes that are missing."""
        found = {name for (name,) in self.query("SELECT name FROM sqlite_master WHERE type = 'index'")}
        if missing := [name for name in INDEXES if name not in found]:
            with self.writing():
                for name in missing:
                    self.query(f"CREATE INDEX IF NOT EXISTS {name} ON {INDEXES[name]}")

    def take_numbers(self, count: int) -> int:
        """The first of so many numbers for new records, which no other writer gets."""
        with self.writing():
            (first,) = self.query("SELECT coalesce(max(number), 1) FROM next_record").fetchone()
            self.query("DELETE FROM next_record")
            self.query("INSERT INTO next_record VALUES (?)", (first + count,))
        return int(first)

    def put(self, store: int, rows: TableRows) -> None:
        """Write the rows of records of a store, in the place of those that they had."""
        with self.writing():
            self._remove(store, [record[_NAME] for record in rows["records"]])
            for table, some in rows.items():
                self._connection.executemany(_ADD_TOTALS if table == _TOTALS else _INSERT[table], some)

    def remove(self, store: int, names: Sequence[str]) -> None:
        """Remove records of a store, those that are there."""
        if names:
            with self.writing():
                self._remove(store, names)

    def _remove(self, store: int, names: Sequence[str]) -> None:
        sql = "SELECT id FROM records WHERE store = ? AND name IN (SELECT value FROM json_each(?))"
        found = self.query(sql, (store, json.dumps(names))).fetchall()
        if found:
            self._take_off_totals([number for (number,) in found])
            for delete in _DELETE:
                self._connection.executemany(delete, found)

    def _take_off_totals(self, records: Sequence[int]) -> None:
        totals = UsageTotals()
        for record in records:
            usage = self.query(f"SELECT {', '.join(USAGE_COLUMNS)} FROM usage WHERE record = ?", (record,))  # noqa: S608
            columns = ", ".join(OF_RECORDS.values())
            values = self.query(f"SELECT {columns} FROM records WHERE id = ?", (record,)).fetchone()  # noqa: S608
            facts = self.query(
                "SELECT key, number, text FROM facts WHERE record = ? AND key >= ? AND key < ?",
                (record, LABEL, f"{LABEL[:-1]}/"),
            )
            labels = [(key, label_value(number, text)) for key, number, text in facts]
            totals.add(dict(zip(OF_RECORDS, values, strict=True)), labels, usage)
        rows = totals.rows(-1)
        self._connection.executemany(_ADD_TOTALS, rows)
        self._connection.executemany(_DROP_EMPTY_TOTALS, [row[: len(TOTAL_KEYS)] for row in rows])


def _make_tables(connection: sqlite3.Connection) -> None:
    views = " ".join(f"CREATE VIEW {name} AS {select};" for name, select in VIEWS.items())
    connection.executescript(f"BEGIN; {TABLES} {views} COMMIT;")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _reason(error: Exception) -> str:
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
