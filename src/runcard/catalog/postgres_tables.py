"""The tables of the catalog for PostgreSQL: those of SQLite with other types, and indexes for its planner.

Each version of the catalog is in a schema of its own. So programs of two versions can share a database, and neither removes
what the other needs.
"""

import re

from runcard.catalog import tables
from runcard.catalog.tables import (
    COLUMNS_OF,
    FIRST_ROWS,
    TABLES,
    TIME,
    TOTAL_KEYS,
    USAGE_TOTALS,
    VERSION,
    VIEWS,
)

SCHEMA = f"runcard_v{VERSION}"

_TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA", "TEXT": 'TEXT COLLATE "C"'}
_COPY_TYPES = {"INTEGER": "int8", "REAL": "float8", "BLOB": "bytea", "TEXT": "text"}
LONGEST_NAME = 600  # characters: an index holds no more than 2,700 bytes
INDEXED_TEXTS = {
    "model",
    "provider",
    "experiment",
    "experiment_id",
    "status",
    "role",
    "name",
    "kind",
    "instance_id",
}
# `words` has all words of the texts in their order, `terms` each of them once.
_TEXTS = """CREATE TABLE texts (
    record BIGINT PRIMARY KEY, name TEXT, summary TEXT, errors TEXT, labels TEXT,
    words TEXT NOT NULL, terms TSVECTOR NOT NULL
);
CREATE INDEX texts_by_term ON texts USING gin (terms);"""
# As SQLite writes a number, for conditions such as `config.x ~ 0.7`.
_FUNCTIONS = r"""CREATE FUNCTION number_text(number DOUBLE PRECISION) RETURNS TEXT LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN abs(number) = 'infinity' THEN CASE WHEN number < 0 THEN '-Inf' ELSE 'Inf' END
    WHEN number != 0 AND (abs(number) < 1e-4 OR abs(number) >= 1e15) THEN
        regexp_replace(trim(to_char(number, '9.99999999999999EEEE')), '(\.[0-9]+?)0*e', '\1e')
    WHEN number = trunc(number) THEN number::numeric::text || '.0' ELSE number::numeric::text END
$$;"""
_UNBOUNDED = ("instances", "files", "relations")  # their keys can be too long for an index

# Values can be too long for an index; that of their digests finds them.
_TOTAL_KEY = "(dimension, md5(value), slot, md5(model), token_source, md5(mix))"
ADD_TOTALS = tables.ADD_TOTALS.replace(f"ON CONFLICT ({', '.join(TOTAL_KEYS)})", f"ON CONFLICT {_TOTAL_KEY}")
DROP_EMPTY_TOTALS = re.sub(r"\b(value|model|mix) = \?", r"md5(\1) = md5(?)", tables.DROP_EMPTY_TOTALS)

_INDEXES = {
    "records_by_id": "records USING hash (record_id)",
    "records_by_start": "records (started DESC NULLS LAST, id)",
    "records_by_cost": "records (cost DESC NULLS LAST, id)",
    "records_by_kind": "records (kind, started DESC NULLS LAST, id)",
    "records_by_model": "records (model, started DESC NULLS LAST)",
    "records_by_status": "records (status, started DESC NULLS LAST)",
    "records_by_experiment": "records (experiment, started DESC NULLS LAST)",
    "facts_by_number": "facts (key, number DESC NULLS LAST, record)",
    "facts_upwards": "facts (key, number, record)",
    "facts_by_text": "facts USING hash (text)",
    "instances_by_start": "instances (started DESC NULLS LAST, record, instance_id)",
    "instances_by_cost": "instances (cost DESC NULLS LAST, record, instance_id)",
    "instances_by_tokens": "instances (tokens DESC NULLS LAST, record, instance_id)",
    "instances_by_duration": "instances (seconds DESC NULLS LAST, record, instance_id)",
    "instances_by_name": "instances (name, started DESC NULLS LAST)",
    "instances_by_model": "instances (model, started DESC NULLS LAST)",
    "instances_by_role": "instances (role, started DESC NULLS LAST)",
    "instances_by_status": "instances (status, started DESC NULLS LAST)",
    "calls_by_start": "calls (started DESC NULLS LAST, record, number)",
    "calls_by_cost": "calls (cost DESC NULLS LAST, record, number)",
    "calls_by_model": "calls (model, started DESC NULLS LAST)",
    "files_by_digest": "files (sha256)",
    "records_by_usage": "records (is_counted, last_usage, last_unknown_cost, undated_usage)",
    "records_copied": "records (record_id) WHERE is_copy = 1",
    "records_open": "records (store) WHERE is_open = 1",
    "records_unreadable": "records (id) WHERE problem IS NOT NULL",
    "usage_by_time": "usage (started)",
    "usage_by_response": "usage (response) WHERE response IS NOT NULL",
    "usage_by_request": "usage (request) WHERE request IS NOT NULL",
    "usage_elsewhere": "usage (record) WHERE counts < 1",
    "usage_of_sessions": "usage (client_session) WHERE witness = 1 AND client_session IS NOT NULL",
    "usage_without_ids": "usage (record, number) WHERE response IS NULL AND request IS NULL",
    "shared_calls_by_call": "shared_calls (of_record, of_number)",
    "relations_by_other": "relations USING hash (other_id)",
}


