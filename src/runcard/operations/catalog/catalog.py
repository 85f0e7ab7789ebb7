"""The catalog for programs: `runcard.Catalog()`."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

from runcard.catalog.columns import INSTANCES, PLANS, RECORDS, Column
from runcard.catalog.conditions import time_of
from runcard.catalog.engine import SqlRows
from runcard.catalog.searching import Filters
from runcard.documents.times import format_time_ms, parse_time
from runcard.encoding import JsonObject
from runcard.operations.catalog.costs import RecordCosts, record_costs
from runcard.operations.catalog.list_records import RUNS, SESSIONS, list_records
from runcard.operations.catalog.query import query
from runcard.operations.catalog.tables import CatalogTable
from runcard.operations.catalog.whence import Whence, whence

When = str | datetime  # "7d", "2026-11-01", or a time with its zone


class CatalogFilters(TypedDict, total=False):
    """What records must have to be listed; all of it."""

    model: str  # a part of its name
    status: str
    since: When
    until: When
    experiment: str
    tags: Sequence[str]
    where: str  # "cost > 0.5 and metric.accuracy > 0.6"
    text: str  # words in names, errors, labels or values
    columns: Sequence[str]  # further values, such as "config.temperature"
    sort: str | Sequence[str]  # "-cost": from the largest down
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogUsage:
    """What an agent, a run or a session used. None is unknown; `tokens` is input and output."""

    id: str
    path: Path  # of the record: its directory, or its archive
    status: str | None
    started: datetime | None
    ended: datetime | None
    duration: float | None  # seconds
    model: str | None
    calls: int | None
    tokens: int | None
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None
    token_source: str | None
    cost: Decimal | None
    known_cost: Decimal | None  # beside an unknown cost: the part that is known
    at_least: bool  # the figures are lower bounds
    stored_on: str | None  # the host that the path is of, where several share a catalog
    values: Mapping[str, Any] = field(default_factory=dict)  # the further columns that were asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRecord(CatalogUsage):
    """A record: a run or a session."""

    kind: str  # "run" or "session"
    store: Path
    archived: bool
    experiment: str | None
    host: str | None
    branch: str | None
    commit: str | None
    errors: int
    warnings: int
    error: str | None  # the first
    problem: str | None  # why it cannot be read


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRun(CatalogRecord):
    """A run."""

    provider: str | None
    experiment_id: str | None
    command: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSession(CatalogRecord):
    """A session."""

    instances: int | None
    failed_instances: int | None
    folder: str | None
    tool: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogInstance(CatalogUsage):
    """An agent of a session."""

    session: str
    name: str | None
    role: str | None
    parent: str | None
    error: str | None
    error_category: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlan:
    """A test plan."""

    path: Path
    project: Path
    source: str | None  # path in the project
    class_: str | None
    method: str | None
    type: str | None  # "instance" or "class"
    test_level: str | None
    status: str  # "fresh", "stale" or "invalid"
    reason: str | None  # why it is not fresh
    next: str  # the agent that is next
    valid: bool  # the document has no errors
    validated: bool  # the validator found no errors
    errors: int
    warnings: int
    changed: datetime | None
    values: Mapping[str, Any] = field(default_factory=dict)  # the further columns that were asked for


Row = TypeVar("Row")


class Catalog:
    """All known runs and sessions, archived ones included. Each question first reads what is new.

    `path` is the file of the catalog; by default that of the settings.
    """

    def __init__(self, path: "str | os.PathLike[str] | None" = None) -> None:
        self._path = None if path is None else os.path.abspath(path)

    def runs(self, **filters: Unpack[CatalogFilters]) -> CatalogTable[CatalogRun]:
        """The runs that pass the filters, newest first."""
        return self._table(CatalogRun, RUNS, filters)

    def sessions(self, **filters: Unpack[CatalogFilters]) -> CatalogTable[CatalogSession]:
        """The sessions that pass the filters, newest first."""
        return self._table(CatalogSession, SESSIONS, filters)

    def instances(self, **filters: Unpack[CatalogFilters]) -> CatalogTable[CatalogInstance]:
        """The agents of sessions that pass the filters, newest first."""
        return self._table(CatalogInstance, INSTANCES, filters)

    def plans(self, **filters: Unpack[CatalogFilters]) -> CatalogTable[CatalogPlan]:
        """The test plans of all known projects that pass the filters. They have no model, experiment or tag."""
        return self._table(CatalogPlan, PLANS, filters)

    def find(
        self, text: str, *, columns: Sequence[str] = (), limit: int | None = None
    ) -> CatalogTable[CatalogRecord]:
        """The runs and sessions with these words in names, errors, labels or values, newest first."""
        filters: CatalogFilters = {"text": text, "columns": columns}
        if limit is not None:
            filters["limit"] = limit
        return self._table(CatalogRecord, RECORDS, filters)

    def costs(
        self, by: str | Iterable[str] = "month", *, since: When | None = None, limit: int | None = None
    ) -> RecordCosts:
        """What all records cost, by these dimensions: `"month"`, `["model", "label.team"]`. Each call counts once.

        With a limit there are only so many groups, the most expensive ones. The totals are those of all.
        """
        names = by.split(",") if isinstance(by, str) else by
        if isinstance(since, str):
            now = datetime.now(UTC)
            since = time_of(since, now)
        wanted = [name.strip() for name in names]
        return record_costs(wanted, since=since, limit=limit, catalog=self._path)

    def whence(self, target: "str | os.PathLike[str] | None" = None, *, commit: str | None = None) -> Whence:
        """The records that made a file (its path, or a digest), or that were made with a commit of the code."""
        return whence(None if target is None else os.fspath(target), commit=commit, catalog=self._path)

    def query(self, sql: str, *, limit: int = 10_000, timeout: float = 10.0) -> SqlRows:
        """The rows of one SELECT over the views of the catalog."""
        return query(sql, limit=limit, timeout=timeout, catalog=self._path)

    def _table(self, kind: type[Row], what: str, filters: CatalogFilters) -> CatalogTable[Row]:
        make: Any = kind
        further = list(filters.get("columns", ()))
        own = {one.name.rstrip("_"): one.name for one in fields(make) if one.name != "values"}  # `class_`
        sort = filters.get("sort")
        found = list_records(
            what,
            to_filters(filters),
            columns=[*own, *further],
            sort=[sort] if isinstance(sort, str) else sort,
            limit=filters.get("limit"),
            catalog=self._path,
        )
        columns = {column.name: column for column in found.columns}
        typed = [{name: _typed(column, row[name]) for name, column in columns.items()} for row in found.rows]
        rows = [
            make(
                **{field: row[name] for name, field in own.items()},
                values={name: row[name] for name in further},
            )
            for row in (_with_paths(row) for row in typed)
        ]
        values = [[row[name] for name in columns] for row in typed]
        types = [(name, column.type) for name, column in columns.items()]
        return CatalogTable(rows, types, values, found.total, found.unreachable, found.warning)


def to_filters(filters: CatalogFilters) -> Filters:
    """The filters as the catalog takes them; raises TypeError for an unknown one."""
    if unknown := filters.keys() - CatalogFilters.__annotations__.keys():
        raise TypeError(f"{min(unknown)!r} is not a filter: use {', '.join(CatalogFilters.__annotations__)}")
    return Filters(
        model=filters.get("model"),
        status=filters.get("status"),
        since=_when(filters.get("since")),
        until=_when(filters.get("until")),
        experiment=filters.get("experiment"),
        tags=tuple(filters.get("tags", ())),
        where=filters.get("where"),
        text=filters.get("text"),
    )


def _when(when: When | None) -> str | None:
    return format_time_ms(when.astimezone()) if isinstance(when, datetime) else when


def _typed(column: Column, value: Any) -> Any:  # noqa: ANN401 - of any column
    """A value as Python has it: costs are decimals, times are datetimes."""
    if value is None:
        return None
    if column.type == "cost":
        return Decimal(str(value))
    return parse_time(value) if column.type == "time" else value


def _with_paths(row: JsonObject) -> JsonObject:
    return row | {name: Path(row[name]) for name in ("path", "store", "project") if name in row}
