"""The catalog in a file: an SQLite database.

It is a cache. A file that is damaged, of another version or not a catalog is put aside, as `….replaced`, and an empty catalog
takes its place. One process does so, under a lock, and the others use what it made.
"""

import contextlib
import itertools
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from runcard.catalog.catalog_error import CatalogError
from runcard.catalog.engine import SqlRows, TableRows, words_of
from runcard.catalog.tables import (
    ADD_TOTALS,
    APPLICATION_ID,
    COLUMNS_OF,
    DROP_EMPTY_TOTALS,
    FIRST_ROWS,
    INDEXES,
    TABLES,
    TOTAL_KEYS,
    VERSION,
    VIEWS,
)
from runcard.catalog.word_split import split_words
from runcard.files import locked, printable
from runcard.files.user_folders import make_own_folder

_BUSY = 4.0  # seconds to wait for another writer
_CACHE = 64 << 10  # KiB of the file that are kept in memory
_PAGE = 8192  # bytes: fewer and larger pages make indexes faster
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
_DELETE = [f"DELETE FROM {table} WHERE {columns[0]} = ?" for table, columns in COLUMNS_OF.items()]  # noqa: S608
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_FIXED = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}  # as in a folder that cannot be written
_memories = itertools.count()


class SqliteEngine:
    """An open file; or a database that only this process has, in memory."""

    host = ""
    is_frozen = False
    hint = "name another place in RUNCARD_CATALOG, or delete the file: it is only a cache"
    failures: tuple[type[Exception], ...] = (OSError, sqlite3.Error)
    indexes: Mapping[str, str] = INDEXES

    def __init__(self, path: str | None) -> None:
        self.name = path or "in memory"
        self._has_locks = path is not None
        if path is None:
            self.uri = f"file:runcard-{os.getpid()}-{next(_memories)}?mode=memory&cache=shared"  # for readers
        else:
            self.uri = f"file:{quote(os.path.abspath(path))}"

    def open(self) -> None:
        self._connection = self._open() if self._has_locks else self._open_in_memory()

    def close(self) -> None:
        self._connection.close()

    def _open_in_memory(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.uri, uri=True, isolation_level=None)
        _make_tables(connection)
        return connection

    def _open(self) -> sqlite3.Connection:
        connection = self._current()
        if connection is not None:
            return connection
        make_own_folder(os.path.dirname(os.path.abspath(self.name)))
        with self.locked("lock", _REPLACING):
            connection = self._current()  # another process may have built it meanwhile
            if connection is None:
                self._replace()
                connection = self._current()
        if connection is None:
            raise CatalogError(f"the catalog {printable(self.name)} cannot be created")
        return connection

    def _current(self) -> sqlite3.Connection | None:
        """A connection to a catalog of this version; None where there is none, or another."""
        if not os.path.exists(self.name):
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
        self.uri, self._has_locks, self.is_frozen = uri, False, True
        return connection

    def _connect(self, uri: str) -> sqlite3.Connection | None:
        # One thread at a time uses it; with a server that keeps it open, not always the same.
        connection = sqlite3.connect(
            uri, uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False
        )
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
        new = f"{self.name}.new"  # one process at a time makes it, under the lock; a killed one may have left it
        try:
            for suffix in _SUFFIXES:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(new + suffix)
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
                connection.execute(f"PRAGMA page_size = {_PAGE}")
                connection.execute("PRAGMA journal_mode = WAL")
                _make_tables(connection)
            for suffix in reversed(_SUFFIXES):  # nothing is lost, whatever the file was
                with contextlib.suppress(FileNotFoundError):
                    os.replace(self.name + suffix, f"{self.name}.replaced{suffix}")
            os.replace(new, self.name)
        except BaseException:
            for suffix in _SUFFIXES:
                with contextlib.suppress(OSError):
                    os.unlink(new + suffix)
            raise

    @contextlib.contextmanager
    def locked(self, name: str, timeout: float, store: int | None = None) -> Iterator[None]:  # noqa: ARG002 - one for all
        if not self._has_locks:
            yield
            return
        path = f"{self.name}.{name}"
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with locked(path, timeout=timeout):
            yield

    def clear(self) -> None:
        with self.locked("lock", _REPLACING):
            self._connection.close()
            self._replace()
        self._connection = self._open()

    def execute(self, sql: str, parameters: Sequence[Any]) -> sqlite3.Cursor:
        return self._connection.execute(sql, parameters)

    def batches(self, sql: str, parameters: Sequence[Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
        cursor = self._connection.execute(sql, parameters)
        while batch := cursor.fetchmany(size):
            yield batch

    def wait_at_most(self, seconds: float) -> None:
        limit = min(max(0, seconds), _BUSY)
        self._connection.execute(f"PRAGMA busy_timeout = {round(limit * 1000)}")

    def begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        self._connection.execute("ROLLBACK")

    def lock_store(self, store: int) -> None:
        """Nothing to do: of several processes, one writes at a time."""

    def lock_calls(self) -> None:
        """Nothing to do, as above."""

    def insert(self, rows: TableRows) -> None:
        for table, some in rows.items():
            self._connection.executemany(_INSERT[table], some)

    def add_totals(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self._connection.executemany(ADD_TOTALS, rows)
        taken_off = [row[: len(TOTAL_KEYS)] for row in rows if row[len(TOTAL_KEYS)] < 0]
        self._connection.executemany(DROP_EMPTY_TOTALS, taken_off)

    def delete(self, records: Sequence[int]) -> None:
        for delete in _DELETE:
            self._connection.executemany(delete, [(record,) for record in records])

    def names(self, kind: str) -> set[str]:
        return {
            name
            for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,))
        }

    def records_with_words(self, text: str) -> tuple[str, tuple[object, ...]]:
        return "SELECT rowid FROM texts WHERE texts MATCH ?", (match_words(text),)

    def table_sql(self, statements: str) -> str:
        return statements

    def word_index(self) -> list[str]:
        options = "text, content='', detail=none, columnsize=0"
        return [f"CREATE VIRTUAL TABLE IF NOT EXISTS transcript_words USING fts5({options})"]

    def forget_words(self, tables: Sequence[str]) -> None:
        self._connection.execute("PRAGMA secure_delete = ON")
        self.begin()
        for name in tables:
            self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        self.commit()
        self._connection.execute("PRAGMA secure_delete = OFF")

    def add_words(self, parts: Sequence[tuple[int, str]]) -> None:
        self._connection.executemany("INSERT INTO transcript_words (rowid, text) VALUES (?, ?)", parts)

    def parts_with_words(self, words: Sequence[str]) -> tuple[str, tuple[object, ...]]:
        terms = [f'"{term}"' for word in words for term in split_words(word)]
        return "SELECT rowid FROM transcript_words WHERE transcript_words MATCH ?", (
            " AND ".join(terms) + "*",
        )

    def tidy(self) -> None:
        """Nothing to do: its indexes are chosen by hand."""

    def error(self, error: Exception) -> CatalogError:
        return CatalogError(
            f"the catalog {printable(self.name)} cannot be used: {_reason(error)}",
            hint=self.hint,
            is_damaged=isinstance(error, sqlite3.DatabaseError) and _code(error) in _DAMAGED,
        )

    def is_lost(self, error: Exception) -> bool:  # noqa: ARG002 - a file does not go away
        return False

    def ask(self, sql: str, limit: int, seconds: float) -> SqlRows:
        from runcard.catalog.reading_sql import ask_sql  # noqa: PLC0415 - only for questions in SQL

        return ask_sql(self.uri, sql, limit=limit, seconds=seconds)


def match_words(text: str) -> str:
    """Words as a question to the search index: each must occur, as it is written; the last may go on."""
    quoted = ['"' + word.replace('"', '""') + '"' for word in words_of(text)]
    return " AND ".join(quoted) + "*"


def _make_tables(connection: sqlite3.Connection) -> None:
    views = " ".join(f"CREATE VIEW {name} AS {select};" for name, select in VIEWS.items())
    connection.executescript(f"BEGIN; {TABLES} {FIRST_ROWS} {views} COMMIT;")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _reason(error: Exception) -> str:
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