def create_statements() -> list[str]:
    """The statements that make the tables and views of a catalog, in the schema that is chosen."""
    own = [_table(statement) for statement in without_comments(TABLES).split(";") if statement.strip()]
    views = [f"CREATE VIEW {name} AS {postgres_view(select)}" for name, select in VIEWS.items()]
    indexes = [f"CREATE INDEX {name} ON {columns}" for name, columns in _INDEXES.items()]
    return [*own, *_by_record(), *indexes, _FUNCTIONS, FIRST_ROWS, *views]


def without_comments(sql: str) -> str:
    return re.sub(r"--[^\n]*", "", sql)


def _table(statement: str) -> str:
    if "CREATE VIRTUAL TABLE texts" in statement:
        return _TEXTS
    if _name(statement) in (*_UNBOUNDED, USAGE_TOTALS):
        statement = re.sub(r",\s*PRIMARY KEY \([^)]*\)", "", statement)
    return postgres_types(statement)


def postgres_types(statement: str) -> str:
    """A CREATE TABLE of SQLite for PostgreSQL."""
    statement = statement.replace(
        "id INTEGER PRIMARY KEY", "id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
    )
    statement = statement.replace("WITHOUT ROWID", "")
    return re.sub(r"\b(INTEGER|REAL|BLOB|TEXT)\b", lambda match: _TYPES[match[0]], statement)


def _by_record() -> list[str]:
    by_record = [f"CREATE INDEX {table}_by_record ON {table} (record)" for table in _UNBOUNDED]
    return [
        *by_record,
        f"CREATE UNIQUE INDEX totals_by_key ON {USAGE_TOTALS} {_TOTAL_KEY}",
        f"CREATE INDEX totals_by_slot ON {USAGE_TOTALS} (dimension, slot)",
    ]


def table_names() -> set[str]:
    """The tables that every catalog has."""
    return {"texts", *filter(None, map(_name, without_comments(TABLES).split(";")))}


def _name(statement: str) -> str:
    match = re.search(r"CREATE TABLE (\w+)", statement)
    return match[1] if match else ""


def postgres_view(select: str) -> str:
    """The SELECT of a view, with times and digests as texts."""
    before, after = TIME.split("{}")
    return (
        select.replace(before, "to_char(to_timestamp(")
        .replace(after, " / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
        .replace("lower(hex(f.sha256))", "encode(f.sha256, 'hex')")
    )


def copy_types() -> dict[str, list[str]]:
    """The types of the columns of each table, in the order in which rows are written."""
    types: dict[str, list[str]] = {}
    for statement in without_comments(TABLES).split(";"):
        if (table := _name(statement)) in COLUMNS_OF:
            declared = dict(re.findall(r"\b(\w+) (INTEGER|REAL|BLOB|TEXT)\b", statement))
            types[table] = [_COPY_TYPES[declared[column]] for column in COLUMNS_OF[table]]
    return types
