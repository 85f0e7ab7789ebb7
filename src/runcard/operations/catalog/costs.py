"""What the models of all known runs and sessions cost: `runcard costs` without `--source`, or with both.

A call counts at its own time; where a record does not list its calls, they count when the run, or the agent of a session, started.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from runcard.accounting import Prices
from runcard.catalog.call_identity import number_of
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.usage_sums import (
    CountedRecords,
    UnlistedCalls,
    UsageFacts,
    UsageFilter,
    UsageGroup,
    check_dimension,
    counted_records,
    expensive_sessions,
    imported_sessions,
    unlisted_calls,
    unreadable_records,
    usage_facts,
    usage_sums,
)
from runcard.encoding import JsonObject
from runcard.errors import StoreError
from runcard.operations.catalog.open import open_catalog, stores_to_ask
from runcard.operations.catalog.tables import CatalogTable
from runcard.operations.sessions.call_costs import CLASSES, CostTotals
from runcard.operations.sessions.costs import (
    TIMES,
    CostGroup,
    CostReport,
    FoundCalls,
    Key,
    add_up,
    date_key,
    find_calls,
    in_order,
    most_expensive,
)
from runcard.operations.sessions.imported_session import safe_id
from runcard.operations.sessions.metered_sessions import join_metered_runs
from runcard.parallel.progress import Progress

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from runcard.catalog.columns import ColumnType


_FIRST_DAY = date(1970, 1, 1)
_OF_CALLS = ("model", "provider")  # dimensions that a record may have several values of
_LAST_DAY = (date.max - _FIRST_DAY).days


class UnreadRecord(NamedTuple):
    """A record, or a store, that could not be read."""

    path: str
    reason: str


@dataclass
class RecordCosts:
    """What records cost, and session files as well if they were asked for."""

    by: tuple[str, ...]
    totals: CostTotals
    groups: list[CostGroup]
    facts: UsageFacts
    counted: CountedRecords
    unread: list[UnreadRecord]
    transcripts: CostReport | None = None
    in_both: int = 0  # sessions that are imported, and in session files
    since: datetime | None = None
    warning: str | None = None  # why the catalog is not up to date
    more_groups: int = 0  # that a limit leaves out

    @property
    def unpriced(self) -> list[str]:
        """Models without a price, or with a part that has none."""
        return sorted({*self.facts.unpriced, *(self.transcripts.unpriced if self.transcripts else ())})

    def to_arrow(self) -> "pa.Table":
        """The groups as a table of pyarrow."""
        return self.table.to_arrow()

    def to_pandas(self) -> "pd.DataFrame":
        """The groups as a data frame of pandas."""
        return self.table.to_pandas()

    @property
    def table(self) -> CatalogTable[CostGroup]:
        """The groups, with a column for each dimension."""
        counts: list[tuple[str, ColumnType]] = [(name, "count") for name in ("calls", *CLASSES)]
        columns: list[tuple[str, ColumnType]] = [(name, "text") for name in self.by]
        columns += [
            *counts,
            ("cost", "cost"),
            ("known_cost", "cost"),
            ("at_least", "flag"),
            ("token_source", "text"),
        ]
        rows = []
        for key, totals in self.groups:
            calls = totals.calls if totals.has_all_calls else None
            figures = (totals.cost, totals.known_cost_beside, totals.at_least, totals.token_source)
            rows.append([*key.values(), calls, *totals.tokens.values(), *figures])
        return CatalogTable(self.groups, columns, rows, len(rows))

    def to_dict(self) -> JsonObject:
        files: JsonObject = {} if self.transcripts is None else self.transcripts.to_dict()
        records = [{"path": path, "line": None, "reason": reason} for path, reason in self.unread]
        return files | {
            "totals": self.totals.to_dict(),
            "groups": [{"key": group.key, **group.totals.to_dict()} for group in self.groups],
            "unpriced": self.unpriced,
            "unread": [*records, *files.get("unread", [])],
            "unknown_types": files.get("unknown_types", {}),
            "records": self.facts.records,
            "records_without_cost": self.facts.without_cost,
            "records_without_time": self.facts.undated,
            "copies_not_counted": self.counted.copies,
            "conflicts": list(self.counted.conflicts),
            "partly_joined": self.counted.partly,
            "more_groups": self.more_groups,
        }


def record_costs(
    by: Sequence[str] = ("month",),
    *,
    since: datetime | None = None,
    limit: int | None = None,
    catalog: str | None = None,
    stores: list[str] | None = None,
) -> RecordCosts:
    """Add up what all known runs and sessions cost. `catalog` is the file of another catalog, `stores` those that it is of.

    `limit` is the number of groups to keep, the most expensive ones; the totals are those of all.
    """
    _check(by)
    with open_catalog(stores, catalog) as database:
        return _RecordSums(database, by, since).report(limit)


def all_costs(
    source: str,
    paths: Sequence[str] = (),
    *,
    by: Sequence[str] = ("month",),
    since: datetime | None = None,
    prices: Prices | None = None,
    progress: Callable[[int], Progress] | None = None,
    limit: int | None = None,
) -> RecordCosts:
    """Add up records and session files, each call once. `limit` is the number of groups to keep, the most expensive ones.

    Of a session that is in both, the imported one counts if it has more calls, or was joined with the run that metered it,
    unless it started too early; else its files count, joined with the runs that metered it.
    """
    _check(by)
    try:
        found = find_calls(source, paths, progress)
    except StoreError:
        if paths:
            raise
        return record_costs(by, since=since, limit=limit)  # its tools have not been used here
    _join_runs(found)
    with open_catalog() as database:
        sums = _RecordSums(database, by, since)
        stored, in_files = _in_both(database, found, sums.start)
        sums.leave_out(in_files, _calls_in_files(found, stored))
        report = sums.report()
    report.transcripts = add_up(found, by, since=since, prices=prices, left_out=stored)
    report.in_both = len(stored) + len(in_files)
    report.totals.add_totals(report.transcripts.totals)
    groups = {tuple(group.key.values()): group.totals for group in report.groups}
    for group in report.transcripts.groups:
        groups.setdefault(tuple(group.key.values()), CostTotals()).add_totals(group.totals)
    report.groups, report.more_groups = most_expensive(_groups(groups, by), limit)
    return report


def _join_runs(found: FoundCalls) -> None:
    """Join the calls of session files with those of the runs that metered them."""
    table = found.read.table
    for tool in found.tools:
        sessions = {one.session for one in table.origins if one.tool == tool and one.session is not None}
        join_metered_runs(table, tool, sessions, stores_to_ask())


def _calls_in_files(found: FoundCalls, stored: Collection[tuple[str, str | None]]) -> set[int]:
    """The identities of the calls that count by session files, not by records."""
    calls = found.read.table.items()
    return {
        number_of(key[:8]) for key, call in calls if (call.origin.tool, call.origin.session) not in stored
    }


def _in_both(
    database: CatalogDatabase, found: FoundCalls, start: int | None
) -> tuple[set[tuple[str, str | None]], set[int]]:
    """The sessions that count as they were imported, by tool and id; and the records of those whose files count."""
    calls: dict[tuple[str, str], int] = {}
    own: dict[tuple[str, str], str] = {}
    for call in found.read.table:
        if call.origin.session is not None:
            key = call.origin.tool, call.origin.session
            calls[key] = calls.get(key, 0) + 1
    for tool, session in calls:
        own[tool, safe_id(tool, session)] = session
    stored: set[tuple[str, str | None]] = set()
    in_files: set[int] = set()
    for imported in imported_sessions(database):
        session_id = own.get((imported.tool, imported.id))
        if session_id is None:
            continue
        there = calls[imported.tool, session_id]
        has_all = imported.calls > there or (imported.is_metered and imported.calls == there)
        if has_all and (start is None or (imported.started or 0) >= start):
            stored.add((imported.tool, session_id))
        else:
            in_files.add(imported.record)
    return stored, in_files


def _check(by: Iterable[str]) -> None:
    for name in by:
        check_dimension(name, TIMES)


class _RecordSums:
    """Adds up the usage of records."""

    def __init__(self, database: CatalogDatabase, by: Sequence[str], since: datetime | None) -> None:
        self._database, self._by, self._since = database, tuple(by), since
        self.start = None if since is None else round(since.timestamp() * 1000)
        self._texts = [name for name in by if name not in TIMES]
        self.counted = counted_records(database)
        self._wanted = UsageFilter(self.start)

    def leave_out(self, records: Collection[int], calls: Collection[int]) -> None:
        """Do not count these records, and these calls."""
        self._wanted = UsageFilter(self.start, records, calls)

    def report(self, limit: int | None = None) -> RecordCosts:
        wanted = self._wanted
        totals, groups, more = CostTotals(), dict[Key, CostTotals](), 0
        shown = wanted
        if limit is not None and self._by == ("session",):  # there may be very many
            only, more = expensive_sessions(self._database, wanted, limit)
            shown = wanted._replace(only=only)
            for usage in usage_sums(self._database, (), wanted, by_time=False):
                totals.add_usage(usage)
        for usage in self._sums(shown):
            groups.setdefault(self._key(usage), CostTotals()).add_usage(usage)
            if shown is wanted:
                totals.add_usage(usage)
        for unlisted in unlisted_calls(self._database, self._texts, wanted):
            for one in (totals, *(group for key, group in groups.items() if self._may_have(key, unlisted))):
                one.at_least = one.has_more = True
        unread = [UnreadRecord(*row) for row in unreadable_records(self._database)]
        facts = usage_facts(self._database, wanted)
        ordered, fewer = most_expensive(_groups(groups, self._by), limit)
        return RecordCosts(
            self._by,
            totals,
            ordered,
            facts,
            self.counted,
            unread,
            since=self._since,
            warning=self._database.warning,
            more_groups=more + fewer,
        )

    def _sums(self, wanted: UsageFilter) -> Iterable[UsageGroup]:
        by_time = len(self._texts) < len(self._by)
        return usage_sums(self._database, self._texts, wanted, by_time=by_time)

    def _may_have(self, key: Key, unlisted: UnlistedCalls) -> bool:
        """Whether calls that are not listed may belong to a group. A record that names no model may have called any."""
        texts = dict(zip(self._texts, unlisted.key, strict=True))
        times = [
            datetime.fromtimestamp(time / 1000).astimezone().date()
            for time in (self.start or 0, unlisted.end)
        ]
        for name, value in zip(self._by, key, strict=True):
            if name not in texts:
                first, last = (date_key(name, time) for time in times)
                if value is None or not first <= value <= last:
                    return False
            elif texts[name] != value and not (texts[name] is None and name in _OF_CALLS):
                return False
        return True

    def _key(self, usage: UsageGroup) -> Key:
        texts = dict(zip(self._texts, usage.key, strict=True))
        return tuple(texts[name] if name in texts else _day_key(name, usage.day) for name in self._by)


def _day_key(name: str, day: int | None) -> str | None:
    return None if day is None or day > _LAST_DAY else date_key(name, _FIRST_DAY + timedelta(days=day))


def _groups(groups: dict[Key, CostTotals], by: Sequence[str]) -> list[CostGroup]:
    found = [CostGroup(dict(zip(by, key, strict=True)), totals) for key, totals in groups.items()]
    return in_order(found, by)
