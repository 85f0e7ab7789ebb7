"""The columns that a user can name: those of a table, and the facts of a record such as `config.temperature`.

Every name of a user becomes a parameter or is one of ours: nothing that a user writes is ever part of the SQL text.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from runcard.errors import UsageError

ColumnType = Literal["text", "number", "count", "cost", "time", "seconds", "flag"]

RECORDS, INSTANCES, CALLS, EXPERIMENTS, PLANS = "records", "instances", "calls", "experiments", "plans"
FACTS = ("config", "label", "metric", "score", "tag")


class Column(NamedTuple):
    """A column of a table, as SQL and for people."""

    name: str
    sql: str
    type: ColumnType


def _plain(alias: str, names: str, kind: ColumnType) -> dict[str, Column]:
    return {name: Column(name, f"{alias}.{name}", kind) for name in names.split()}


def _at_least(alias: str, is_unknown: str = "true") -> str:
    """Whether there may be more than the known cost: also where a part of it is unknown."""
    return f"CASE WHEN {alias}.at_least = 1 OR ({alias}.cost IS NULL AND {is_unknown}) THEN 1 ELSE 0 END"


# Another record has this id and another content. A session can be collected again under its id: it gets another directory.
_CONFLICT = (
    "CASE WHEN EXISTS (SELECT 1 FROM records o WHERE o.record_id = r.record_id AND o.kind = r.kind AND o.sha256 != r.sha256 "
    "AND (o.kind = 'run' OR o.name = r.name)) THEN 1 ELSE 0 END"
)
_OF_SESSION = "FROM records r WHERE r.id = i.record"
_STORE_OF = "FROM stores s JOIN records r ON s.id = r.store WHERE r.id = {}.record"

_RECORD: dict[str, Column] = {
    "id": Column("id", "r.record_id", "text"),
    **_plain("r", "kind name path status experiment experiment_id model provider token_source", "text"),
    **_plain("r", "command host branch folder tool title problem sha256", "text"),
    "commit": Column("commit", "r.git_commit", "text"),
    "error": Column("error", "r.first_error", "text"),
    "store": Column("store", "(SELECT path FROM stores WHERE id = r.store)", "text"),
    "stored_on": Column(
        "stored_on", "(SELECT nullif(s.host, '') FROM stores s WHERE s.id = r.store)", "text"
    ),
    **_plain("r", "started ended", "time"),
    "duration": Column("duration", "r.seconds", "seconds"),
    **_plain("r", "calls input output cache_read cache_write reasoning instances failed_instances", "count"),
    **_plain("r", "errors warnings exit_code", "count"),
    **_plain("r", "tokens known_tokens", "count"),
    **_plain("r", "cost known_cost", "cost"),
    "archived": Column("archived", "r.is_archived", "flag"),
    "at_least": Column("at_least", _at_least("r", "r.last_unknown_cost IS NOT NULL"), "flag"),
    "incomplete": Column("incomplete", "r.at_least", "flag"),
    "conflict": Column("conflict", _CONFLICT, "flag"),
}
_INSTANCE: dict[str, Column] = {
    **_plain("i", "name role model status parent token_source error error_category", "text"),
    "id": Column("id", "i.instance_id", "text"),
    "session": Column("session", f"(SELECT record_id {_OF_SESSION})", "text"),
    "path": Column("path", f"(SELECT path {_OF_SESSION})", "text"),
    "store": Column(
        "store",
        "(SELECT s.path FROM stores s JOIN records r ON s.id = r.store WHERE r.id = i.record)",
        "text",
    ),
    "stored_on": Column("stored_on", f"(SELECT nullif(s.host, '') {_STORE_OF.format('i')})", "text"),
    **_plain("i", "started ended", "time"),
    "duration": Column("duration", "i.seconds", "seconds"),
    **_plain("i", "calls input output cache_read cache_write reasoning", "count"),
    **_plain("i", "tokens known_tokens", "count"),
    **_plain("i", "cost known_cost", "cost"),
    "at_least": Column("at_least", _at_least("i"), "flag"),
    "incomplete": Column("incomplete", "i.at_least", "flag"),
}
_CALL: dict[str, Column] = {
    "run": Column("run", "(SELECT record_id FROM records WHERE id = c.record)", "text"),
    "path": Column("path", "(SELECT path FROM records WHERE id = c.record)", "text"),
    "stored_on": Column("stored_on", f"(SELECT nullif(s.host, '') {_STORE_OF.format('c')})", "text"),
    "experiment": Column("experiment", "(SELECT experiment FROM records WHERE id = c.record)", "text"),
    **_plain("c", "model provider step token_source cost_source observer", "text"),
    "number": Column("number", "c.number", "count"),
    "started": Column("started", "c.started", "time"),
    "duration": Column("duration", "c.seconds", "seconds"),
    "first_token": Column("first_token", "c.first_token", "seconds"),
    **_plain("c", "input output cache_read cache_write reasoning", "count"),
    "tokens": Column("tokens", "c.input + c.output", "count"),
    **_plain("c", "cost known_cost", "cost"),
    "at_least": Column("at_least", _at_least("c"), "flag"),
}
_EXPERIMENT: dict[str, Column] = {
    **_plain("e", "name id path description", "text"),
    **_plain("e", "created started last", "time"),
    **_plain("e", "runs failed calls", "count"),
    **_plain("e", "cost known_cost", "cost"),
    **_plain("e", "at_least incomplete", "flag"),
}
_PLAN: dict[str, Column] = {
    "project": Column("project", "q.path", "text"),
    **_plain("p", "name path source method test_level status reason", "text"),
    "class": Column("class", "p.class_name", "text"),
    "type": Column("type", "p.method_type", "text"),
    "next": Column("next", "p.next_agent", "text"),
    "changed": Column("changed", "p.changed", "time"),
    "valid": Column("valid", "p.is_valid", "flag"),
    "validated": Column("validated", "p.is_validated", "flag"),
    **_plain("p", "errors warnings", "count"),
    "findings": Column("findings", "p.errors + p.warnings", "count"),
}
COLUMNS = {RECORDS: _RECORD, INSTANCES: _INSTANCE, CALLS: _CALL, EXPERIMENTS: _EXPERIMENT, PLANS: _PLAN}
_RECORD_OF = {RECORDS: "r.id", INSTANCES: "i.record", CALLS: "c.record"}
_MOST_FACTS = 60  # a database joins no more tables
_FACT = re.compile(r"(config|label|metric|score|tag)\.(.+)", re.DOTALL)


def names_fact(name: str) -> bool:
    """Whether this is the name of a fact such as `label.team`."""
    return _FACT.fullmatch(name) is not None


class Columns:
    """The columns of one question; facts that are shown or sorted by are joined once each."""

    def __init__(self, table: str, is_common: Callable[[str, Sequence[object]], bool] | None = None) -> None:
        self.known = COLUMNS[table]
        self.joins: list[str] = []
        self.parameters: list[str] = []
        self._table = table
        self._is_common = is_common or (lambda *_: False)
        self._facts: dict[str, Column] = {}

    @property
    def record(self) -> str:
        """The SQL of the number of the record of a row."""
        if self._table not in _RECORD_OF:
            raise UsageError(
                f"{self._table} have no such values",
                hint="list runs: runcard ls runs"
                if self._table == EXPERIMENTS
                else f"use {', '.join(self.known)}",
            )
        return _RECORD_OF[self._table]

    def find(self, name: str) -> Column:
        """The column with this name; raises UsageError with similar names."""
        if (column := self.known.get(name)) is not None:
            return column
        if name not in self._facts:
            if not names_fact(name) or self._table not in _RECORD_OF:
                raise _no_column(name, self.known, has_facts=self._table in _RECORD_OF)
            if len(self._facts) == _MOST_FACTS:
                raise UsageError(
                    f"there are more than {_MOST_FACTS} columns of values, such as {name!r}",
                    hint="name fewer",
                )
            self._facts[name] = Column(name, f"f{len(self._facts)}", "number")
        return self._facts[name]

    @property
    def facts(self) -> list[str]:
        """The facts that were named."""
        return list(self._facts)

    def is_fact(self, column: Column) -> bool:
        return column.name in self._facts

    def shown(self, column: Column) -> str:
        """The SQL of a value: of a fact its number, or else its text."""
        if not self.is_fact(column):
            return column.sql
        alias = column.sql
        join = f"LEFT JOIN facts {alias} ON {alias}.record = {self.record} AND {alias}.key = ?"
        if join not in self.joins:
            self.joins.append(join)
            self.parameters.append(column.name)
        return f"coalesce({alias}.number, {alias}.text)"

    def record_in(self, records: str, parameters: Sequence[object]) -> str:
        """The SQL that a record is one of these. If they are many, all rows are looked at rather than each of these looked up."""
        plus = "+" if self._is_common(records, parameters) else ""
        return f"{plus}{self.record} IN ({records})"


def _no_column(name: str, known: dict[str, Column], *, has_facts: bool) -> UsageError:
    from difflib import get_close_matches  # noqa: PLC0415 - only for this message

    near = get_close_matches(name[:100], known, 1, 0.6)
    facts = [f"{one}.NAME" for one in FACTS] if has_facts else []
    hint = f"did you mean {near[0]}?" if near else f"use {', '.join([*known, *facts])}"
    return UsageError(f"there is no column {name!r}", hint=hint)
