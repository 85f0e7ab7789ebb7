"""What the catalog needs of a database: SQLite (`sqlite_engine`) and PostgreSQL (`postgres_engine`) have it.

The SQL of the catalog is written for SQLite, in words that PostgreSQL knows, too. What still differs is translated in
`postgres_sql`, or is a method here.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from runcard.catalog.catalog_error import CatalogError
from runcard.errors import UsageError

TableRows = dict[str, list[tuple[Any, ...]]]  # the rows of some records, by table


class SqlRows(NamedTuple):
    """The answer to a question in SQL."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    is_cut: bool  # whether there are more rows than were allowed
    warning: str | None = None  # why the catalog is not up to date


class ResultRows(Protocol):
    """The rows of a result, as the cursors of both databases have them."""

    @property
    def description(self) -> Any: ...  # noqa: ANN401 - a name first, and then what a database likes
    def fetchone(self) -> Any: ...  # noqa: ANN401 - a row, or None
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class DatabaseEngine(Protocol):
    """An open database."""

    name: str  # for messages, without a password
    host: str  # of the stores that this process sees; "" where a catalog belongs to one machine
    hint: str  # what to do when it cannot be used
    is_frozen: bool  # opened without seeing what others write
    failures: tuple[type[Exception], ...]
    indexes: Mapping[str, str]  # that are made when a store was read, by name

    def open(self) -> None: ...

    def close(self) -> None: ...

    def clear(self) -> None:
        """Remove all rows of this host but those of records; or all, where there is no other host or the tables are damaged."""

    def execute(self, sql: str, parameters: Sequence[Any]) -> ResultRows: ...

    def batches(self, sql: str, parameters: Sequence[Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a question, of which no more than one batch is in memory."""

    def wait_at_most(self, seconds: float) -> None:
        """Wait no longer than this for another writer."""

    def begin(self) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def lock_store(self, store: int) -> None:
        """Until the end of the transaction, no other writes records of this store, or decides which calls count."""

    def lock_calls(self) -> None:
        """Until the end of the transaction, no other writes records, or decides which calls count."""

    def insert(self, rows: TableRows) -> None:
        """Add the rows of records. Of rows with the same key, the first is added."""

    def add_totals(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add to the sums in `usage_totals`, and remove those of no parts. The rows are in the order of their keys."""

    def delete(self, records: Sequence[int]) -> None:
        """Remove all rows of these records."""

    def locked(self, name: str, timeout: float, store: int | None) -> AbstractContextManager[None]:
        """Hold a lock, of the catalog or of a store, that only those take who replace or fill it."""

    def names(self, kind: str) -> set[str]:
        """The tables of the catalog (`table`), or its indexes (`index`)."""

    def records_with_words(self, text: str) -> tuple[str, tuple[object, ...]]:
        """The SELECT of the records whose texts have all these words, and its parameters."""

    def table_sql(self, statements: str) -> str:
        """The CREATE statements of SQLite for this database."""

    def word_index(self) -> list[str]:
        """The statements that make the table of the words of transcripts."""

    def forget_words(self, tables: Sequence[str]) -> None:
        """Remove these tables, so that nothing of them stays in the file."""

    def add_words(self, parts: Sequence[tuple[int, str]]) -> None:
        """Add the texts of parts of transcripts, by their numbers, to the table of words."""

    def parts_with_words(self, words: Sequence[str]) -> tuple[str, tuple[object, ...]]:
        """The SELECT of the numbers of parts in which all these words may occur, and its parameters."""

    def tidy(self) -> None:
        """After much was written: let the database look at what it has, so that it answers fast."""

    def error(self, error: Exception) -> CatalogError:
        """What went wrong, for users."""

    def is_lost(self, error: Exception) -> bool:
        """Whether the database went away in the middle, and answers again now."""

    def ask(self, sql: str, limit: int, seconds: float) -> SqlRows:
        """The rows of a SELECT of a user, which can only read."""


def words_of(text: str) -> list[str]:
    """The words that a user looks for."""
    words = text.split()
    if not words:
        raise UsageError("there is nothing to search for", hint="write one or more words")
    return words[:50]
