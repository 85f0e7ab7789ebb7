"""Times of many calls in four numbers.

A percentile is the nearest rank: the smallest measured value that is not exceeded by that share of all values. So it is
always a time that was measured, and needs no interpolation.
"""

from collections.abc import Iterable
from math import fsum

from runcard.encoding import JsonObject

_DIGITS = 6  # decimals of a mean: microseconds, as times are measured


def time_summary(seconds: Iterable[float]) -> JsonObject | None:
    """`mean`, `p50`, `p95` and `max`; None without values."""
    ordered = sorted(seconds)
    if not ordered:
        return None
    mean = round(fsum(ordered) / len(ordered), _DIGITS)
    mean = min(mean, ordered[-1])  # rounding must not exceed the maximum
    return {
        "mean": int(mean) if mean == int(mean) else mean,
        "p50": percentile(ordered, 50),
        "p95": percentile(ordered, 95),
        "max": ordered[-1],
    }


def percentile(ordered: list[float], percent: int) -> float:
    """The nearest rank among values in ascending order."""
    return ordered[-(-len(ordered) * percent // 100) - 1]
