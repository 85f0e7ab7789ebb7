"""A price row, and the cost of tokens and server tools by it: decimal arithmetic, one call at a time.

A row has the rates for a million tokens of each class, tiers with other rates for large inputs, and the rates for a thousand
uses of tools that run at the vendor. `prices` finds the row for a model and a day.

A modality (audio, image, video) that occurs needs a rate of its own, or a row that charges it as text; the rest of its class
is text. Invariant: a cost is exact, or None. It is None when something that occurs has no rate, and when input or output are
unknown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Context, Decimal
from functools import reduce
from typing import NamedTuple

from runcard.accounting.tokens import MODALITIES, Tokens
from runcard.encoding import JsonObject

MILLION = Decimal(1_000_000)
THOUSAND = Decimal(1_000)
EXACT = Context(prec=100)  # more digits than any cost has, whatever the caller's own context

_WRITES = ("cache_write_5m", "cache_write_1h")


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars for a million tokens of each class; None where unknown. Reasoning is charged as output."""

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    input_audio: Decimal | None = None
    input_image: Decimal | None = None
    input_video: Decimal | None = None
    cache_read_audio: Decimal | None = None
    cache_read_image: Decimal | None = None
    cache_read_video: Decimal | None = None
    output_audio: Decimal | None = None
    output_image: Decimal | None = None
    output_video: Decimal | None = None

    def to_dict(self) -> dict[str, int | float]:
        rates = {name: getattr(self, name) for name in RATES}
        return {name: json_number(rate) for name, rate in rates.items() if rate is not None}


RATES = tuple(field.name for field in fields(Rates))
_MODALITY_RATES = tuple(name for name in RATES if name in MODALITIES)


@dataclass(frozen=True, slots=True)
class Tier:
    """The rates of a whole call with more input tokens than this."""

    above_input_tokens: int
    rates: Rates


class ChargedParts(NamedTuple):
    """The cost of what has a rate, and the names of what has none."""

    known: Decimal | None  # None: nothing has a rate
    unpriced: tuple[str, ...]
    uncounted: tuple[str, ...]  # those of them without a count; the others have no rate


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
    tool_rates: tuple[tuple[str, Decimal], ...] = ()  # US dollars for a thousand uses
    used: tuple[str, ...] = ()  # the modalities and tools whose rates are recorded
    charged_as_text: tuple[str, ...] = ()  # modalities whose input is charged as text where it has no rate

    def applied(self, tokens: Tokens, tools: Iterable[str] = ()) -> "PriceRow":
        """The row for a call of this size: the one to record, with the rates of the modalities and tools that were used.

        The size is unchanged when the input is unknown.
        """
        modalities = (name for name in _MODALITY_RATES if getattr(tokens, name))
        return replace(self._of_size(tokens.input), used=(*modalities, *tools))

    def reached_tiers(self, tokens: Tokens) -> tuple[str, ...]:
        """The price for large calls that may apply to some of the calls which have these tokens together."""
        reached = [tier for tier in self.tiers if (tokens.input or 0) > tier.above_input_tokens]
        return (f"calls above {reached[0].above_input_tokens} input tokens",) if reached else ()

    def _of_size(self, size: int | None) -> "PriceRow":
        if size is None:
            return self
        reached = [tier for tier in self.tiers if size > tier.above_input_tokens]
        if not reached:
            return replace(self, tiers=())
        return replace(self, rates=reached[-1].rates, tiers=(), tier=reached[-1])

    def charge(self, tokens: Tokens, tools: Mapping[str, int] | None = None) -> ChargedParts:
        """What a call costs by this row, part by part.

        An unknown cache class counts as plain input: vendors report the cache when it was used.
        """
        rates = self._of_size(tokens.input).rates
        counts = _input_counts(tokens, rates, self.charged_as_text) | _output_counts(tokens, rates)
        amounts = [
            *_amounts(counts, rates, MILLION),
            *_amounts(tools or {}, dict(self.tool_rates), THOUSAND),
        ]
        known = [amount for _, amount in amounts if amount is not None]
        total = reduce(EXACT.add, known, Decimal(0))
        total = EXACT.add(EXACT.normalize(total), Decimal(0))  # without an exponent
        unpriced = tuple(name for name, amount in amounts if amount is None)
        uncounted = tuple(name for name, count in counts.items() if count is None)
        return ChargedParts(total if known or not unpriced else None, unpriced, uncounted)

    def to_dict(self) -> JsonObject:
        """The row as a document records it."""
        row: JsonObject = {
            "model": self.model,
            "provider": self.provider,
            "source": self.source,
            "as_of": self.as_of,
            "usd_per_million": {
                name: rate
                for name, rate in self.rates.to_dict().items()
                if name not in MODALITIES or name in self.used
            },
        }
        if self.tier is not None:
            row["tier"] = {"above_input_tokens": self.tier.above_input_tokens}
        if self.service_tier is not None:
            row["service_tier"] = self.service_tier
        if tools := {name: json_number(rate) for name, rate in self.tool_rates if name in self.used}:
            row["usd_per_thousand"] = tools
        return row


