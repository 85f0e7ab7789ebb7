"""The packaged table says what its source says: for every model, on days and at sizes where prices change.

Where the two differ, they differ on purpose: genai-prices charges a class or modality without a price as plain input or output,
and a service tier without one as usual; here they are not known.
"""

import importlib.util
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from runcard.accounting import PriceRow, Prices, Tokens, cost
from runcard.accounting.price_file import read_table
from runcard.accounting.price_table import ModelPrices
from runcard.accounting.prices import _PACKAGED
from runcard.accounting.providers import canonical_name

ROOT = Path(__file__).parents[2]
PACKAGED = Prices.packaged()
AUTUMN = datetime(2026, 11, 1, 12, tzinfo=UTC)
KEYS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}
MODALITIES = {
    "input_audio": "input_audio_mtok",
    "input_image": "input_image_mtok",
    "input_video": "input_video_mtok",
    "cache_read_audio": "cache_audio_read_mtok",
    "cache_read_image": "cache_image_read_mtok",
    "output_audio": "output_audio_mtok",
    "output_image": "output_image_mtok",
    "output_video": "output_video_mtok",
}
OUTPUT_MODALITIES = ("output_audio_mtok", "output_image_mtok", "output_video_mtok")
TOOLS = {"web_search": "web_searches_kcount", "file_search": "storage_searches_kcount"}
BESIDES = {"requests_kcount", "output_reasoning_mtok", "output_citation_mtok"}


@pytest.fixture(scope="module")
def source() -> ModuleType:
    return import_module("genai_prices")


@pytest.fixture(scope="module")
def snapshot(source: ModuleType) -> Any:
    return source.data_snapshot.get_snapshot()


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_prices", ROOT / "scripts" / "make_prices.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_packaged_table_is_sound_to_its_end() -> None:
    table = read_table(json.loads(_PACKAGED.read_bytes()), "prices.json")
    assert sum(len(provider.models) for provider in table.providers.values()) > 1_000
    assert _PACKAGED.stat().st_size < 410_000


def test_the_packaged_table_is_what_the_script_makes(source: ModuleType) -> None:
    written = _PACKAGED.read_text("utf-8")
    said = json.loads(written)
    assert said["version"] == metadata.version("genai-prices"), (
        "run scripts/make_prices.py for the new version"
    )
    assert script().build(date.fromisoformat(said["as_of"])) == written
    assert source.__name__ == said["source"].replace("-", "_")


def names(model: Any) -> Iterator[str]:
    """The names by which a model can be asked for: its id, and the words of its clauses."""
    yield model.id
    waiting = [model.match]
    while waiting:
        ((kind, value),) = vars(waiting.pop()).items()
        if kind in {"or_", "and_"}:
            waiting.extend(value)
        elif kind != "regex":
            yield value


def test_every_name_means_the_same_model(snapshot: Any) -> None:
    table = PACKAGED.tables[0]
    owners = {id(model): one.id for one in snapshot.providers for model in one.models}
    asked = 0
    for provider in snapshot.providers:
        for name in {name for model in provider.models for name in names(model)}:
            meant = provider.find_model(name, all_providers=snapshot.providers)
            expected = [(canonical_name(owners[id(meant)]), meant.id)] if meant else []
            hits = table.find(name, canonical_name(provider.id))
            assert [(hit.provider, hit.entry.model) for hit in hits] == expected, name
            asked += 1
    assert asked > 3_000


def test_a_name_without_a_provider_means_each_vendor_that_calls_it_its_own(snapshot: Any) -> None:
    """The source takes the first of them; here there must be only one."""
    table = PACKAGED.tables[0]
    found = {1: 0, 2: 0}
    vendors = [provider for provider in snapshot.providers if provider.model_match]
    for name in {name for one in snapshot.providers for model in one.models for name in names(model)}:
        owners = [vendor for vendor in vendors if vendor.model_match.is_match(name.lower())]
        expected = [(canonical_name(one.id), model.id) for one in owners if (model := one.find_model(name))]
        hits = table.find(name, None)
        assert [(hit.provider, hit.entry.model) for hit in hits] == expected, name
        assert (PACKAGED.find(name, when=AUTUMN) is None) or len(hits) == 1
        found[len(hits)] = found.get(len(hits), 0) + 1
    assert found[1] > 300


