"""The file of the catalog: an SQLite database.

It is a cache. A file that is damaged, of another version or not a catalog is put aside, as `….replaced`, and an empty catalog
takes its place. One process does so, under a lock, and the others use what it made.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Self

from runcard.catalog.rows import RecordRows
from runcard.catalog.tables import (
    APPLICATION_ID,
    INSTANCE_COLUMNS,
    RECORD_COLUMNS,
    TABLES,
    USAGE_COLUMNS,
    VERSION,
    VIEWS,
)
from runcard.errors import StoreError
from runcard.files import locked, printable
from runcard.files.user_folders import make_own_folder

_BUSY = 5.0  # seconds to wait for another writer
_REPLACING = 60  # seconds to wait for another process that replaces the file
_SUFFIXES = ("", "-wal", "-shm")
_NOT_DAMAGED = {  # locked or not accessible: then it may be good
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM),
}


class CatalogError(StoreError):
    """The catalog cannot be used."""


class CatalogDatabase:
    """An open catalog; to be closed, or used in a `with` block."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            make_own_folder(os.path.dirname(os.path.abspath(path)))
            self._connection = self._open()
        except (OSError, sqlite3.Error) as error:
            raise CatalogError(
                f"the catalog {printable(path)} cannot be opened: {_reason(error)}",
                hint="name another place in RUNCARD_CATALOG, or delete the file: it is only a cache",
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def _open(self) -> sqlite3.Connection:
        connection = self._current()
        if connection is not None:
            return connection
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
        connection = sqlite3.connect(self.path, timeout=_BUSY, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = OFF")  # what a power cut damages is built anew
            marks = [
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            ]
            if marks == [APPLICATION_ID, VERSION]:
                connection.execute("SELECT 1 FROM records LIMIT 1")
                return connection
        except sqlite3.DatabaseError as error:
            connection.close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_DAMAGED:
                raise
        connection.close()
        return None

    def _replace(self) -> None:
        """Make an empty catalog under another name, and put it in its place."""
        new = f"{self.path}.new-{os.getpid()}"
        with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            views = " ".join(f"CREATE VIEW {name} AS {select};" for name, select in VIEWS.items())
            connection.executescript(f"BEGIN; {TABLES} {views} COMMIT;")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        for suffix in reversed(_SUFFIXES):  # nothing is lost, whatever the file was
            with contextlib.suppress(FileNotFoundError):
                os.replace(self.path + suffix, f"{self.path}.replaced{suffix}")
        os.replace(new, self.path)

    @contextlib.contextmanager
    def locked(self, suffix: str, timeout: float) -> Iterator[None]:
        """Hold a lock beside the catalog, which only processes that replace or fill it take."""
        path = f"{self.path}.{suffix}"
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with locked(path, timeout=timeout):
            yield

    def clear(self) -> None:
        """Start again with an empty catalog."""
        with self.locked("lock", _REPLACING):
            self._connection.close()
            self._replace()
        self._connection = self._open()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction; of several processes, one writes at a time."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def query(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> sqlite3.Cursor:
        """The rows of a question."""
        return self._connection.execute(sql, parameters)

    def columns(self, cursor: sqlite3.Cursor) -> list[str]:
        """The names of the columns of a result."""
        return [column[0] for column in cursor.description or ()]

    def put(self, rows: RecordRows) -> None:
        """Write the rows of a record, in the place of those that it had."""
        record = rows.record
        self.remove(record["store"], record["name"])
        own = self._insert("records", RECORD_COLUMNS, [record.get(name) for name in RECORD_COLUMNS])
        execute = self._connection.executemany
        execute(
            "INSERT INTO facts VALUES (?, ?, ?, ?)", [(own, key, *fact) for key, fact in rows.facts.items()]
        )
        self._insert_all("instances", INSTANCE_COLUMNS, ({"record": own, **row} for row in rows.instances))
        numbered = ({"record": own, "number": number, **row} for number, row in enumerate(rows.usage))
        self._insert_all("usage", USAGE_COLUMNS, numbered)
        execute("INSERT OR IGNORE INTO files VALUES (?, ?, ?, ?)", [(own, *file) for file in rows.files])
        execute(
            "INSERT OR IGNORE INTO relations VALUES (?, ?, ?, ?, ?)", [(own, *one) for one in rows.relations]
        )
        texts = [rows.texts.get(name, "") for name in ("name", "summary", "errors", "labels")]
        self._connection.execute(
            "INSERT INTO texts (rowid, name, summary, errors, labels) VALUES (?, ?, ?, ?, ?)", (own, *texts)
        )

    def remove(self, store: int, name: str) -> None:
        """Remove a record, if it is there."""
        found = self.query("SELECT id FROM records WHERE store = ? AND name = ?", (store, name)).fetchone()
        if found is not None:
            self._connection.execute("DELETE FROM texts WHERE rowid = ?", found)
            self._connection.execute("DELETE FROM records WHERE id = ?", found)

    def _insert(self, table: str, columns: Sequence[str], values: Sequence[Any]) -> int:
        marks = ", ".join("?" * len(columns))
        cursor = self._connection.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})",  # noqa: S608 - names of our own
            values,
        )
        return int(cursor.lastrowid or 0)

    def _insert_all(self, table: str, columns: Sequence[str], rows: Iterator[dict[str, Any]]) -> None:
        marks = ", ".join("?" * len(columns))
        self._connection.executemany(
            f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})",  # noqa: S608
            ([row.get(name) for name in columns] for row in rows),
        )


def _reason(error: Exception) -> str:
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
