"""The records of the catalog by the month in which they started, in UTC: which months there are, and the rows of one.

A month has a digest of what its rows are made of: places, fingerprints and states of its records. It is computed from one
column-wise pass over the records, without their rows in other tables. As long as it is the same, so are the rows.
"""

import hashlib
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from runcard.catalog.database import CatalogDatabase
from runcard.catalog.export import RowBatch, TypedColumn, select_columns
from runcard.catalog.tables import VERSION, exact_select

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RECORDS = """SELECT r.started, r.kind, r.record_id, r.path, r.fingerprint, r.status, r.problem, s.path, s.is_reachable
    FROM records r JOIN stores s ON s.id = r.store ORDER BY r.started NULLS LAST, r.record_id, r.path"""


class _MonthTable(NamedTuple):
    view: str
    order: str = ""  # of the rows of one record
    condition: str = ""


_TABLES = {
    "runs": _MonthTable("v1_runs"),
    "sessions": _MonthTable("v1_sessions"),
    "instances": _MonthTable("v1_instances", ", i.instance_id"),
    "calls": _MonthTable("v1_calls", ", c.number"),
    "metrics": _MonthTable("v1_values", ", f.key", "(f.key LIKE 'metric.%' OR f.key LIKE 'score.%')"),
}
MONTH_TABLES = tuple(_TABLES)


class CatalogMonth(NamedTuple):
    """The records that started in a month, or those whose start is not known."""

    first: int | None  # its first millisecond since 1970; None: the start is not known
    end: int | None  # the first of the next month
    digest: str

    @property
    def name(self) -> str | None:
        """As `2026-11`; None: the start is not known."""
        if self.first is None:
            return None
        time = _EPOCH + timedelta(milliseconds=self.first)
        return f"{time.year:04}-{time.month:02}"  # `strftime` has fewer digits for early years


def months(database: CatalogDatabase) -> Iterator[CatalogMonth]:
    """All months with records, oldest first; records without a start are the last one."""
    rows = (row for batch in database.batches(_RECORDS) for row in batch)
    span = _MonthSpan()
    for (first, end), records in groupby(rows, key=lambda row: span.of(row[0])):
        digest = hashlib.sha256(f"{VERSION}\n".encode())
        for record in records:
            digest.update(repr(tuple(record)).encode("utf-8", "surrogatepass"))
        yield CatalogMonth(first, end, digest.hexdigest())


class _MonthSpan:
    """The month of a time; times come in their order, so most are of the month before."""

    def __init__(self) -> None:
        self._first = self._end = 0

    def of(self, started: int | None) -> tuple[int | None, int | None]:
        if started is None:
            return None, None
        if not self._first <= started < self._end:
            time = _EPOCH + timedelta(milliseconds=started)
            first = time.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
            self._first = _milliseconds(first - _EPOCH)
            days = monthrange(first.year, first.month)[
                1
            ]  # a time after the last month there is cannot be written
            self._end = self._first + _milliseconds(timedelta(days=days))
        return self._first, self._end


def _milliseconds(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)


def month_columns(database: CatalogDatabase, table: str) -> list[TypedColumn]:
    """The columns of a table: those of its view."""
    return select_columns(database, exact_select(_TABLES[table].view))


def month_batches(database: CatalogDatabase, table: str, month: CatalogMonth) -> Iterator[RowBatch]:
    """The rows of a table whose records are of this month, oldest first, in batches."""
    source = _TABLES[table]
    is_known = month.first is not None
    conditions = ["r.started >= ? AND r.started < ?" if is_known else "r.started IS NULL", source.condition]
    sql = exact_select(source.view)
    for condition in filter(None, conditions):
        sql += f" {'AND' if ' WHERE ' in sql else 'WHERE'} {condition}"
    sql += f" ORDER BY r.started, r.record_id, r.path{source.order}"
    return database.batches(sql, [month.first, month.end] if is_known else [])
