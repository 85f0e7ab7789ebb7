"""`runcard costs`: what the calls in the session files of agent tools cost, straight from the files.

Each call is priced at the rates of its own day, size and service tier. Calls with the same rates are added up first: costs are
linear, so the sum is exact. A total from session files is always "at least": some calls are in no file.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from operator import add
from typing import NamedTuple

from runcard.accounting import PriceRow, Prices, Tokens, json_number
from runcard.accounting.price_rows import EXACT
from runcard.accounting.tokens import MAX_COUNT
from runcard.documents.token_sources import weakest_source
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files import json_name
from runcard.parallel.progress import Progress
from runcard.transcripts.calls import Call, CallTable, Counts, UsageKind, usage_of
from runcard.transcripts.content import UnreadPart
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import ALL, SOURCES, find_files

TIMES = ("day", "week", "month")
DIMENSIONS = (*TIMES, "tool", "model", "project", "agent", "branch", "session")
CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")
TOOLS = tuple(SOURCES)

_SLOT = 900_000  # milliseconds: no time zone has days that begin within one
_INPUT, _OUTPUT, _READ, _SHORT, _LONG, _REASONING = (1 << bit for bit in range(6))
_NEEDS = (_INPUT, _OUTPUT, _READ, _SHORT | _LONG, _REASONING)  # the counts that make up each of CLASSES

Key = tuple[str | None, ...]


@dataclass
class CostTotals:
    """The sums of calls. A class of tokens is unknown when it is unknown in one of them."""

    calls: int = 0
    known_tokens: list[int] = field(default_factory=lambda: [0] * len(CLASSES))
    known: int = 0b111111  # counts that are known in all calls, as bits
    known_cost: Decimal = Decimal(0)
    is_priced: bool = True  # the cost of every call is known
    sources: "Counter[str | None]" = field(default_factory=Counter)

    @property
    def tokens(self) -> dict[str, int | None]:
        """The tokens of each class. `input` is without the cached parts."""
        known = [self.calls > 0 and self.known & need == need for need in _NEEDS]
        return {
            name: count if is_known or not self.calls else None
            for name, count, is_known in zip(CLASSES, self.known_tokens, known, strict=True)
        }

    @property
    def cost(self) -> Decimal | None:
        return self.known_cost if self.is_priced else None

    @property
    def token_source(self) -> str | None:
        return weakest_source(self.sources)

    def to_dict(self) -> JsonObject:
        return {
            "calls": self.calls,
            "tokens": self.tokens,
            "known_tokens": dict(zip(CLASSES, self.known_tokens, strict=True)),
            "cost_usd": None if self.cost is None else json_number(self.cost),
            "known_cost_usd": json_number(self.known_cost),
            "at_least": True,
            "token_source": self.token_source,
        }


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
) -> CostReport:
    """Add up the calls in session files: of one tool or `all`, in `paths` or in the tools' own folders.

    Days, weeks and months are those of the local time zone. `progress` is called with the number of bytes in all files, and
    returns what is called with the files and bytes that are done. Raises StoreError where there are no session files.
    """
    tools = TOOLS if source == ALL else (source,)
    if unknown := [name for name in by if name not in DIMENSIONS]:
        raise UsageError(f"{unknown[0]!r} is not a dimension", hint=f"use {', '.join(DIMENSIONS)}")
    if wrong := [tool for tool in tools if tool not in SOURCES]:
        raise UsageError(f"{wrong[0]!r} is not a known tool", hint=f"use {', '.join(TOOLS)} or {ALL}")
    files, left_out = find_files(tools, paths)
    total = sum(file.size for file in files if not file.start)
    read = read_files(files, progress(total) if progress else None)
    start = None if since is None else round(since.timestamp() * 1000)
    ledger = _CallSums(by, prices or Prices.packaged(), start)
    ledger.add_all(read.table)
    used = tuple(tool for tool in tools if any(file.tool == tool for file in files))
    report = ledger.report(used or tools, read.files)
    report.unread = [*left_out, *read.unread]
    report.unknown_types = dict(sorted(read.unknown_types.items()))
    return report


class _Bucket:
    """Calls of one group with the same rates."""

    __slots__ = ("calls", "counts", "first")

    def __init__(self, first: Call) -> None:
        self.first, self.calls, self.counts = first, 0, [0] * 6


class _CallSums:
    """Adds up calls by group and price."""

    def __init__(self, by: Sequence[str], prices: Prices, start: int | None) -> None:
        self._by, self._prices, self._start = tuple(by), prices, start
        self._buckets: list[tuple[Key, _Bucket]] = []
        self._rows: dict[tuple[UsageKind, int], PriceRow | None] = {}
        self._intervals: dict[UsageKind, int] = {}
        self._is_timed = any(name in TIMES for name in by)
        self._undated = 0

    def add_all(self, table: CallTable) -> None:
        """Add each call to its bucket. Kinds and origins are numbers here: this runs for every call."""
        keys: dict[tuple[int, int, int], Key] = {}
        buckets: dict[tuple[Key, int, int, int], _Bucket] = {}
        kinds, origins, start = table.kinds, table.origins, self._start
        for time, kind, origin, counts in table.numbered():
            if start is not None and time < start:
                self._undated += time < 0
                continue
            at = (kind, origin, time // _SLOT if self._is_timed else 0)
            if (key := keys.get(at)) is None:
                key = keys[at] = _key(self._by, Call(time, origins[origin], kinds[kind], counts))
            period = self._period(kinds[kind], time)
            row = self._row(kinds[kind], period, time)
            size = sum(counts[0] > tier.above_input_tokens for tier in row.tiers) if row and row.tiers else 0
            place = (key, kind, period, size)
            bucket = buckets.get(place)
            if bucket is None or max(bucket.counts[0] + counts[0], bucket.counts[1] + counts[1]) > MAX_COUNT:
                bucket = buckets[place] = _Bucket(Call(time, origins[origin], kinds[kind], counts))
                self._buckets.append((key, bucket))
            bucket.calls += 1
            bucket.counts = list(map(add, bucket.counts, counts))

    def _period(self, kind: UsageKind, time: int) -> int:
        if (interval := self._intervals.get(kind)) is None:
            known = self._prices.price_interval(kind.model, kind.provider) if kind.model else 0
            interval = self._intervals[kind] = known * 1000
        return time // interval if interval and time >= 0 else 0

    def _row(self, kind: UsageKind, period: int, time: int) -> PriceRow | None:
        try:
            return self._rows[kind, period]
        except KeyError:
            pass
        when = datetime.fromtimestamp(time / 1000, UTC) if time >= 0 else None
        row = self._prices.find(kind.model, kind.provider, when, kind.service_tier) if kind.model else None
        self._rows[kind, period] = row
        return row

    def report(self, tools: tuple[str, ...], files: int) -> CostReport:
        groups: dict[Key, CostTotals] = {}
        totals, unpriced, rows = CostTotals(), set(), {}
        for key, bucket in self._buckets:
            kind = bucket.first.kind
            row = self._row(kind, self._period(kind, bucket.first.time), bucket.first.time)
            known, is_complete, has_price, used = _charge(row, bucket)
            if used is not None:
                rows[repr(used)] = used
            if not has_price:
                unpriced.add(kind.model or "unknown")
            for sums in (totals, groups.setdefault(key, CostTotals())):
                _add(sums, bucket, known, is_complete=is_complete)
        found = [CostGroup(dict(zip(self._by, key, strict=True)), sums) for key, sums in groups.items()]
        ordered = _in_order(found, self._by)
        prices = [rows[name] for name in sorted(rows)]
        return CostReport(tools, files, totals, ordered, sorted(unpriced), prices, [], {}, self._undated)


def _charge(row: PriceRow | None, bucket: _Bucket) -> tuple[Decimal, bool, bool, PriceRow | None]:
    """The known cost of a bucket, whether that is all of it, whether all has a price, and the row that was used."""
    kind, counts = bucket.first.kind, bucket.counts
    if row is None:
        cost = Decimal(kind.reported_cost or 0)
        is_reported = kind.reported_cost is not None
        return EXACT.multiply(cost, Decimal(bucket.calls)), is_reported, is_reported, None
    tools = {name: count * bucket.calls for name, count in kind.server_tools}
    usage = usage_of(kind, _counts(counts), tools)
    size = Tokens(input=bucket.first.counts[0]) if kind.known & _INPUT else Tokens()
    reached: tuple[str, ...] = ()
    if kind.is_total:  # of several calls, which may be smaller
        reached, row = row.reached_tiers(size), replace(row, tiers=())
    used = row.applied(size, tools)
    parts = used.charge(usage.tokens, tools)
    has_price = not (set(parts.unpriced) - set(parts.uncounted)) and not kind.unknown
    is_complete = not (parts.unpriced or kind.unknown or reached) and kind.source != "partial"
    return parts.known or Decimal(0), is_complete, has_price, used


def _counts(sums: list[int]) -> Counts:
    first, second, third, fourth, fifth, sixth = sums
    return first, second, third, fourth, fifth, sixth


def _add(sums: CostTotals, bucket: _Bucket, cost: Decimal, *, is_complete: bool) -> None:
    kind, (sent, output, read, short, long, reasoning) = bucket.first.kind, bucket.counts
    sums.calls += bucket.calls
    sums.known &= kind.known
    parts = (sent - read - short - long if kind.known & _INPUT else 0, output, read, short + long, reasoning)
    for position, count in enumerate(parts):
        sums.known_tokens[position] += count
    sums.known_cost = EXACT.add(sums.known_cost, cost)
    sums.is_priced &= is_complete
    sums.sources[kind.source] += bucket.calls


def _key(by: Sequence[str], call: Call) -> Key:
    return tuple(_value(name, call) for name in by)


def _value(name: str, call: Call) -> str | None:
    if name == "model":
        return call.kind.model
    if name not in TIMES:
        value: str | None = getattr(call.origin, name)
        return value
    if call.time < 0:
        return None
    try:
        moment = datetime.fromtimestamp(call.time / 1000)  # noqa: DTZ006 - the local day is meant
    except (OverflowError, ValueError, OSError):
        return None
    if name == "week":
        monday = moment.date() - timedelta(days=moment.weekday())
        return monday.isoformat()
    return moment.strftime("%Y-%m-%d" if name == "day" else "%Y-%m")


def _in_order(groups: Iterable[CostGroup], by: Sequence[str]) -> list[CostGroup]:
    """By time, where a time is asked for; else the largest cost first."""
    named = sorted(groups, key=lambda group: [(value is None, value or "") for value in group.key.values()])
    if any(name in TIMES for name in by):
        return named
    return sorted(named, key=lambda group: -group.totals.known_cost)