def cost(tokens: Tokens, row: PriceRow, tools: Mapping[str, int] | None = None) -> Decimal | None:
    """The cost of one call in US dollars; None when unknown, 0 when free."""
    charged = row.charge(tokens, tools)
    return None if charged.unpriced else charged.known


def _input_counts(tokens: Tokens, rates: Rates, as_text: tuple[str, ...]) -> dict[str, int | None]:
    """How many tokens of the input are charged at each rate; None where that is unknown."""
    if tokens.input is None:
        return {"input": None}
    cached: dict[str, int | None] = {name: getattr(tokens, name) or 0 for name in ("cache_read", *_WRITES)}
    all_cached = sum(count or 0 for count in cached.values())
    plain = tokens.input - all_cached
    counts: dict[str, int | None] = {}
    for kind in ("audio", "image", "video"):
        sent, read = getattr(tokens, f"input_{kind}"), getattr(tokens, f"cache_read_{kind}")
        if not (sent or read) or (kind in as_text and getattr(rates, f"input_{kind}") is None):
            continue
        read = read if all_cached else 0
        if None in (sent, read) or tokens.cache_write_5m or tokens.cache_write_1h:
            return {"input": None}  # how much of what was cached is audio, an image, a video?
        counts |= {f"input_{kind}": sent - read, f"cache_read_{kind}": read}
        plain -= sent - read
        cached["cache_read"] = (cached["cache_read"] or 0) - read
    return {"input": plain, **cached, **counts} if plain >= 0 else {"input": None}


def _output_counts(tokens: Tokens, rates: Rates) -> dict[str, int | None]:
    """How many tokens of the output are charged at each rate.

    A model with different rates for its output needs a reply that says what the output is.
    """
    names = ("output_audio", "output_image", "output_video")
    stated = {name: getattr(tokens, name) for name in names if getattr(tokens, name) is not None}
    other_rates = {getattr(rates, name) for name in names} - {None, rates.output}
    if tokens.output is None or (tokens.output and other_rates and tokens.output_text is None and not stated):
        return {"output": None}
    return {"output": tokens.output - sum(stated.values()), **stated}


def _amounts(
    counts: Mapping[str, int | None], rates: Rates | Mapping[str, Decimal], per: Decimal
) -> Iterable[tuple[str, Decimal | None]]:
    """Each part with its cost; None where the count or the rate is unknown. Zero tokens need no rate."""
    for name, count in counts.items():
        rate = rates.get(name) if isinstance(rates, Mapping) else getattr(rates, name)
        if count == 0:
            continue
        if count is None or rate is None:
            yield name, None
        else:
            yield name, EXACT.divide(EXACT.multiply(Decimal(count), rate), per)


def json_number(value: Decimal) -> int | float:
    """A number for JSON that reads back as the same decimal; beyond 15 digits, the nearest one."""
    return int(value) if value == value.to_integral_value() else float(value)
