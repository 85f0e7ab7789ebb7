"""List records, their instances and calls, and experiments, from the catalog: `runcard ls`."""

from collections.abc import Sequence
from dataclasses import dataclass

from runcard.catalog.columns import CALLS, EXPERIMENTS, INSTANCES, RECORDS, Column
from runcard.catalog.searching import Filters, list_table, unreachable_stores
from runcard.encoding import JsonObject
from runcard.operations.catalog.open import open_catalog

RUNS, SESSIONS = "runs", "sessions"
WHATS = (RECORDS, RUNS, SESSIONS, INSTANCES, CALLS, EXPERIMENTS)

DEFAULT_COLUMNS = {
    "records": ("id", "kind", "started", "status", "model", "tokens", "cost", "duration"),
    RUNS: ("id", "started", "status", "experiment", "model", "tokens", "cost", "duration"),
    SESSIONS: ("id", "started", "status", "instances", "model", "tokens", "cost", "duration"),
    INSTANCES: ("session", "name", "role", "model", "status", "tokens", "cost", "duration"),
    CALLS: ("run", "started", "step", "model", "tokens", "cost", "duration"),
    EXPERIMENTS: ("name", "runs", "failed", "started", "last", "calls", "cost"),
}
_ALWAYS = {
    RECORDS: (
        "id",
        "kind",
        "path",
        "status",
        "started",
        "cost",
        "known_cost",
        "at_least",
        "problem",
        "conflict",
    ),
    INSTANCES: ("session", "id", "path", "status", "started", "cost", "known_cost", "at_least"),
    CALLS: ("run", "number", "path", "started", "cost", "known_cost", "at_least"),
    EXPERIMENTS: ("name", "id", "runs", "started", "cost", "known_cost", "at_least"),
}


@dataclass(frozen=True)
class RecordList:
    """The records that were found."""

    columns: list[Column]  # those that were asked for
    rows: list[JsonObject]  # by column, those that are always there included
    total: int  # without the limit
    unreachable: tuple[str, ...]  # stores that could not be looked at
    warning: str | None = None  # why the catalog is not up to date

    @property
    def conflicts(self) -> list[str]:
        """The ids of those that have several contents, as copies of which one was changed."""
        return list(dict.fromkeys(row["id"] for row in self.rows if row.get("conflict")))

    def to_dict(self) -> JsonObject:
        return {"records": self.rows, "total": self.total, "unreachable_stores": list(self.unreachable)}


def list_records(
    what: str = "records",
    filters: Filters | None = None,
    *,
    columns: Sequence[str] | None = None,
    sort: Sequence[str] = ("-started",),
    limit: int | None = None,
    catalog: str | None = None,
) -> RecordList:
    """The records that pass the filters. `columns` are those of DEFAULT_COLUMNS unless they are named."""
    table = what if what in _ALWAYS else RECORDS
    wanted = tuple(columns) if columns is not None else DEFAULT_COLUMNS[what]
    asked = filters or Filters()
    kind = {RUNS: "run", SESSIONS: "session"}.get(what, asked.kind)
    names = list(dict.fromkeys((*_ALWAYS[table], *wanted)))
    with open_catalog(path=catalog) as database:
        found = list_table(database, table, _with_kind(asked, kind), names, sort, limit)
        missing, warning = tuple(unreachable_stores(database)), database.warning
    by_name = {column.name: column for column in found.columns}
    rows = [dict(zip(names, row, strict=True)) for row in found.rows]
    return RecordList([by_name[name] for name in wanted], rows, found.total, missing, warning)


def _with_kind(filters: Filters, kind: str | None) -> Filters:
    from dataclasses import replace  # noqa: PLC0415

    return replace(filters, kind=kind)
