"""Adding up: what is only known when all parts are, and money, exactly where it matters."""

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from functools import reduce
from math import fsum
from typing import TypeVar

T = TypeVar("T")

_EXACT = Context(prec=10_000)  # more digits than any two numbers of a document are apart
TOLERANCE = Decimal("0.00005")  # half a cent of a cent: how far a total may be from the sum of its parts


def all_known(parts: Iterable[T | None]) -> list[T] | None:
    """The parts, when none of them is unknown."""
    known = list(parts)
    return None if None in known else known  # type: ignore[return-value]


def whole_sum(counts: Iterable[float]) -> int:
    """Whole numbers added up exactly, also those that a document writes as 3.0 or 1e300."""
    return sum(map(int, counts))


def exact_sum(amounts: Iterable[float]) -> Decimal:
    return reduce(_EXACT.add, (Decimal(str(amount)) for amount in amounts), Decimal(0))


def money_agrees(parts: Sequence[float], total: float, *, at_least: bool = False) -> bool:
    """Whether amounts add up to a total; with `at_least`, whether they do not exceed it."""
    try:
        if abs(fsum(parts) - total) < 0.00004:
            return True  # far enough from the border for floats
    except OverflowError:
        pass
    exact = _EXACT.subtract(exact_sum(parts), Decimal(str(total)))
    return exact <= TOLERANCE if at_least else abs(exact) <= TOLERANCE


def plain_number(amount: Decimal) -> float | int:
    """An amount as a JSON number that reads back as the same decimal."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)
