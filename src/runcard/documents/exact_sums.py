"""Exact sums of tokens and money, known only if all parts are.

`decimal` is imported only if there is money to add: most runs have none.
"""

from collections.abc import Iterable, Sequence
from functools import cache, reduce
from math import fsum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from decimal import Context, Decimal

T = TypeVar("T")

_DIGITS = 10_000  # more than two numbers of a document can be apart
_TOLERANCE = "0.00005"  # half a cent of a cent: how far a total may be from the sum of its parts


def all_known(parts: Iterable[T | None]) -> list[T] | None:
    """The parts, if none of them is None."""
    known = list(parts)
    return None if None in known else known  # type: ignore[return-value]


def whole_sum(counts: Iterable[float]) -> int:
    """The exact sum of whole numbers, also of those written as 3.0 or 1e300."""
    return sum(map(int, counts))


def exact_sum(amounts: Iterable[float]) -> "Decimal":
    from decimal import Decimal  # noqa: PLC0415

    return reduce(add_exactly, amounts, Decimal(0))


def add_exactly(total: "Decimal", amount: "Decimal | float") -> "Decimal":
    return _exact_context().add(total, as_decimal(amount))


def as_decimal(amount: "Decimal | float") -> "Decimal":
    from decimal import Decimal  # noqa: PLC0415

    return amount if isinstance(amount, Decimal) else Decimal(str(amount))


def money_agrees(parts: Sequence[float], total: float, *, at_least: bool = False) -> bool:
    """Whether amounts add up to a total; with `at_least`, whether they do not exceed it."""
    try:
        if abs(fsum(parts) - total) < 0.00004:
            return True  # far enough from the tolerance for floats
    except OverflowError:
        pass
    from decimal import Decimal  # noqa: PLC0415

    over = _exact_context().subtract(exact_sum(parts), Decimal(str(total)))
    return (over if at_least else abs(over)) <= Decimal(_TOLERANCE)


def plain_number(amount: "Decimal") -> float | int:
    """An amount as a JSON number that reads back as the same decimal."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


@cache
def _exact_context() -> "Context":
    from decimal import Context  # noqa: PLC0415

    return Context(prec=_DIGITS)
