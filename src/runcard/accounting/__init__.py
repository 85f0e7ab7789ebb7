"""What a call to a model used and what it cost: usage of all vendors in one shape, and a dated table of prices.

Nothing here guesses: a count that was not said is None, a model without a price has no cost, and zero means free. It counts
no tokens itself and asks no network. The names are imported when they are first used; the table is read on first use.
"""

from importlib import import_module

TYPE_CHECKING = False  # as in typing, whose import alone would take longer than all of this
if TYPE_CHECKING:
    from typing import Any

    from runcard.accounting.price_rows import PriceRow, Rates, Tier, cost, json_number
    from runcard.accounting.prices import Charge, Prices
    from runcard.accounting.tokens import CLASSES, Tokens, sum_tokens, weakest
    from runcard.accounting.usage import Usage
    from runcard.accounting.vendors.read import read_usage

_HOMES = {
    "CLASSES": "tokens",
    "Charge": "prices",
    "PriceRow": "price_rows",
    "Prices": "prices",
    "Rates": "price_rows",
    "Tier": "price_rows",
    "Tokens": "tokens",
    "Usage": "usage",
    "cost": "price_rows",
    "json_number": "price_rows",
    "read_usage": "vendors.read",
    "sum_tokens": "tokens",
    "weakest": "tokens",
}

__all__ = [
    "CLASSES",
    "Charge",
    "PriceRow",
    "Prices",
    "Rates",
    "Tier",
    "Tokens",
    "Usage",
    "cost",
    "json_number",
    "read_usage",
    "sum_tokens",
    "weakest",
]


def __getattr__(name: str) -> "Any":  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module 'runcard.accounting' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"runcard.accounting.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
