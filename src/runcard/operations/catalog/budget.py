"""A budget, and how much of it was spent."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Literal

from runcard.accounting import json_number
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.operations.sessions.call_costs import CostTotals

_NEAR = Decimal("0.8")
_MOST = Decimal(10) ** 15

BudgetState = Literal["within", "near", "over"]


@dataclass(frozen=True)
class Budget:
    """What may be spent since a time, and what was spent: at least, if a part of it is unknown."""

    amount: Decimal
    spent: Decimal
    is_at_least: bool
    since: datetime

    @property
    def state(self) -> BudgetState:
        if self.spent > self.amount:
            return "over"
        return "near" if self.spent >= self.amount * _NEAR else "within"

    @property
    def percent(self) -> int | None:
        """The part that was spent, rounded down; None for a budget of nothing."""
        return int(self.spent * 100 / self.amount) if self.amount else None

    def to_dict(self) -> JsonObject:
        return {
            "amount_usd": json_number(self.amount),
            "spent_usd": json_number(self.spent),
            "at_least": self.is_at_least,
            "state": self.state,
            "since": self.since.isoformat(),
        }


def parse_amount(text: str) -> Decimal:
    """An amount in dollars: `50`, `$12.50`; raises UsageError."""
    try:
        amount = Decimal(text.strip().removeprefix("$").replace(",", ""))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount < _MOST:
        raise UsageError(f"{text!r} is not an amount in dollars", hint="write it as: 50 or 12.50")
    return amount


def budget(amount: Decimal, totals: CostTotals, since: datetime) -> Budget:
    """How much of an amount these totals are."""
    return Budget(amount, totals.known_cost, totals.at_least, since)


def start_of_month(now: datetime) -> datetime:
    """The beginning of the month, in the local time zone."""
    return datetime(now.year, now.month, 1).astimezone()
