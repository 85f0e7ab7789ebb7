"""Questions in SQL to a file: read-only, whatever they are, and bounded in time, rows and memory.

The database itself refuses everything but reading: the file is opened read-only, and an authorizer allows only what a SELECT
needs. A statement that runs too long is interrupted.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from runcard.catalog.catalog_error import CatalogError
from runcard.catalog.engine import SqlRows
from runcard.errors import UsageError

_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer", "edit", "readfile", "writefile"}
_STEPS = 10_000  # of the database between two looks at the clock
_LONGEST_VALUE = 16 << 20  # bytes
_LONGEST_SQL = 1 << 20
_LARGEST_ANSWER = 64 << 20  # bytes of texts
_MEMORY = 256 << 20  # bytes of all connections of this process


def ask_sql(uri: str, sql: str, *, limit: int, seconds: float) -> SqlRows:
    """The rows of a SELECT, at most `limit`; raises UsageError for anything else, and when it takes longer than `seconds`."""
    if not seconds > 0:  # also where it is not a number
        raise UsageError(f"{seconds:g} is not a time limit", hint="write a number of seconds")
    with _read_only(uri, seconds) as connection:
        try:
            cursor = connection.execute(sql)
            rows = list(_limited(cursor, limit + 1))
        except sqlite3.Error as error:
            raise _damaged(error) or _refused(error, seconds) from error
        except MemoryError as error:
            raise UsageError(
                f"the query needs more than {_MEMORY >> 20} MiB of memory", hint="ask for less at once"
            ) from error
        except sqlite3.Warning as warning:  # more than one statement
            raise UsageError(
                "not a single SELECT statement", hint="for example: SELECT * FROM v1_runs"
            ) from warning
        if cursor.description is None:
            raise UsageError("not a single SELECT statement", hint="for example: SELECT * FROM v1_runs")
        columns = [str(column[0]) for column in cursor.description]
    return SqlRows(columns, rows[:limit], len(rows) > limit)


def _limited(cursor: sqlite3.Cursor, most: int) -> Iterator[tuple[Any, ...]]:
    """The first rows, as long as they are not too large together."""
    left = _LARGEST_ANSWER
    for number, row in enumerate(cursor, 1):
        left -= sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if left < 0:
            raise UsageError("the answer is larger than 64 MiB", hint="ask for fewer rows or columns")
        yield row
        if number == most:
            return


@contextmanager
def _read_only(uri: str, seconds: float) -> Iterator[sqlite3.Connection]:
    try:
        read_only = uri if "?" in uri else f"{uri}?mode=ro"
        connection = sqlite3.connect(read_only, uri=True, timeout=5, isolation_level=None)
    except sqlite3.Error as error:
        raise CatalogError(f"the catalog cannot be opened: {error}", hint="run: runcard index") from error
    with closing(connection):
        connection.execute(f"PRAGMA hard_heap_limit = {_MEMORY}")
        connection.execute("PRAGMA query_only = ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _LONGEST_SQL)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_authorizer(_authorize)
        deadline = time.monotonic() + seconds
        connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
        yield connection


def _authorize(action: int, _: str | None, name: str | None, *__: object) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    is_function = action == sqlite3.SQLITE_FUNCTION and name is not None
    return sqlite3.SQLITE_OK if is_function and name not in _FORBIDDEN_FUNCTIONS else sqlite3.SQLITE_DENY


def _damaged(error: sqlite3.Error) -> CatalogError | None:
    """The error of a catalog that is damaged, whatever the question was."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return None
    return CatalogError(f"the catalog is damaged: {error}", is_damaged=True)


_REFUSALS = ("not authorized", "prohibited", "cannot modify")  # the last one: a view


def _refused(error: sqlite3.Error, seconds: float) -> UsageError:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_INTERRUPT:
        return UsageError(f"the query took longer than {seconds:g} s", hint="ask for less, or pass --timeout")
    if code == sqlite3.SQLITE_AUTH or any(text in str(error) for text in _REFUSALS):
        return UsageError(f"only reading is allowed: {error}", hint="write a single SELECT statement")
    if code == sqlite3.SQLITE_NOMEM or isinstance(error, MemoryError):
        return UsageError("the query needs too much memory", hint="ask for less")
    return UsageError(f"in the SQL: {error}", hint="the views and their columns: runcard query --views")
