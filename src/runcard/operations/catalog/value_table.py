"""The values of records side by side: configuration, labels, metrics, scores, and the figures of a list."""

from collections.abc import Sequence
from typing import NamedTuple

from runcard.catalog.record_facts import Facts
from runcard.catalog.run_rows import run_rows
from runcard.catalog.session_rows import session_rows
from runcard.store.record import RUN, Record

FactValue = float | str | None
_MOST_EXACT = 2**53  # whole numbers up to here are exact floats


class ValueLine(NamedTuple):
    """A value in each record; None: it has none."""

    name: str
    values: tuple[FactValue, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


class ValueTable(NamedTuple):
    """Values by record, in the order of the records."""

    lines: tuple[ValueLine, ...]
    hidden: int  # lines that are left out


def value_table(records: Sequence[Record], most: int = 500) -> ValueTable:
    """The values of records, those that differ first; at most `most` of them."""
    facts = [record_values(record) for record in records]
    names = sorted({name for each in facts for name in each})
    lines = [ValueLine(name, tuple(each.get(name) for each in facts)) for name in names]
    lines.sort(key=lambda line: not line.differs)
    return ValueTable(tuple(lines[:most]), max(0, len(lines) - most))


def record_values(record: Record) -> dict[str, FactValue]:
    """The values of one record, by name such as `config.temperature`."""
    document = record.document().to_dict()
    facts: Facts = (run_rows(document) if record.kind == RUN else session_rows(document)).facts
    return {name: _value(*fact) for name, fact in facts.items() if not _is_repeated(name, facts)}


def _is_repeated(name: str, facts: Facts) -> bool:
    """Whether it is the smallest or largest value of a metric whose last value is there."""
    return name.startswith("metric.") and name.endswith((".min", ".max")) and name[:-4] in facts


def _value(number: float | None, text: str | None) -> FactValue:
    if text is not None or number is None:
        return text
    return int(number) if float(number).is_integer() and abs(number) < _MOST_EXACT else number
