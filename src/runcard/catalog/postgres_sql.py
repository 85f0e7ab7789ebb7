"""The SQL of the catalog for PostgreSQL: what it calls by another name than SQLite.

Texts of users are parameters, never part of the SQL, so it can be translated as a text.
"""

import re
from functools import lru_cache

# The value of a fact is a number or a text. SQLite has both in one column, and sorts numbers before texts.
_SORTED = re.compile(r"coalesce\((\w+)\.number, \1\.text\) (ASC|DESC)")
_NUMBER_FIRST = re.compile(r"coalesce\((\w+)\.number, \1\.text\)")
_TEXT_FIRST = re.compile(r"coalesce\((\w+)\.text, \1\.number\)")
_NAMES = (
    ("lower(coalesce(number, text))", "lower(coalesce(number_text(number), text))"),
    ("instr(", "strpos("),
    ("json_each(?)", "json_array_elements_text(?::json)"),
    ("lower(hex(f.sha256))", "encode(f.sha256, 'hex')"),
    ("%", "%%"),
    ("?", "%s"),
)


@lru_cache(maxsize=512)
def postgres_sql(sql: str) -> str:
    """A statement as PostgreSQL and psycopg have it."""
    sql = _SORTED.sub(_sort_key, sql)
    sql = _NUMBER_FIRST.sub(r"coalesce(to_jsonb(\1.number), to_jsonb(\1.text))", sql)
    sql = _TEXT_FIRST.sub(r"coalesce(to_jsonb(\1.text), to_jsonb(\1.number))", sql)
    for name, other in _NAMES:
        sql = sql.replace(name, other)
    return sql


def _sort_key(match: re.Match[str]) -> str:
    fact, order = match.groups()
    kind = f"CASE WHEN {fact}.number IS NOT NULL THEN 0 WHEN {fact}.text IS NOT NULL THEN 1 END"
    text = f"CASE WHEN {fact}.number IS NULL THEN {fact}.text END"
    return f"{kind} {order} NULLS LAST, {fact}.number {order} NULLS LAST, {text} {order}"
