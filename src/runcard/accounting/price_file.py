"""The JSON format of a price table, the packaged one and a user's own, and its reader.

    {"source": "…", "as_of": "2026-10-30", "providers": {"acme": {"models": [
        {"model": "acme-1", "match": ["acme-1", {"starts_with": "acme-1-"}],
         "usd_per_million": {"input": 3, "output": 15}}]}}}

docs/accounting.md describes it. A fault is a DocumentError that says where it is; so is a name that is not known, for it
may be a rate that would be lost. Invariant: what was read is sound, and rates are the decimals that the text shows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn

from runcard.accounting.model_names import JOINED, TESTS, Clause
from runcard.accounting.price_rows import RATES, Rates, Tier
from runcard.accounting.price_table import ModelPrices, Price, PriceTable, ProviderPrices
from runcard.accounting.providers import canonical
from runcard.encoding import JsonObject, join_pointer
from runcard.errors import DocumentError

_PRICE = ("usd_per_million", "tiers", "from", "daily", "service_tier")


@dataclass(frozen=True, slots=True)
class _FileNode:
    """A value of the file and where it stands."""

    value: Any
    name: str
    at: tuple[str | int, ...] = ()

    def __getitem__(self, key: str) -> "_FileNode":
        return _FileNode(self.object().get(key), self.name, (*self.at, key))

    def object(self, *names: str) -> JsonObject:
        """Itself, when it is an object with no other than these names; any name will do when none is given."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        if names and (unknown := [key for key in self.value if key not in names]):
            self.refuse(f"an object of {', '.join(names)}", f"an object with {', '.join(unknown[:5])}")
        return self.value

    def items(self) -> Iterator["_FileNode"]:
        if not isinstance(self.value, list):
            self.refuse("a list")
        for n, value in enumerate(self.value):
            yield _FileNode(value, self.name, (*self.at, n))

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value:
            self.refuse("a text")
        return self.value

    def number(self) -> Decimal:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or self.value < 0:
            self.refuse("a number that is not negative")
        return Decimal(repr(self.value))

    def refuse(self, expected: str, found: str | None = None) -> NoReturn:
        found = found or ("nothing" if self.value is None else f"a {type(self.value).__name__}")
        raise DocumentError(
            f"{self.name}: {join_pointer(self.at) or 'the price table'} should be {expected}, but is {found}",
            hint="docs/accounting.md shows the format of a price file",
        )


def read_table(data: object, name: str, *, lazily: bool = False) -> PriceTable:
    """The table in this data; `name` is how its faults call it. Read `lazily`, faults show when they are met."""
    top = _FileNode(data, name)
    top.object("about", "source", "version", "as_of", "providers")
    table = PriceTable(top["source"].text(), _day(top["as_of"]).isoformat(), _providers(top["providers"]))
    if not lazily:
        for provider in table.providers.values():
            _ = provider.models
    return table


def _providers(said: _FileNode) -> dict[str, ProviderPrices]:
    providers: dict[str, ProviderPrices] = {}
    for key in said.object():
        if (name := canonical(key)) in providers:
            said[key].refuse("a provider of its own", f"another name of {name}")
        providers[name] = _provider(said[key])
    for key in said.object():
        for other in providers[canonical(key)].also:
            if other not in providers:
                said[key]["also"].refuse("a list of providers in this file", f"a list with {other}")
    return providers


def _provider(said: _FileNode) -> ProviderPrices:
    fields = said.object("owns", "also", "models")
    also = tuple(canonical(node.text()) for node in said["also"].items()) if "also" in fields else ()
    return ProviderPrices(
        _clause(said["owns"]) if "owns" in fields else None, also, partial(_models, said["models"])
    )


def _models(said: _FileNode) -> tuple[ModelPrices, ...]:
    return tuple(_model(node) for node in said.items())


def _model(said: _FileNode) -> ModelPrices:
    """A model with a list of prices, or with the one price it has."""
    fields = said.object("model", "match", "prices", *_PRICE)
    name = said["model"].text()
    match = _clause(said["match"]) if "match" in fields else Clause("equals", name.lower())
    if "prices" in fields:
        said.object("model", "match", "prices")
        return ModelPrices(name, match, tuple(_price(node) for node in said["prices"].items()))
    priced = not fields.keys().isdisjoint(_PRICE)
    return ModelPrices(name, match, (_price(said),) if priced else ())


def _price(said: _FileNode) -> Price:
    fields = said.object(*_PRICE) if "model" not in said.object() else said.object()
    rates = _rates(said["usd_per_million"])
    return Price(
        rates,
        _tiers(said["tiers"], rates) if "tiers" in fields else (),
        _day(said["from"]) if "from" in fields else None,
        _hours(said["daily"]) if "daily" in fields else None,
        said["service_tier"].text().lower() if "service_tier" in fields else None,
    )


def _rates(said: _FileNode, below: Rates | None = None) -> Rates:
    """Rates by class; those that are not named stay what they are below."""
    named = {key: said[key].number() for key in said.object(*RATES)}
    if not named:
        said.refuse(f"an object with any of {', '.join(RATES)}", "empty")
    return replace(below, **named) if below else Rates(**named)


def _tiers(said: _FileNode, below: Rates) -> tuple[Tier, ...]:
    tiers: list[Tier] = []
    for node in said.items():
        node.object("above_input_tokens", "usd_per_million")
        below = _rates(node["usd_per_million"], below)
        above = node["above_input_tokens"]
        least = tiers[-1].above_input_tokens + 1 if tiers else 1
        if isinstance(above.value, bool) or not isinstance(above.value, int) or above.value < least:
            above.refuse(f"a whole number from {least:,} on")
        tiers.append(Tier(above.value, below))
    return tuple(tiers)


def _day(said: _FileNode) -> date:
    try:
        return date.fromisoformat(said.text())
    except ValueError:
        said.refuse("a date like 2026-10-30", "another text")


def _hours(said: _FileNode) -> tuple[time, time]:
    said.object("from", "to")
    try:
        start, end = (time.fromisoformat(said[key].text()) for key in ("from", "to"))
    except ValueError:
        said.refuse('like {"from": "16:30", "to": "00:30"}, in UTC', "something else")
    return start.replace(tzinfo=None), end.replace(tzinfo=None)


def _clause(said: _FileNode) -> Clause:
    """A text is an exact id, a list has alternatives, an object names its test."""
    if isinstance(said.value, str):
        return Clause("equals", said.text().lower())
    if isinstance(said.value, list):
        return Clause("or", parts=tuple(_clause(node) for node in said.items()))
    if len(fields := said.object(*TESTS, *JOINED)) != 1:
        said.refuse("an object with one test", f"an object of {len(fields)}")
    kind = next(iter(fields))
    if kind in JOINED:
        return Clause(kind, parts=tuple(_clause(node) for node in said[kind].items()))
    return Clause(kind, _pattern(said[kind]) if kind == "regex" else said[kind].text().lower())


def _pattern(said: _FileNode) -> str:
    try:
        re.compile(said.text())
    except re.error as error:
        said.refuse("a regular expression", f"none: {error}")
    return said.text()
