"""The sums of usage that are kept are those of all its parts, whatever records come and go."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from runcard.catalog import totals_question
from runcard.catalog.database import CatalogDatabase, CatalogError, TableRows
from runcard.catalog.session_rows import session_rows
from runcard.catalog.tables import COLUMNS_OF, PLACE_COLUMNS, RECORD_COLUMNS, TOTAL_COLUMNS
from runcard.catalog.totals_question import totals_for
from runcard.catalog.usage_sums import (
    UsageFilter,
    _rows_of_totals,
    _rows_of_usage,
    expensive_sessions,
    usage_sums,
)
from runcard.catalog.usage_totals import LABEL, OF_RECORDS, UsageTotals, label_value

FIRST = 1_790_000_000  # seconds
QUESTIONS: list[tuple[str, ...]] = [
    *((), ("model",), ("role",), ("agent", "model"), ("model", "provider"), ("project",), ("tool",)),
    *(("branch",), ("experiment",), ("label.team",), ("label.n", "model"), ("label.none",)),
    *(
        ("agent", "role"),
        ("provider", "label.team"),
        ("label.n", "tool", "model", "agent"),
        ("project", "branch", "role"),
        ("label.team", "label.n"),
        ("role", "label.n", "label.none", "model", "label.team"),
    ),
]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[CatalogDatabase]:
    with CatalogDatabase(os.environ.get("RUNCARD_CATALOG") or str(tmp_path / "catalog.db")) as opened:
        opened.query("INSERT INTO stores (id, path) VALUES (1, '/outputs')")
        yield opened


def text(random: Random, seconds: int) -> str | None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(FIRST + seconds))
    return random.choice([moment, moment, None])


def document(random: Random) -> dict[str, Any]:
    def instance(number: int) -> dict[str, Any]:
        counts = {name: random.choice([None, 0, 7, 10**6]) for name in ("input", "output", "cache_read")}
        return {
            "instance_id": f"i{number}",
            "name": random.choice(["ann", "bob", None]),
            "role": random.choice(["architect", "general"]),
            "model": random.choice(["claude-sonnet-4-5", "gpt-5", None]),
            "created_at": text(random, random.randrange(random.choice([5, 80]) * 86_400)),
            "tokens": counts,
            "token_source": random.choice(["reported", "estimated", "partial", None]),
            "calls": random.choice([None, 1, 3]),
            "cost": random.choice([None, 0, 0.1, 0.123456789]),
            "models": random.choice(
                [[], [{"model": "gpt-5", "provider": "openai", "tokens": counts, "cost": 0.3}]]
            ),
        }

    return {
        "execution_summary": {"execution_start": text(random, random.randrange(86_400)), "total_cost": 1},
        "instances": [instance(number) for number in range(random.randrange(4))],
        "origin_session": {"tool": random.choice(["codex", None]), "folder": "/work", "branch": "main"},
        "usage_incomplete": random.random() < 0.2,
        "labels": random.choice([{}, {"team": "ux"}, {"team": "", "n": 2}, {"n": True}]),
    }


def rows_of(number: int, data: dict[str, Any]) -> TableRows:
    found = session_rows(data)
    place = dict(zip(PLACE_COLUMNS, (1, f"name-{number % 40}", "/p", 0, ""), strict=True))
    values = dict.fromkeys(RECORD_COLUMNS) | found.record | {"kind": "session", "record_id": f"s-{number}"}
    row = place | values | {"is_open": 0}
    tables: TableRows = {table: [] for table in COLUMNS_OF}
    tables["records"].append((number, *(row[name] for name in (*PLACE_COLUMNS, *RECORD_COLUMNS))))
    tables["facts"] = [(number, key, *fact) for key, fact in found.facts.items()]
    tables["usage"] = [(number, part, *usage) for part, usage in enumerate(found.usage)]
    totals = UsageTotals()
    labels = [(key, label_value(*fact)) for key, fact in found.facts.items() if key.startswith(LABEL)]
    totals.add({name: found.record.get(column) for name, column in OF_RECORDS.items()}, labels, found.usage)
    return tables | {"usage_totals": totals.rows()}


def in_order(rows: list[tuple[Any, ...]], keys: int) -> dict[tuple[Any, ...], list[int]]:
    """By key; values that are printed alike are one, and sums of nothing are none."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        key = tuple(f"{value:g}" if isinstance(value, float) else value for value in row[: keys + 2])
        before = found.get(key, [0] * len(row[keys + 2 :]))
        found[key] = [old + (new or 0) for old, new in zip(before, row[keys + 2 :], strict=True)]
    return found


