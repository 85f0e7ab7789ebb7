"""Sums of usage, kept in step with it, so that what all records cost together is known without adding up all of it.

There are sums for each hour and each day in UTC; for each day by each value of one dimension, such as the role; and for each
day by each mix, the values of all dimensions together. Those of records with labels are also there by all of their labels and mix, for each
day and for each block of days: there are many, and fewer by block. Each is apart by model and token source.
Parts without a value have no sums of that dimension: theirs is the rest of the day's.
Sums are of what is known, with the number of parts that know it. So those of other records can be taken off again, exactly.

Figures that are too large to be added up in a database are not in the sums: `huge` says that there are any.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import add, itemgetter
from typing import Any

from runcard.catalog.tables import FIGURES, USAGE_COLUMNS

HOUR, DAY = 3_600_000, 86_400_000  # milliseconds
BLOCK = 32 * DAY
HOURS, DAYS, MIXES = "hours", "days", "mixes"  # the dimensions without a value
LABELS, LABEL_BLOCKS = "labels", "label blocks"  # those whose value is all labels of a record, as JSON
SLOTS = {HOURS: HOUR, LABEL_BLOCKS: BLOCK}  # how long a slot of a dimension is; of others it is a day
OF_PARTS = ("provider", "role", "agent")
OF_RECORDS = {
    "experiment": "experiment",
    "branch": "branch",
    "tool": "tool",
    "project": "folder",
    "host": "host",
}  # by column
MIXED = (*OF_PARTS, *OF_RECORDS)  # in the order of a mix
LABEL = "label."

_MOST = 2**43  # of a figure
_MOST_LABELS = 20  # of a record
_WHERE = {name: USAGE_COLUMNS.index(name) for name in USAGE_COLUMNS}
_time_of = itemgetter(*(_WHERE[name] for name in ("started", "model", "token_source")))
_values_of = itemgetter(*(_WHERE[name] for name in OF_PARTS))
_NO_SLOT = (-1, None, None)
_figures_of = itemgetter(*(_WHERE[name] for name in ("at_least", *FIGURES)))

TotalKey = tuple[str, str, int, str, str, str]  # dimension, value, slot, model, token source, mix
Labels = tuple[tuple[str, str], ...]  # keys and values
Slot = tuple[int, str | None, str | None]  # the hour or day, model, token source
Parts = list[Sequence[Any]]  # rows of usage


class UsageTotals:
    """Adds up the usage of records."""

    def __init__(self) -> None:
        self._hours: defaultdict[Slot, Parts] = defaultdict(list)
        self._days: defaultdict[tuple[Slot, tuple[str | None, ...], Labels], Parts] = defaultdict(list)
        self._uncounted: Counter[str] = Counter()  # records, by labels that are not in the sums

    def add(
        self,
        values: Mapping[str, str | None],
        labels: Sequence[tuple[str, str]],
        usage: Iterable[Sequence[Any]],
    ) -> None:
        """Add the usage of a record: its values of OF_RECORDS, its labels, and its rows in the order of USAGE_COLUMNS."""
        if len(labels) > _MOST_LABELS:
            self._uncounted.update(name for name, _ in labels)
            labels = ()
        of_record, of_labels = tuple(values.values()), tuple(sorted(labels))
        for row in usage:
            started, model, source = _time_of(row)
            is_dated = started is not None and started >= 0
            self._hours[started // HOUR if is_dated else -1, model, source].append(row)
            day = started // DAY if is_dated else -1, model, source
            self._days[day, _values_of(row) + of_record, of_labels].append(row)

    def rows(self, sign: int = 1) -> list[tuple[Any, ...]]:
        """The sums, in the order of TOTAL_KEYS and TOTAL_COLUMNS; to be added, or with -1 to be taken off.

        They are sorted, so that several writers wait for each other in the same order.
        """
        totals: dict[TotalKey, list[int]] = {}
        nothing = [0] * (2 * len(FIGURES))
        for name, count in self._uncounted.items():
            _add(totals, name, "", _NO_SLOT, "", [count, 0, 0, count, *nothing])
        for slot, parts in self._hours.items():
            _add(totals, HOURS, "", slot, "", _sums(parts))
        for (slot, values, labels), parts in self._days.items():
            sums, mix = _sums(parts), _as_json(values)
            _add(totals, DAYS, "", slot, "", sums)
            _add(totals, MIXES, "", slot, mix, sums)
            for name, value in labels:
                _add(totals, name, value, slot, "", sums)
            if labels:
                _add(totals, LABELS, _as_json(labels), slot, mix, sums)
                block = -1 if slot[0] < 0 else slot[0] * DAY // BLOCK
                _add(totals, LABEL_BLOCKS, _as_json(labels), (block, *slot[1:]), mix, sums)
            for name, known in zip(MIXED, values, strict=True):
                if known is not None:
                    _add(totals, name, known, slot, "", sums)
        return [(*key, *(sign * figure for figure in totals[key])) for key in sorted(totals)]


def _add(
    totals: dict[TotalKey, list[int]], dimension: str, value: str, slot: Slot, mix: str, sums: list[int]
) -> None:
    time, model, source = slot
    key = (dimension, value, time, model or "", source or "", mix)
    totals[key] = [*map(add, totals[key], sums)] if key in totals else sums


@lru_cache(maxsize=1024)
def _as_json(values: tuple[Any, ...]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _sums(parts: Parts) -> list[int]:
    """How many parts there are, how many are at least, unpriced and huge; and of each figure its sum, and how many know it."""
    at_least, *figures, cost, known = zip(*map(_figures_of, parts), strict=True)
    is_known = None not in cost
    figures += [cost, cost if is_known else tuple(map(_either, cost, known))]
    sums = [len(parts), sum(at_least), 0 if is_known else sum(map(_is_unpriced, parts)), 0]
    for figure in figures:
        amounts = [amount for amount in figure if amount is not None] if None in figure else figure
        if amounts and max(amounts) >= _MOST:
            return [*sums[:3], *_sums_without_huge(parts)]
        sums += (sum(amounts), len(amounts))
    return sums


def _sums_without_huge(parts: Parts) -> list[int]:
    """How many parts are huge, and the sums of the figures of the others."""
    others = [part for part in parts if not _is_huge(part)]
    figures = _sums(others)[4:] if others else [0] * (2 * len(FIGURES))
    return [len(parts) - len(others), *figures]


def _is_huge(part: Sequence[Any]) -> bool:
    _, *figures, cost, known = _figures_of(part)
    return any((figure or 0) >= _MOST for figure in (*figures, _either(cost, known)))


def _either(cost: int | None, known: int | None) -> int | None:
    """The cost, or what is known of it."""
    return known if cost is None else cost


def _is_unpriced(part: Sequence[Any]) -> bool:
    """Whether its tokens are known, and its cost is not."""
    has_tokens = part[_WHERE["input"]] is not None or part[_WHERE["output"]] is not None
    return part[_WHERE["cost"]] is None and has_tokens and part[_WHERE["token_source"]] != "partial"


def label_value(number: float | None, text: str | None) -> str:
    """The value of a label, as groups are called."""
    return f"{number:g}" if text is None else text
