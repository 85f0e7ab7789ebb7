"""The catalog: a file, or a database on a server.

It is a cache: one that is damaged or of another version is built anew. What goes wrong with it is a CatalogError.
"""

import contextlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self, TypeVar

from runcard.catalog.catalog_error import CatalogError
from runcard.catalog.engine import DatabaseEngine, ResultRows, SqlRows, TableRows
from runcard.catalog.tables import COLUMNS_OF, TOTAL_KEYS, USAGE_COLUMNS, USAGE_TOTALS
from runcard.catalog.usage_totals import LABEL, OF_RECORDS, UsageTotals, label_value
from runcard.settings.value_types import is_server_url

__all__ = ["CatalogDatabase", "CatalogError", "TableRows"]

_NAME = COLUMNS_OF["records"].index("name")
_WITNESS = COLUMNS_OF["usage"].index("witness")
_AGAIN = 5  # times that something is tried while a server restarts

T = TypeVar("T")


class CatalogDatabase:
    """An open catalog; to be closed, or used in a `with` block."""

    def __init__(self, place: str | None) -> None:
        """Open the catalog in a file or at a URL; without a place, make one that only this process has, in memory."""
        self.warning: str | None = None  # why it is not up to date
        self._engine = _engine_of(place)
        with self.checked():
            self._engine.open()
        self.path = self._engine.name
        self.host = self._engine.host  # whose stores this process sees

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object = None, error: BaseException | None = None, *__: object) -> None:
        self._engine.close()
        if isinstance(error, self._engine.failures) and not isinstance(
            error, OSError
        ):  # while rows were read
            raise self._engine.error(error) from error

    @property
    def engine(self) -> DatabaseEngine:
        """The database itself, for what only one kind of database has."""
        return self._engine

    def locked(self, name: str, timeout: float, store: int | None = None) -> AbstractContextManager[None]:
        """Hold a lock of the catalog, or of one store, which only processes that replace or fill it take."""
        return self._engine.locked(name, timeout, store)

    def clear(self) -> None:
        """Start again with an empty catalog; of one that several hosts share, remove what this host wrote."""
        if self.host:  # what others have as well is to be decided again, and the sums are of all hosts
            try:
                for (store,) in self.rows("SELECT id FROM stores WHERE host = ?", (self.host,)):
                    names = self.rows("SELECT name FROM records WHERE store = ?", (store,))
                    self.remove(store, [name for (name,) in names])
            except CatalogError as error:
                if not error.is_damaged:  # damaged tables are made anew
                    raise
        with self.checked():
            self._engine.clear()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction."""
        with self.checked():
            self._engine.begin()
        try:
            with self.checked():
                yield
                self._engine.commit()
        except BaseException:
            with contextlib.suppress(*self._engine.failures):  # a full disk has ended it already
                self._engine.rollback()
            raise

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> ResultRows:
        """The rows of a question."""
        with self.checked():
            return self._engine.execute(sql, [_storable(value) for value in parameters])

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a question."""
        with self.checked():
            return self._engine.execute(sql, [_storable(value) for value in parameters]).fetchall()

    def batches(
        self, sql: str, parameters: Sequence[Any] = (), size: int = 10_000
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a question, of which no more than one batch is in memory."""
        with self.checked():
            yield from self._engine.batches(sql, [_storable(value) for value in parameters], size)

    def wait_at_most(self, seconds: float) -> None:
        """Wait no longer than this for another writer."""
        with self.checked():
            self._engine.wait_at_most(seconds)

    def columns(self, cursor: ResultRows) -> list[str]:
        """The names of the columns of a result."""
        return [column[0] for column in cursor.description or ()]

    def ask(self, sql: str, limit: int, seconds: float) -> SqlRows:
        """The rows of a SELECT of a user, which can only read."""
        return self._engine.ask(sql, limit, seconds)

    def records_with_words(self, text: str) -> tuple[str, tuple[object, ...]]:
        """The SELECT of the records whose texts have all these words, and its parameters."""
        return self._engine.records_with_words(text)

    def forget_words(self, tables: Sequence[str]) -> None:
        """Remove the tables of the search index over transcripts."""
        with self.checked():
            self._engine.forget_words(tables)

    @contextlib.contextmanager
    def checked(self) -> Iterator[None]:
        """Raise what goes wrong as a CatalogError; to be used where rows are read, too."""
        try:
            yield
        except self._engine.failures as error:
            raise self._engine.error(error) from error

    def make_indexes(self) -> None:
        """Make the indexes that are missing."""
        with self.checked():
            found = self._engine.names("index")
        if missing := [name for name in self._engine.indexes if name not in found]:
            with self.writing():
                for name in missing:
                    self.query(f"CREATE INDEX IF NOT EXISTS {name} ON {self._engine.indexes[name]}")

    def take_numbers(self, count: int) -> int:
        """The first of so many numbers for new records, which no other writer gets."""

        def take() -> int:
            with self.writing():
                sql = "UPDATE next_record SET number = number + ? RETURNING number"
                (after,) = self.query(sql, (count,)).fetchone()
            return int(after) - count

        return self._again(take)

    def put(self, store: int, rows: TableRows) -> None:
        """Write the rows of records of a store, in the place of those that they had."""

        def put() -> None:
            with self.writing():
                self._engine.lock_store(store)
                taken_off = self._remove(store, [record[_NAME] for record in rows["records"]])
                self._note_new(rows)
                self._engine.insert({table: some for table, some in rows.items() if table != USAGE_TOTALS})
                self._engine.add_totals(_in_order([*taken_off, *rows.get(USAGE_TOTALS, [])]))

        self._again(put)

    def remove(self, store: int, names: Sequence[str]) -> None:
        """Remove records of a store, those that are there."""

        def remove() -> None:
            with self.writing():
                self._engine.lock_store(store)
                self._engine.add_totals(self._remove(store, names))

        if names:
            self._again(remove)

    def settle(self) -> None:
        """Decide which calls count, as far as records were written since; one that several records have counts once."""
        if self.rows("SELECT 1 FROM unsettled LIMIT 1"):
            from runcard.catalog.call_owners import settle  # noqa: PLC0415 - most questions find nothing new

            self._again(lambda: settle(self))

    def _note_new(self, rows: TableRows) -> None:
        """Note that it is to be decided which of these calls count."""
        with_calls = {row[0] for row in rows["usage"] if row[_WITNESS] is not None}
        self._note("record", with_calls)

    def _remove(self, store: int, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Remove records; what is to be taken off the sums."""
        sql = "SELECT id FROM records WHERE store = ? AND name IN (SELECT value FROM json_each(?))"
        found = self.query(sql, (store, json.dumps(names))).fetchall()
        records = [record for (record,) in found]
        taken_off = self._totals_to_take_off(records)
        if records:
            self._note_gone(records)
            self._engine.delete(records)
        return taken_off

    def _note_gone(self, records: Sequence[int]) -> None:
        """Note the calls of these records that others have as well."""
        sql = (
            "SELECT response, request FROM usage WHERE (counts != 1 OR number < 0) "
            "AND record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        )
        found = self.query(sql, (json.dumps(records),)).fetchall()
        calls = {call for row in found for call in row if call is not None}
        self._note("call", calls)

    def _note(self, column: str, numbers: Collection[int]) -> None:
        self.query("INSERT INTO unsettled (record, call) VALUES (NULL, NULL)")
        if numbers:
            sql = f"INSERT INTO unsettled ({column}) SELECT CAST(value AS BIGINT) FROM json_each(?)"  # noqa: S608
            self.query(sql, (json.dumps(sorted(numbers)),))

    def _totals_to_take_off(self, records: Sequence[int]) -> list[tuple[Any, ...]]:
        sql = f"SELECT {', '.join(USAGE_COLUMNS)} FROM usage WHERE record = ? AND counts = 1"  # noqa: S608
        usage = {record: self.query(sql, (record,)).fetchall() for record in records}
        return self._totals_of(usage).rows(-1)

    def change_totals(
        self,
        added: Mapping[int, Sequence[tuple[Any, ...]]],
        taken_off: Mapping[int, Sequence[tuple[Any, ...]]],
    ) -> None:
        """Change the sums by rows of usage, by their records."""
        more, fewer = self._totals_of(added).rows(), self._totals_of(taken_off).rows(-1)
        self._engine.add_totals(_in_order([*more, *fewer]))

    def _totals_of(self, usage: Mapping[int, Sequence[tuple[Any, ...]]]) -> UsageTotals:
        totals = UsageTotals()
        columns = ", ".join(OF_RECORDS.values())
        for record, rows in usage.items():
            values = self.query(f"SELECT {columns} FROM records WHERE id = ?", (record,)).fetchone()  # noqa: S608
            facts = self.query(
                "SELECT key, number, text FROM facts WHERE record = ? AND substr(key, 1, ?) = ?",
                (record, len(LABEL), LABEL),
            )
            labels = [(key, label_value(number, text)) for key, number, text in facts]
            totals.add(dict(zip(OF_RECORDS, values, strict=True)), labels, rows)
        return totals

    def _again(self, work: Callable[[], T]) -> T:
        """Do work that can be done twice. If the server restarts meanwhile, do it again."""
        for _ in range(_AGAIN):
            try:
                return work()
            except CatalogError as error:
                cause = error.__cause__
                if not isinstance(cause, Exception) or not self._engine.is_lost(cause):
                    raise
        return work()


def _in_order(totals: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Sums by their keys: all writers change them in the same order, and so do not wait for each other in a circle."""
    return sorted(totals, key=lambda row: row[: len(TOTAL_KEYS)])


def _engine_of(place: str | None) -> DatabaseEngine:
    if is_server_url(place):
        from runcard.catalog.postgres_engine import PostgresEngine  # noqa: PLC0415 - one of the two

        return PostgresEngine(str(place))
    from runcard.catalog.sqlite_engine import SqliteEngine  # noqa: PLC0415

    return SqliteEngine(place)


def _storable(value: object) -> object:
    """A text as the catalog has it: a character that no database takes is written as its code."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
