"""Conditions of users as SQL: what they mean, and that no word of a user becomes SQL."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.catalog.columns import RECORDS, Columns
from runcard.catalog.conditions import parse_condition, time_value
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.sqlite_engine import match_words
from runcard.catalog.tables import TABLES
from runcard.errors import UsageError

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def fill(execute: Callable[[str, Sequence[object]], object]) -> None:
    execute("INSERT INTO stores (id, path) VALUES (1, '/outputs')", ())
    rows = [
        (1, "cheap", "completed", 10**8, "gpt-5", 1_700_000_000_000),
        (2, "dear", "failed", 10**10, "claude", 1_800_000_000_000),
        (3, "unknown", "completed", None, None, None),
    ]
    for number, name, status, cost, model, started in rows:
        execute(
            "INSERT INTO records (id, store, name, path, is_archived, fingerprint, kind, record_id, status, cost, model, started) "
            "VALUES (?, 1, ?, '/p', 0, '', 'run', ?, ?, ?, ?, ?)",
            (number, name, name, status, cost, model, started),
        )
    facts = [
        (1, "config.temperature", 0.2, None),
        (2, "config.temperature", 0.7, None),
        (1, "label.team", None, "ux"),
        (2, "label.team", None, "7"),
        (2, "config.stream", 1.0, "true"),
    ]
    for fact in facts:
        execute("INSERT INTO facts VALUES (?, ?, ?, ?)", fact)


def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    fill(connection.execute)
    return connection


def question(text: str) -> tuple[str, list[object]]:
    columns = Columns(RECORDS)
    condition = parse_condition(text, columns, lambda: NOW)
    joins = " ".join(columns.joins)
    sql = f"SELECT r.name FROM records r JOIN stores s ON s.id = r.store {joins} WHERE {condition.sql} ORDER BY r.id"  # noqa: S608
    return sql, [*columns.parameters, *condition.parameters]


def names(text: str) -> list[str]:
    return [name for (name,) in database().execute(*question(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cost > 0.5", ["dear"]),
        ("cost > $0.005", ["cheap", "dear"]),
        ("cost = null", ["unknown"]),
        ("cost != null and status = completed", ["cheap"]),
        ("not cost > 0.5", ["cheap", "unknown"]),
        ("status = 'failed' or model ~ GPT", ["cheap", "dear"]),
        ("(status = failed or status = completed) and config.temperature >= 0.7", ["dear"]),
        ("config.temperature < 1", ["cheap", "dear"]),
        ("config.stream = true", ["dear"]),
        ("config.stream = 1", ["dear"]),
        ("config.temperature ~ 0.7", ["dear"]),
        ("config.stream ~ 1.0", ["dear"]),
        ("label.team ~ U", ["cheap"]),
        ("conflict = false", ["cheap", "dear", "unknown"]),
        ("label.team = ux", ["cheap"]),
        ("label.team = 7", ["dear"]),
        ("label.team != ux", ["dear"]),
        ("label.absent = null", ["cheap", "dear", "unknown"]),
        ("started < 2024-01-01", ["cheap"]),
        ("started >= 2027-01-01T00:00:00Z", ["dear"]),
        ("archived = false", ["cheap", "dear", "unknown"]),
        ("NOT (status=failed)", ["cheap", "unknown"]),
        ('status = "fai""led"', []),
        ("cost > -1", ["cheap", "dear"]),
        ("cost < 1e12", ["cheap", "dear"]),
        ("cost < 0", []),
        (" or ".join(["cost > 0.5"] * 200), ["dear"]),
    ],
)
def test_what_conditions_mean(text: str, found: list[str], back_end: str) -> None:
    if back_end == "sqlite":
        assert names(text) == found
        return
    with CatalogDatabase(os.environ["RUNCARD_CATALOG"]) as server:
        fill(server.query)
        assert [name for (name,) in server.rows(*question(text))] == found


@pytest.mark.file_only
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the name of a column is missing"),
        ("cost", "after 'cost' an operator is missing"),
        ("cost >", "after cost > a value is missing"),
        ("cost > much", "'much' is not a number"),
        ("(cost > 1", "a ')' is missing"),
        ("cost > 1 status = x", "'status' is not expected"),
        ("costs > 1", "there is no column 'costs'"),
        ("started > soon", "'soon' is not a time"),
        ("started > 2026-13-01", "is not a time"),
        ("archived = maybe", "is neither true nor false"),
        ("cost ! 1", "is not understood"),
        ("not " * 200 + "cost > 1", "nested too deeply"),
        ("(" * 200 + "cost > 1" + ")" * 200, "nested too deeply"),
        (" or ".join(["cost > 1"] * 201), "there are more than 200 comparisons"),
        (
            " and ".join(f"config.k{number} = 1" for number in range(61)),
            "there are more than 60 columns of values",
        ),
    ],
)
def test_what_is_wrong_with_a_condition(text: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        names(text)
    assert words in raised.value.message
    assert raised.value.hint


@pytest.mark.file_only
def test_a_similar_column_is_suggested() -> None:
    with pytest.raises(UsageError) as raised:
        names("statuss = failed")
    assert raised.value.hint == "did you mean status?"


@pytest.mark.file_only
@given(st.text(max_size=60) | st.from_regex(r"(cost|label\.[a-z;' ]+|name) *(=|>|~) *['a-z0-9;\-() ]*"))
def test_no_text_becomes_sql(text: str) -> None:
    """What a user compares with is a parameter: the SQL is the same for any other value."""
    with contextlib.suppress(UsageError):
        assert set(names(text)) <= {"cheap", "dear", "unknown"}
        condition = parse_condition(text, Columns(RECORDS), lambda: NOW)
        assert condition.sql.count("?") == len(condition.parameters)
        assert not set(condition.sql) & set(";'\"-")


@pytest.mark.file_only
def test_words_of_a_search_are_never_operators() -> None:
    connection = database()
    connection.execute("INSERT INTO texts (rowid, name) VALUES (1, 'the snake_case of src/app.py')")
    for words, is_found in (
        ("snake_case", True),
        ("app.py", True),
        ("src/app", True),
        ("snake", True),
        ("sna", True),  # the last word may go on
        ("sna case", False),
        ('NOT "x" OR the', False),
        ("name:x", False),
    ):
        found = connection.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ?", (match_words(words),)
        ).fetchall()
        assert bool(found) == is_found, words


@pytest.mark.file_only
def test_ages_are_before_now() -> None:
    assert time_value("7d", NOW) == round(NOW.timestamp() * 1000) - 7 * 86_400_000
