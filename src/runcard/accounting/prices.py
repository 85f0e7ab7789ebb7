"""Prices by model, provider and day: the packaged table, and a user's own before it.

A price is found by the exact ids and clauses of a table, or not at all: None is the answer for a model nobody priced, a
provider that is not listed, and a name that several vendors could mean. Prices never come from the network.
"""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

from runcard.accounting.price_file import read_table
from runcard.accounting.price_rows import PriceRow, cost
from runcard.accounting.price_table import PriceMatch, PriceTable
from runcard.accounting.providers import canonical
from runcard.accounting.usage import Usage
from runcard.encoding import Limits, decode_json
from runcard.errors import DocumentError, EncodingError, UsageError
from runcard.files import failure, open_regular, printable, read_stream

_PACKAGED = Path(__file__).with_name("prices.json")
_USUAL = {"standard", "default"}


class Charge(NamedTuple):
    """What a call cost, and the price row to record with it; None where that is not known."""

    cost: Decimal | None
    row: PriceRow | None


class Prices:
    """Price tables, asked one after the other."""

    def __init__(self, *tables: PriceTable) -> None:
        self.tables = tables
        self._hits: dict[tuple[str, str | None], list[tuple[PriceMatch, ...]]] = {}

    @classmethod
    def packaged(cls) -> "Prices":
        """The prices that came with this version of runcard."""
        return _packaged_prices()

    @classmethod
    def with_file(cls, path: str | os.PathLike[str]) -> "Prices":
        """The prices of a file, and the packaged ones for what it leaves out; raises DocumentError for a bad file."""
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
        """The price of a model at a time (now, when none is given), or None when it is not known.

        Without a provider, the model's own vendor is meant, if there is no doubt about it.
        """
        moment = when or datetime.now(UTC)
        if moment.tzinfo is None:
            raise UsageError(f"{moment.isoformat()} has no time zone", hint="use datetime.now(UTC)")
        tier = None if service_tier is None or service_tier.lower() in _USUAL else service_tier.lower()
        for table, hits in zip(self.tables, self._lookup(model, provider), strict=True):
            if len(hits) > 1 or (hits and not hits[0].entry.prices):
                return None
            if hits and (price := hits[0].price(moment, tier)):
                row = PriceRow(hits[0].entry.model, hits[0].provider, table.source, table.as_of, price.rates)
                return replace(row, tiers=price.tiers, service_tier=tier)
        return None

    def charge(
        self,
        usage: Usage,
        provider: str | None = None,
        when: datetime | None = None,
        model: str | None = None,
    ) -> Charge:
        """What one call cost, by the model that its reply names, else the one given.

        The shape of a reply is no proof of who sent it: only a provider that somebody gave counts.
        """
        name = usage.model or model
        given = provider or (usage.provider if usage.source == "given" else None)
        row = self.find(name, given, when, usage.service_tier) if name else None
        if row is None:
            return Charge(None, None)
        return Charge(cost(usage.tokens, row), row.applied(usage.tokens))

    def _lookup(self, model: str, provider: str | None) -> list[tuple[PriceMatch, ...]]:
        """What each table has under this name; remembered, for the same few names are asked again and again."""
        key = model, provider
        if key not in self._hits:
            name = canonical(provider) if provider else None
            self._hits[key] = [table.find(model, name) for table in self.tables]
        return self._hits[key]


@cache
def _packaged_prices() -> Prices:
    return Prices(_packaged())


@cache
def _packaged() -> PriceTable:
    # Our own file, held to the format by a test: the quick way to read it will do.
    return read_table(json.loads(_PACKAGED.read_bytes()), _PACKAGED.name, lazily=True)
