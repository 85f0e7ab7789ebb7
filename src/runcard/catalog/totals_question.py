"""Usage by the sums that are kept of it: see usage_totals.py.

They answer sums by any dimensions but sessions and configurations; with a local day only where no change of days cuts a slot.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

from runcard.catalog.database import CatalogDatabase, CatalogError
from runcard.catalog.local_days import day_changes, local_day
from runcard.catalog.tables import TOTAL_COLUMNS
from runcard.catalog.usage_totals import DAY, DAYS, HOURS, LABEL, LABEL_BLOCKS, LABELS, MIXED, MIXES, SLOTS

_KEPT = ("parts", "at_least", *TOTAL_COLUMNS[4:])
_SUMS = ", ".join(f"sum({name})" for name in (*_KEPT, "huge"))
_MODEL = "model"
_MOST_ROWS = 100_000  # that are faster to add up than the usage itself


class TotalsQuestion(NamedTuple):
    """A question that the sums can answer."""

    by: tuple[str, ...]
    dimension: str  # whose sums these are: see usage_totals.py
    by_time: bool
    since: int | None = None  # milliseconds
    until: int | None = None

    @property
    def _slot(self) -> int:
        return SLOTS.get(self.dimension, DAY)

    @property
    def cut(self) -> tuple[int, int] | None:
        """The part of a slot that counts, where the slot began earlier: from when until when."""
        if self.since is None or self.since % self._slot == 0:
            return None
        return self.since, (self.since // self._slot + 1) * self._slot

    @property
    def of_cut(self) -> Self | None:
        """The same question about this part, to sums of shorter slots; None where there are none."""
        if self.cut is None or self.dimension != LABEL_BLOCKS:
            return None
        return self._replace(dimension=LABELS, until=self.cut[1])

    def rows(self, database: CatalogDatabase) -> list[tuple[Any, ...]] | None:
        """The sums by key, day and token source, several for a key; None where they cannot tell."""
        if self.dimension == HOURS and self.since is None:
            # There are fewer days. They do where local days are those of UTC.
            by_days = self._replace(dimension=DAYS).rows(database)
            if by_days is not None:
                return by_days
        day = self._day(database) if self.by_time else "0"
        if day is None or self._lacks_records(database) or self._has_too_many(database):
            return None
        found = self._of(database, self.dimension, day)
        if self.dimension not in {HOURS, DAYS, MIXES} and self._parts(found) != self._all_parts(database):
            # The rest of the day has no value.
            rest = self._of(database, MIXES if len(self._others) > 1 else DAYS, day)
            found += [*rest, *map(self._without_value, found)]
        is_exact = all(row[-1] == 0 and not any(isinstance(value, float) for value in row) for row in found)
        return [row[:-1] for row in found] if is_exact else None

    @property
    def _others(self) -> list[str]:
        return [name for name in self.by if name != _MODEL]

    def _lacks_records(self, database: CatalogDatabase) -> bool:
        """Whether there are records with so many labels that they are not in the sums of each."""
        sql = "SELECT 1 FROM usage_totals WHERE dimension = ? AND slot = -1 AND huge > 0 LIMIT 1"
        return any(database.rows(sql, (name,)) for name in (self.dimension, *self._labels))

    def _has_too_many(self, database: CatalogDatabase) -> bool:
        """Whether nearly each record has labels of its own, as the number of a ticket."""
        if self.dimension not in {LABELS, LABEL_BLOCKS}:
            return False
        where, parameters = self._where(self.dimension)
        sql = f"SELECT 1 FROM usage_totals {where} LIMIT 1 OFFSET {_MOST_ROWS}"  # noqa: S608 - names of our own
        return bool(database.rows(sql, parameters))

    @property
    def _labels(self) -> list[str]:
        return [name for name in self.by if name.startswith(LABEL)]

    def _of(self, database: CatalogDatabase, dimension: str, day: str) -> list[tuple[Any, ...]]:
        """The sums of a dimension, by what the keys are made of."""
        columns = ["value", "mix", "model"]
        if _MODEL not in self.by:
            columns[2] = "''"
        where, parameters = self._where(dimension)
        sql = f"SELECT {', '.join(columns)}, {day}, nullif(token_source, ''), {_SUMS} FROM usage_totals {where} GROUP BY 1, 2, 3, 4, 5"  # noqa: S608
        return [
            (*self._key(dimension, *row[: len(columns)]), *row[len(columns) :])
            for row in database.rows(sql, parameters)
        ]

    def _where(self, dimension: str) -> tuple[str, list[object]]:
        conditions, parameters = ["dimension = ?"], list[object]([dimension])
        slot = SLOTS.get(dimension, DAY)
        if self.since is not None:
            conditions.append("slot >= ?")
            parameters.append(-(-self.since // self._slot) * self._slot // slot)
        if self.until is not None:
            conditions.append("slot < ?")
            parameters.append(self.until // slot)
        return f"WHERE {' AND '.join(conditions)}", parameters

    def _key(self, dimension: str, value: str, mix: str, model: str) -> tuple[str | None, ...]:
        values = _values(dimension, value, mix) if self._others else {}
        return tuple((model or None) if name == _MODEL else values.get(name) for name in self.by)

    def _parts(self, rows: list[tuple[Any, ...]]) -> int:
        return sum(row[len(self.by) + 2] for row in rows)

    def _all_parts(self, database: CatalogDatabase) -> int:
        where, parameters = self._where(DAYS)
        return int(database.rows(f"SELECT sum(parts) FROM usage_totals {where}", parameters)[0][0] or 0)  # noqa: S608

    def _without_value(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a row takes off the sums of those without a value."""
        has_values = {_MODEL, *MIXED} if self.dimension in {LABELS, LABEL_BLOCKS} else {_MODEL}
        keys = (value if name in has_values else None for name, value in zip(self.by, row, strict=False))
        after = len(self.by) + 2
        return (*keys, *row[len(self.by) : after], *(-figure for figure in row[after:]))

    def _day(self, database: CatalogDatabase) -> str | None:
        """The SQL of the local day of a slot; None where days begin inside of slots."""
        first, last = (
            database.rows(f"SELECT {one}(started) FROM usage")[0][0] or 0  # noqa: S608
            for one in ("min", "max")
        )
        if any(change % self._slot for change in day_changes(first, last)):
            return None
        return local_day(f"slot * {self._slot}", first, last)


