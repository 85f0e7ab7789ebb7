"""The runs of an experiment as a table: that of `runcard ls`, with the values by which the runs differ as further columns."""

from typing import NamedTuple

from runcard.catalog.columns import COLUMNS, RECORDS, Column
from runcard.catalog.record_facts import Facts
from runcard.catalog.run_rows import run_rows
from runcard.encoding import JsonObject

_MOST_ROWS = 20
_COLUMNS = ("id", "started", "status", "model", "tokens", "cost", "duration")
_SHOWN_ELSEWHERE = {"config.model", "config.provider"}
_MOST_EXACT = 2**53  # whole numbers up to here are exact floats


class RunTable(NamedTuple):
    """The last runs of an experiment."""

    columns: tuple[Column, ...] = ()
    values: tuple[Column, ...] = ()  # configuration and metrics that are not the same in all runs
    rows: tuple[JsonObject, ...] = ()  # newest first, by the names of columns
    total: int = 0  # runs, also those without a row


class _RunEntry(NamedTuple):
    started: str
    path: str
    row: JsonObject
    facts: Facts


class RunTableBuilder:
    """Takes runs in any order. Keeps the newest, and of the others only by which values they differ."""

    def __init__(self) -> None:
        self._count = 0
        self._newest: list[_RunEntry] = []
        self._first: Facts = {}  # the value that a run had, by key
        self._having: dict[str, int] = {}  # how many runs have a value, by key
        self._differing: set[str] = set()

    def add(self, path: str, row: JsonObject, document: JsonObject) -> None:
        """Add a run: its row, and the document that has its values."""
        rows = run_rows(document)
        facts = {key: fact for key, fact in rows.facts.items() if _is_shown(key, rows.facts)}
        self._count += 1
        for key, fact in facts.items():
            self._having[key] = self._having.get(key, 0) + 1
            if self._first.setdefault(key, fact) != fact:
                self._differing.add(key)
        may_have_more = bool(rows.record["at_least"])
        row = row | {"at_least": may_have_more, "incomplete": may_have_more}
        self._newest.append(_RunEntry(row["started"] or "", path, row, facts))
        if len(self._newest) > 2 * _MOST_ROWS:
            self._keep_newest()

    def table(self) -> RunTable:
        self._keep_newest()
        known = COLUMNS[RECORDS]
        keys = [key for key, count in self._having.items() if key in self._differing or count < self._count]
        keys.sort(key=lambda key: (key.partition(".")[0], key))
        values = tuple(Column(key, "", "number") for key in keys)
        rows = tuple(run.row | {key: _value(run.facts, key) for key in keys} for run in self._newest)
        return RunTable(tuple(known[name] for name in _COLUMNS), values, rows, self._count)

    def _keep_newest(self) -> None:
        self._newest.sort(key=lambda run: run[:2], reverse=True)
        del self._newest[_MOST_ROWS:]


def _is_shown(key: str, facts: Facts) -> bool:
    """Whether it is a value of the configuration, or the last value of a metric."""
    if key.startswith("config."):
        return key not in _SHOWN_ELSEWHERE
    is_extreme = key.endswith((".min", ".max")) and key[:-4] in facts
    return key.startswith("metric.") and not is_extreme


def _value(facts: Facts, key: str) -> float | str | None:
    number, text = facts.get(key, (None, None))
    if text is not None or number is None:
        return text
    return int(number) if number.is_integer() and abs(number) < _MOST_EXACT else number
