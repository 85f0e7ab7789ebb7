"""What many calls cost, each at the rates of its own day, size and service tier.

Calls with the same rates are added up first: costs are linear, so the sum is exact.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from operator import add
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from runcard.accounting import PriceRow, Prices, Tokens, json_number
from runcard.accounting.price_rows import EXACT
from runcard.accounting.tokens import MAX_COUNT
from runcard.catalog.tables import COST_UNIT
from runcard.documents.token_sources import weakest_source
from runcard.encoding import JsonObject
from runcard.transcripts.calls import Counts, UsageKind, usage_of

if TYPE_CHECKING:
    from runcard.catalog.usage_sums import UsageGroup

CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")

_INPUT, _OUTPUT, _READ, _SHORT, _LONG, _REASONING = (1 << bit for bit in range(6))
_NEEDS = (_INPUT, _OUTPUT, _READ, _SHORT | _LONG, _REASONING)  # the counts that make up each of CLASSES

Key = TypeVar("Key", bound=Hashable)


class SumOfCalls:
    """Calls of one group with the same rates."""

    __slots__ = ("calls", "counts", "kind", "row", "size")

    def __init__(self, kind: UsageKind, row: PriceRow | None, size: int) -> None:
        self.kind, self.row = kind, row
        self.size = size  # the input of the first one: all are of the same price tier
        self.calls, self.counts = 0, [0] * 6


class CallCharge(NamedTuple):
    """What calls with the same rates cost."""

    known: Decimal
    is_complete: bool  # that is all of it
    has_price: bool  # every part has a price
    row: PriceRow | None  # that was used


class CallSums(Generic[Key]):
    """Adds up calls by group and price."""

    def __init__(self, prices: Prices, kinds: Sequence[UsageKind]) -> None:
        self._prices, self._kinds = prices, kinds
        self._sums: list[tuple[Key, SumOfCalls]] = []
        self._open: dict[tuple[Key, int, int, int], SumOfCalls] = {}
        self._rows: dict[tuple[int, int], PriceRow | None] = {}
        self._intervals: dict[int, int] = {}

    def add(self, key: Key, time: int, kind: int, counts: Counts) -> None:
        """Add a call; `kind` is its number. This runs for every call."""
        if (interval := self._intervals.get(kind)) is None:
            interval = self._intervals[kind] = self._interval(self._kinds[kind])
        period = time // interval if interval and time >= 0 else 0
        try:
            row = self._rows[kind, period]
        except KeyError:
            row = self._rows[kind, period] = self._row(self._kinds[kind], time)
        size = sum(counts[0] > tier.above_input_tokens for tier in row.tiers) if row and row.tiers else 0
        place = (key, kind, period, size)
        sums = self._open.get(place)
        if sums is None or sums.counts[0] + counts[0] > MAX_COUNT or sums.counts[1] + counts[1] > MAX_COUNT:
            sums = self._open[place] = SumOfCalls(self._kinds[kind], row, counts[0])
            self._sums.append((key, sums))
        sums.calls += 1
        sums.counts = [*map(add, sums.counts, counts)]

    def charges(self) -> Iterator[tuple[Key, SumOfCalls, CallCharge]]:
        """All calls, by group and price, with what they cost."""
        for key, sums in self._sums:
            yield key, sums, _charge(sums)

    def _interval(self, kind: UsageKind) -> int:
        """The milliseconds for which a price of this kind may hold."""
        known = self._prices.price_interval(kind.model, kind.provider) if kind.model else 0
        return known * 1000

    def _row(self, kind: UsageKind, time: int) -> PriceRow | None:
        when = datetime.fromtimestamp(time / 1000, UTC) if time >= 0 else None
        return self._prices.find(kind.model, kind.provider, when, kind.service_tier) if kind.model else None


def _charge(sums: SumOfCalls) -> CallCharge:
    kind, row = sums.kind, sums.row
    if row is None:
        cost = Decimal(kind.reported_cost or 0)
        is_reported = kind.reported_cost is not None
        return CallCharge(EXACT.multiply(cost, Decimal(sums.calls)), is_reported, is_reported, None)
    tools = {name: count * sums.calls for name, count in kind.server_tools}
    first, second, third, fourth, fifth, sixth = sums.counts
    usage = usage_of(kind, (first, second, third, fourth, fifth, sixth), tools)
    size = Tokens(input=sums.size) if kind.known & _INPUT else Tokens()
    reached: tuple[str, ...] = ()
    if kind.is_total:  # of several calls, which may be smaller
        reached, row = row.reached_tiers(size), replace(row, tiers=())
    used = row.applied(size, tools)
    parts = used.charge(usage.tokens, tools)
    has_price = not (set(parts.unpriced) - set(parts.uncounted)) and not kind.unknown
    is_complete = not (parts.unpriced or kind.unknown or reached) and kind.source != "partial"
    return CallCharge(parts.known or Decimal(0), is_complete, has_price, used)


@dataclass
class CostTotals:
    """The sums of calls. A class of tokens is unknown when it is unknown in one of them."""

    calls: int = 0  # those that are known
    has_all_calls: bool = True  # the number of calls is known
    has_usage: bool = False  # there is something to add up
    at_least: bool = False  # they cost more, or they may
    has_more: bool = False  # there are more, or there may be
    known_tokens: list[int] = field(default_factory=lambda: [0] * len(CLASSES))
    known: int = 0b111111  # counts that are known in all calls, as bits
    known_cost: Decimal = Decimal(0)
    is_priced: bool = True  # the cost of every call is known
    sources: "Counter[str | None]" = field(default_factory=Counter)
    costs_by_source: dict[str | None, Decimal] = field(
        default_factory=dict
    )  # the known cost, by token source

    @property
    def tokens(self) -> dict[str, int | None]:
        """The tokens of each class. `input` is without the cached parts."""
        return {
            name: count if self.known & need == need else None
            for name, count, need in zip(CLASSES, self.known_tokens, _NEEDS, strict=True)
        }

    @property
    def cost(self) -> Decimal | None:
        return self.known_cost if self.is_priced else None

    @property
    def known_cost_beside(self) -> Decimal | None:
        """The known cost. Beside an unknown one, zero says nothing: then it is None."""
        return self.known_cost if self.is_priced or self.known_cost else None

    @property
    def token_source(self) -> str | None:
        return weakest_source(self.sources)

    def add(self, sums: SumOfCalls, charge: CallCharge) -> None:
        kind, (sent, output, read, short, long, reasoning) = sums.kind, sums.counts
        self.calls += sums.calls
        self.has_usage = self.at_least = self.has_more = True
        self.known &= kind.known
        fresh = sent - read - short - long if kind.known & _INPUT else 0
        for position, count in enumerate((fresh, output, read, short + long, reasoning)):
            self.known_tokens[position] += count
        self._add_cost(charge.known, kind.source, is_known=charge.is_complete)
        self.sources[kind.source] += sums.calls

    def add_usage(self, usage: "UsageGroup") -> None:
        """Add what records say."""
        self.has_usage = True
        self.calls += usage.calls.amount
        self.has_all_calls &= usage.calls.is_whole
        for position, (count, is_whole) in enumerate(usage.tokens):
            self.known_tokens[position] += count
            if not is_whole:
                self.known &= ~_NEEDS[position]
        cost = EXACT.divide(Decimal(usage.cost.amount), Decimal(COST_UNIT))
        self._add_cost(cost, usage.token_source, is_known=usage.cost.is_whole)
        self.sources[usage.token_source] += usage.calls.amount
        self.has_more |= usage.is_at_least
        self.at_least |= usage.is_at_least or not usage.cost.is_whole

    def add_totals(self, other: "CostTotals") -> None:
        """Add other sums."""
        self.calls += other.calls
        self.has_all_calls &= other.has_all_calls
        self.has_usage |= other.has_usage
        self.at_least |= other.at_least
        self.has_more |= other.has_more
        self.known &= other.known
        self.known_tokens = [*map(add, self.known_tokens, other.known_tokens)]
        self.is_priced &= other.is_priced
        for source, cost in other.costs_by_source.items():
            self._add_cost(cost, source, is_known=True)
        self.sources.update(other.sources)

    def _add_cost(self, cost: Decimal, source: str | None, *, is_known: bool) -> None:
        self.known_cost = EXACT.add(self.known_cost, cost)
        self.is_priced &= is_known
        self.costs_by_source[source] = EXACT.add(self.costs_by_source.get(source, Decimal(0)), cost)

    def to_dict(self) -> JsonObject:
        return {
            "calls": self.calls if self.has_all_calls else None,
            "known_calls": self.calls,
            "tokens": self.tokens,
            "known_tokens": dict(zip(CLASSES, self.known_tokens, strict=True)),
            "cost_usd": None if self.cost is None else json_number(self.cost),
            "known_cost_usd": None if self.known_cost_beside is None else json_number(self.known_cost),
            "known_cost_by_token_source": {
                source or "unknown": json_number(cost)
                for source, cost in self.costs_by_source.items()
                if cost
            },
            "at_least": self.at_least,
            "token_source": self.token_source,
        }
