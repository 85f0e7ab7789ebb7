"""Why a cost is unknown, in words: no price, or no count. True also beside a total that the caller states."""

from datetime import datetime

from runcard.accounting.prices import Charge, Prices
from runcard.documents.findings import display_value


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
        name += f" in the service tier {display_value(service_tier)}"
    if not charge.unpriced:
        if model and provider and prices.find(model, None, when, service_tier) is not None:
            return f"the provider {display_value(provider)} has no known price for {name}"
        return f"no price is known for {name}"
    rateless = [part for part in charge.unpriced if part not in charge.uncounted]
    causes = [("price", rateless), ("count", charge.uncounted)]
    texts = [f"no {cause} is known for {', '.join(map(_part, parts))}" for cause, parts in causes if parts]
    return f"{' and '.join(texts)} of {name}"


def _part(name: str) -> str:
    return display_value(name).strip("'")
