"""Which runs started which, as far as their calls are compared."""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from runcard.catalog.rows import RUN
from runcard.catalog.same_calls import CallRecord, ancestors

if TYPE_CHECKING:
    from runcard.catalog.database import CatalogDatabase


class RecordLineage:
    """What is known of records whose calls are compared. Read when it is first needed."""

    def __init__(self, database: "CatalogDatabase") -> None:
        self._database = database
        self._records: dict[int, CallRecord] = {}
        self._copies: dict[int, bool] = {}
        self._known: dict[str, bool] = {}  # by the id of a run
        self._parents: dict[str, list[str]] = defaultdict(list)
        self._children: dict[str, list[str]] = defaultdict(list)
        sql = "SELECT r.record_id, x.other_id FROM relations x JOIN records r ON r.id = x.record WHERE x.type = 'parent'"
        for own, parent in database.rows(sql):
            self._parents[own].append(parent)
            self._children[parent].append(own)

    def is_copy(self, number: int) -> bool:
        self.record(number)
        return self._copies[number]

    def record(self, number: int) -> CallRecord:
        if number not in self._records:
            sql = (
                "SELECT r.path, coalesce(s.host, ''), kind, record_id, tool, started, ended, is_open, is_copy "
                "FROM records r LEFT JOIN stores s ON s.id = r.store WHERE r.id = ?"
            )
            path, host, kind, name, tool, started, ended, is_open, is_copy = self._database.rows(
                sql, (number,)
            )[0]
            above = ancestors(name, self._parents) if kind == RUN else frozenset()
            ended = None if is_open else ended
            is_lost = any(not self._is_known(one) for one in above)
            self._records[number] = CallRecord(
                number, kind, name, tool, started, ended, above, is_lost, (path, host)
            )
            self._copies[number] = bool(is_copy)
        return self._records[number]

    def near(self, records: set[int]) -> set[int]:
        """Those of these runs that have a parent, and the runs that a run of these started."""
        if not self._parents:
            return set()
        ids = [self.record(number).record_id for number in records if self._exists(number)]
        below = {other for own in ids for other in (own, *ancestors(own, self._children))}
        return set(self._numbers(one for one in below if one in self._parents))

    def above(self, number: int) -> list[int]:
        """The runs that a run is a part of."""
        return self._numbers(self.record(number).ancestors)

    def relatives(self, number: int) -> list[int]:
        """The runs that a run started, and the sessions that have calls of it."""
        own = self.record(number).record_id
        sql = "SELECT x.record FROM relations x JOIN records r ON r.id = x.record WHERE x.other_id = ? AND r.kind != ? AND r.is_copy = 0"
        sessions = [session for (session,) in self._database.rows(sql, (own, RUN))]
        return [*self._numbers(ancestors(own, self._children)), *sessions]

    def _exists(self, number: int) -> bool:
        return number in self._records or bool(
            self._database.rows("SELECT 1 FROM records WHERE id = ?", (number,))
        )

    def _is_known(self, run_id: str) -> bool:
        if run_id not in self._known:
            sql = "SELECT 1 FROM records WHERE kind = ? AND record_id = ? LIMIT 1"
            self._known[run_id] = bool(self._database.rows(sql, (RUN, run_id)))
        return self._known[run_id]

    def _numbers(self, ids: Iterable[str]) -> list[int]:
        sql = "SELECT id FROM records WHERE kind = ? AND is_copy = 0 AND record_id IN (SELECT value FROM json_each(?))"
        return [number for (number,) in self._database.rows(sql, (RUN, json.dumps(sorted(ids))))]
