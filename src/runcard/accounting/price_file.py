"""The JSON format of a price table, the packaged one and a user's own, and its reader.

    {"source": "…", "as_of": "2026-10-30", "providers": {"acme": {"models": [
        {"model": "acme-1", "match": ["acme-1", {"starts_with": "acme-1-"}],
         "usd_per_million": {"input": 3, "output": 15}}]}}}

docs/accounting.md describes it. Errors are DocumentErrors with the location. An unknown name is an error: it may be a rate
that would be lost. Invariant: a table that was read is valid, and its rates are the decimals in the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn

from runcard.accounting.model_names import COMBINATIONS, TESTS, Clause
from runcard.accounting.price_rows import RATES, Rates, Tier
from runcard.accounting.price_table import ModelPrices, Price, PriceTable, ProviderPrices
from runcard.accounting.providers import canonical_name
from runcard.encoding import JsonObject, join_pointer
from runcard.errors import DocumentError

_PRICE_KEYS = ("usd_per_million", "usd_per_thousand", "tiers", "from", "daily", "service_tier")
_MODALITIES = ("audio", "image", "video")


@dataclass(frozen=True, slots=True)
class _FileNode:
    """A value of the file and its location."""

    value: Any
    name: str
    at: tuple[str | int, ...] = ()

    def __getitem__(self, key: str) -> "_FileNode":
        return _FileNode(self.object().get(key), self.name, (*self.at, key))

    def object(self, *names: str) -> JsonObject:
        """The object itself, if it has only these names; without names, any object."""
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
            self.refuse("a string", "empty" if self.value == "" else None)
        return self.value

    def number(self) -> Decimal:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or self.value < 0:
            self.refuse("a number that is not negative")
        return Decimal(repr(self.value))

    def refuse(self, expected: str, actual: str | None = None) -> NoReturn:
        actual = actual or ("nothing" if self.value is None else f"a {type(self.value).__name__}")
        raise DocumentError(
            f"{self.name}: {join_pointer(self.at) or 'the price table'} should be {expected}, but is {actual}",
            hint="see the format of a price file in docs/accounting.md",
        )


def read_table(data: object, name: str, *, lazily: bool = False) -> PriceTable:
    """The table in this data; `name` is its name in messages. With `lazily`, models are read and checked on first use."""
    top = _FileNode(data, name)
    top.object("about", "source", "version", "as_of", "providers")
    table = PriceTable(top["source"].text(), _day(top["as_of"]).isoformat(), _providers(top["providers"]))
    if not lazily:
        for provider in table.providers.values():
            _ = provider.models
    return table


def _providers(node: _FileNode) -> dict[str, ProviderPrices]:
    providers: dict[str, ProviderPrices] = {}
    for key in node.object():
        if (name := canonical_name(key)) in providers:
            node[key].refuse("a new provider", f"another name of {name}")
        providers[name] = _provider(node[key])
    for key in node.object():
        for other in providers[canonical_name(key)].also:
            if other not in providers:
                node[key]["also"].refuse("a list of providers in this file", f"a list with {other}")
    return providers


def _provider(node: _FileNode) -> ProviderPrices:
    fields = node.object("owns", "also", "charged_as_text", "models")
    also = tuple(canonical_name(node.text()) for node in node["also"].items()) if "also" in fields else ()
    as_text = tuple(map(_modality, node["charged_as_text"].items())) if "charged_as_text" in fields else ()
    return ProviderPrices(
        _clause(node["owns"]) if "owns" in fields else None, also, partial(_models, node["models"]), as_text
    )


def _modality(node: _FileNode) -> str:
    if node.text() not in _MODALITIES:
        node.refuse(f"one of {', '.join(_MODALITIES)}", "another string")
    return node.text()


def _models(node: _FileNode) -> tuple[ModelPrices, ...]:
    return tuple(_model(node) for node in node.items())


def _model(node: _FileNode) -> ModelPrices:
    """A model with a list of prices, or with a single one."""
    fields = node.object("model", "match", "prices", *_PRICE_KEYS)
    name = node["model"].text()
    match = _clause(node["match"]) if "match" in fields else Clause("equals", name.lower())
    if "prices" in fields:
        node.object("model", "match", "prices")
        return ModelPrices(name, match, tuple(_price(node) for node in node["prices"].items()))
    has_price = not fields.keys().isdisjoint(_PRICE_KEYS)
    return ModelPrices(name, match, (_price(node),) if has_price else ())


def _price(node: _FileNode) -> Price:
    fields = node.object(*_PRICE_KEYS) if "model" not in node.object() else node.object()
    rates = _rates(node["usd_per_million"])
    return Price(
        rates,
        _tiers(node["tiers"], rates) if "tiers" in fields else (),
        _day(node["from"]) if "from" in fields else None,
        _hours(node["daily"]) if "daily" in fields else None,
        node["service_tier"].text().lower() if "service_tier" in fields else None,
        _tool_rates(node["usd_per_thousand"]) if "usd_per_thousand" in fields else (),
    )


def _tool_rates(node: _FileNode) -> tuple[tuple[str, Decimal], ...]:
    return tuple((name, node[name].number()) for name in node.object())


def _rates(node: _FileNode, below: Rates | None = None) -> Rates:
    """Rates by class; missing ones are those of the tier below."""
    rates = {key: node[key].number() for key in node.object(*RATES)}
    if not rates:
        node.refuse(f"an object with any of {', '.join(RATES)}", "empty")
    return replace(below, **rates) if below else Rates(**rates)


def _tiers(node: _FileNode, below: Rates) -> tuple[Tier, ...]:
    tiers: list[Tier] = []
    for tier in node.items():
        tier.object("above_input_tokens", "usd_per_million")
        below = _rates(tier["usd_per_million"], below)
        above = tier["above_input_tokens"]
        least = tiers[-1].above_input_tokens + 1 if tiers else 1
        if isinstance(above.value, bool) or not isinstance(above.value, int) or above.value < least:
            above.refuse(f"a whole number of at least {least:,}")
        tiers.append(Tier(above.value, below))
    return tuple(tiers)


def _day(node: _FileNode) -> date:
    try:
        return date.fromisoformat(node.text())
    except ValueError:
        node.refuse("a date like 2026-10-30", "another string")


def _hours(node: _FileNode) -> tuple[time, time]:
    node.object("from", "to")
    try:
        start, end = (time.fromisoformat(node[key].text()) for key in ("from", "to"))
    except ValueError:
        node.refuse('like {"from": "16:30", "to": "00:30"}, in UTC', "something else")
    return start.replace(tzinfo=None), end.replace(tzinfo=None)


def _clause(node: _FileNode) -> Clause:
    """A string is an exact id, a list has alternatives, an object has one test."""
    if isinstance(node.value, str):
        return Clause("equals", node.text().lower())
    if isinstance(node.value, list):
        return Clause("or", parts=tuple(_clause(node) for node in node.items()))
    if len(fields := node.object(*TESTS, *COMBINATIONS)) != 1:
        node.refuse("an object with one test", f"an object with {len(fields)}")
    kind = next(iter(fields))
    if kind in COMBINATIONS:
        return Clause(kind, parts=tuple(_clause(node) for node in node[kind].items()))
    return Clause(kind, _pattern(node[kind]) if kind == "regex" else node[kind].text().lower())


def _pattern(node: _FileNode) -> str:
    try:
        re.compile(node.text())
    except re.error as error:
        node.refuse("a regular expression", f"invalid: {error}")
    return node.text()
