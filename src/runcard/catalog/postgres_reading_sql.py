"""Questions in SQL to a server: read-only, whatever they are, and bounded in time and rows.

The server itself refuses everything but reading. The question is that of a cursor, which can only be a SELECT or VALUES, in a
transaction that can only read; as it is sent by the protocol for one statement, nothing can follow it.
"""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runcard.catalog.engine import SqlRows
from runcard.errors import UsageError

if TYPE_CHECKING:
    import psycopg

_LONGEST_SQL = 1 << 20
_LARGEST_ANSWER = 64 << 20  # bytes of texts
_BATCH = 1 << 20  # bytes, about, that are fetched at once
_QUESTIONS = ("select", "with", "values", "table", "(")


def ask_postgres(
    connection: "psycopg.Connection[tuple[Any, ...]]", sql: str, *, limit: int, seconds: float
) -> SqlRows:
    """The rows of a SELECT, at most `limit`; raises UsageError for anything else, and when it takes longer than `seconds`."""
    from psycopg import Error, RawCursor  # noqa: PLC0415 - long to load

    if not seconds > 0:  # also where it is not a number
        raise UsageError(f"{seconds:g} is not a time limit", hint="write a number of seconds")
    if len(sql) > _LONGEST_SQL:
        raise UsageError("the SQL is too long", hint="write at most 1 MiB")
    question = sql.replace("\0", " ")
    deadline = time.monotonic() + seconds
    with RawCursor(connection) as cursor:
        cursor.execute("BEGIN READ ONLY")
        try:
            _limit_time(cursor, deadline)
            # A binary result, of which there is none, is asked for by the protocol that takes one statement only.
            cursor.execute(f"DECLARE asked NO SCROLL CURSOR FOR {question}", binary=True)
            rows = list(_limited(cursor, limit + 1, deadline))
            columns = [str(column[0]) for column in cursor.description or ()]
        except Error as error:
            raise _refused(error, question, seconds) from error
        finally:
            if not connection.closed:
                cursor.execute("ROLLBACK")
    return SqlRows(columns, rows[:limit], len(rows) > limit)


def _limit_time(cursor: "psycopg.RawCursor[tuple[Any, ...]]", deadline: float) -> None:
    left = max(1, round((deadline - time.monotonic()) * 1000))
    cursor.execute(f"SET LOCAL statement_timeout = {left}")


def _limited(
    cursor: "psycopg.RawCursor[tuple[Any, ...]]", most: int, deadline: float
) -> Iterator[tuple[Any, ...]]:
    """The first rows, as long as they are not too large together. The first is fetched alone, to see how large they are."""
    left, size, fetched = _LARGEST_ANSWER, 1, 0
    while fetched < most:
        size = min(size, most - fetched)
        _limit_time(cursor, deadline)
        cursor.execute(f"FETCH {size} FROM asked")
        rows = cursor.fetchall()
        used = sum(len(value) if isinstance(value, str | bytes) else 8 for row in rows for value in row)
        left -= used
        if left < 0:
            raise UsageError("the answer is larger than 64 MiB", hint="ask for fewer rows or columns")
        yield from rows
        if len(rows) < size:
            return
        fetched += len(rows)
        size = max(1, min(10_000, _BATCH // max(1, used // len(rows)), 16 * size))


def _refused(error: "psycopg.Error", sql: str, seconds: float) -> UsageError:
    from psycopg import errors  # noqa: PLC0415

    reason = (error.diag.message_primary or str(error)).splitlines()[0]
    first = sql.lstrip().lower()
    if isinstance(error, errors.QueryCanceled):
        return UsageError(f"the query took longer than {seconds:g} s", hint="ask for less, or pass --timeout")
    is_writing = isinstance(error, errors.ReadOnlySqlTransaction | errors.InsufficientPrivilege)
    if first and (is_writing or not first.startswith((*_QUESTIONS, "--", "/*"))):
        return UsageError(f"only reading is allowed: {reason}", hint="write a single SELECT statement")
    if not first:
        return UsageError("not a single SELECT statement", hint="for example: SELECT * FROM v1_runs")
    if isinstance(error, errors.OutOfMemory | errors.ProgramLimitExceeded):
        return UsageError(f"the query is too large: {reason}", hint="ask for less")
    return UsageError(f"in the SQL: {reason}", hint="the views and their columns: runcard query --views")
