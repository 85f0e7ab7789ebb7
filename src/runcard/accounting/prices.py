"""Prices by model, provider, day and service tier: the packaged table, and a user's own before it.

A price is found by the exact ids and clauses of a table, or not at all: it is None for a model without a price, a provider
that is not listed, and a name that matches models of several vendors. Prices never come from the network.
"""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from runcard.accounting.price_file import read_table
from runcard.accounting.price_rows import PriceRow
from runcard.accounting.price_table import PriceMatch, PriceTable
from runcard.accounting.providers import canonical_name
from runcard.accounting.service_tiers import priced_tier
from runcard.accounting.usage import Usage
from runcard.encoding import Limits, decode_json
from runcard.errors import DocumentError, EncodingError, UsageError
from runcard.files import failure, open_regular, printable, read_stream

_REST = "the rest of the output"  # of a stream that was cut: it is charged, and not counted
_MINUTE, _DAY = 60, 86_400  # seconds
_PACKAGED = Path(__file__).with_name("prices.json")


class Charge(NamedTuple):
    """The cost of a call, and the price row to record with it; None where unknown.

    Where a part of a call has no price, its `cost` is unknown, and `known_cost` is that of the other parts.
    """

    cost: Decimal | None
    row: PriceRow | None
    known_cost: Decimal | None = None
    unpriced: tuple[str, ...] = ()  # the token classes, server tools and unknown counts without a price
    source: Literal["priced", "reported"] | None = None  # the `cost_source` in documents
    uncounted: tuple[str, ...] = ()  # what of `unpriced` has no count; the rest has no price


class Prices:
    """Price tables, searched in order."""

    def __init__(self, *tables: PriceTable) -> None:
        self.tables = tables
        self._matches: dict[tuple[str, str | None], list[tuple[PriceMatch, ...]]] = {}

    @classmethod
    def packaged(cls) -> "Prices":
        """The prices that came with this version of runcard."""
        return _packaged_prices()

    @classmethod
    def with_file(cls, path: str | os.PathLike[str]) -> "Prices":
        """The prices of a file, then the packaged ones; raises DocumentError for a bad file."""
        name = printable(os.fspath(path))
        try:
            with open(open_regular(path, follow=True), "rb") as file:
                data = decode_json(read_stream(file, Limits().size))
        except OSError as error:
            raise failure(error, os.fspath(path), "read the price file") from error
        except EncodingError as error:
            where = f"{name}:{error.line}" if error.line else name
            raise DocumentError(f"{where}: {error.message}", hint=error.hint) from error
        return cls(read_table(data, name), _packaged())

    def find(
        self,
        model: str,
        provider: str | None = None,
        when: datetime | None = None,
        service_tier: str | None = None,
    ) -> PriceRow | None:
        """The price of a model at a time (default: now), or None when unknown.

        Without a provider, the price of the model's own vendor is used, if the name is unambiguous.
        """
        moment = when or datetime.now(UTC)
        if moment.tzinfo is None:
            raise UsageError(f"{moment.isoformat()} has no time zone", hint="use datetime.now(UTC)")
        tier = priced_tier(service_tier)
        for table, matches in zip(self.tables, self._lookup(model, provider), strict=True):
            if len(matches) > 1 or (matches and not matches[0].entry.prices):
                return None
            if matches and (price := matches[0].price(moment, tier)):
                row = PriceRow(
                    matches[0].entry.model, matches[0].provider, table.source, table.as_of, price.rates
                )
                return replace(
                    row,
                    tiers=price.tiers,
                    service_tier=tier,
                    tool_rates=price.tool_rates,
                    charged_as_text=table.providers[matches[0].provider].charged_as_text,
                )
        return None

    def price_interval(self, model: str, provider: str | None = None) -> int:
        """How long a price of a model lasts at least, in seconds: a UTC day, a minute, or 0 if it never changes.

        So calls within one interval have the same price row, and need not be looked up one by one.
        """
        found = [match.entry.prices for matches in self._lookup(model, provider) for match in matches]
        prices = [price for entry in found for price in entry]
        if any(price.hours is not None for price in prices):
            return _MINUTE
        return _DAY if any(price.since is not None for price in prices) else 0

    def charge(
        self,
        usage: Usage,
        provider: str | None = None,
        when: datetime | None = None,
        model: str | None = None,
    ) -> Charge:
        """The cost of one call: as its reply states it, or by the price of the model in its reply, or else `model`.

        The format of a reply does not prove who sent it: only a provider that the caller gave is used.
        """
        if usage.reported_cost is not None:
            return Charge(usage.reported_cost, None, source="reported")
        name = usage.model or model
        provider = provider or usage.known_provider
        row = self.find(name, provider, when, usage.service_tier) if name else None
        if row is None:
            return Charge(None, None)
        tokens = usage.billed or usage.tokens
        uncertain: tuple[str, ...] = ()
        if usage.is_total:
            uncertain += row.reached_tiers(tokens)
            row = replace(row, tiers=())
        known, unpriced, uncounted = row.charge(tokens, usage.server_tools)
        if usage.source == "partial" and "output" not in uncounted:
            uncertain += (_REST,)
        unpriced += usage.unknown + uncertain
        total = None if unpriced else known
        applied = row.applied(tokens, usage.server_tools)
        return Charge(total, applied, known, unpriced, "priced", uncounted + uncertain)

    def _lookup(self, model: str, provider: str | None) -> list[tuple[PriceMatch, ...]]:
        """What each table has for this name; cached, because the same few names come again and again."""
        key = model, provider
        if key not in self._matches:
            name = canonical_name(provider) if provider else None
            self._matches[key] = [table.find(model, name) for table in self.tables]
        return self._matches[key]


@cache
def _packaged_prices() -> Prices:
    return Prices(_packaged())


@cache
def _packaged() -> PriceTable:
    # A test checks this file against the format, so the fast JSON reader is enough.
    return read_table(json.loads(_PACKAGED.read_bytes()), _PACKAGED.name, lazily=True)
