"""The states of a range: the number line, cut at every threshold in a comparison."""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from runcard.plans.analysis.questions import Bounds, Cut, Interval, Threshold
from runcard.plans.analysis.subjects import LONGEST_CODE, slug
from runcard.plans.analysis.vocabulary import is_count, is_supply
from runcard.plans.ruby.rails import underscore

_ADULT, _SENIOR = 18, range(55, 71)


class NumberLine(NamedTuple):
    """The cuts in ascending order, and the names of the segments between them."""

    cuts: tuple[Cut, ...]
    names: tuple[str, ...]

    @property
    def is_point(self) -> bool:
        """Whether a single value is distinguished from all others."""
        return len(self.cuts) == 2 and self.cuts[0].threshold == self.cuts[1].threshold

    def segments_in(self, interval: Interval) -> list[str]:
        """The segments that an interval covers."""
        low = 0 if interval.low is None else self._position(interval.low) + 1
        high = len(self.names) if interval.high is None else self._position(interval.high) + 1
        return list(self.names[low:high])

    def comparisons(self) -> dict[str, str]:
        """What is true of a value in each segment: `>= 18 and < 65`."""
        ends = [None, *self.cuts, None]
        pairs = itertools.pairwise(ends)
        return {name: _comparison(low, high) for name, (low, high) in zip(self.names, pairs, strict=True)}

    def phrases(self, be: str, name: str) -> dict[str, str]:
        """What segments with thresholds in their names read like: `is above Setting.limit`, `is before 1.day.ago`."""
        ends = [None, *self.cuts, None]
        is_time = _is_time(name, self.cuts)
        return {
            segment: f"{be} {text}"
            for segment, (low, high) in zip(self.names, itertools.pairwise(ends), strict=True)
            if segment.startswith(_BOUNDED) and (text := _phrase(low, high, is_time=is_time))
        }

    def _position(self, cut: Cut) -> int:
        if cut in self.cuts:
            return self.cuts.index(cut)
        return self.cuts.index(_next_integer(cut))


_BOUNDED = ("up_to_", "below_", "above_", "at_least_")
_TIMES = {"at", "on", "date", "time", "day", "timestamp", "deadline"}
_TIME = re.compile(r"\b(?:Time|Date|DateTime|today|now|ago|from_now)\b")


def _is_time(name: str, cuts: Sequence[Cut]) -> bool:
    last = name.rpartition("_")[2]
    is_named = last in _TIMES or last.endswith("time")
    return any(_TIME.search(cut.threshold.text) for cut in cuts) or (
        is_named and all(cut.threshold.number is None for cut in cuts)
    )


def _phrase(low: Cut | None, high: Cut | None, *, is_time: bool) -> str:
    """A segment with one end; a time is before or after another."""
    cut = low or high
    if cut is None or (low is not None and high is not None) or cut.threshold.number is not None:
        return ""
    words = ("below", "up to", "at least", "above")
    if is_time:
        words = ("before", "not after", "not before", "after")
    word = words[cut.is_above + (2 if high is None else 0)]
    return f"{word} {_shown(cut.threshold.text)}"


def _shown(text: str) -> str:
    """A threshold in a sentence: a variable as words, other code as it is."""
    if re.fullmatch(r"@{0,2}[a-z_]\w*", text):
        return text.lstrip("@").replace("_", " ").strip()
    return text if len(text) <= LONGEST_CODE else f"{text[:LONGEST_CODE]}…"


def _comparison(low: Cut | None, high: Cut | None) -> str:
    if low is not None and high is not None and low.threshold == high.threshold:
        return f"== {low.threshold.text}"
    parts = [] if low is None else [f"{'>' if low.is_above else '>='} {low.threshold.text}"]
    if high is not None:
        parts.append(f"{'<=' if high.is_above else '<'} {high.threshold.text}")
    return " and ".join(parts)


def number_line(name: str, comparisons: Sequence[Bounds]) -> NumberLine:
    """The number line of a subject, from all of its comparisons."""
    intervals = [interval for bounds in comparisons for interval in bounds.intervals]
    all_cuts = _in_order(intervals)
    cuts = _without_gaps(all_cuts)
    ends = [None, *cuts, None]
    names = [
        _segment_name(low, _segment_end(low, high, all_cuts), name) for low, high in itertools.pairwise(ends)
    ]
    return NumberLine(tuple(cuts), tuple(_age_names(name, cuts) or _unique(names)))


