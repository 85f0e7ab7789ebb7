"""Which of several copies of a record counts."""

from typing import TYPE_CHECKING, Any

from runcard.catalog.rows import RUN

if TYPE_CHECKING:
    from runcard.catalog.database import CatalogDatabase


def copied_records(database: "CatalogDatabase") -> tuple[frozenset[int], tuple[str, ...]]:
    """The copies of records that do not count, and the ids whose copies differ. That with most calls counts."""
    sql = (
        "SELECT id, kind, record_id, tool, started, sha256, calls, coalesce(cost, known_cost), ended FROM records "
        "WHERE problem IS NULL AND record_id IN (SELECT record_id FROM records GROUP BY record_id HAVING count(*) > 1)"
    )
    same: dict[tuple[object, ...], list[tuple[Any, ...]]] = {}
    for row in database.rows(sql):
        _, kind, own, tool, started, *_ = row
        # People name the sessions that they collect: two of them may have one name.
        is_unique = kind == RUN or tool is not None
        same.setdefault((kind, own, tool, None if is_unique else started), []).append(row)
    left_out, conflicts = set(), set()
    for rows in same.values():
        best, *others = sorted(rows, key=lambda row: ([-(value or 0) for value in row[6:]], row[0]))
        left_out |= {row[0] for row in others}
        if any(row[5] != best[5] for row in others):
            conflicts.add(best[2])
    return frozenset(left_out), tuple(sorted(conflicts))
