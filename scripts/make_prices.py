"""Make the packaged price table from the genai-prices package: `python scripts/make_prices.py --as-of 2026-10-30`.

Only this script needs genai-prices installed. The package has no date for its prices, so `--as-of` gives it: the day the
installed version was published. The same version and day give the same bytes.

Included are prices of tokens by class and modality, with their tiers, dates, hours and service tiers, those of searches, and
the clauses by which the package finds a model. Prices of hours, characters and pages are not: they cannot be applied to
token counts. A model that always charges for more than tokens keeps its name and has no price.
"""  # noqa: INP001 - a standalone script

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src" / "runcard" / "accounting" / "prices.json"
ABOUT = "US dollars for a million tokens, and for a thousand uses of a tool. Made by scripts/make_prices.py: do not edit"
CLASSES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "input_audio": "input_audio_mtok",
    "input_image": "input_image_mtok",
    "input_video": "input_video_mtok",
    "cache_read_audio": "cache_audio_read_mtok",
    "cache_read_image": "cache_image_read_mtok",
    "cache_read_video": "cache_video_read_mtok",
    "output_audio": "output_audio_mtok",
    "output_image": "output_image_mtok",
    "output_video": "output_video_mtok",
}
TEXT_CLASSES = tuple(CLASSES)[:5]
# Searches on the web and in the user's files. Google's are left out: a part of them is free for each account.
TOOLS = {"web_search": "web_searches_kcount", "file_search": "storage_searches_kcount"}
WITHOUT_TOOLS = ("google",)
# Google's price list has one input price for "text / image / video", and another one for audio where that differs.
CHARGED_AS_TEXT = {"google": ["image", "video"]}
# All output of these models is an image, or speech, so that their price of output is that of this modality.
ONLY_OUTPUT = {"gpt-image-": "output_image", "-tts": "output_audio"}
# Charged for every call beside its tokens: a price without them would be too low.
EXTRA_CHARGES = ("requests_kcount", "output_reasoning_mtok", "output_citation_mtok")
CONTEXTS = {"processing", "service_tier"}
EARLIEST = date(1970, 1, 1)

Plain = dict[str, Any]


def build(as_of: date) -> str:
    """The text of the table: one line per model."""
    providers = import_module("genai_prices.data").providers
    lines = [
        "{",
        f'"about": {_text(ABOUT)},',
        f'"source": "genai-prices", "version": {_text(metadata.version("genai-prices"))}, "as_of": "{as_of}",',
        '"providers": {',
        ",\n".join(_provider(provider) for provider in providers),
        "}}",
    ]
    return "\n".join(lines) + "\n"


def _provider(provider: Any) -> str:  # noqa: ANN401 - the package has no types here
    owns = [] if provider.model_match is None else _clause(provider.model_match)
    also = (
        f', "also": {_text(provider.fallback_model_providers)}' if provider.fallback_model_providers else ""
    )
    as_text = CHARGED_AS_TEXT.get(provider.id)
    also += f', "charged_as_text": {_text(as_text)}' if as_text else ""
    tools = {} if provider.id in WITHOUT_TOOLS else TOOLS
    models = ",\n".join(_text(_model(model, tools)) for model in provider.models)
    return f'{_text(provider.id)}: {{"owns": {_text(owns)}{also}, "models": [\n{models}]}}'


def _model(model: Any, tools: dict[str, str]) -> Plain:  # noqa: ANN401
    prices = [*_standard_prices(model, tools), *_tier_prices(model, tools)]
    entry: Plain = {"model": model.id}
    if (match := _clause(model.match)) != model.id.lower():
        entry["match"] = match
    if not prices:
        return entry
    return entry | (prices[0] if len(prices) == 1 else {"prices": prices})


def _clause(clause: Any) -> Any:  # noqa: ANN401
    """A clause in runcard's format: a string is an exact id, a list has alternatives."""
    ((kind, value),) = vars(clause).items()
    if kind == "or_":
        return [_clause(part) for part in value]
    if kind == "and_":
        return {"and": [_clause(part) for part in value]}
    if kind == "equals":
        return value.lower()
    return {kind: value if kind == "regex" else value.lower()}


def _standard_prices(model: Any, tools: dict[str, str]) -> list[Plain]:  # noqa: ANN401
    prices = []
    for condition, source in _conditions(model):
        if (price := _price(model, source, tools)) is None:
            return []
        prices.append(price | condition)
    return prices


def _conditions(model: Any) -> Iterator[tuple[Plain, Any]]:  # noqa: ANN401
    """The prices in order; the first has no condition, and later ones take precedence."""
    if not isinstance(model.prices, list):
        yield {}, model.prices
        return
    for conditional in model.prices:
        yield _condition(conditional.constraint), conditional.prices