def _in_order(intervals: list[Interval]) -> list[Cut]:
    """All cuts from low to high.

    Numbers are sorted. Other thresholds follow the code: `x >= a` before `x >= b` has the higher one first, `x < a`
    before `x < b` the lower one, and lower bounds come before upper bounds.
    """
    cuts = list(dict.fromkeys(cut for interval in intervals for cut in interval if cut is not None))
    if all(cut.threshold.number is not None for cut in cuts):
        return sorted(cuts, key=lambda cut: (cut.threshold.number or 0, cut.is_above))
    lows = [interval.low.threshold for interval in intervals if interval.low]
    highs = [interval.high.threshold for interval in intervals if interval.high]
    ranks: dict[Threshold, int] = {}
    for threshold in (*reversed(list(dict.fromkeys(lows))), *highs):
        ranks.setdefault(threshold, len(ranks))
    return sorted(cuts, key=lambda cut: (ranks[cut.threshold], cut.is_above))


def _without_gaps(cuts: list[Cut]) -> list[Cut]:
    """For integers, just above 17 and just below 18 are the same cut."""
    return [cut for cut in cuts if _next_integer(cut) == cut or _next_integer(cut) not in cuts]


def _segment_end(low: Cut | None, high: Cut | None, all_cuts: list[Cut]) -> Cut | None:
    """The upper end of a segment; for a single integer, the cut just above it."""
    end = None if low is None or low.is_above else Cut(low.threshold, is_above=True)
    return end if end in all_cuts and _next_integer(end) == high else high


def _next_integer(cut: Cut) -> Cut:
    """The cut below the next integer, for a cut above an integer; any other cut is unchanged."""
    number = cut.threshold.number
    if not cut.is_above or not isinstance(number, int):
        return cut
    return Cut(Threshold(str(number + 1), number + 1), is_above=False)


def _segment_name(low: Cut | None, high: Cut | None, name: str) -> str:
    if low is None and high is None:
        return "any"
    if low is None and high is not None:
        return _below(high, name)
    if high is None and low is not None:
        return _above(low, name)
    return _between(low, high)


def _below(cut: Cut, name: str) -> str:
    if is_supply(name) and cut.threshold.number is None:
        return "insufficient" if not cut.is_above else "scarce"
    if cut.threshold.number == 0:
        return ("zero" if is_count(name) else "zero_or_less") if cut.is_above else "negative"
    return f"{'up_to' if cut.is_above else 'below'}_{_word(cut)}"


def _above(cut: Cut, name: str) -> str:
    if is_supply(name) and cut.threshold.number is None:
        return "sufficient"
    if cut.threshold.number == 0:
        return "positive" if cut.is_above else "zero_or_more"
    return f"{'above' if cut.is_above else 'at_least'}_{_word(cut)}"


def _between(low: Cut | None, high: Cut | None) -> str:
    if low is None or high is None:
        return "any"
    if low.threshold == high.threshold:
        return "zero" if low.threshold.number == 0 else f"exactly_{_word(low)}"
    start = f"{'above' if low.is_above else 'from'}_{_word(low)}"
    return f"{start}_{'to' if high.is_above else 'to_below'}_{_word(high)}"


def _word(cut: Cut) -> str:
    text = cut.threshold.text
    if text.startswith("-"):
        return f"minus_{slug(text)}"
    return underscore(slug(text))[:40].strip("_") or "limit"


def _age_names(name: str, cuts: Sequence[Cut]) -> list[str] | None:
    """The usual names for ages: minor, adult, senior."""
    numbers = [cut.threshold.number for cut in cuts]
    if name.rsplit("_", maxsplit=1)[-1] != "age":
        return None
    if numbers == [_ADULT]:
        return ["minor", "adult"]
    if len(numbers) == 2 and numbers[0] == _ADULT and numbers[1] in _SENIOR:
        return ["child", "adult", "senior"]
    return None


def _unique(names: list[str]) -> list[str]:
    unique: list[str] = []
    for name in names:
        number = 2
        candidate = name
        while candidate in unique:
            candidate, number = f"{name}_{number}", number + 1
        unique.append(candidate)
    return unique
