"""Why a cost is unknown, in words: no price, or no count. True also beside a total that the caller states."""

import re
from datetime import datetime

from runcard.accounting.prices import Charge, Prices
from runcard.documents.findings import display_value

_REGION = re.compile(r"[a-z]{2}(-[a-z0-9-]+)?|apac|asia|emea")
_FAST = "fast"


def missing_price(
    prices: Prices,
    charge: Charge,
    model: str | None,
    provider: str | None = None,
    service_tier: str | None = None,
    when: datetime | None = None,
) -> str:
    """The reason for a charge without a cost: `no price is known for 'gpt-9'`."""
    name = display_value(model) if model else "a call that names no model"
    if service_tier is not None:
        name += " " + " and ".join(map(_condition, service_tier.split("+")))
    if not charge.unpriced:
        if model and provider and prices.find(model, None, when, service_tier) is not None:
            return f"the provider {display_value(provider)} has no known price for {name}"
        return f"no price is known for {name}"
    rateless = [part for part in charge.unpriced if part not in charge.uncounted]
    causes = [("price", rateless), ("count", charge.uncounted)]
    texts = [f"no {cause} is known for {', '.join(map(_part, parts))}" for cause, parts in causes if parts]
    return f"{' and '.join(texts)} of {name}"


def _condition(tier: str) -> str:
    """How a call was served, in words. Anthropic's speed and region are recorded beside its tiers."""
    shown = display_value(tier)
    if _REGION.fullmatch(tier):
        return f"with inference in {shown}"
    return f"at the speed {shown}" if tier == _FAST else f"in the service tier {shown}"


def _part(name: str) -> str:
    return display_value(name).strip("'")
