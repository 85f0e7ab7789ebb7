"""The lists: runs, sessions, agents, calls, plans, experiments, as `runcard ls` has them."""

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import Response
from starlette.routing import Route

from runcard.catalog.columns import CALLS, EXPERIMENTS, INSTANCES, PLANS, RECORDS, Column
from runcard.errors import UsageError
from runcard.operations.catalog.list_records import RUNS, SESSIONS, WHATS, RecordList, list_records
from runcard.views.costs_table import csv_text
from runcard.views.record_table import record_cells
from runcard.web.compare import record_word
from runcard.web.experiment import experiment_url
from runcard.web.list_query import TITLES, ListQuery, read_query
from runcard.web.pages import money_or_unknown, render
from runcard.web.plan import plan_url
from runcard.web.record_address import record_url, row_url

if TYPE_CHECKING:
    from starlette.requests import Request

    from runcard.encoding import JsonObject

_MOST_CSV = 100_000
_LINKED = {CALLS: "run", INSTANCES: "session", EXPERIMENTS: "name", PLANS: "source"}
_NUMBERS = frozenset({"number", "count", "cost", "seconds"})
_COMPARED = frozenset({RECORDS, RUNS, SESSIONS})  # lists whose rows can be marked and compared
_COST_COLUMNS = ("known_cost", "at_least")


def list_page(request: "Request") -> Response:
    """One page of a list."""
    query = read_query(_table(request), request.query_params)
    problem = None
    try:
        found = ask(query, with_counts=True)
    except UsageError as error:  # the form keeps what was written, so that it can be mended
        found, problem = RecordList([], [], 0, ()), error
    columns = found.columns[: len(query.columns)]
    rows = [
        {
            "cells": [
                (_cost(row) if column.name == "cost" else text, column, column.type in _NUMBERS)
                for text, column in zip(record_cells(row, columns), columns, strict=True)
            ],
            "url": _url(query.what, row),
            "word": record_word(row) if query.what in _COMPARED else None,
            "row": row,
        }
        for row in found.rows
    ]
    pages = max(1, -(-found.total // query.limit))
    return render(
        request,
        "list.html",
        200 if problem is None else 400,
        error=problem,
        query=query,
        title=TITLES[query.what],
        titles=TITLES,
        columns=columns,
        numbers=_NUMBERS,
        rows=rows,
        found=found,
        pages=pages,
        linked=_linked(query.what, columns) if columns else None,
        is_compared=query.what in _COMPARED,
    )


def _cost(row: "JsonObject") -> str:
    """The cost of a row as all pages show it; empty where there was nothing to pay for."""
    cost, known = row.get("cost"), row.get("known_cost")
    if cost is None and known is None and not row.get("calls") and not row.get("tokens"):
        return ""
    return money_or_unknown(cost, known, at_least=bool(row.get("at_least")))


def ask(query: ListQuery, *, limit: int | None = None, with_counts: bool = False) -> RecordList:
    """The rows of a query; `with_counts` adds what a cell needs to tell an unknown cost from none."""
    hidden = ("tokens",) if query.what == CALLS else () if query.what == PLANS else ("calls",)
    more = [name for name in hidden if with_counts and "cost" in query.columns and name not in query.columns]
    return list_records(
        query.what,
        query.filters,
        columns=[*query.columns, *more],
        sort=query.sort,
        limit=limit or query.limit,
        offset=0 if limit else query.offset,
    )


def list_csv(request: "Request") -> Response:
    """All rows of a list as CSV."""
    query = read_query(_table(request), request.query_params)
    found = ask(query, limit=_MOST_CSV)
    if found.total > _MOST_CSV:
        raise UsageError(
            f"this list has {found.total:,} rows, and a page writes at most {_MOST_CSV:,}",
            hint=f"filter it, or use: runcard export {query.what} --to csv",
        )
    more = [
        name for name in _COST_COLUMNS if not query.has_own_columns and found.rows and name in found.rows[0]
    ]
    names = [*(column.name for column in found.columns), *more]
    text = csv_text(names, [[_csv_cell(row[name]) for name in names] for row in found.rows])
    return Response(
        text,
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{query.what}.csv"'},
    )


def _csv_cell(value: Any) -> Any:  # noqa: ANN401 - any value of a row
    return str(value).lower() if isinstance(value, bool) else value


def _linked(what: str, columns: list[Column]) -> str:
    """The column whose cells lead to what a row is about."""
    names = [column.name for column in columns]
    wanted = _LINKED.get(what, "id")
    return wanted if wanted in names else names[0]


def _url(what: str, row: "JsonObject") -> str | None:
    if what == EXPERIMENTS:
        return experiment_url(row["name"])
    if what == PLANS:
        return plan_url(row["path"])
    if what == CALLS:
        return record_url("run", row["run"], row["path"])
    if what == INSTANCES:
        return record_url("session", row["session"], row["path"], f"/agents/{quote(row['id'], safe='')}")
    return row_url(row)


def _table(request: "Request") -> str:
    """The table that an address names: /runs, /runs.csv."""
    return request.url.path.strip("/").removesuffix(".csv")


ROUTES = [
    *(Route(f"/{what}.csv", list_csv) for what in WHATS),
    *(Route(f"/{what}", list_page) for what in WHATS),
]
