"""Tokens and costs of model calls: the usage of all vendors in one form, and a dated price table.

    usage, tokens     the usage of one call; token counts by class
    vendors           reading usage from the replies and streams of each vendor
    prices            the price of a model on a day, and the cost of a call
    price_table, price_rows, price_file   the table as values, a row of it, its file format
    service_tiers     batch, flex, priority: tiers with their own prices
    model_names, providers   names of models and providers
    token_estimate    counting tokens locally

Nothing is guessed: an unknown count is None, a model without a price has no cost, and zero means free. There is no network
access. The names are imported on first use; so is the table.
"""

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
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
