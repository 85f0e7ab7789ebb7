"""Whole tables of the catalog, in batches: the rows of its views, with the types of their columns.

Costs and times are as they are stored, in whole numbers, so nothing is rounded. The order is that of time, and the same for
the same records whenever and in whichever order the catalog read them.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from runcard.catalog.columns import CALLS, INSTANCES, RECORDS, ColumnType
from runcard.catalog.conditions import Condition, lower_ascii
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.searching import Filters, select_keys
from runcard.catalog.tables import exact_select

BATCH = 10_000  # rows


class _Source(NamedTuple):
    view: str
    order: str = ""  # of the rows of one record


_SOURCES = {
    "runs": _Source("v1_runs"),
    "sessions": _Source("v1_sessions"),
    "instances": _Source("v1_instances", ", i.instance_id"),
    "usage": _Source("v1_usage", ", u.number"),
    "counted_usage": _Source("v1_counted_usage", ", u.number"),
    "calls": _Source("v1_calls", ", c.number"),
    "values": _Source("v1_values", ", f.key"),
    "files": _Source("v1_files", ", f.is_input DESC, f.path"),
    "relations": _Source("v1_relations", ", x.type, x.other_id"),
}
TABLE_NAMES = tuple(_SOURCES)

_TYPES: dict[str, ColumnType] = {
    **dict.fromkeys(("started", "ended"), "time"),
    **dict.fromkeys(("cost_usd", "known_cost_usd"), "cost"),
    **dict.fromkeys(("reachable", "archived", "at_least", "is_input"), "flag"),
    **dict.fromkeys(("calls", "errors", "warnings", "instances", "failed_instances", "exit_code"), "count"),
    **dict.fromkeys(("input_tokens", "output_tokens", "reasoning_tokens"), "count"),
    **dict.fromkeys(("cache_read_tokens", "cache_write_tokens"), "count"),
    **dict.fromkeys(("duration_seconds", "first_token_seconds"), "seconds"),
    "number": "number",
}  # of the columns of all views; the others are texts

RowBatch = list[tuple[Any, ...]]  # rows


class TypedColumn(NamedTuple):
    """A column of a view."""

    name: str
    type: ColumnType


def table_columns(database: CatalogDatabase, table: str) -> list[TypedColumn]:
    """The columns of a table: those of its view."""
    return select_columns(database, exact_select(_SOURCES[table].view))


def select_columns(database: CatalogDatabase, select: str) -> list[TypedColumn]:
    """The columns of the SELECT of a view."""
    cursor = database.query(f"{select} LIMIT 0")
    return [TypedColumn(name, _TYPES.get(name, "text")) for name in database.columns(cursor)]


def table_batches(
    database: CatalogDatabase, table: str, filters: Filters, size: int = BATCH
) -> Iterator[RowBatch]:
    """The rows of a table that pass the filters, oldest first, in batches: no more than one is in memory.

    Raises UsageError at once for filters that are wrong.
    """
    source = _SOURCES[table]
    sql, parameters = exact_select(source.view), list[object]()
    for condition in _conditions(database, table, filters):
        sql += f" {'AND' if ' WHERE ' in sql else 'WHERE'} {condition.sql}"
        parameters += condition.parameters
    sql += f" ORDER BY r.started NULLS LAST, r.record_id, r.path{source.order}"
    return database.batches(sql, parameters, size)


def _conditions(database: CatalogDatabase, table: str, filters: Filters) -> Iterator[Condition]:
    """The filters as SQL. Those of instances and calls are about each of them; a model is that of a row, where rows have one."""
    if table in {"usage", "counted_usage"} and filters.model is not None:
        yield Condition("instr(lower(u.model), ?) > 0", (lower_ascii(filters.model),))
        filters = replace(filters, model=None)
    if filters == Filters():
        return
    key, chosen = select_keys(database, table if table in {INSTANCES, CALLS} else RECORDS, filters)
    yield Condition(f"({key}) IN ({chosen.sql})", chosen.parameters)
