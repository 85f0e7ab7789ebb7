"""`runcard costs`: what the calls in the session files of agent tools cost, straight from the files.

A total from session files is always "at least": some calls are in no file.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

from runcard.accounting import PriceRow, Prices
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files import json_name
from runcard.operations.sessions.call_costs import CallSums, CostTotals
from runcard.parallel.progress import Progress
from runcard.transcripts.calls import Call, CallTable
from runcard.transcripts.content import UnreadPart
from runcard.transcripts.reading import TranscriptCalls, read_files
from runcard.transcripts.sources import ALL, SOURCES, find_files

TIMES = ("day", "week", "month")
DIMENSIONS = (*TIMES, "tool", "model", "project", "agent", "branch", "session")
TOOLS = tuple(SOURCES)

_OF_KIND = frozenset({"model", "provider"})
_SLOT = 900_000  # milliseconds: no time zone has days that begin within one

Key = tuple[str | None, ...]


class CostGroup(NamedTuple):
    """The calls with the same values of the dimensions that were asked for."""

    key: dict[str, str | None]
    totals: CostTotals


@dataclass
class CostReport:
    """What was found in the files of the tools."""

    tools: tuple[str, ...]
    files: int
    totals: CostTotals
    groups: list[CostGroup]
    unpriced: list[str]  # models without a price, or with a part that has none
    price_rows: list[PriceRow]
    unread: list[UnreadPart]
    unknown_types: dict[str, int]
    undated: int = 0  # calls without a time that were left out, because only those since a time count
    more_groups: int = 0  # that a limit leaves out
    unpriced_providers: dict[str, list[str]] = field(
        default_factory=dict
    )  # that files name, by model without a price

    @property
    def not_written(self) -> dict[str, tuple[str, ...]]:
        """The kinds of calls that are in no file of a tool, by its title."""
        return {SOURCES[tool].TITLE: SOURCES[tool].NOT_WRITTEN for tool in self.tools}

    def to_dict(self) -> JsonObject:
        return {
            "totals": self.totals.to_dict(),
            "groups": [{"key": group.key, **group.totals.to_dict()} for group in self.groups],
            "unpriced": self.unpriced,
            "unread": [
                {"path": json_name(path).text, "line": line, "reason": reason}
                for path, line, reason in self.unread
            ],
            "unknown_types": self.unknown_types,
            "token_sources": {source or "unknown": count for source, count in self.totals.sources.items()},
            "price_rows": [row.to_dict() for row in self.price_rows],
            "calls_without_time": self.undated,
            "more_groups": self.more_groups,
            "never_in_transcripts": {tool: list(SOURCES[tool].NOT_WRITTEN) for tool in self.tools},
        }


def costs(
    source: str,
    paths: Sequence[str] = (),
    *,
    by: Sequence[str] = ("day",),
    since: datetime | None = None,
    prices: Prices | None = None,
    progress: Callable[[int], Progress] | None = None,
    limit: int | None = None,
) -> CostReport:
    """Add up the calls in session files: of one tool or `all`, in `paths` or in the tools' own folders.

    Days, weeks and months are those of the local time zone. `limit` is the number of groups to keep, the most expensive ones;
    the totals are those of all. `progress` is called with the number of bytes in all files, and
    returns what is called with the files and bytes that are done. Raises StoreError where there are no session files.
    """
    if unknown := [name for name in by if name not in DIMENSIONS]:
        raise UsageError(f"{unknown[0]!r} is not a dimension", hint=f"use {', '.join(DIMENSIONS)}")
    report = add_up(find_calls(source, paths, progress), by, since=since, prices=prices)
    report.groups, report.more_groups = most_expensive(report.groups, limit)
    return report


class FoundCalls(NamedTuple):
    """The calls in session files."""

    tools: tuple[str, ...]  # those that have files, or else all that were asked for
    read: TranscriptCalls
    unread: list[UnreadPart]


def find_calls(
    source: str, paths: Sequence[str] = (), progress: Callable[[int], Progress] | None = None
) -> FoundCalls:
    """The calls in the session files of one tool or `all`; raises StoreError where there are none."""
    tools = TOOLS if source == ALL else (source,)
    if wrong := [tool for tool in tools if tool not in SOURCES]:
        raise UsageError(f"{wrong[0]!r} is not a known tool", hint=f"use {', '.join(TOOLS)} or {ALL}")
    files, left_out = find_files(tools, paths)
    total = sum(file.size for file in files if not file.start)
    read = read_files(files, progress(total) if progress else None)
    used = tuple(tool for tool in tools if any(file.tool == tool for file in files))
    return FoundCalls(used or tools, read, [*left_out, *read.unread])


def add_up(
    found: FoundCalls,
    by: Sequence[str],
    *,
    since: datetime | None = None,
    prices: Prices | None = None,
    left_out: Collection[tuple[str, str | None]] = (),
) -> CostReport:
    """Add up calls by dimensions, without sessions (their tools and ids) that are left out."""
    start = None if since is None else round(since.timestamp() * 1000)
    calls = _GroupedCalls(by, prices or Prices.packaged(), found.read.table, start, left_out)
    report = calls.report(found.tools, found.read.files)
    report.unread = found.unread
    report.unknown_types = masked_names(found.read.unknown_types)
    return report


class _GroupedCalls:
    """Adds up calls by group."""

    def __init__(
        self,
        by: Sequence[str],
        prices: Prices,
        table: CallTable,
        start: int | None,
        left_out: Collection[tuple[str, str | None]],
    ) -> None:
        self._by, self._start, self._left_out = tuple(by), start, left_out
        self._sums: CallSums[Key] = CallSums(prices, table.kinds)
        self._is_timed = any(name in TIMES for name in by)
        self._undated = 0
        self._add_all(table)

    def _add_all(self, table: CallTable) -> None:
        """Add each call to its group. Kinds and origins are numbers here: this runs for every call."""
        keys: dict[tuple[int, int, int], Key] = {}  # by what the key depends on
        kinds, origins, start = table.kinds, table.origins, self._start
        by_kind = not _OF_KIND.isdisjoint(self._by)
        by_origin = any(name not in _OF_KIND and name not in TIMES for name in self._by)
        skipped = {number for number, one in enumerate(origins) if (one.tool, one.session) in self._left_out}
        for time, kind, origin, counts in table.numbered():
            if origin in skipped:
                continue
            if start is not None and time < start:
                self._undated += time < 0
                continue
            at = (by_kind and kind, by_origin and origin, time // _SLOT if self._is_timed else 0)
            if (key := keys.get(at)) is None:
                key = keys[at] = _key(self._by, Call(time, origins[origin], kinds[kind], counts))
            self._sums.add(key, time, kind, counts)

    def report(self, tools: tuple[str, ...], files: int) -> CostReport:
        groups: dict[Key, CostTotals] = {}
        totals, unpriced, rows = CostTotals(at_least=True), dict[str, set[str]](), {}
        for key, sums, charge in self._sums.charges():
            if charge.row is not None:
                rows[repr(charge.row)] = charge.row
            if not charge.has_price:
                providers = unpriced.setdefault(_masked(sums.kind.model) or "unknown", set())
                providers |= {_masked(sums.kind.provider) or ""} if charge.row is None else set()
            totals.add(sums, charge)
            groups.setdefault(key, CostTotals()).add(sums, charge)
        found = [
            CostGroup(dict(zip(self._by, map(_masked, key), strict=True)), sums)
            for key, sums in groups.items()
        ]
        ordered = in_order(found, self._by)
        prices = [rows[name] for name in sorted(rows)]
        named = {model: sorted(unpriced[model] - {""}) for model in unpriced if unpriced[model] - {""}}
        return CostReport(
            tools,
            files,
            totals,
            ordered,
            sorted(unpriced),
            prices,
            [],
            {},
            self._undated,
            unpriced_providers=named,
        )


def _masked(name: str | None) -> str | None:
    """A name from a session file for people: without secrets."""
    from runcard.masking import mask_text  # noqa: PLC0415 - when the files are read

    return None if name is None else mask_text(name).value


def masked_names(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by name, without secrets."""
    masked: Counter[str] = Counter()
    for name, count in counts.items():
        masked[_masked(name) or ""] += count
    return dict(sorted(masked.items()))