@pytest.fixture(params=["UTC", "Europe/Berlin", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_sums_are_those_of_all_parts(database: CatalogDatabase, seed: int, zone: str) -> None:
    random = Random(seed)  # noqa: S311
    for number in range(1, 80):  # most names come twice: the later record takes the place of the earlier
        database.put(1, rows_of(number, document(random)))
    database.remove(1, ["name-3", "name-4", "name-99"])
    since = (FIRST + 2 * 86_400 + 1234) * 1000
    filters = [
        UsageFilter(),
        UsageFilter(since),
        UsageFilter(since - since % 86_400_000),
    ]
    answered = 0
    for wanted in filters:
        check_expensive_sessions(database, wanted)
    for by in QUESTIONS:
        for wanted in filters:
            for by_time in (False, True):
                question = totals_for(by, wanted.since, by_time=by_time)
                assert question is not None
                rows = _rows_of_totals(database, question, by, wanted)
                if rows is not None:
                    answered += 1
                    exact = _rows_of_usage(database, by, wanted, by_time=by_time)
                    assert in_order(rows, len(by)) == in_order(exact, len(by)), (by, wanted, by_time)
    time_answers = {"UTC": len(QUESTIONS), "Europe/Berlin": 2, "Asia/Kolkata": 0}[zone]
    assert answered == len(filters) * (len(QUESTIONS) + time_answers)
    database.remove(1, [f"name-{number}" for number in range(40)])
    assert database.query("SELECT count(*) FROM usage_totals").fetchone() == (0,)


def check_expensive_sessions(database: CatalogDatabase, wanted: UsageFilter) -> None:
    def costs(wanted: UsageFilter) -> dict[str | None, int]:
        found = usage_sums(database, ("session",), wanted, by_time=False)
        added: Counter[str | None] = Counter()
        for group in found:
            added[group.key[0]] += group.cost.amount
        return dict(sorted(added.items(), key=lambda item: (-item[1], item[0] or "")))

    every = costs(wanted)
    records, more = expensive_sessions(database, wanted, 7)
    assert list(costs(wanted._replace(only=records)).items()) == list(every.items())[:7]
    assert more == len(every) - 7
    assert expensive_sessions(database, wanted, 1000)[1] == 0


def test_labels_of_nearly_every_record_are_added_up_one_by_one(
    database: CatalogDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals_question, "_MOST_ROWS", 3)
    for number in range(1, 6):
        ticket = document(Random(number)) | {"labels": {"ticket": str(number), "team": "ux"}}  # noqa: S311
        ticket["instances"] = [{"instance_id": "a", "cost": 1, "created_at": "2026-01-02T00:00:00Z"}]
        database.put(1, rows_of(number, ticket))
    by = ("label.ticket", "label.team")
    assert _rows_of_totals(database, totals_for(by, None, by_time=False), by, UsageFilter()) is None  # type: ignore[arg-type]
    groups = list(usage_sums(database, by, UsageFilter(), by_time=False))
    assert sorted(group.key for group in groups) == [(str(number), "ux") for number in range(1, 6)]


def test_records_with_many_labels_are_added_up_one_by_one(database: CatalogDatabase) -> None:
    many = document(Random(1)) | {"labels": {f"l{number}": "x" for number in range(30)}}  # noqa: S311
    many["instances"] = [{"instance_id": "a", "cost": 1, "created_at": "2026-01-02T00:00:00Z"}]
    database.put(1, rows_of(1, many))
    for wanted in (UsageFilter(), UsageFilter(FIRST)):
        for by in (("label.l1",), ("label.l1", "label.l2"), ("label.l1", "role")):
            question = totals_for(by, wanted.since, by_time=False)
            assert question is not None
            assert _rows_of_totals(database, question, by, wanted) is None


@pytest.mark.parametrize("mix", ["[", "[1]", "7", "[" * 100_000])
def test_a_row_that_another_program_wrote_is_an_error_with_a_way_out(
    database: CatalogDatabase, mix: str
) -> None:
    for number in range(1, 9):
        database.put(1, rows_of(number, document(Random(number))))  # noqa: S311
    columns = ", ".join(TOTAL_COLUMNS)
    of_one = (
        f"SELECT dimension, value, slot, model, token_source, CAST(? AS TEXT), {columns} FROM usage_totals"  # noqa: S608
    )
    database.query(f"INSERT INTO usage_totals {of_one} WHERE dimension = 'mixes' LIMIT 1", (mix,))
    with pytest.raises(CatalogError, match="cannot be read") as caught:
        list(usage_sums(database, ("role", "agent"), UsageFilter(), by_time=False))
    assert "runcard index --rebuild" in str(caught.value.hint)
