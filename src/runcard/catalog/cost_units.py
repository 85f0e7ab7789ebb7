"""Costs as the catalog has them: whole numbers, so that sums are exact."""

from runcard.catalog.tables import COST_UNIT
from runcard.documents.exact_sums import as_decimal

_MOST = 2**62  # units
_MOST_EXACT = 2**40  # units: their floats are exact to 0.001


def cost_units(amount: object) -> int | None:
    """Dollars in the unit of the catalog."""
    if (type(amount) is not int and type(amount) is not float) or not 0 <= amount < _MOST // COST_UNIT:
        return None
    units = amount * COST_UNIT
    nearest = round(units)
    if units < _MOST_EXACT and abs(units - nearest) < 0.4:
        return nearest  # what a float has too little of is far from the half
    return round(as_decimal(amount) * COST_UNIT)
