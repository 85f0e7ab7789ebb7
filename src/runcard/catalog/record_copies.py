"""Which of several copies of a record counts."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.catalog.rows import RUN

if TYPE_CHECKING:
    from runcard.catalog.database import CatalogDatabase


class RecordCopies(NamedTuple):
    """The records that there are several of."""

    left_out: frozenset[int]  # numbers of those that do not count as a whole
    others: int  # how many there are beside one of each
    conflicts: tuple[str, ...]  # ids of records whose copies differ


def copied_records(database: "CatalogDatabase") -> RecordCopies:
    """The copies of records. Where each call has an identity, all of them count, and each call once; else the one with most calls.

    Of equal ones it is the first by path: a record gets another number whenever it is read again.
    """
    sql = (
        "SELECT r.id, r.kind, r.record_id, r.tool, r.started, r.sha256, r.path, coalesce(s.host, ''), "
        "r.calls, coalesce(r.cost, r.known_cost), r.ended FROM records r LEFT JOIN stores s ON s.id = r.store "
        "WHERE r.problem IS NULL AND r.record_id IN (SELECT record_id FROM records GROUP BY record_id HAVING count(*) > 1)"
    )
    same: dict[tuple[object, ...], list[tuple[Any, ...]]] = {}
    for row in database.rows(sql):
        _, kind, own, tool, started, *_ = row
        # People name the sessions that they collect: two of them may have one name.
        is_unique = kind == RUN or tool is not None
        same.setdefault((kind, own, tool, None if is_unique else started), []).append(row)
    left_out, others_count, conflicts = set(), 0, set()
    for rows in same.values():
        best, *others = sorted(rows, key=lambda row: ([-(value or 0) for value in row[8:]], row[6:8]))
        others_count += len(others)
        if others and _lack_identities(database, [row[0] for row in rows]):
            left_out |= {row[0] for row in others}
        if any(row[5] != best[5] for row in others):
            conflicts.add(best[2])
    return RecordCopies(frozenset(left_out), others_count, tuple(sorted(conflicts)))


def _lack_identities(database: "CatalogDatabase", records: Sequence[int]) -> bool:
    """Whether one of these records has usage whose calls are not known one by one."""
    sql = (
        "SELECT 1 FROM usage WHERE response IS NULL AND request IS NULL AND number >= 0 "
        "AND record IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) LIMIT 1"
    )
    return bool(database.rows(sql, (json.dumps(records),)))
