"""The questions that the catalog answers."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from runcard.catalog.columns import CALLS, EXPERIMENTS, INSTANCES, PLANS, RECORDS, Column, Columns
from runcard.catalog.conditions import Condition, comparison, lower_ascii, parse_condition, time_value
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.engine import words_of
from runcard.catalog.experiment_sums import EXPERIMENT_SUMS
from runcard.catalog.tables import COST_UNIT
from runcard.documents.times import format_time_ms
from runcard.errors import UsageError

MOST_ROWS = 10_000_000
_FROM = {
    RECORDS: "FROM records r",
    INSTANCES: "FROM instances i",
    CALLS: "FROM calls c",
    EXPERIMENTS: f"FROM {EXPERIMENT_SUMS} e",
    PLANS: "FROM plans p JOIN projects q ON q.id = p.project",
}
_KEYS = {
    RECORDS: ("r.id",),
    INSTANCES: ("i.record", "i.instance_id"),
    CALLS: ("c.record", "c.number"),
    EXPERIMENTS: ("e.name", "coalesce(e.id, '')", "coalesce(e.path, '')"),
    PLANS: ("p.project", "p.name"),
}
_COMMON = 2000  # records from which on a value is a common one
# The models whose names contain a text. There are few, so they are found one after another in the index.
_MODELS = (
    "WITH RECURSIVE known (model) AS (SELECT min(model) FROM {0} UNION ALL "
    "SELECT (SELECT min(o.model) FROM {0} o WHERE o.model > known.model) FROM known WHERE known.model IS NOT NULL) "
    "SELECT model FROM known WHERE instr(lower(model), ?) > 0"
)


@dataclass(frozen=True)
class Filters:
    """What records must have to be listed; all of it."""

    kind: str | None = None  # run or session
    model: str | None = None  # a part of its name
    status: str | None = None
    since: str | None = None
    until: str | None = None
    experiment: str | None = None
    tags: tuple[str, ...] = ()
    where: str | None = None
    text: str | None = None
    stores: tuple[str, ...] = ()  # paths; all of them if empty
    records: frozenset[int] | None = None  # their numbers in the catalog


class Table(NamedTuple):
    """Rows, with the columns that were asked for."""

    columns: list[Column]
    rows: list[tuple[Any, ...]]
    total: int  # rows without the limit
    unknown: tuple[tuple[str, str | None], ...] = ()  # what was named and no record has, with a similar name


class _ListQuestion:
    """A question while it is put together."""

    def __init__(self, database: CatalogDatabase, table: str) -> None:
        self.database, self.table = database, table
        self.columns = Columns(table, self._is_common)
        self.conditions: list[Condition] = []

    def _is_common(self, records: str, parameters: Sequence[object]) -> bool:
        sql = f"SELECT count(*) FROM ({records} LIMIT {_COMMON}) AS found"  # noqa: S608 - text of our own
        return bool(self.database.query(sql, parameters).fetchone()[0] == _COMMON)

    def add(self, sql: str, *parameters: object) -> None:
        self.conditions.append(Condition(sql, parameters))

    def add_records(self, records: str, *parameters: object) -> None:
        """The records must be some of these: a SELECT of records of the catalog, each once."""
        self.conditions.append(Condition(self.columns.record_in(records, parameters), parameters, records))

    @property
    def where(self) -> str:
        return f"WHERE {' AND '.join(one.sql for one in self.conditions)}" if self.conditions else ""

    @property
    def parameters(self) -> list[object]:
        return [value for one in self.conditions for value in one.parameters]

    def rows(
        self, shown: list[Column], sort: Sequence[str], limit: int | None, offset: int
    ) -> list[tuple[Any, ...]]:
        order = [_order(self.columns, name) for name in sort]
        joins_of_order = list(self.columns.joins)
        values = ", ".join(self.columns.shown(column) for column in shown)
        keys, source = ", ".join(_KEYS[self.table]), _FROM[self.table]
        by = f"ORDER BY {', '.join([*order, keys])}"
        outer = f"SELECT {values} {source} {' '.join(self.columns.joins)}"

        def ask(joins: list[str]) -> list[tuple[Any, ...]]:
            # First the keys, so that few rows are read as a whole.
            chosen = f"SELECT {keys} {source} {' '.join(joins)} {self.where} {by} LIMIT ? OFFSET ?"
            values = [*self.columns.parameters, *self.columns.parameters[: len(joins)], *self.parameters]
            found = self.database.query(
                f"{outer} WHERE ({keys}) IN ({chosen}) {by}",
                [*values, MOST_ROWS if limit is None else limit, offset],
            )
            return [tuple(map(_plain_value, shown, row)) for row in found]

        first = self.columns.find(sort[0].removeprefix("-")) if sort else None
        if first is not None and self.columns.is_fact(first) and limit is not None:
            rows = ask([joins_of_order[0].removeprefix("LEFT "), *joins_of_order[1:]])
            if len(rows) == limit:  # those without the value would come last
                return rows
        return ask(joins_of_order)

    def count(self) -> int:
        sets = [one for one in self.conditions if one.records]
        others = [one for one in self.conditions if not one.records]
        if self.table == RECORDS and sets and not others:
            sql = f"SELECT count(*) FROM ({_in_all(sets)}) AS found"  # noqa: S608 - text of our own
        else:  # however many records there are, to look each of them up is fastest
            tests = [one.sql for one in others]
            if self.table == RECORDS:
                tests += [one.sql.removeprefix("+") for one in sets]
            elif sets:
                tests.append(f"{self.columns.record} IN ({_in_all(sets)})")
            where = f"WHERE {' AND '.join(tests)}" if tests else ""
            sql = f"SELECT count(*) {_FROM[self.table]} {where}"
        parameters = [value for one in (*others, *sets) for value in one.parameters]
        return int(self.database.query(sql, parameters).fetchone()[0])


def _in_all(conditions: Sequence[Condition]) -> str:
    """The SELECT of the records for which all conditions hold. They are sorted as their indexes are, so that they are merged."""
    every = " INTERSECT ".join(one.records for one in conditions)
    return f"SELECT * FROM ({every} ORDER BY 1) AS merged"  # noqa: S608 - text of our own


def list_table(
    database: CatalogDatabase,
    table: str,
    filters: Filters,
    columns: Sequence[str],
    sort: Sequence[str] = ("-started",),
    limit: int | None = None,
    offset: int = 0,
) -> Table:
    """The rows of a table that pass the filters, with these columns, sorted by these: `-name` is from the largest down."""
    question = _ListQuestion(database, table)
    shown = [question.columns.find(name) for name in columns]
    _filter(question, filters)
    rows = question.rows(shown, sort, limit, offset)
    total = question.count() if offset or (limit is not None and len(rows) == limit) else len(rows)
    return Table(shown, rows, total, tuple(_unknown(question, filters, has_rows=bool(rows))))


def _unknown(
    question: _ListQuestion, filters: Filters, *, has_rows: bool
) -> Iterator[tuple[str, str | None]]:
    """Values and the status that no record has, and tags and experiments that are probably misspelt; with what is similar."""
    ask = question.database.query
    for name in question.columns.facts:
        if ask("SELECT 1 FROM facts WHERE key = ? LIMIT 1", (name,)).fetchone() is None:
            yield name, _similar(name, _known_facts(question, name.partition(".")[0]))
    if has_rows:
        return
    if filters.status is not None and "status" in question.columns.known:
        sql = f"SELECT DISTINCT {question.columns.known['status'].sql} {_FROM[question.table]}"
        known = [status for (status,) in ask(sql) if status is not None]
        if known and filters.status not in {*known, "interrupted", "running"}:
            yield f"status {filters.status}", _similar(filters.status, known, 0.4)
    tags = {key.partition(".")[2] for key in _known_facts(question, "tag")} if filters.tags else set()
    experiments = [
        name
        for row in (
            ask("SELECT DISTINCT experiment, experiment_id FROM records") if filters.experiment else ()
        )
        for name in row
        if name is not None
    ]
    named = [("tag", tag, tags) for tag in filters.tags]
    for noun, name, names in [*named, ("experiment", filters.experiment or "", experiments)]:
        if name not in names and (near := _similar(name, names)) is not None:
            yield f"{noun} {name}", near


def _known_facts(question: _ListQuestion, kind: str) -> list[str]:
    """The names of the values of a kind that records have, such as `config.temperature`."""
    sql = "SELECT DISTINCT key FROM facts WHERE substr(key, 1, ?) = ? LIMIT 1000"
    return [key for (key,) in question.database.query(sql, (len(kind) + 1, f"{kind}."))]


def _similar(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a message

    return next(iter(get_close_matches(name[:100], sorted(known), 1, likeness)), None)


def select_keys(database: CatalogDatabase, table: str, filters: Filters) -> tuple[str, Condition]:
    """The key of a row of a table as SQL, and the SELECT of the keys of those that pass the filters."""
    question = _ListQuestion(database, table)
    _filter(question, filters)
    keys = ", ".join(_KEYS[table])
    return keys, Condition(f"SELECT {keys} {_FROM[table]} {question.where}", tuple(question.parameters))


def _order(columns: Columns, name: str) -> str:
    """The SQL that sorts by a column; unknown values are last either way."""
    column = columns.find(name.removeprefix("-"))
    value = columns.shown(column)
    return f"{value} {'DESC' if name.startswith('-') else 'ASC'} NULLS LAST"


def _filter(question: _ListQuestion, filters: Filters) -> None:
    now, columns = datetime.now(UTC), question.columns
    if filters.status is not None:
        question.conditions.append(comparison(columns.find("status"), "=", filters.status, columns, now))
    time = columns.find("changed" if question.table == PLANS else "started").sql
    for sign, when in ((">=", filters.since), ("<", filters.until)):
        if when is not None:
            question.add(f"{time} {sign} ?", time_value(when, now))
    if filters.model is not None:
        question.add(
            f"{columns.find('model').sql} IN ({_MODELS.format(question.table)})", lower_ascii(filters.model)
        )
    (_filter_plans if question.table == PLANS else _filter_records)(question, filters)
    if filters.where is not None:
        question.conditions += parse_condition(filters.where, columns, lambda: now).each


def _filter_records(question: _ListQuestion, filters: Filters) -> None:
    """The conditions on records; those of instances and calls are on the record that they belong to."""
    by_record = question.add if question.table == RECORDS else question.add_records
    start = "" if question.table == RECORDS else "SELECT r.id FROM records r WHERE "
    if filters.kind is not None and question.table == RECORDS:
        of_kind = "SELECT id FROM records WHERE kind || '' = ?"  # by the index records_of_kind
        question.conditions.append(Condition("r.kind = ?", (filters.kind,), of_kind))
    elif filters.kind is not None:
        question.add_records(f"{start}r.kind = ?", filters.kind)
    if filters.experiment is not None and question.table == EXPERIMENTS:
        question.add("(e.name = ? OR e.id = ?)", filters.experiment, filters.experiment)
    elif filters.experiment is not None:
        names = (filters.experiment, filters.experiment)
        by_record(f"{start}(r.experiment = ? OR r.experiment_id = ?)", *names)
    if filters.stores:
        marks = ", ".join("?" * len(filters.stores))
        stores = f"r.store IN (SELECT id FROM stores WHERE path IN ({marks}))"  # noqa: S608 - marks only
        by_record(start + stores, *filters.stores)
    if filters.records is not None:
        numbers = ("SELECT CAST(value AS BIGINT) FROM json_each(?)", (json.dumps(list(filters.records)),))
        question.add(question.columns.record_in(*numbers), *numbers[1])
    for tag in filters.tags:
        question.add_records("SELECT record FROM facts WHERE key = ?", f"tag.{tag}")
    if filters.text is not None:
        sql, parameters = question.database.records_with_words(filters.text)
        question.add_records(sql, *parameters)


def _filter_plans(question: _ListQuestion, filters: Filters) -> None:
    if filters.experiment is not None or filters.tags:
        raise UsageError("plans have no experiments and no tags", hint="use --status, --where or --text")
    if filters.text is not None:
        for word in words_of(filters.text):
            question.add("instr(p.text, ?) > 0", word.lower())


def _plain_value(column: Column, value: Any) -> Any:  # noqa: ANN401 - any type of the database
    """A value as JSON has it: dollars, times in UTC."""
    if value is None:
        return None
    if column.type == "cost":
        return dollars(value)
    if column.type == "time":
        return _time_text(value)
    if column.type == "flag":
        return bool(value)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def dollars(units: int) -> float | int:
    """The dollars of a cost in the catalog, as a JSON number."""
    whole, rest = divmod(units, COST_UNIT)
    return whole if rest == 0 else float(f"{whole}.{rest:010}")


def _time_text(milliseconds: int) -> str | None:
    try:
        return format_time_ms(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (OverflowError, ValueError, OSError):
        return None


class FileMatch(NamedTuple):
    """A record that has a file."""

    record: int  # its number in the catalog
    id: str
    path: str
    file: str | None  # None: the record as a whole is meant
    started: str | None
    stored_on: str | None = None  # the host, where a catalog has records of several


def files_with(database: CatalogDatabase, digest: bytes, *, is_input: bool) -> list[FileMatch]:
    """The records that read, or made, a file with this digest; oldest first."""
    sql = (
        "SELECT r.id, r.record_id, r.path, f.path, r.started, s.host FROM files f JOIN records r ON r.id = f.record "
        "JOIN stores s ON s.id = r.store "
        "WHERE f.sha256 = ? AND f.is_input = ? ORDER BY r.started IS NULL, r.started, r.id, f.path"
    )
    return [_file_match(row) for row in database.query(sql, (digest, int(is_input)))]


def records_of_commit(database: CatalogDatabase, commit: str) -> list[FileMatch]:
    """The records that were made with this commit of the code, which may be the beginning of one."""
    sql = (
        "SELECT r.id, r.record_id, r.path, NULL, r.started, s.host FROM records r JOIN stores s ON s.id = r.store "
        "WHERE substr(r.git_commit, 1, ?) = ? ORDER BY r.started IS NULL, r.started, r.id"
    )
    return [_file_match(row) for row in database.query(sql, (len(commit), commit))]


def inputs_of(database: CatalogDatabase, record: int) -> list[tuple[str, bytes]]:
    """The files that a record read, with their digests."""
    sql = "SELECT path, sha256 FROM files WHERE record = ? AND is_input = 1 ORDER BY path"
    return [(path, bytes(digest)) for path, digest in database.query(sql, (record,))]


def _file_match(row: tuple[Any, ...]) -> FileMatch:
    record, own, path, file, started, host = row
    return FileMatch(record, own, path, file, None if started is None else _time_text(started), host or None)


def agent_names(database: CatalogDatabase, records: Collection[int]) -> dict[tuple[str, str | None], str]:
    """The names of the instances of records, by the path of the record and the id of the instance."""
    sql = (
        "SELECT r.path, i.instance_id, i.name FROM instances i JOIN records r ON r.id = i.record "
        "WHERE i.name IS NOT NULL AND i.record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    )
    found = database.query(sql, (json.dumps(sorted(records)),))
    return {(path, own): name for path, own, name in found}


def unreachable_stores(database: CatalogDatabase) -> Iterator[str]:
    """The stores that could not be listed when they were looked at last."""
    yield from _unreachable(database, "stores")


def unreachable_projects(database: CatalogDatabase) -> Iterator[str]:
    """The projects that could not be looked at when their plans were listed last."""
    yield from _unreachable(database, "projects")


def _unreachable(database: CatalogDatabase, table: str) -> Iterator[str]:
    sql = f"SELECT path, host FROM {table} WHERE is_reachable = 0 ORDER BY path, host"  # noqa: S608 - names of our own
    for path, host in database.query(sql):
        yield path if host == database.host else f"{path} on {host}"


def names_beginning_with(database: CatalogDatabase, beginning: str, most: int) -> list[tuple[str, str]]:
    """The ids and the names of records on this host that begin like this, newest first, each with what it is."""
    found = []
    for name in ("record_id", "name"):
        sql = (
            f"SELECT {name}, kind, status, started FROM records "  # noqa: S608 - names of our own
            f"WHERE {name} >= ? AND substr({name}, 1, ?) = ? AND store IN (SELECT id FROM stores WHERE host = ?) "
            "ORDER BY started DESC NULLS LAST LIMIT ?"
        )
        rows = database.query(sql, (beginning, len(beginning), beginning, database.host, most))
        found += [
            (
                own,
                " ".join(filter(None, (kind, status, _time_text(started) if started is not None else None))),
            )
            for own, kind, status, started in rows
        ]
        if found:  # ids first: names only where no id matches
            break
    return found
