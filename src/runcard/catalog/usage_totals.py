"""Sums of usage, kept in step with it, so that what all records cost together is known without adding up all of it.

There are sums for each hour and each day in UTC; and for each day by each value of one dimension, such as the role. Each is
apart by model and token source. Parts without a value have no sums of that dimension: theirs is the rest of the day's.
Sums are of what is known, with the number of parts that know it. So those of other records can be taken off again, exactly.

Figures that are too large to be added up in a database are not in the sums: `huge` says that there are any.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runcard.catalog.tables import FIGURES, USAGE_COLUMNS

HOUR, DAY = 3_600_000, 86_400_000  # milliseconds
HOURS, DAYS = "hours", "days"  # the dimensions without a value
OF_PARTS = ("provider", "role", "agent")
OF_RECORDS = {
    "experiment": "experiment",
    "branch": "branch",
    "tool": "tool",
    "project": "folder",
}  # by column
LABEL = "label."

_MOST = 2**43  # of a figure
_MOST_LABELS = 20  # of a record
_WHERE = {name: USAGE_COLUMNS.index(name) for name in USAGE_COLUMNS}
_MODEL, _SOURCE, _STARTED = _WHERE["model"], _WHERE["token_source"], _WHERE["started"]
_AT_LEAST, _COST, _KNOWN = _WHERE["at_least"], _WHERE["cost"], _WHERE["known_cost"]
_INPUT, _OUTPUT = _WHERE["input"], _WHERE["output"]
_COUNTED = tuple(_WHERE[name] for name in FIGURES[:-2])
_PARTS = tuple((name, _WHERE[name]) for name in OF_PARTS)
_NOTHING = (None,) * len(FIGURES)

TotalKey = tuple[str, str, int, str, str]  # dimension, value, slot, model, token source
Part = tuple[Any, ...]  # at least, unpriced, huge, and the figures


class UsageTotals:
    """Adds up the usage of records."""

    def __init__(self) -> None:
        self._groups: dict[TotalKey, list[Part]] = defaultdict(list)

    def add(
        self,
        values: Mapping[str, str | None],
        labels: Sequence[tuple[str, str]],
        usage: Iterable[Sequence[Any]],
    ) -> None:
        """Add the usage of a record: its values of OF_RECORDS, its labels, and its rows in the order of USAGE_COLUMNS."""
        groups = self._groups
        fixed = [(name, value) for name, value in values.items() if value is not None]
        if len(labels) > _MOST_LABELS:
            for name, _ in labels:
                groups[name, "", -1, "", ""].append((0, 0, 1, *_NOTHING))
        else:
            fixed += labels
        for row in usage:
            part, started = _part(row), row[_STARTED]
            rest = row[_MODEL] or "", row[_SOURCE] or ""
            is_dated = started is not None and started >= 0
            day = (started // DAY if is_dated else -1, *rest)
            groups[HOURS, "", started // HOUR if is_dated else -1, *rest].append(part)
            groups[DAYS, "", *day].append(part)
            for name, value in fixed:
                groups[name, value, *day].append(part)
            for name, at in _PARTS:
                if (value := row[at]) is not None:
                    groups[name, value, *day].append(part)

    def rows(self, sign: int = 1) -> list[tuple[Any, ...]]:
        """The sums, in the order of TOTAL_KEYS and TOTAL_COLUMNS; to be added, or with -1 to be taken off.

        They are sorted, so that several writers wait for each other in the same order.
        """
        return [(*key, *_sums(parts, sign)) for key, parts in sorted(self._groups.items(), key=_key)]


def _key(item: tuple[TotalKey, list[Part]]) -> TotalKey:
    return item[0]


def _part(row: Sequence[Any]) -> Part:
    cost, known, source = row[_COST], row[_KNOWN], row[_SOURCE]
    has_tokens = row[_INPUT] is not None or row[_OUTPUT] is not None
    unpriced = int(cost is None and has_tokens and source != "partial")
    figures = (*[row[at] for at in _COUNTED], cost, known if cost is None else cost)
    for figure in figures:
        if figure is not None and figure >= _MOST:
            return row[_AT_LEAST], unpriced, 1, *_NOTHING
    return row[_AT_LEAST], unpriced, 0, *figures


def _sums(parts: list[Part], sign: int) -> list[int]:
    at_least, unpriced, huge, *figures = zip(*parts, strict=True)
    count = len(parts)
    sums = [sign * count, sign * sum(at_least), sign * sum(unpriced), sign * sum(huge)]
    for figure in figures:
        unknown = figure.count(None)
        sums += (sign * (sum(filter(None, figure)) if unknown else sum(figure)), sign * (count - unknown))
    return sums


def label_value(number: float | None, text: str | None) -> str:
    """The value of a label, as groups are called."""
    return f"{number:g}" if text is None else text
