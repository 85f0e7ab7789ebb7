"""A price row, and the cost of tokens by it: decimal arithmetic, one call at a time.

A row has the rates for a million tokens of each class, and tiers with other rates for large inputs. `prices` finds the row
for a model and a day.

Invariant: a cost is exact, or None. It is None when a class that occurs has no rate, and when input or output are unknown.
"""

from dataclasses import dataclass, fields, replace
from decimal import Context, Decimal, localcontext

from runcard.accounting.tokens import Tokens
from runcard.encoding import JsonObject

MILLION = Decimal(1_000_000)
EXACT = Context(prec=100)  # more digits than any cost has, whatever the caller's own context


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars for a million tokens of each class; None where unknown. Reasoning is charged as output."""

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None

    def to_dict(self) -> dict[str, int | float]:
        rates = {name: getattr(self, name) for name in RATES}
        return {name: json_number(rate) for name, rate in rates.items() if rate is not None}


RATES = tuple(field.name for field in fields(Rates))


@dataclass(frozen=True, slots=True)
class Tier:
    """The rates of a whole call with more input tokens than this."""

    above_input_tokens: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class PriceRow:
    """The price of a model at one time, and its source."""

    model: str
    provider: str
    source: str
    as_of: str
    rates: Rates
    tiers: tuple[Tier, ...] = ()  # smallest first
    tier: Tier | None = None  # the tier of `rates`
    service_tier: str | None = None

    def applied(self, tokens: Tokens) -> "PriceRow":
        """The row for a call of this size: the one to record. Unchanged when the size is unknown."""
        if tokens.input is None:
            return self
        reached = [tier for tier in self.tiers if tokens.input > tier.above_input_tokens]
        if not reached:
            return replace(self, tiers=())
        return replace(self, rates=reached[-1].rates, tiers=(), tier=reached[-1])

    def to_dict(self) -> JsonObject:
        """The row as a document records it."""
        row: JsonObject = {
            "model": self.model,
            "provider": self.provider,
            "source": self.source,
            "as_of": self.as_of,
            "usd_per_million": self.rates.to_dict(),
        }
        if self.tier is not None:
            row["tier"] = {"above_input_tokens": self.tier.above_input_tokens}
        if self.service_tier is not None:
            row["service_tier"] = self.service_tier
        return row


def cost(tokens: Tokens, row: PriceRow) -> Decimal | None:
    """The cost of one call in US dollars; None when unknown, 0 when free.

    An unknown cache class counts as plain input: vendors report the cache when it was used.
    """
    if tokens.input is None or tokens.output is None:
        return None
    cached = {name: getattr(tokens, name) or 0 for name in RATES if name.startswith("cache_")}
    counts = {"input": tokens.input - sum(cached.values()), "output": tokens.output, **cached}
    rates = row.applied(tokens).rates
    with localcontext(EXACT):
        total = Decimal(0)
        for name, count in counts.items():
            rate = getattr(rates, name)
            if count and rate is None:
                return None
            total += count * (rate or 0)
        return (total / MILLION).normalize() + 0  # without trailing zeros or exponent


def json_number(value: Decimal) -> int | float:
    """A number for JSON that reads back as the same decimal; beyond 15 digits, the nearest one."""
    return int(value) if value == value.to_integral_value() else float(value)
