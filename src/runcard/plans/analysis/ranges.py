"""The states of a range: the line of values, cut at every threshold that the code compares with."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from runcard.plans.analysis.questions import Bounds, Cut, Interval, Threshold
from runcard.plans.analysis.subjects import slug
from runcard.plans.analysis.vocabulary import is_count, is_supply
from runcard.plans.ruby.rails import underscore

_ADULT, _SENIOR = 18, range(55, 71)


class NumberLine(NamedTuple):
    """The cuts in their order, and the names of the stretches between them, from the lowest up."""

    cuts: tuple[Cut, ...]
    names: tuple[str, ...]

    @property
    def is_point(self) -> bool:
        """Whether a single value is told apart from all others."""
        return len(self.cuts) == 2 and self.cuts[0].threshold == self.cuts[1].threshold

    def within(self, interval: Interval) -> list[str]:
        """The stretches that an interval covers."""
        low = 0 if interval.low is None else self._place(interval.low) + 1
        high = len(self.names) if interval.high is None else self._place(interval.high) + 1
        return list(self.names[low:high])

    def _place(self, cut: Cut) -> int:
        if cut in self.cuts:
            return self.cuts.index(cut)
        return self.cuts.index(_next_whole(cut))


def number_line(name: str, asked: Sequence[Bounds]) -> NumberLine:
    """The line of a subject, by all comparisons of it."""
    intervals = [interval for bounds in asked for interval in bounds.intervals]
    every = _in_order(intervals)
    cuts = _without_gaps(every)
    ends = [None, *cuts, None]
    names = [_named(low, _only(low, high, every), name) for low, high in itertools.pairwise(ends)]
    return NumberLine(tuple(cuts), tuple(_known_words(name, cuts) or _distinct(names)))


def _in_order(intervals: list[Interval]) -> list[Cut]:
    """All cuts from low to high.

    Numbers are ordered by what they are. Of other thresholds the code tells: `x >= a` before `x >= b` has the higher
    one first, `x < a` before `x < b` the lower one, and what bounds from below is lower than what bounds from above.
    """
    cuts = list(dict.fromkeys(cut for interval in intervals for cut in interval if cut is not None))
    if all(cut.threshold.number is not None for cut in cuts):
        return sorted(cuts, key=lambda cut: (cut.threshold.number or 0, cut.is_behind))
    lows = [interval.low.threshold for interval in intervals if interval.low]
    highs = [interval.high.threshold for interval in intervals if interval.high]
    ranks: dict[Threshold, int] = {}
    for threshold in (*reversed(list(dict.fromkeys(lows))), *highs):
        ranks.setdefault(threshold, len(ranks))
    return sorted(cuts, key=lambda cut: (ranks[cut.threshold], cut.is_behind))


def _without_gaps(cuts: list[Cut]) -> list[Cut]:
    """Behind 17 and before 18 are one place, where both are whole numbers."""
    return [cut for cut in cuts if _next_whole(cut) == cut or _next_whole(cut) not in cuts]


def _only(low: Cut | None, high: Cut | None, every: list[Cut]) -> Cut | None:
    """The end of a stretch; of one that is a single whole number, the place behind that number."""
    end = None if low is None or low.is_behind else Cut(low.threshold, is_behind=True)
    return end if end in every and _next_whole(end) == high else high


def _next_whole(cut: Cut) -> Cut:
    """The place before the next whole number, for one behind a whole number; any other place is itself."""
    number = cut.threshold.number
    if not cut.is_behind or not isinstance(number, int):
        return cut
    return Cut(Threshold(str(number + 1), number + 1), is_behind=False)


def _named(low: Cut | None, high: Cut | None, name: str) -> str:
    if low is None and high is None:
        return "any"
    if low is None and high is not None:
        return _below(high, name)
    if high is None and low is not None:
        return _above(low, name)
    return _between(low, high)


def _below(cut: Cut, name: str) -> str:
    if is_supply(name) and cut.threshold.number is None:
        return "insufficient" if not cut.is_behind else "scarce"
    if cut.threshold.number == 0:
        return ("zero" if is_count(name) else "zero_or_less") if cut.is_behind else "negative"
    return f"{'up_to' if cut.is_behind else 'below'}_{_word(cut)}"


def _above(cut: Cut, name: str) -> str:
    if is_supply(name) and cut.threshold.number is None:
        return "sufficient"
    if cut.threshold.number == 0:
        return "positive" if cut.is_behind else "zero_or_more"
    return f"{'above' if cut.is_behind else 'at_least'}_{_word(cut)}"


def _between(low: Cut | None, high: Cut | None) -> str:
    if low is None or high is None:
        return "any"
    if low.threshold == high.threshold:
        return "zero" if low.threshold.number == 0 else f"exactly_{_word(low)}"
    start = f"{'above' if low.is_behind else 'from'}_{_word(low)}"
    return f"{start}_{'to' if high.is_behind else 'to_below'}_{_word(high)}"


def _word(cut: Cut) -> str:
    text = cut.threshold.text
    if text.startswith("-"):
        return f"minus_{slug(text)}"
    return underscore(slug(text))[:40].strip("_") or "limit"


def _known_words(name: str, cuts: Sequence[Cut]) -> list[str] | None:
    """The words that people have for ages."""
    numbers = [cut.threshold.number for cut in cuts]
    if name.rsplit("_", maxsplit=1)[-1] != "age":
        return None
    if numbers == [_ADULT]:
        return ["minor", "adult"]
    if len(numbers) == 2 and numbers[0] == _ADULT and numbers[1] in _SENIOR:
        return ["child", "adult", "senior"]
    return None


def _distinct(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number = 2
        free = name
        while free in found:
            free, number = f"{name}_{number}", number + 1
        found.append(free)
    return found
