"""The cells of a list of records."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from runcard.encoding import JsonObject
from runcard.views.formats import money, money_at_least, short_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.catalog.columns import Column


def record_cells(row: JsonObject, columns: "Sequence[Column]") -> list[str]:
    """The cells of one record."""
    return [_cell(row, column.name, column.type) for column in columns]


def _cell(row: JsonObject, name: str, kind: str) -> str:
    value: Any = row[name]
    if name == "cost":
        return cost_cell(row)
    if name == "status" and row.get("problem"):
        return "unreadable"
    if value is None:
        return ""
    if kind == "cost":
        return money(value)
    if kind == "time":
        return _local_time(value)
    if kind == "seconds":
        return short_duration(int(value))
    if kind == "count":
        return f"{value:,}"
    if kind == "flag":
        return "yes" if value else ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def cost_cell(row: JsonObject) -> str:
    """A cost; "at least" where a part of it is unknown."""
    cost, known = row.get("cost"), row.get("known_cost")
    if cost is not None and not row.get("at_least"):
        return money(cost)
    amount = cost if cost is not None else known
    if amount is None:
        return "unknown" if row.get("calls") or row.get("tokens") else ""
    if amount:
        return money_at_least(amount)
    return "unknown" if cost is None else money(0)


def _local_time(text: str) -> str:
    """A time to the minute, in the local time zone."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return text
