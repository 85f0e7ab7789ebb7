"""The rows of a record: whatever its documents are, they are what the database can hold, and they add up."""

import json
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import runcard
from documents.samples import rich_team
from encoding.plain_data import values
from runcard.catalog.cost_units import cost_units
from runcard.catalog.rows import RecordRows, digest_bytes
from runcard.catalog.run_rows import call_row, run_rows
from runcard.catalog.session_fields import session_fields
from runcard.catalog.session_rows import session_rows
from runcard.catalog.tables import (
    COLUMNS_OF,
    INSTANCE_COLUMNS,
    RECORD_COLUMNS,
    TABLES,
    TEXT_COLUMNS,
    USAGE_COLUMNS,
)
from runs.runs import read, record_one

pytestmark = pytest.mark.file_only


def check_rows(rows: RecordRows) -> None:
    """A database takes them."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    place = {"kind": "run", "record_id": "r"}
    record = (1, 1, "n", "p", 0, "", *map((rows.record | place).get, RECORD_COLUMNS))
    some: dict[str, list[tuple[Any, ...]]] = {
        "records": [record],
        "facts": [(1, key, *fact) for key, fact in rows.facts.items()],
        "instances": [(1, *row) for row in rows.instances],
        "usage": [(1, number, *row) for number, row in enumerate(rows.usage)],
        "calls": [(1, number, *row) for number, row in enumerate(rows.calls)],
        "files": [(1, *row) for row in rows.files],
        "relations": [(1, *row) for row in rows.relations],
        "texts": [(1, *map(rows.texts.get, TEXT_COLUMNS))],
    }
    for table, columns in COLUMNS_OF.items():
        marks = ", ".join("?" * len(columns))
        connection.executemany(
            f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})",  # noqa: S608
            some.get(table, []),
        )


def usage(rows: RecordRows) -> list[dict[str, Any]]:
    return [dict(zip(USAGE_COLUMNS, row, strict=True)) for row in rows.usage]


def test_a_run(outputs: Path) -> None:
    with runcard.record(
        outputs,
        model="claude-sonnet-4-5",
        provider="anthropic",
        config={"temperature": 0.2, "deep": {"er": True}, "list": ["a", "b"]},
        labels={"team": "ux"},
        experiment="personas",
        strict=True,
    ) as run:
        run.add_usage({"input": 1000, "output": 200})
        run.log_metric("accuracy", 0.5)
        run.log_metric("accuracy", 0.25)
        run.add_error("no luck")
        run.relate("derived-from", "run-x")
    rows = run_rows(read(run.path), [("tag", {"tag": "best"}), ("evaluation", {"name": "taste", "value": 4})])
    check_rows(rows)
    record = rows.record
    assert (record["status"], record["experiment"], record["model"]) == (
        "completed",
        "personas",
        "claude-sonnet-4-5",
    )
    assert (record["input"], record["output"], record["cost"], record["at_least"]) == (
        1000,
        200,
        60_000_000,
        0,
    )
    assert (record["errors"], record["first_error"]) == (1, "no luck")
    assert rows.facts["config.temperature"] == (0.2, None)
    assert rows.facts["config.deep.er"] == (1.0, "true")
    assert rows.facts["config.list"] == (None, "a, b")
    assert rows.facts["label.team"] == (None, "ux")
    assert [rows.facts[f"metric.accuracy{end}"][0] for end in ("", ".min", ".max")] == [0.25, 0.25, 0.5]
    assert rows.facts["tag.best"] == (1.0, "best")
    assert rows.facts["score.taste"] == (4.0, None)
    assert rows.relations == [("derived-from", "run-x", None, None)]
    assert [row["cost"] for row in usage(rows)] == [60_000_000]


def test_the_usage_of_several_models_adds_up(outputs: Path) -> None:
    with runcard.record(outputs, provider="anthropic", strict=True) as run:
        run.add_usage({"input": 1000, "output": 200}, model="claude-sonnet-4-5")
        run.add_usage({"input": 10, "output": 2}, model="claude-haiku-4-5")
    rows = run_rows(read(run.path))
    assert [row["model"] for row in usage(rows)] == ["claude-sonnet-4-5", "claude-haiku-4-5"]
    for name in ("input", "output", "cost", "calls"):
        assert sum(row[name] for row in usage(rows)) == rows.record[name]


def test_stated_totals_are_not_spread_over_models(outputs: Path) -> None:
    with runcard.record(outputs, provider="anthropic", strict=True) as run:
        run.add_usage({"input": 1000, "output": 200}, model="claude-sonnet-4-5")
        run.add_usage({"input": 10, "output": 2}, model="claude-haiku-4-5")
        run.set_costs(total_cost_usd=7)
    rows = run_rows(read(run.path))
    assert [(row["model"], row["cost"]) for row in usage(rows)] == [(None, 7 * 10**10)]


def test_an_unknown_price_is_not_zero(outputs: Path) -> None:
    with runcard.record(outputs, model="nobody-sells-this", strict=True) as run:
        run.add_usage({"input": 1000, "output": 200})
    rows = run_rows(read(run.path))
    assert (rows.record["cost"], usage(rows)[0]["cost"]) == (None, None)


def test_a_run_without_calls_has_no_usage(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        pass
    assert run_rows(read(run.path)).usage == []


def test_a_session() -> None:
    team = json.loads(json.dumps(rich_team()))
    rows = session_rows(team)
    check_rows(rows)
    assert len(rows.instances) == len(team["instances"]) == rows.record["instances"]
    known = [row["cost"] for row in usage(rows) if row["cost"] is not None]
    assert sum(known) == sum(cost_units(entry["cost"]) or 0 for entry in team["instances"] if "cost" in entry)


def test_tokens_of_a_session_that_are_known_in_part() -> None:
    entries = [{"instance_id": "a", "tokens_used": 1762}, {"instance_id": "b", "tokens": {"input": 5}}]
    rows = session_rows(
        {
            "instances": entries,
            "execution_summary": {"known_tokens": 1762, "known_cost": 0},
            "origin_session": {"tool": "codex", "title": "Fix the parser"},
        }
    )
    own = [dict(zip(INSTANCE_COLUMNS, row, strict=True)) for row in rows.instances]
    assert [(row["tokens"], row["known_tokens"]) for row in own] == [(1762, 1762), (None, 5)]
    assert (rows.record["tokens"], rows.record["known_tokens"]) == (None, 1762)
    assert (rows.record["cost"], rows.record["known_cost"]) == (None, None)
    assert rows.record["title"] == "Fix the parser"


def test_inputs_are_found_by_their_digests(outputs: Path) -> None:
    rows = run_rows(read(record_one(outputs)))
    ((is_input, path, digest),) = rows.files
    assert is_input
    assert path.endswith("a.md")
    assert len(digest) == 32


@given(values)
def test_whatever_a_document_has_the_database_takes(value: Any) -> None:
    names = (
        "generation",
        "configuration",
        "costs",
        "environment",
        "metrics",
        "data_sources",
        "relations",
        "errors",
    )
    check_rows(run_rows(dict.fromkeys(names, value)))
    check_rows(
        run_rows(
            {
                "generation": {"labels": value, "command": value, "process": value},
                "configuration": {"x": value},
            }
        )
    )
    team = ("instances", "execution_summary", "labels", "relations", "resources", "errors", "origin_session")
    check_rows(session_rows(dict.fromkeys(team, value)))
    fields = ("tokens", "cost_usd", "timestamp", "model", "latency_seconds")
    check_rows(
        RecordRows({}, calls=[call_row(dict.fromkeys(fields, value)), call_row({"tokens": {"input": value}})])
    )
    check_rows(session_rows({"instances": [value, {"models": [value], "tokens": value, "cost": value}]}))


@pytest.mark.parametrize("number", [2**63, 10**30, 10**400, -(10**400)])
def test_integers_of_any_size_are_taken(number: int) -> None:
    values = dict.fromkeys(("last", "min", "max"), number)
    check_rows(run_rows({"generation": {"duration_seconds": number}, "metrics": {"loss": values}}))
    summary = {"total_execution_time_seconds": number}
    agents = [{"instance_id": "a", "execution_time_seconds": number}]
    check_rows(session_rows({"execution_summary": summary, "instances": agents}))


@pytest.mark.parametrize(
    ("amount", "units"),
    [
        (0.26694, 2_669_400_000),
        (0, 0),
        (1e-9, 10),
        (1e-11, 0),
        (True, None),
        (-1, None),
        (1e300, None),
        ("1", None),
        (None, None),
    ],
)
def test_costs_are_whole_numbers(amount: object, units: int | None) -> None:
    assert cost_units(amount) == units


@given(st.text(max_size=80))
def test_a_digest_is_64_hex_digits(text: str) -> None:
    assert digest_bytes(text) is None or len(digest_bytes(text) or b"") == 32


@given(st.floats(0, 1000) | st.decimals(0, 1000, places=11).map(float))
def test_costs_are_rounded_as_decimals(amount: float) -> None:
    assert cost_units(amount) == round(Decimal(str(amount)) * 10**10)


def test_a_metric_that_is_called_like_the_smallest_value_of_another() -> None:
    metrics = {"a": {"last": 2, "min": 1, "max": 3}, "a.min": {"last": 9, "min": 9, "max": 9}}
    for order in (metrics, dict(reversed(metrics.items()))):
        facts = run_rows({"metrics": order}).facts
        assert (facts["metric.a"], facts["metric.a.min"]) == ((2.0, None), (9.0, None))


def test_a_document_that_msgspec_finds_good_has_the_rows_of_a_cleaned_one() -> None:
    """Whatever one of its values is replaced by."""
    random, good = Random(1), json.dumps(rich_team())  # noqa: S311
    odd = [
        None,
        "",
        "x",
        "x" * 1001,
        "é" * 1000,
        5.0,
        5,
        -1,
        2**62,
        2**62 - 1,
        True,
        1.5,
        [],
        {},
        [None],
        {"input": 2.0},
    ]
    checked = [0, 0]
    for _ in range(600):
        document = json.loads(good)
        place = random.choice([*_places(document)])
        place[0][place[1]] = random.choice(odd)
        rows = session_rows(document, is_plain=True)
        assert rows == session_rows(document, is_plain=False)
        checked[session_fields(document, is_plain=True) is document] += 1
    assert min(checked) > 50


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each value in a document: what it is in, and under which key."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)
