"""Experiments as rows, with what their runs cost. A call that several runs of an experiment have counts once: see `call_owners`."""

_OWNER = "EXISTS (SELECT 1 FROM usage m WHERE m.record = {0}.record AND m.number = -1 - {0}.number)"
_IN_SAME = (
    "EXISTS (SELECT 1 FROM usage o CROSS JOIN records b WHERE b.id = o.record AND o.{0} = u.{0} "
    "AND o.number >= 0 AND o.counts = 0 AND o.record != u.record AND b.kind = 'run' AND b.experiment = a.experiment "
    "AND coalesce(b.experiment_id, '') = coalesce(a.experiment_id, '') AND ("
)
# The calls of a run that count for another run of its experiment: one that it started, or that it is a copy of. Of their costs one is
# left that is known.
_OF_ANOTHER = f"(o.record < u.record OR {_OWNER.format('o')})"


def _in_same(condition: str) -> str:
    by_id = (f"{_IN_SAME.format(name)}{condition}))" for name in ("response", "request"))
    return f"({' OR '.join(by_id)})"


_COUNTED_TWICE = f"""(SELECT u.record, count(*) AS calls,
    sum(CASE WHEN {_in_same(f"o.cost IS NOT NULL AND {_OF_ANOTHER}")} THEN coalesce(u.cost, u.known_cost) END) AS cost
    FROM usage u JOIN records a ON a.id = u.record WHERE u.counts < 1 AND u.counts = 0 AND u.number >= 0 AND a.is_copy = 0
    AND NOT {_OWNER.format("u")} AND {_in_same(_OF_ANOTHER)} GROUP BY u.record)"""  # noqa: S608 - text of our own
# A cost is known if that of every run with calls is. Experiments without runs have a folder.
EXPERIMENT_SUMS = f"""(SELECT n.*, x.path, x.created, x.description FROM (SELECT r.experiment AS name, r.experiment_id AS id, count(*) AS runs,
    count(*) FILTER (WHERE r.status = 'failed') AS failed, min(r.started) AS started, max(r.started) AS last,
    sum(r.calls - coalesce(d.calls, 0)) FILTER (WHERE r.is_copy = 0) AS calls,
    CASE WHEN count(*) FILTER (WHERE r.cost IS NULL AND u.record IS NOT NULL) = 0
    THEN sum(r.cost - coalesce(d.cost, 0)) FILTER (WHERE r.is_copy = 0) END AS cost,
    CASE WHEN count(*) FILTER (WHERE r.cost IS NULL AND u.record IS NOT NULL) = 0
    THEN sum(r.known_cost - coalesce(d.cost, 0)) FILTER (WHERE r.is_copy = 0)
    ELSE nullif(sum(r.known_cost - coalesce(d.cost, 0)) FILTER (WHERE r.is_copy = 0), 0) END AS known_cost,
    max(CASE WHEN r.at_least = 1 OR (r.cost IS NULL AND u.record IS NOT NULL) THEN 1 ELSE 0 END) AS at_least
    FROM records r LEFT JOIN usage u ON u.record = r.id AND u.number = 0
    LEFT JOIN {_COUNTED_TWICE} d ON d.record = r.id
    WHERE r.kind = 'run' AND r.experiment IS NOT NULL GROUP BY r.experiment, r.experiment_id) n
    LEFT JOIN experiments x ON x.name = n.name AND x.experiment_id = n.id
    UNION ALL SELECT x.name, x.experiment_id, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, x.path, x.created, x.description
    FROM experiments x WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.kind = 'run' AND r.experiment = x.name
    AND (r.experiment_id = x.experiment_id OR x.experiment_id IS NULL)))"""  # noqa: S608 - as above
