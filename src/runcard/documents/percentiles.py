"""Times of many calls in four numbers.

A percentile is the nearest rank: the smallest measured value that is not exceeded by that share of all values. So it is
always a time that was measured, and needs no interpolation. All times must be kept for that: each takes 8 bytes.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from math import copysign, fsum

from runcard.encoding import JsonObject

_DIGITS = 6  # decimals of a mean: microseconds, as times are measured
_BLOCK = 1 << 15  # times that are sorted at once


class Times:
    """Times in seconds, none of them negative or greater than 2**53."""

    def __init__(self, seconds: Iterable[float] = ()) -> None:
        self._seconds = array("d")  # a time without a fraction or point, such as 2, is stored as -2.0
        for time in seconds:
            self.add(time)

    def __len__(self) -> int:
        return len(self._seconds)

    def __add__(self, other: "Times") -> "Times":
        both = Times()
        both._seconds = self._seconds + other._seconds
        return both

    def add(self, seconds: float) -> None:
        self._seconds.append(-float(seconds) if isinstance(seconds, int) else abs(seconds))

    def summary(self) -> JsonObject | None:
        """`mean`, `p50`, `p95` and `max`; None without times."""
        count = len(self)
        if not count:
            return None
        middle, high = _rank(count, 50), _rank(count, 95)
        ordered = self._ordered()
        p50 = next(islice(ordered, middle - 1, None))
        p95 = next(islice(ordered, high - middle - 1, None)) if high > middle else p50
        longest = next(iter(deque(ordered, maxlen=1)), p95)
        mean = round(fsum(map(abs, self._seconds)) / count, _DIGITS)
        mean = min(mean, abs(longest))  # rounding must not exceed the maximum
        return {
            "mean": int(mean) if mean == int(mean) else mean,
            "p50": _as_added(p50),
            "p95": _as_added(p95),
            "max": _as_added(longest),
        }

    def _ordered(self) -> Iterator[float]:
        """The stored values in the order of time: sorted in blocks, since a list of all takes four times the memory."""
        starts = range(0, len(self._seconds), _BLOCK)
        blocks = [array("d", sorted(self._seconds[start : start + _BLOCK], key=abs)) for start in starts]
        return merge(*blocks, key=abs) if len(blocks) > 1 else iter(blocks[0])


def _rank(count: int, percent: int) -> int:
    """The nearest rank, from 1."""
    return -(-count * percent // 100)


def _as_added(stored: float) -> float:
    return int(-stored) if copysign(1, stored) < 0 else stored
