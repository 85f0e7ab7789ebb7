"""The catalog on a server: a PostgreSQL database that several hosts share.

Paths belong to a host, so a store is known by its host and its path, and each host writes and removes the records of its own
stores only. Whoever writes records of a store holds the row of that store. What is done once for all, such as making the
tables, is done under an advisory lock of the server, which ends with its connection.

A password is never part of a message: where it is in the URL, only user, host and database are shown.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from runcard.catalog.catalog_error import CatalogError
from runcard.catalog.engine import SqlRows, TableRows
from runcard.catalog.postgres_sql import postgres_sql
from runcard.catalog.postgres_tables import (
    ADD_TOTALS,
    DROP_EMPTY_TOTALS,
    INDEXED_TEXTS,
    LONGEST_NAME,
    SCHEMA,
    copy_types,
    create_statements,
    postgres_types,
    table_names,
    without_comments,
)
from runcard.catalog.tables import COLUMNS_OF, TOTAL_KEYS
from runcard.catalog.word_filter import longest_beginning, make_filter, marks
from runcard.catalog.word_split import phrases_to_find, split_words
from runcard.errors import StoreError
from runcard.extras import missing_package
from runcard.settings.server_urls import is_well_formed, shown_url

if TYPE_CHECKING:
    import psycopg

_ANSWER = 1.5  # seconds in which a server must answer
_BUSY = 60.0  # seconds to wait for other writers: there may be hundreds, one after another. Questions wait for less
_FULL = 20.0  # seconds to wait for a server that has too many connections
_RESTART = 30.0  # seconds to wait for a server that went away while it was written to
_PAUSE = 0.05
_MOST_TERMS = 500_000  # characters of the words of one record that are indexed
_TOO_MANY = "###"  # instead of the words of a record that has more
_LONGEST_TERM = 200
_BEGINNING = (
    6  # characters of a word of a transcript that are indexed: the whole word is looked for in the transcript
)
_KEYS = {"instances": 2, "files": 3, "relations": 3, "facts": 2, "usage": 2, "calls": 2, "records": 1}
_HINT = "start it, or see the records of this machine only: RUNCARD_CATALOG=FILE"


class PostgresEngine:
    """A connection to a server."""

    hint = _HINT
    is_frozen = False
    indexes: Mapping[str, str] = {}  # they are made with the tables: later, writers would wait for them

    def __init__(self, url: str) -> None:
        if not is_well_formed(url):
            raise CatalogError(
                "the URL of the catalog is not valid",
                hint="write postgresql://USER@HOST/DATABASE; special characters as %40; a password is better in ~/.pgpass",
                is_shared=True,
            )
        self._psycopg = _load_psycopg()
        self.failures: tuple[type[Exception], ...] = (self._psycopg.Error, OSError)
        self.name, self._url = shown_url(url), url
        self.host = host_name()
        self._connection: psycopg.Connection[tuple[Any, ...]]

    def open(self) -> None:
        self._connection = self._connect()
        try:
            if not self._choose_schema():
                self._create()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def _connect(self) -> "psycopg.Connection[tuple[Any, ...]]":
        started = time.monotonic()
        while True:
            try:
                return connect_in_time(self._psycopg, self._url)
            except self._psycopg.OperationalError as error:
                patience = (
                    _FULL
                    if "too many clients" in str(error) or "remaining connection slots" in str(error)
                    else 0
                )
                if time.monotonic() - started >= patience:
                    raise
            time.sleep(4 * _PAUSE)

    def _choose_schema(self) -> bool:
        """Set up the connection; whether the tables are there."""
        _adapt(self._connection)
        sql = (
            "SELECT current_setting('server_encoding'), set_config('search_path', %s, false), "
            "set_config('lock_timeout', %s, false), set_config('timezone', 'UTC', false), set_config('jit', 'off', false), "
            "EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s)"
        )
        row = self._connection.execute(sql, (SCHEMA, f"{_BUSY:g}s", SCHEMA)).fetchone()
        encoding, *_, is_there = row or ("",)
        if encoding != "UTF8":
            raise CatalogError(
                f"the catalog {self.name} cannot be used: its encoding is {encoding}",
                hint="create the database with: ENCODING 'UTF8'",
                is_shared=True,
            )
        if not is_there:
            return False
        found = self._connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.next_record",)).fetchone()
        return found is not None and found[0] is not None

    def _create(self) -> None:
        """Make the tables, if no other process does so."""
        with self._transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock_number("create"),))
            self._connection.execute("SELECT 1")  # a view of what others made meanwhile
            if self._choose_schema():
                return
            sql = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s"
            if self._connection.execute(sql, (SCHEMA,)).fetchone() is None:
                self._connection.execute(f"CREATE SCHEMA {SCHEMA}")
            self._make_tables()

    def _make_tables(self) -> None:
        """Make all tables, in the place of those that there are."""
        for table in sorted(self.names("table")):
            self._connection.execute(f'DROP TABLE "{table}" CASCADE')
        self._connection.execute("DROP FUNCTION IF EXISTS number_text")
        for statement in create_statements():
            self._connection.execute(statement)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            with contextlib.suppress(*self.failures):
                self.rollback()
            raise

    def clear(self) -> None:
        with self._transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock_number("create"),))
            if self._is_damaged():
                self._make_tables()
            else:
                self._remove_own()

    def _is_damaged(self) -> bool:
        """Whether a table is missing, or has other columns."""
        if not self.names("table") >= table_names():
            return True
        try:
            with self._connection.transaction():  # the rest of the transaction goes on after an error
                for table, columns in COLUMNS_OF.items():
                    names = ", ".join("record" if name == "rowid" else name for name in columns)
                    self._connection.execute(f"SELECT {names} FROM {table} LIMIT 0")  # noqa: S608 - names of our own
                self._connection.execute("SELECT host, path, cursor FROM stores LIMIT 0")
        except self._psycopg.ProgrammingError:
            return True
        return False

    def _remove_own(self) -> None:
        """Remove the stores of this host that have no records any more; those of a process that has just filled it stay."""
        self.lock_calls()
        others = self._connection.execute("SELECT 1 FROM stores WHERE host != %s LIMIT 1", (self.host,))
        tables = sorted(self.names("table") - {"next_record"})
        if others.fetchone() is None:
            self._connection.execute(f"TRUNCATE {', '.join(tables)}")
            return
        for table in ("transcript_records", "transcript_files"):
            if table in tables:
                sql = f"DELETE FROM {table} WHERE store IN (SELECT id FROM stores WHERE host = %s)"  # noqa: S608
                self._connection.execute(sql, (self.host,))
        sql = "DELETE FROM stores s WHERE host = %s AND NOT EXISTS (SELECT 1 FROM records WHERE store = s.id)"
        self._connection.execute(sql, (self.host,))

    def execute(self, sql: str, parameters: Sequence[Any]) -> "psycopg.Cursor[tuple[Any, ...]]":
        return self._connection.execute(postgres_sql(sql), parameters)

    def batches(self, sql: str, parameters: Sequence[Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
        with self._transaction(), self._connection.cursor("batches") as cursor:
            cursor.execute(postgres_sql(sql), parameters)
            while batch := cursor.fetchmany(size):
                yield batch

    def wait_at_most(self, seconds: float) -> None:
        self._connection.execute(
            "SELECT set_config('lock_timeout', %s, false)", (str(max(1, round(seconds * 1000))),)
        )

    def begin(self) -> None:
        self._connection.execute("BEGIN")

    def commit(self) -> None:
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        self._connection.execute("ROLLBACK")

    def lock_store(self, store: int) -> None:
        self._connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (_lock_number("calls"),))
        found = self._connection.execute("SELECT 1 FROM stores WHERE id = %s FOR UPDATE", (store,))
        if found.fetchone() is None:
            raise CatalogError(
                f"the catalog {self.name} was rebuilt by another process meanwhile",
                hint="run `runcard index`",
                is_shared=True,
            )

    def lock_calls(self) -> None:
        self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock_number("calls"),))

    def insert(self, rows: TableRows) -> None:
        for table, some in rows.items():
            if table == "texts":
                self._copy_texts(some)
            elif some:
                self._copy(table, some)

    def _copy(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        columns, types = COLUMNS_OF[table], _COPY_TYPES[table]
        keys, seen = _KEYS.get(table, 0), set()
        cut = [place for place, name in enumerate(columns) if name in INDEXED_TEXTS]
        sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
        with self._connection.cursor() as cursor, cursor.copy(sql) as copy:
            copy.set_types(types)
            for row in rows:
                if keys:
                    key = row[:keys]
                    if key in seen:
                        continue
                    seen.add(key)
                copy.write_row(_storable_row(row, cut))

    def _copy_texts(self, rows: list[tuple[Any, ...]]) -> None:
        sql = "COPY texts (record, name, summary, errors, labels, words, terms) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(sql) as copy:
            for record, *texts in rows:
                words = [split_words(text) for text in texts]
                every = "".join(f" {' '.join(some)} \n" for some in words)
                terms = {word[:_LONGEST_TERM] for some in words for word in some}
                if sum(map(len, terms)) > _MOST_TERMS:
                    terms = {_TOO_MANY}
                vector = " ".join(f"'{term}'" for term in terms)
                copy.write_row((record, *map(_storable_text, texts), every, vector))

    def add_totals(self, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(postgres_sql(ADD_TOTALS), rows)
                taken_off = [row[: len(TOTAL_KEYS)] for row in rows if row[len(TOTAL_KEYS)] < 0]
                if taken_off:
                    cursor.executemany(postgres_sql(DROP_EMPTY_TOTALS), taken_off)

    def delete(self, records: Sequence[int]) -> None:
        for table, columns in COLUMNS_OF.items():
            key = "record" if columns[0] == "rowid" else columns[0]
            self._connection.execute(f"DELETE FROM {table} WHERE {key} = ANY(%s)", (list(records),))  # noqa: S608

    @contextlib.contextmanager
    def locked(self, name: str, timeout: float, store: int | None = None) -> Iterator[None]:
        number, until = _lock_number(f"{name} {store}"), time.monotonic() + timeout
        while True:
            row = self._connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
            if row is not None and row[0]:
                break
            if time.monotonic() >= until:
                raise StoreError(
                    f"the catalog {self.name} is busy: another process fills it",
                    hint="try again when it is done",
                )
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            with contextlib.suppress(*self.failures):
                self._connection.execute("SELECT pg_advisory_unlock(%s)", (number,))

    def names(self, kind: str) -> set[str]:
        kinds = {"table": "r", "index": "i"}
        sql = "SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind = %s"
        return {name for (name,) in self._connection.execute(sql, (SCHEMA, kinds[kind]))}

    def records_with_words(self, text: str) -> tuple[str, tuple[object, ...]]:
        phrases = phrases_to_find(text)
        if not all(phrases):
            return "SELECT record FROM texts WHERE false", ()
        terms = [f"'{word[:_LONGEST_TERM]}'" for phrase in phrases for word in phrase]
        wanted = [" ".join(("", *phrase)) for phrase in phrases]
        wanted[:-1] = [f"{phrase} " for phrase in wanted[:-1]]
        tests = " AND ".join(["strpos(words, ?) > 0"] * len(wanted))
        if all(len(phrase) == 1 and len(phrase[0]) <= _LONGEST_TERM for phrase in phrases):
            tests = f"(NOT terms @@ '{_TOO_MANY}' OR ({tests}))"  # that it has each word is enough
        sql = f"SELECT record FROM texts WHERE terms @@ ?::tsquery AND {tests}"  # noqa: S608 - marks only
        return sql, (f"({' & '.join(terms)}:*) | '{_TOO_MANY}'", *wanted)

    def table_sql(self, statements: str) -> str:
        return postgres_types(without_comments(statements))

    def word_index(self) -> list[str]:
        return ["CREATE TABLE IF NOT EXISTS transcript_words (part BIGINT PRIMARY KEY, words BYTEA NOT NULL)"]

    def forget_words(self, tables: Sequence[str]) -> None:
        with self._transaction():
            for name in tables:
                self._connection.execute(f"DROP TABLE IF EXISTS {name}")

    def add_words(self, parts: Sequence[tuple[int, str]]) -> None:
        sql = "COPY transcript_words (part, words) FROM STDIN (FORMAT BINARY)"
        with self._connection.cursor() as cursor, cursor.copy(sql) as copy:
            copy.set_types(["int8", "bytea"])
            for part, text in parts:
                copy.write_row((part, make_filter(split_words(text))))

    def parts_with_words(self, words: Sequence[str]) -> tuple[str, tuple[object, ...]]:
        terms = [term for word in words for term in split_words(word)]
        last = longest_beginning(terms.pop()) if terms else None
        numbers = [number for term in (*terms, *filter(None, (last,))) for number in marks(term)]
        tests = ["get_bit(words, ? % (8 * octet_length(words))) = 1"] * len(numbers)
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return f"SELECT part FROM transcript_words{where}", tuple(numbers)  # noqa: S608 - marks only

    def tidy(self) -> None:
        with contextlib.suppress(*self.failures):  # only its owner can; else the server does so some time
            self._connection.execute("VACUUM (ANALYZE)")

    def error(self, error: Exception) -> CatalogError:
        errors = self._psycopg.errors
        reason = _reason(error)
        if isinstance(error, errors.InsufficientPrivilege):
            return CatalogError(
                f"the role may not do this in the catalog {self.name}: {reason}",
                hint="to read, a role needs USAGE on the schema and SELECT on its tables; to index records, it must own them",
                is_shared=True,
            )
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return CatalogError(
                f"the catalog {self.name} cannot be written: {reason}",
                hint="use a role that may write, or let another host index these records",
                is_shared=True,
            )
        if isinstance(error, self._psycopg.OperationalError) and error.sqlstate is None:
            return CatalogError(
                f"the catalog {self.name} does not answer: {reason}", hint=self.hint, is_shared=True
            )
        damages = (
            errors.UndefinedTable,
            errors.UndefinedColumn,
            errors.UndefinedFunction,
            errors.InvalidSchemaName,
        )
        return CatalogError(
            f"the catalog {self.name} cannot be used: {reason}",
            hint=self.hint,
            is_damaged=isinstance(error, damages),
            is_shared=True,
        )

    def is_lost(self, error: Exception) -> bool:
        if isinstance(error, self._psycopg.errors.DeadlockDetected):
            return True
        if not self._connection.closed:
            return False
        until = time.monotonic() + _RESTART
        while time.monotonic() < until:
            with contextlib.suppress(*self.failures, CatalogError):
                self.open()
                return True
            time.sleep(4 * _PAUSE)
        return False

    def ask(self, sql: str, limit: int, seconds: float) -> SqlRows:
        from runcard.catalog.postgres_reading_sql import ask_postgres  # noqa: PLC0415 - only for questions in SQL

        return ask_postgres(self._connection, sql, limit=limit, seconds=seconds)


def connect_in_time(module: Any, url: str) -> "psycopg.Connection[tuple[Any, ...]]":  # noqa: ANN401 - psycopg
    """A connection to a server that answers in time; psycopg itself waits for 2 seconds or longer."""
    made: list[psycopg.Connection[tuple[Any, ...]]] = []
    failed: list[BaseException] = []
    is_late = threading.Event()

    def connect() -> None:
        try:
            connection = module.connect(
                url, autocommit=True, client_encoding="UTF8", fallback_application_name="runcard"
            )
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)
            return
        if is_late.is_set():
            connection.close()
        made.append(connection)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(_seconds_to_answer(module, url))
    if failed:
        raise failed[0]
    if not made:
        is_late.set()
        raise module.OperationalError("no answer")
    return made[0]


def _seconds_to_answer(module: Any, url: str) -> float:  # noqa: ANN401 - psycopg
    """As the user says, in the URL or the environment; or else a short time."""
    try:
        stated = module.conninfo.conninfo_to_dict(url).get("connect_timeout") or os.environ.get(
            "PGCONNECT_TIMEOUT"
        )
        return max(float(stated), _ANSWER) if stated else _ANSWER
    except (ValueError, module.Error):
        return _ANSWER


def _load_psycopg() -> Any:  # noqa: ANN401 - a module
    try:
        import psycopg  # noqa: PLC0415 - an extra, and long to load
    except ImportError as error:
        shared = partial(CatalogError, is_shared=True)
        raise missing_package(
            "a catalog on a PostgreSQL server needs", "psycopg", "postgres", shared
        ) from error
    return psycopg


def _adapt(connection: "psycopg.Connection[tuple[Any, ...]]") -> None:
    """Sums are whole numbers, and the values of facts are floats or texts, as those of SQLite."""
    import json  # noqa: PLC0415

    from psycopg.adapt import Loader  # noqa: PLC0415
    from psycopg.types.json import set_json_loads  # noqa: PLC0415

    class PlainNumberLoader(Loader):
        def load(self, data: Any) -> int | float:  # noqa: ANN401 - a buffer
            text = bytes(data)
            return int(text) if text.lstrip(b"-").isdigit() else float(text)

    connection.adapters.register_loader("numeric", PlainNumberLoader)
    set_json_loads(partial(json.loads, parse_int=float), connection)


_COPY_TYPES = copy_types()


def _storable_row(row: tuple[Any, ...], cut: Sequence[int]) -> Sequence[Any]:
    values = list(row)
    for place in cut:
        if isinstance(value := values[place], str) and len(value) > LONGEST_NAME:
            values[place] = value[:LONGEST_NAME]
    return values


def _storable_text(text: str) -> str:
    return text.replace("\0", "\\0") if "\0" in text else text


def _lock_number(name: str) -> int:
    return int.from_bytes(blake2b(f"{SCHEMA} {name}".encode(), digest_size=8).digest(), signed=True)


def _reason(error: Exception) -> str:
    diagnosis = getattr(error, "diag", None)
    stated = getattr(diagnosis, "message_primary", None)
    lines = str(stated or error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


def host_name() -> str:
    """The name of this host, as the records of its stores are known by."""
    return os.uname().nodename
