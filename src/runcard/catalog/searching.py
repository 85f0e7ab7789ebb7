"""The questions that the catalog answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from runcard.catalog.columns import INSTANCES, RECORDS, Column, Columns
from runcard.catalog.conditions import Condition, comparison, parse_condition, time_value
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.tables import COST_UNIT
from runcard.documents.times import format_time_ms
from runcard.errors import UsageError

MOST_ROWS = 10_000_000

_FROM = {
    RECORDS: "FROM records r JOIN stores s ON s.id = r.store",
    INSTANCES: "FROM instances i JOIN records r ON r.id = i.record JOIN stores s ON s.id = r.store",
}


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


class Table(NamedTuple):
    """Rows, with the columns that were asked for."""

    columns: list[Column]
    rows: list[tuple[Any, ...]]
    total: int  # rows without the limit


@dataclass
class _ListQuestion:
    """A question while it is put together."""

    columns: Columns
    conditions: list[Condition] = field(default_factory=list)

    def add(self, sql: str, *parameters: object) -> None:
        self.conditions.append(Condition(sql, parameters))

    @property
    def where(self) -> str:
        return f"WHERE {' AND '.join(one.sql for one in self.conditions)}" if self.conditions else ""

    @property
    def parameters(self) -> list[object]:
        return [*self.columns.parameters, *(value for one in self.conditions for value in one.parameters)]


def list_table(
    database: CatalogDatabase,
    table: str,
    filters: Filters,
    columns: Sequence[str],
    sort: Sequence[str] = ("-started",),
    limit: int | None = None,
) -> Table:
    """The rows of a table that pass the filters, with these columns, sorted by these: `-name` is from the largest down."""
    question = _ListQuestion(Columns(table))
    shown = [question.columns.find(name) for name in columns]
    order = [_order(question.columns, name) for name in sort]
    _filter(question, table, filters)
    source = " ".join((_FROM[table], *question.columns.joins, question.where))
    (total,) = database.query(f"SELECT count(*) {source}", question.parameters).fetchone()
    values = ", ".join(question.columns.shown(column) for column in shown)
    last = "r.id" if table == RECORDS else "r.id, i.instance_id"
    sql = f"SELECT {values} {source} ORDER BY {', '.join([*order, last])} LIMIT ?"
    found = database.query(sql, [*question.parameters, MOST_ROWS if limit is None else limit])
    return Table(shown, [tuple(map(_plain_value, shown, row)) for row in found], total)


def select_keys(table: str, filters: Filters) -> Condition:
    """The SELECT of the keys of the rows of a table that pass the filters: a record's, and in it an instance's."""
    question = _ListQuestion(Columns(table))
    _filter(question, table, filters)
    keys = "r.id" if table == RECORDS else "i.record, i.instance_id"
    source = " ".join((_FROM[table], *question.columns.joins, question.where))
    return Condition(f"SELECT {keys} {source}", tuple(question.parameters))


def _order(columns: Columns, name: str) -> str:
    """The SQL that sorts by a column; unknown values are last either way."""
    column = columns.find(name.removeprefix("-"))
    value = columns.shown(column)
    return f"{value} IS NULL, {value} {'DESC' if name.startswith('-') else 'ASC'}"


def _filter(question: _ListQuestion, table: str, filters: Filters) -> None:
    now, columns = datetime.now(UTC), question.columns
    alias = "r" if table == RECORDS else "i"
    if filters.kind is not None:
        question.add("r.kind = ?", filters.kind)
    for name in ("model", "status"):
        if (value := getattr(filters, name)) is not None:
            question.conditions.append(
                comparison(columns.find(name), "~" if name == "model" else "=", value, columns, now)
            )
    _filter_more(question, alias, filters, now)
    if filters.where is not None:
        question.conditions.append(parse_condition(filters.where, columns, lambda: now))


def _filter_more(question: _ListQuestion, alias: str, filters: Filters, now: datetime) -> None:
    if filters.experiment is not None:
        question.add("(r.experiment = ? OR r.experiment_id = ?)", filters.experiment, filters.experiment)
    if filters.since is not None:
        question.add(f"{alias}.started >= ?", time_value(filters.since, now))
    if filters.until is not None:
        question.add(f"{alias}.started < ?", time_value(filters.until, now))
    for tag in filters.tags:
        question.add("EXISTS (SELECT 1 FROM facts t WHERE t.record = r.id AND t.key = ?)", f"tag.{tag}")
    if filters.stores:
        marks = ", ".join("?" * len(filters.stores))
        question.add(f"s.path IN ({marks})", *filters.stores)
    if filters.text is not None:
        question.add("r.id IN (SELECT rowid FROM texts WHERE texts MATCH ?)", match_words(filters.text))


def match_words(text: str) -> str:
    """Words as a question to the search index: each must occur, as it is written; the last may go on."""
    words = text.split()
    if not words:
        raise UsageError("there is nothing to search for", hint="write one or more words")
    quoted = ['"' + word.replace('"', '""') + '"' for word in words[:50]]
    return " AND ".join(quoted) + "*"


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


def files_with(database: CatalogDatabase, digest: bytes, *, is_input: bool) -> list[FileMatch]:
    """The records that read, or made, a file with this digest; oldest first."""
    sql = (
        "SELECT r.id, r.record_id, r.path, f.path, r.started FROM files f JOIN records r ON r.id = f.record "
        "WHERE f.sha256 = ? AND f.is_input = ? ORDER BY r.started IS NULL, r.started, r.id, f.path"
    )
    return [_file_match(row) for row in database.query(sql, (digest, int(is_input)))]


def records_of_commit(database: CatalogDatabase, commit: str) -> list[FileMatch]:
    """The records that were made with this commit of the code, which may be the beginning of one."""
    sql = (
        "SELECT id, record_id, path, NULL, started FROM records WHERE substr(git_commit, 1, ?) = ? "
        "ORDER BY started IS NULL, started, id"
    )
    return [_file_match(row) for row in database.query(sql, (len(commit), commit))]


def inputs_of(database: CatalogDatabase, record: int) -> list[tuple[str, bytes]]:
    """The files that a record read, with their digests."""
    sql = "SELECT path, sha256 FROM files WHERE record = ? AND is_input = 1 ORDER BY path"
    return [(path, bytes(digest)) for path, digest in database.query(sql, (record,))]


def _file_match(row: tuple[Any, ...]) -> FileMatch:
    record, own, path, file, started = row
    return FileMatch(record, own, path, file, None if started is None else _time_text(started))


def unreachable_stores(database: CatalogDatabase) -> Iterator[str]:
    """The stores that could not be listed when they were looked at last."""
    for (path,) in database.query("SELECT path FROM stores WHERE is_reachable = 0 ORDER BY path"):
        yield path


def names_beginning_with(database: CatalogDatabase, beginning: str, most: int) -> list[tuple[str, str]]:
    """The ids and the names of records that begin like this, newest first, each with what it is."""
    found = []
    for name in ("record_id", "name"):
        sql = (
            f"SELECT {name}, kind, status, started FROM records "  # noqa: S608 - names of our own
            f"WHERE {name} >= ? AND substr({name}, 1, ?) = ? ORDER BY started DESC LIMIT ?"
        )
        rows = database.query(sql, (beginning, len(beginning), beginning, most))
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
