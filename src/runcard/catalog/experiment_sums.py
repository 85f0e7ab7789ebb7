"""Experiments as rows, with what their runs cost. A call that several runs of an experiment have counts once: see `call_owners`."""

from typing import NamedTuple

from runcard.catalog.database import CatalogDatabase

_FIGURES = {"input": "{0}.input", "output": "{0}.output", "cost": "coalesce({0}.cost, {0}.known_cost)"}


def _counted_twice(runs: str) -> str:
    """The SELECT of what each run has of calls that a better report in another of the runs has as well: figures that this one knows.

    `runs` is the condition for a run `b` to be one of those of the run `a`.
    """
    better = (
        "SELECT 1 FROM shared_calls o JOIN records b ON b.id = o.record JOIN usage v ON v.record = o.record AND v.number = o.number "  # noqa: S608
        "WHERE o.of_record = s.of_record AND o.of_number = s.of_number AND o.place < s.place AND b.kind = 'run' AND "
        f"{runs}"
    )
    sums = ", ".join(
        f"sum(CASE WHEN EXISTS ({better} AND {figure.format('v')} IS NOT NULL) THEN {figure.format('u')} END) AS {name}"
        for name, figure in _FIGURES.items()
    )
    return (
        f"SELECT s.record, count(*) AS calls, {sums} FROM shared_calls s JOIN records a ON a.id = s.record "  # noqa: S608
        f"JOIN usage u ON u.record = s.record AND u.number = s.number WHERE a.kind = 'run' AND EXISTS ({better}) GROUP BY s.record"
    )


_SAME_EXPERIMENT = (
    "b.experiment = a.experiment AND coalesce(b.experiment_id, '') = coalesce(a.experiment_id, '')"
)
# A cost is known if that of every run with calls is. Experiments without runs have a folder.
EXPERIMENT_SUMS = f"""(SELECT n.*, x.path, x.created, x.description FROM (SELECT r.experiment AS name, r.experiment_id AS id,
    count(DISTINCT r.record_id) AS runs, count(DISTINCT r.record_id) FILTER (WHERE r.status = 'failed') AS failed,
    min(r.started) AS started, max(r.started) AS last,
    sum(r.calls - coalesce(d.calls, 0)) FILTER (WHERE r.is_copy = 0) AS calls,
    CASE WHEN count(*) FILTER (WHERE r.cost IS NULL AND u.record IS NOT NULL) = 0
    THEN sum(r.cost - coalesce(d.cost, 0)) FILTER (WHERE r.is_copy = 0) END AS cost,
    CASE WHEN count(*) FILTER (WHERE r.cost IS NULL AND u.record IS NOT NULL) = 0
    THEN sum(r.known_cost - coalesce(d.cost, 0)) FILTER (WHERE r.is_copy = 0)
    ELSE nullif(sum(r.known_cost - coalesce(d.cost, 0)) FILTER (WHERE r.is_copy = 0), 0) END AS known_cost,
    max(CASE WHEN r.at_least = 1 OR (r.cost IS NULL AND u.record IS NOT NULL) THEN 1 ELSE 0 END) AS at_least,
    max(r.at_least) AS incomplete
    FROM records r LEFT JOIN usage u ON u.record = r.id AND u.number = 0
    LEFT JOIN ({_counted_twice(_SAME_EXPERIMENT)}) d ON d.record = r.id
    WHERE r.kind = 'run' AND r.experiment IS NOT NULL GROUP BY r.experiment, r.experiment_id) n
    LEFT JOIN experiments x ON x.name = n.name AND x.experiment_id = n.id
    UNION ALL SELECT x.name, x.experiment_id, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, x.path, x.created, x.description
    FROM experiments x WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.kind = 'run' AND r.experiment = x.name
    AND (r.experiment_id = x.experiment_id OR x.experiment_id IS NULL)))"""  # noqa: S608 - text of our own


class CountedTwice(NamedTuple):
    """What the figures of some runs are too large by, added up."""

    input: int = 0
    output: int = 0
    cost: int = 0  # in the unit of the catalog


NOTHING_TWICE = CountedTwice()


def counted_twice(database: CatalogDatabase) -> CountedTwice:
    """What the runs of a catalog have more than once."""
    sql = f"SELECT sum(d.input), sum(d.output), sum(d.cost) FROM ({_counted_twice('1 = 1')}) d"  # noqa: S608
    (sums,) = database.rows(sql)
    return CountedTwice(*(value or 0 for value in sums))