def _condition(constraint: Any) -> Plain:  # noqa: ANN401
    if constraint is None:
        return {}
    if hasattr(constraint, "start_date"):
        return {"from": constraint.start_date.isoformat()}
    return {"daily": {"from": _utc(constraint.start_time), "to": _utc(constraint.end_time)}}


def _utc(moment: time) -> str:
    if moment.tzinfo is not None:
        moment = datetime.combine(EARLIEST, moment).astimezone(UTC).time()
    return moment.isoformat("auto").removesuffix(":00")


def _tier_prices(model: Any, tools: dict[str, str]) -> list[Plain]:  # noqa: ANN401
    """The prices of service tiers, combined with the standard ones as the package does it, for each day of change."""
    prices: list[Plain] = []
    for context in _contexts(model):
        ((key, tier),) = context
        days = sorted({EARLIEST, *_starts(model.prices), *_starts(model.price_variants)})
        for day in days:
            when = datetime.combine(day, time(12), UTC)
            if not any(_active(variant, when, context) for variant in model.price_variants):
                continue
            price = _price(model, model.get_prices(when, {key: tier}), tools)
            if price is None:
                continue
            price |= {"from": day.isoformat(), "service_tier": tier}
            if not (prices and _same(prices[-1], price)):
                prices.append(price)
    return prices


def _contexts(model: Any) -> list[tuple[tuple[str, str], ...]]:  # noqa: ANN401
    contexts = {
        tuple(variant.when.items()): None for variant in model.price_variants or () if vars(variant.prices)
    }
    return [context for context in contexts if len(context) == 1 and context[0][0] in CONTEXTS]


def _starts(conditions: Any) -> set[date]:  # noqa: ANN401
    constraints = [condition.constraint for condition in conditions] if isinstance(conditions, list) else []
    return {constraint.start_date for constraint in constraints if hasattr(constraint, "start_date")}


def _active(variant: Any, when: datetime, context: tuple[tuple[str, str], ...]) -> bool:  # noqa: ANN401
    return tuple(variant.when.items()) == context and (
        variant.constraint is None or variant.constraint.active(when)
    )


def _same(first: Plain, second: Plain) -> bool:
    return {**first, "from": None} == {**second, "from": None}


def _price(model: Any, source: Any, tools: dict[str, str]) -> Plain | None:  # noqa: ANN401
    """The rates of tokens and their tiers, and those of tools; None for a price that is not, or not only, by token."""
    values = {key: value for key, value in vars(source).items() if value is not None}
    if not values and model.id.endswith(":free"):
        return {"usd_per_million": dict.fromkeys(TEXT_CLASSES, 0)}
    rates = {name: values[key] for name, key in CLASSES.items() if key in values}
    if not rates or any(key in values for key in EXTRA_CHARGES):
        return None
    for name, modality in ONLY_OUTPUT.items():
        if name in model.id and "output" in rates:
            rates.setdefault(modality, rates["output"])
    price: Plain = {"usd_per_million": {name: _number(_base(value)) for name, value in rates.items()}}
    tiers = [
        _tier(start, rates)
        for start in sorted({tier.start for value in rates.values() for tier in _tiers(value)})
    ]
    searches = {name: _number(values[key]) for name, key in tools.items() if key in values}
    price |= {"usd_per_thousand": searches} if searches else {}
    return price | {"tiers": tiers} if tiers else price


def _tier(start: int, rates: Plain) -> Plain:
    """The rates that change at this size."""
    changed = {
        name: _number(tier.price)
        for name, value in rates.items()
        for tier in _tiers(value)
        if tier.start == start
    }
    return {"above_input_tokens": start, "usd_per_million": changed}


def _base(value: Any) -> Any:  # noqa: ANN401
    return getattr(value, "base", value)


def _tiers(value: Any) -> list[Any]:  # noqa: ANN401
    return getattr(value, "tiers", [])


def _number(rate: Any) -> float:  # noqa: ANN401
    """A decimal as the JSON number with the same digits."""
    number = int(rate) if rate == int(rate) else float(rate)
    if type(rate)(repr(number)) != rate:
        raise ValueError(f"{rate} has too many digits for a JSON number")
    return number


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--as-of", required=True, type=date.fromisoformat, help="when this version was published"
    )
    parser.add_argument("--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    text = build(arguments.as_of)
    arguments.output.write_text(text, "utf-8")
    sys.stdout.write(f"{arguments.output}: {len(text.encode()):,} bytes, {text.count(chr(10)):,} lines\n")


if __name__ == "__main__":
    main()
