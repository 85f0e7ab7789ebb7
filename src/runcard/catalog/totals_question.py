"""Usage by the sums that are kept of it: see usage_totals.py.

They answer sums by any dimensions but sessions, and at most one label; with a local day only where no change of days cuts a slot.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from runcard.catalog.database import CatalogDatabase
from runcard.catalog.local_days import day_changes, local_day
from runcard.catalog.tables import TOTAL_COLUMNS
from runcard.catalog.usage_totals import DAY, DAYS, HOUR, HOURS, LABEL, MIXED, MIXES, mixed_label

_KEPT = ("parts", "at_least", *TOTAL_COLUMNS[4:])
_SUMS = ", ".join(f"sum({name})" for name in (*_KEPT, "huge"))


class TotalsQuestion(NamedTuple):
    """A question that the sums can answer."""

    by: tuple[str, ...]
    dimension: str  # HOURS, DAYS, MIXES, or one that has values
    since: int | None  # milliseconds
    by_time: bool

    @property
    def _slot(self) -> int:
        return HOUR if self.dimension == HOURS else DAY

    @property
    def cut(self) -> tuple[int, int] | None:
        """The part of a slot that counts, where the slot began earlier: from when until when."""
        if self.since is None or self.since % self._slot == 0:
            return None
        return self.since, (self.since // self._slot + 1) * self._slot

    def rows(self, database: CatalogDatabase) -> list[tuple[Any, ...]] | None:
        """The sums by key, day and token source; None where they cannot tell."""
        if self.dimension == HOURS and self.since is None:
            # There are fewer days. They do where local days are those of UTC.
            by_days = self._replace(dimension=DAYS).rows(database)
            if by_days is not None:
                return by_days
        day = self._day(database) if self.by_time else "0"
        if day is None or self._lacks_records(database):
            return None
        found = self._of(database, self._kept_as, day, "value")
        if self.dimension not in {HOURS, DAYS, MIXES}:  # the rest of the day has no value
            rest = self._of(database, MIXES if self._is_mixed else DAYS, day, "NULL")
            if self._parts(rest) != self._parts(found):
                found += [*rest, *map(self._without_value, found)]
        is_exact = all(row[-1] == 0 and not any(isinstance(value, float) for value in row) for row in found)
        return [row[:-1] for row in found] if is_exact else None

    def _lacks_records(self, database: CatalogDatabase) -> bool:
        """Whether there are records with so many labels that they are not in the sums of each."""
        sql = "SELECT 1 FROM usage_totals WHERE dimension = ? AND slot = -1 AND huge > 0 LIMIT 1"
        return bool(database.rows(sql, (self.dimension,)))

    def _of(self, database: CatalogDatabase, dimension: str, day: str, value: str) -> list[tuple[Any, ...]]:
        keys = [self._key(name, value) for name in self.by]
        groups = [*keys, day, _EMPTY_IS_NULL.format("token_source")]
        condition, parameters = "", list[object]([dimension])
        if self.since is not None:
            condition, parameters = " AND slot >= ?", [dimension, -(-self.since // self._slot)]
        sql = f"SELECT {', '.join(groups)}, {_SUMS} FROM usage_totals WHERE dimension = ?{condition} "  # noqa: S608 - names of our own
        names = ", ".join(str(number + 1) for number in range(len(groups)))
        return database.rows(f"{sql} GROUP BY {names}", parameters)

    def _parts(self, rows: list[tuple[Any, ...]]) -> int:
        return sum(row[len(self.by) + 2] for row in rows)

    def _without_value(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a row takes off the sums of those without a value."""
        place, keys = self.by.index(self.dimension), len(self.by) + 2
        return (*row[:place], None, *row[place + 1 : keys], *(-figure for figure in row[keys:]))

    @property
    def _kept_as(self) -> str:
        """The dimension that its sums have in the table."""
        is_label = self.dimension.startswith(LABEL)
        return mixed_label(self.dimension) if is_label and self._is_mixed else self.dimension

    @property
    def _is_mixed(self) -> bool:
        return len({*self.by} - {"model"}) > 1

    def _key(self, name: str, value: str) -> str:
        if name == "model":
            return _EMPTY_IS_NULL.format("model")
        return value if name == self.dimension else f"json_extract(mix, '$[{MIXED.index(name)}]')"

    def _day(self, database: CatalogDatabase) -> str | None:
        """The SQL of the local day of a slot; None where days begin inside of slots."""
        first, last = (
            database.rows(f"SELECT {one}(started) FROM usage")[0][0] or 0  # noqa: S608
            for one in ("min", "max")
        )
        if any(change % self._slot for change in day_changes(first, last)):
            return None
        return local_day(f"slot * {self._slot}", first, last)


_EMPTY_IS_NULL = "nullif({}, '')"


def totals_for(by: Sequence[str], since: int | None, *, by_time: bool) -> TotalsQuestion | None:
    """The question to the sums; None where they cannot tell."""
    if len(set(by)) < len(by) or (since is not None and since < 0):
        return None
    others = [name for name in by if name != "model"]
    labels = [name for name in others if name not in MIXED]
    if not others:
        return TotalsQuestion(tuple(by), HOURS if by_time or since is not None else DAYS, since, by_time)
    if len(labels) > 1 or any(not name.startswith(LABEL) for name in labels):
        return None
    dimension = labels[0] if labels else others[0] if len(others) == 1 else MIXES
    return TotalsQuestion(tuple(by), dimension, since, by_time)
