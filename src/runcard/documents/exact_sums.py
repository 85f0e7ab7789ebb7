"""Adding up: what is only known when all parts are, and money, exactly where it matters.

Decimal numbers are loaded when there is money to be added up: most runs have none.
"""

from collections.abc import Iterable, Sequence
from functools import cache, reduce
from math import fsum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from decimal import Context, Decimal

T = TypeVar("T")

_DIGITS = 10_000  # more than any two numbers of a document are apart
_TOLERANCE = "0.00005"  # half a cent of a cent: how far a total may be from the sum of its parts


def all_known(parts: Iterable[T | None]) -> list[T] | None:
    """The parts, when none of them is unknown."""
    known = list(parts)
    return None if None in known else known  # type: ignore[return-value]


def whole_sum(counts: Iterable[float]) -> int:
    """Whole numbers added up exactly, also those that a document writes as 3.0 or 1e300."""
    return sum(map(int, counts))


def exact_sum(amounts: Iterable[float]) -> "Decimal":
    from decimal import Decimal  # noqa: PLC0415

    return reduce(_exactly().add, (Decimal(str(amount)) for amount in amounts), Decimal(0))


def money_agrees(parts: Sequence[float], total: float, *, at_least: bool = False) -> bool:
    """Whether amounts add up to a total; with `at_least`, whether they do not exceed it."""
    try:
        if abs(fsum(parts) - total) < 0.00004:
            return True  # far enough from the border for floats
    except OverflowError:
        pass
    from decimal import Decimal  # noqa: PLC0415

    over = _exactly().subtract(exact_sum(parts), Decimal(str(total)))
    return (over if at_least else abs(over)) <= Decimal(_TOLERANCE)


def plain_number(amount: "Decimal") -> float | int:
    """An amount as a JSON number that reads back as the same decimal."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


@cache
def _exactly() -> "Context":
    from decimal import Context  # noqa: PLC0415

    return Context(prec=_DIGITS)