@lru_cache(maxsize=4096)
def _values(dimension: str, value: str, mix: str) -> Mapping[str, str | None]:
    """The values of a row by their dimensions."""
    try:
        values = dict(zip(MIXED, json.loads(mix), strict=True)) if mix else {}
        if dimension in {LABELS, LABEL_BLOCKS}:
            return values | dict(json.loads(value))
    except (ValueError, TypeError, RecursionError) as error:
        raise CatalogError(
            "the sums of the catalog cannot be read: another program changed them",
            hint="read all records again: runcard index --rebuild",
        ) from error
    return values | {dimension: value}


def totals_for(by: Sequence[str], since: int | None, *, by_time: bool) -> TotalsQuestion | None:
    """The question to the sums; None where they cannot tell."""
    if len(set(by)) < len(by) or (since is not None and since < 0):
        return None
    others = [name for name in by if name != _MODEL]
    labels = [name for name in others if name not in MIXED]
    if any(not name.startswith(LABEL) for name in labels):
        return None
    if not others:
        dimension = HOURS if by_time or since is not None else DAYS
    elif len(others) == 1:
        dimension = others[0]
    elif labels:
        dimension = LABELS if by_time else LABEL_BLOCKS
    else:
        dimension = MIXES
    return TotalsQuestion(tuple(by), dimension, by_time, since)