def prices_of(model: Any) -> list[Any]:
    return model.prices if isinstance(model.prices, list) else []


def days(model: Any) -> set[datetime]:
    """Today, and both sides of every moment at which something changes."""
    found = {AUTUMN}
    for said in [*prices_of(model), *(model.price_variants or [])]:
        if hasattr(said.constraint, "start_date"):
            start = datetime.combine(said.constraint.start_date, time(), UTC)
            found |= {start, start - timedelta(seconds=1)}
        elif said.constraint is not None:
            for border in (said.constraint.start_time, said.constraint.end_time):
                moment = datetime.combine(AUTUMN, border.replace(tzinfo=border.tzinfo or UTC))
                found |= {moment, moment - timedelta(seconds=1), moment + timedelta(seconds=1)}
    return found


def sizes(price: Any) -> set[int]:
    """How much input: a little, and both sides of every border."""
    values = [value for value in vars(price).values() if hasattr(value, "tiers")]
    borders = {tier.start for value in values for tier in value.tiers}
    return {1_000, *(border + n for border in borders for n in (-1, 0, 1))}


def mixes(size: int) -> Iterator[Tokens]:
    yield Tokens(size, 0)
    yield Tokens(size, 777)
    yield Tokens(size, 777, cache_read=size // 3)
    yield Tokens(size, 777, cache_read=size // 3, cache_write_5m=size // 7, cache_write_1h=0)
    yield Tokens(size, 777, cache_read=size // 3, cache_write_5m=size // 7, cache_write_1h=size // 11)
    yield Tokens(size, 1, cache_read=size)


def expected_cost(source: ModuleType, price: Any, tokens: Tokens) -> Decimal | None:
    """What the source computes; None where a class that occurs has no price of its own there."""
    values = {key: value for key, value in vars(price).items() if value is not None}
    plain = (tokens.input or 0) - (tokens.cache_read or 0) - (tokens.cache_write or 0)
    counts = {**tokens.to_dict(), "input": plain}
    if any(counts.get(name) and key not in values for name, key in KEYS.items()):
        return None
    if tokens.output and any(
        values.get(key, values["output_mtok"]) != values["output_mtok"] for key in OUTPUT_MODALITIES
    ):
        return None  # output of which modality?
    usage = source.Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        cache_write_1h_tokens=tokens.cache_write_1h,
    )
    total: Decimal = price.calc_price(usage)["total_price"]
    return total


def priced(model: Any, price: Any) -> bool:
    """Whether tokens are what is paid for, and all of it."""
    said = {key for key, value in vars(price).items() if value is not None}
    by_tokens = bool(said & set(KEYS.values())) and not said & BESIDES
    return by_tokens or (not said and model.id.endswith(":free"))


def test_every_model_costs_the_same_as_at_the_source(source: ModuleType, snapshot: Any) -> None:
    """To the last digit, for all classes that have a price."""
    compared = unpriced = 0
    for provider, model, entry in every_model(snapshot):
        for when in days(model):
            price = model.get_prices(when)
            found = entry.price(when, None)
            assert (found is not None) == priced(model, price), model.id
            if found is None:
                unpriced += 1
                continue
            row = PriceRow(entry.model, provider.id, "s", "d", found.rates, found.tiers)
            for tokens in (tokens for size in sizes(price) for tokens in mixes(size)):
                if not vars(price):
                    assert cost(tokens, row) == 0
                else:
                    assert cost(tokens, row) == expected_cost(source, price, tokens), (model.id, when, tokens)
                compared += 1
    assert compared > 15_000
    assert unpriced < 200


def every_model(snapshot: Any) -> Iterator[tuple[Any, Any, ModelPrices]]:
    """Each model of the source, with our entry for it."""
    for provider in snapshot.providers:
        entries = PACKAGED.tables[0].providers[canonical_name(provider.id)].models
        for model, entry in zip(provider.models, entries, strict=True):
            assert entry.model == model.id
            yield provider, model, entry


def special(model: Any) -> set[tuple[str, str]]:
    """The service tiers that have prices of their own."""
    variants = [variant for variant in model.price_variants or [] if vars(variant.prices)]
    contexts = {context for variant in variants for context in variant.when.items()}
    return {(key, tier) for key, tier in contexts if key in {"service_tier", "processing"}}


def test_service_tiers_cost_the_same_as_at_the_source(source: ModuleType, snapshot: Any) -> None:
    compared = 0
    for provider, model, entry in every_model(snapshot):
        for key, tier in special(model):
            variants = [variant for variant in model.price_variants if variant.when == {key: tier}]
            for when in days(model):
                found, price = entry.price(when, tier), model.get_prices(when, {key: tier})
                active = [v for v in variants if v.constraint is None or v.constraint.active(when)]
                assert (found is not None) == (bool(active) and priced(model, price)), model.id
                if found is None:
                    continue
                row = PriceRow(entry.model, provider.id, "s", "d", found.rates, found.tiers)
                for tokens in (tokens for size in sizes(price) for tokens in mixes(size)):
                    assert cost(tokens, row) == expected_cost(source, price, tokens), (model.id, tier, when)
                    compared += 1
    assert compared > 2_000


def by_modality(values: dict[str, Any]) -> Tokens:
    """A call that uses each modality that has a price, and text."""
    counts = {
        name: 1_000 + 10 * n
        for n, (name, key) in enumerate(MODALITIES.items())
        if key in values and not name.startswith("cache_read")
    }
    cached = {
        name: 100 + n
        for n, (name, key) in enumerate(MODALITIES.items())
        if key in values and name.startswith("cache_read")
    }
    sent = sum(count for name, count in counts.items() if name.startswith("input"))
    made = sum(count for name, count in counts.items() if name.startswith("output"))
    cache_read = sum(cached.values()) + (50 if "cache_read_mtok" in values else 0)
    counts |= {"input": sent + 777, "output": made + (55 if "output_mtok" in values else 0)}
    if made == 0:
        counts["output_text"] = counts["output"]
    for name in ("input_audio", "input_image", "input_video"):
        if name in counts and cache_read:
            cached.setdefault(name.replace("input", "cache_read"), 0)
    return Tokens(**counts, **cached, cache_read=cache_read)


def test_modalities_cost_the_same_as_at_the_source(source: ModuleType, snapshot: Any) -> None:
    compared = 0
    for provider, model, entry in every_model(snapshot):
        tiers = {None, *(tier for key, tier in special(model) if key == "processing")}
        for when, tier in ((when, tier) for when in days(model) for tier in tiers):
            found = entry.price(when, tier)
            price = model.get_prices(when, {"processing": tier} if tier else None)
            values = {key: value for key, value in vars(price).items() if value is not None}
            if found is None or not values.keys() & set(MODALITIES.values()):
                continue
            tokens = by_modality(values)
            row = PriceRow(entry.model, provider.id, "s", "d", found.rates, found.tiers)
            usage = {
                f"{name.replace('cache_read_', 'cache_')}_read" if "cache_" in name else name: count
                for name, count in tokens.to_dict().items()
                if name not in {"cache_read", "output_text"}
            }
            usage |= {"cache_read": tokens.cache_read or 0}
            spent = source.Usage(**{f"{name}_tokens": count for name, count in usage.items()})
            assert cost(tokens, row) == price.calc_price(spent)["total_price"], (model.id, tier, when)
            compared += 1
    assert compared > 50


def test_searches_cost_the_same_as_at_the_source(snapshot: Any) -> None:
    compared = 0
    for provider, model, entry in every_model(snapshot):
        for when in days(model):
            found, price = entry.price(when, None), model.get_prices(when)
            if found is None:
                continue
            values = {name: getattr(price, key) for name, key in TOOLS.items()}
            expected = {name: value for name, value in values.items() if value is not None}
            assert dict(found.tool_rates) == ({} if provider.id == "google" else expected), model.id
            compared += bool(expected)
    assert compared > 80
