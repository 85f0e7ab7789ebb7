"""What models were paid for, added up over records.

A call counts once: see `call_owners`.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from operator import add
from typing import Any, NamedTuple

from runcard.catalog.columns import FACTS, Columns, names_fact
from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.local_days import local_day
from runcard.catalog.record_copies import copied_records
from runcard.catalog.rows import RUN, SESSION
from runcard.catalog.tables import FIGURES, RUN_OF_CALL
from runcard.catalog.totals_question import TotalsQuestion, totals_for
from runcard.errors import UsageError

_TEXTS = {
    "model": "u.model",
    "provider": "u.provider",
    "experiment": "q.experiment",
    "role": "u.role",
    "agent": "u.agent",
    "branch": "r.branch",
    "tool": "r.tool",
    "project": "r.folder",
    "host": "r.host",
    "session": f"CASE WHEN r.kind = '{SESSION}' THEN r.record_id END",
}
DIMENSIONS = tuple(_TEXTS)

# The figures of a part, in the order of FIGURES; and of how many parts something is true.
_FIGURES = (*(f"u.{name}" for name in FIGURES[:-1]), "coalesce(u.cost, u.known_cost)")
_UNPRICED = (
    "u.cost IS NULL AND coalesce(u.input, u.output) IS NOT NULL AND coalesce(u.token_source, '') != 'partial'"
)
_STARTED = "u.started"
_FUTURE = 253_402_214_400_000  # the last day of 9999, in milliseconds: the end of what is open
_FROM = "FROM usage u"
_RECORDS = "JOIN records r ON r.id = u.record"
# A call of a session without labels has the experiment, the labels and the configuration of the innermost run that has it as well.
_SHARED = (
    f"FROM records s JOIN usage m ON m.record = s.id AND m.number < 0 WHERE s.kind = '{SESSION}' "  # noqa: S608 - text of our own
    "AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.record = s.id AND substr(f.key, 1, 6) = 'label.')"
)
_RUNS = (
    f"LEFT JOIN (SELECT m.record, m.number, ({RUN_OF_CALL.format('m', 'p.id')}) AS run "
    f"{_SHARED}) x ON x.record = u.record AND x.number = u.number "
    "JOIN records q ON q.id = coalesce(x.run, u.record)"
)
_OF_RUNS = ("experiment", "label", "config")  # dimensions that sessions do not have by themselves, or rarely


class KnownSum(NamedTuple):
    """The sum of what is known."""

    amount: int
    is_whole: bool  # nothing is unknown


class UsageGroup(NamedTuple):
    """Usage of the same key, time and token source."""

    key: tuple[str | None, ...]
    day: int | None  # local, since 1970, if that was asked for; None: unknown
    token_source: str | None
    is_at_least: bool
    calls: KnownSum
    tokens: tuple[KnownSum, ...]  # by CLASSES; input without what was cached
    cost: KnownSum  # in the unit of the catalog


class CountedRecords(NamedTuple):
    """Which records count, if not all."""

    copies: int  # of records that count
    conflicts: tuple[str, ...]  # ids of records whose copies differ
    partly: int  # records with calls that count elsewhere, and with others


class UsageFilter(NamedTuple):
    """What counts."""

    since: int | None = None  # milliseconds: only what started since
    left_out: Collection[int] = ()  # numbers of records
    left_out_calls: Collection[int] = ()  # identities of calls
    until: int | None = None  # milliseconds: only what started before
    only: Collection[int] | None = None


def check_dimension(name: str, others: Sequence[str] = ()) -> None:
    """Raise UsageError if usage cannot be grouped by this."""
    if name not in _TEXTS and name not in others and not names_fact(name):
        known = ", ".join((*others, *DIMENSIONS, *(f"{fact}.NAME" for fact in FACTS)))
        raise UsageError(f"{name!r} is not a dimension", hint=f"use {known}")


def usage_sums(
    database: CatalogDatabase, by: Sequence[str], wanted: UsageFilter, *, by_time: bool
) -> Iterator[UsageGroup]:
    """Usage by these dimensions, and by the local day with `by_time`."""
    for name in by:
        check_dimension(name)
    has_totals = wanted.only is None and not (_are_of_runs(by) and _has_shared_calls(database))
    totals = totals_for(by, wanted.since, by_time=by_time) if has_totals else None
    rows = None if totals is None else _rows_of_totals(database, totals, by, wanted)
    if rows is None:
        rows = _rows_of_usage(database, by, wanted, by_time=by_time)
    return (_usage_sum(row, len(by), has_time=by_time) for row in rows)


def _are_of_runs(by: Sequence[str]) -> bool:
    return any(name.partition(".")[0] in _OF_RUNS for name in by)


def _has_shared_calls(database: CatalogDatabase) -> bool:
    """Whether calls of sessions are those of runs as well: the kept sums have them by session only."""
    return bool(database.rows(f"SELECT 1 {_SHARED} LIMIT 1"))


def _rows_of_usage(
    database: CatalogDatabase, by: Sequence[str], wanted: UsageFilter, *, by_time: bool
) -> list[tuple[Any, ...]]:
    """The sums of all parts, one by one where they are too large for the database."""
    source = _UsageQuestion(by, _day(database) if by_time else None, wanted)
    try:
        return database.rows(source.sums, source.parameters)
    except CatalogError as error:
        if "overflow" not in str(error):
            raise
        return database.rows(source.each, source.parameters)


def _rows_of_totals(
    database: CatalogDatabase, totals: TotalsQuestion, by: Sequence[str], wanted: UsageFilter
) -> list[tuple[Any, ...]] | None:
    """The same by the sums that are kept, without the records that are left out; None where they cannot tell."""
    if wanted.left_out or wanted.left_out_calls:
        return None
    found = _kept_rows(database, totals)
    if found is None:
        return None
    added: dict[tuple[Any, ...], list[int]] = {}
    for row in found:
        texts = (None if value is None else _text(value) for value in row[: len(by)])
        key = (*texts, *row[len(by) : len(by) + 2])
        sums = [value or 0 for value in row[len(key) :]]
        added[key] = [*map(add, added[key], sums)] if key in added else sums
    return [(*key, *sums) for key, sums in added.items() if sums[0]]


def _kept_rows(database: CatalogDatabase, totals: TotalsQuestion) -> list[tuple[Any, ...]] | None:
    """The sums that are kept; of a slot that begins before the time, those of shorter ones, or of its usage."""
    found = totals.rows(database)
    if found is None or totals.cut is None:
        return found
    if totals.of_cut is not None:
        part = _kept_rows(database, totals.of_cut)
    else:
        since, until = totals.cut
        part = _rows_of_usage(database, totals.by, UsageFilter(since, until=until), by_time=totals.by_time)
    return None if part is None else [*found, *part]


class _RunColumns(Columns):
    """The facts of the run that a call was made in."""

    @property
    def record(self) -> str:
        return "q.id"


class _UsageQuestion:
    """The SQL that adds up usage, part by part."""

    def __init__(
        self, by: Sequence[str], day: str | None, wanted: UsageFilter, *, is_unlisted: bool = False
    ) -> None:
        """With `is_unlisted`, what may be missing: see `unlisted_calls`."""
        columns = _RunColumns("records")
        keys = [_dimension(columns, name) for name in by]
        self._keys = keys
        self._groups = [*keys, day or "0", "u.token_source"]
        where, parameters = _where_unlisted(wanted) if is_unlisted else _where(wanted)
        joins = [_RECORDS] if any("r." in key for key in keys) else []
        joins += [_RUNS, *columns.joins] if columns.joins or "q.experiment" in keys else []
        self._source = " ".join((_FROM, *joins, where))
        self.parameters = [*columns.parameters, *parameters]

    @property
    def sums(self) -> str:
        figures = ", ".join(f"sum({one}), count({one})" for one in _FIGURES)
        names = ", ".join(str(number + 1) for number in range(len(self._groups)))
        return f"SELECT {', '.join(self._groups)}, count(*), sum(u.at_least), {figures} {self._source} GROUP BY {names}"

    @property
    def ends(self) -> str:
        """The last end of a record, by the dimensions alone."""
        end = f"max((SELECT coalesce(e.ended, {_FUTURE}) FROM records e WHERE e.id = u.record))"  # noqa: S608 - a number
        names = ", ".join(str(number + 1) for number in range(len(self._keys)))
        return f"SELECT {', '.join([*self._keys, end])} {self._source}" + (
            f" GROUP BY {names}" if names else ""
        )

    @property
    def each(self) -> str:
        figures = ", ".join(f"{one}, CASE WHEN {one} IS NULL THEN 0 ELSE 1 END" for one in _FIGURES)
        return f"SELECT {', '.join(self._groups)}, 1, u.at_least, {figures} {self._source}"


def _usage_sum(row: Sequence[Any], keys: int, *, has_time: bool) -> UsageGroup:
    texts = tuple(None if value is None else _text(value) for value in row[:keys])
    day, source, parts, at_least, *counts = row[keys:]
    sums = [
        KnownSum(amount or 0, known == parts) for amount, known in zip(counts[::2], counts[1::2], strict=True)
    ]
    calls, *tokens, cost, known_cost = sums
    return UsageGroup(
        texts,
        day if has_time else None,
        source,
        bool(at_least),
        calls,
        tuple(tokens),
        KnownSum(known_cost.amount, cost.is_whole),
    )


def _day(database: CatalogDatabase) -> str:
    (first,) = database.query("SELECT min(started) FROM usage").fetchone()
    (last,) = database.query("SELECT max(started) FROM usage").fetchone()
    return local_day(_STARTED, first or 0, last or 0)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _dimension(columns: Columns, name: str) -> str:
    if (sql := _TEXTS.get(name)) is not None:
        return sql
    fact = columns.find(name)
    columns.shown(fact)  # joins it
    return f"coalesce({fact.sql}.text, {fact.sql}.number)"


def _where(wanted: UsageFilter) -> tuple[str, list[object]]:
    conditions, parameters = ["u.counts = 1"], list[object]()
    if wanted.since is not None:
        conditions.append(f"{_STARTED} >= ?")
        parameters.append(wanted.since)
    if wanted.until is not None:
        conditions.append(f"{_STARTED} < ?")
        parameters.append(wanted.until)
    if wanted.left_out:
        conditions.append("u.record NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?))")
        parameters.append(json.dumps(sorted(wanted.left_out)))
    if wanted.left_out_calls:
        conditions.append("coalesce(u.response, 0) NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?))")
        parameters.append(json.dumps(sorted(wanted.left_out_calls)))
    if wanted.only is not None:
        conditions.append("u.record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))")
        parameters.append(json.dumps(sorted(wanted.only)))
    return f"WHERE {' AND '.join(conditions)}", parameters


def _where_unlisted(wanted: UsageFilter) -> tuple[str, list[object]]:
    since = wanted.since
    where, parameters = _where(wanted._replace(since=None, until=since))
    is_later = "(ended >= ? OR (ended IS NULL AND is_open = 1 AND status = 'running'))"
    records = f"SELECT id FROM records WHERE is_counted = 1 AND {is_later}"  # noqa: S608 - text of our own
    return f"{where} AND u.witness IS NULL AND u.record IN ({records})", [*parameters, since]


def expensive_sessions(
    database: CatalogDatabase, wanted: UsageFilter, limit: int
) -> tuple[frozenset[int], int]:
    """The records of the most expensive groups by session; and how many more groups there are. Runs are one group."""
    where, parameters = _where(wanted)
    costs = f"SELECT u.record, sum({_FIGURES[-1]} * 1.0) AS cost {_FROM} {where} GROUP BY u.record"
    sql = (
        f"SELECT {_TEXTS['session']}, count(*) OVER () FROM ({costs}) AS u {_RECORDS} GROUP BY 1 "  # noqa: S608 - as below
        "ORDER BY coalesce(sum(u.cost), 0) DESC, 1 ASC NULLS LAST LIMIT ?"
    )
    found = database.rows(sql, [*parameters, limit])
    ids = [own for own, _ in found]
    sql = f"SELECT id FROM records WHERE kind = '{SESSION}' AND record_id IN (SELECT value FROM json_each(?))"  # noqa: S608
    records = {record for (record,) in database.rows(sql, (json.dumps(ids),))}
    if None in ids:
        records |= {record for (record,) in database.rows(f"SELECT id FROM records WHERE kind = '{RUN}'")}  # noqa: S608
    return frozenset(records), (found[0][1] if found else 0) - len(found)


class UsageFacts(NamedTuple):
    """What the sums do not say."""

    records: int  # that have usage
    without_cost: int  # of these, with a part whose cost is unknown
    unpriced: list[str]  # models whose tokens are known, and their cost is not
    undated: int  # records without a time, which a start leaves out


def usage_facts(database: CatalogDatabase, wanted: UsageFilter) -> UsageFacts:
    """What there is to say about the usage that counts."""
    since = wanted.since
    is_of_usage = "IS NOT NULL" if since is None else ">= ?"
    times = [] if since is None else [since]
    records = _count(database, f"last_usage {is_of_usage}", times, wanted)
    without_cost = _count(database, f"last_unknown_cost {is_of_usage}", times, wanted)
    undated = 0 if since is None else _count(database, "undated_usage > 0", [], wanted)
    unpriced: list[str] = []
    if without_cost:
        where, parameters = _where(wanted)
        sql = f"SELECT DISTINCT u.model {_FROM} {where} AND {_UNPRICED}"
        unpriced = sorted({model or "unknown" for (model,) in database.query(sql, parameters)})
    return UsageFacts(records, without_cost, unpriced, undated)


def _count(
    database: CatalogDatabase, condition: str, parameters: Sequence[object], wanted: UsageFilter
) -> int:
    """How many records there are, but for those that are left out."""
    sql = f"SELECT count(*) FROM records WHERE is_counted = 1 AND {condition}"  # noqa: S608 - text of our own
    (count,) = database.query(sql, parameters).fetchone()
    if not wanted.left_out:
        return int(count)
    left_out = [*parameters, json.dumps(sorted(wanted.left_out))]
    among = f"{sql} AND id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"  # noqa: S608
    (fewer,) = database.query(among, left_out).fetchone()
    return int(count - fewer)


def unreadable_records(database: CatalogDatabase) -> list[tuple[str, str]]:
    """The paths of records that cannot be read, and why; and of stores that cannot be reached."""
    where = "path || CASE WHEN host = '' THEN '' ELSE ' on ' || host END"
    stores = f"SELECT {where}, 'it cannot be reached: its records count as they were' FROM stores WHERE is_reachable = 0"  # noqa: S608 - names of our own
    records = "SELECT path, problem FROM records WHERE problem IS NOT NULL"
    return [(path, reason) for path, reason in database.query(f"{stores} UNION ALL {records} ORDER BY 1")]


class UnlistedCalls(NamedTuple):
    """Usage of records without a list of their calls, that began before a time and ended later: some of it may be of later."""

    key: tuple[str | None, ...]
    end: int  # of the last of these records, in milliseconds


def unlisted_calls(database: CatalogDatabase, by: Sequence[str], wanted: UsageFilter) -> list[UnlistedCalls]:
    """What a sum since a time may lack, by these dimensions."""
    if wanted.since is None or (by and not unlisted_calls(database, (), wanted)):
        return []
    question = _UsageQuestion(by, None, wanted, is_unlisted=True)
    rows = database.rows(question.ends, question.parameters)
    texts = ((*(None if value is None else _text(value) for value in row[:-1]), row[-1]) for row in rows)
    return [UnlistedCalls(tuple(key), end) for *key, end in texts if end is not None]


class ImportedRecord(NamedTuple):
    """A session that was imported from the files of its tool."""

    record: int
    tool: str
    id: str
    started: int | None
    calls: int
    is_metered: bool


def imported_sessions(database: CatalogDatabase) -> list[ImportedRecord]:
    """All sessions that were imported."""
    metered = "EXISTS (SELECT 1 FROM relations x WHERE x.record = r.id AND x.calls IS NOT NULL)"
    sql = (
        f"SELECT r.id, r.tool, r.record_id, r.started, coalesce(r.calls, 0), {metered} FROM records r "  # noqa: S608
        "WHERE r.tool IS NOT NULL AND r.is_copy = 0"
    )
    return [ImportedRecord(*row) for row in database.query(sql)]


def counted_records(database: CatalogDatabase) -> CountedRecords:
    """Which records count, if not all."""
    copies = copied_records(database)
    partly = (
        "SELECT count(*) FROM (SELECT DISTINCT u.record FROM usage u WHERE u.counts < 1 AND NOT EXISTS "
        "(SELECT 1 FROM usage o WHERE o.record = u.record AND o.number = -1 - u.number)) p "
        "JOIN records r ON r.id = p.record WHERE r.is_copy = 0 AND r.is_counted = 1"
    )
    return CountedRecords(copies.others, copies.conflicts, int(database.rows(partly)[0][0]))
