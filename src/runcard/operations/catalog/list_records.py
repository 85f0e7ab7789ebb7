"""List records, their instances and calls, and experiments, from the catalog: `runcard ls`."""

from collections.abc import Sequence
from dataclasses import dataclass

from runcard.catalog.columns import CALLS, EXPERIMENTS, INSTANCES, PLANS, RECORDS, Column
from runcard.catalog.searching import Filters, list_table, unreachable_projects, unreachable_stores
from runcard.encoding import JsonObject
from runcard.operations.catalog.open import experiments_to_ask, open_catalog, projects_to_ask

RUNS, SESSIONS = "runs", "sessions"
WHATS = (RECORDS, RUNS, SESSIONS, INSTANCES, CALLS, PLANS, EXPERIMENTS)

DEFAULT_COLUMNS = {
    "records": ("id", "kind", "started", "status", "model", "tokens", "cost", "duration"),
    RUNS: ("id", "started", "status", "experiment", "model", "tokens", "cost", "duration"),
    SESSIONS: ("id", "started", "status", "instances", "model", "tokens", "cost", "duration", "title"),
    INSTANCES: ("session", "name", "role", "model", "status", "tokens", "cost", "duration"),
    CALLS: ("run", "started", "step", "model", "tokens", "cost", "duration"),
    PLANS: ("status", "next", "class", "method", "source", "valid", "findings", "reason", "path"),
    EXPERIMENTS: ("name", "runs", "failed", "started", "last", "calls", "cost", "description"),
}
_ALWAYS = {
    RECORDS: (
        "id",
        "kind",
        "path",
        "status",
        "started",
        "known_tokens",
        "cost",
        "known_cost",
        "at_least",
        "incomplete",
        "problem",
        "conflict",
        "stored_on",
    ),
    INSTANCES: (
        "session",
        "id",
        "path",
        "status",
        "started",
        "known_tokens",
        "cost",
        "known_cost",
        "at_least",
        "incomplete",
    ),
    CALLS: ("run", "number", "path", "started", "cost", "known_cost", "at_least"),
    EXPERIMENTS: ("name", "id", "path", "runs", "started", "cost", "known_cost", "at_least", "incomplete"),
    PLANS: (
        "path",
        "project",
        "source",
        "class",
        "method",
        "type",
        "status",
        "reason",
        "next",
        "valid",
        "errors",
        "warnings",
    ),
}
NEWEST_FIRST = ("-started",)
_SORT = {PLANS: ("project", "source", "method")}


@dataclass(frozen=True)
class RecordList:
    """The records that were found."""

    columns: list[Column]  # those that were asked for
    rows: list[JsonObject]  # by column, those that are always there included
    total: int  # without the limit
    unreachable: tuple[str, ...]  # stores, or projects of plans, that could not be looked at
    warning: str | None = None  # why the catalog is not up to date
    are_plans: bool = False
    unknown: tuple[tuple[str, str | None], ...] = ()  # warnings about names that no record has, with hints
    plans: int = 0  # with the words that were searched for in records

    @property
    def conflicts(self) -> list[str]:
        """The ids of those that have several contents, as copies of which one was changed."""
        return list(dict.fromkeys(row["id"] for row in self.rows if row.get("conflict")))

    def to_dict(self) -> JsonObject:
        return {
            "records": self.rows,
            "total": self.total,
            f"unreachable_{'projects' if self.are_plans else 'stores'}": list(self.unreachable),
            **({"plans": self.plans} if self.plans else {}),
        }


def list_records(
    what: str = "records",
    filters: Filters | None = None,
    *,
    columns: Sequence[str] | None = None,
    sort: Sequence[str] | None = None,
    limit: int | None = None,
    offset: int = 0,
    catalog: str | None = None,
    stores: list[str] | None = None,
) -> RecordList:
    """The records that pass the filters. `columns` are those of DEFAULT_COLUMNS unless they are named.

    Without `sort` they are sorted by time, newest first, and plans by project, source and method.
    `stores` are those that the catalog is brought up to date with; by default all that are known.
    """
    table = what if what in _ALWAYS else RECORDS
    wanted = tuple(columns) if columns is not None else DEFAULT_COLUMNS[what]
    asked = filters or Filters()
    kind = {RUNS: "run", SESSIONS: "session"}.get(what, asked.kind)
    names = list(dict.fromkeys((*_ALWAYS[table], *wanted)))
    are_plans = what == PLANS
    is_search = what == RECORDS and asked == Filters(text=asked.text) and asked.text is not None
    projects = projects_to_ask() if are_plans or is_search else ()
    experiments = experiments_to_ask() if what == EXPERIMENTS else ()
    with open_catalog(
        [] if are_plans else stores, catalog, projects=projects, experiments=experiments
    ) as database:
        order = _SORT.get(what, NEWEST_FIRST) if sort is None else sort
        found = list_table(database, table, _with_kind(asked, kind), names, order, limit, offset)
        missing = tuple((unreachable_projects if are_plans else unreachable_stores)(database))
        warning = database.warning
        plans = list_table(database, PLANS, asked, ["path"], (), 1).total if is_search else 0
    unknown = tuple(
        (f"no record has {name}", near and f"did you mean {near}?") for name, near in found.unknown
    )
    by_name = {column.name: column for column in found.columns}
    rows = [_without_host(dict(zip(names, row, strict=True)), wanted) for row in found.rows]
    return RecordList(
        [by_name[name] for name in wanted], rows, found.total, missing, warning, are_plans, unknown, plans
    )


def _without_host(row: JsonObject, wanted: Sequence[str]) -> JsonObject:
    """A row of a catalog that belongs to one machine says nothing of hosts."""
    if row.get("stored_on") is None and "stored_on" not in wanted:
        row.pop("stored_on", None)
    return row


def _with_kind(filters: Filters, kind: str | None) -> Filters:
    from dataclasses import replace  # noqa: PLC0415

    return replace(filters, kind=kind)