def _key(by: Sequence[str], call: Call) -> Key:
    return tuple(_value(name, call) for name in by)


def _value(name: str, call: Call) -> str | None:
    if name in TIMES:
        return _time_key(name, call.time)
    value: str | None = getattr(call.kind if name in _OF_KIND else call.origin, name, None)
    return value


def _time_key(name: str, time: int) -> str | None:
    """The local day, week or month of a time in milliseconds; None if it is not known."""
    if time < 0:
        return None
    try:
        moment = datetime.fromtimestamp(time / 1000)  # noqa: DTZ006 - the local day is meant
    except (OverflowError, ValueError, OSError):
        return None
    return date_key(name, moment.date())


def date_key(name: str, day: date) -> str:
    """The day itself, the Monday of its week, or its month."""
    if name == "week":
        day = date.fromordinal(max(1, day.toordinal() - day.weekday()))
    return day.isoformat()[: 7 if name == "month" else 10]


def most_expensive(groups: list[CostGroup], limit: int | None) -> tuple[list[CostGroup], int]:
    """So many of the groups, in their order; and how many are left out."""
    if limit is None or len(groups) <= limit:
        return groups, 0
    costs = [group.totals.known_cost for group in groups]
    kept = sorted(sorted(range(len(groups)), key=lambda place: -costs[place])[:limit])
    return [groups[place] for place in kept], len(groups) - limit


def in_order(groups: Iterable[CostGroup], by: Sequence[str]) -> list[CostGroup]:
    """By time, where a time is asked for; else the largest cost first."""
    named = sorted(groups, key=lambda group: [(value is None, value or "") for value in group.key.values()])
    if any(name in TIMES for name in by):
        return named
    return sorted(named, key=lambda group: -group.totals.known_cost)
