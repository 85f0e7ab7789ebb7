"""Each call counts once, by every dimension, whoever recorded it: random histories, compared with the upstream's own list."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest

from catalog.histories import History, HistoryRun, UpstreamCall, cost_of, moment
from runcard.catalog.columns import EXPERIMENTS
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.experiment_sums import counted_twice
from runcard.catalog.searching import Filters, list_table
from runcard.operations.catalog.costs import RecordCosts, _RecordSums

HISTORIES = int(os.environ.get("RUNCARD_TEST_HISTORIES", "200"))
GROUPS = 10
SHORT = 4  # groups that are no long tests


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def sums(database: CatalogDatabase, *by: str) -> RecordCosts:
    return _RecordSums(database, by, None).report()


def expected(
    history: History, key: Callable[[UpstreamCall], str | None]
) -> dict[str | None, tuple[int, ...]]:
    """Calls, tokens without what was cached, and the cost in 10**-10 dollars, of what records know."""
    found: dict[str | None, Counter[str]] = {}
    for number, tokens in history.reported.items():
        call = history.calls[number]
        added = found.setdefault(key(call), Counter())
        written = tokens["cache_write_5m"] + tokens["cache_write_1h"]
        fresh = tokens["input"] - tokens["cache_read"] - written
        added.update(
            {
                "calls": 1,
                "input": fresh,
                "output": tokens["output"],
                "cache_read": tokens["cache_read"],
                "cache_write": written,
            }
        )
        added["cost"] += round(cost_of(call.model, tokens) * 10**10)
    names = ("calls", "input", "output", "cache_read", "cache_write", "cost")
    return {key: tuple(added[name] for name in names) for key, added in found.items()}


def found(report: RecordCosts) -> dict[str | None, tuple[int, ...]]:
    figures = {}
    for group in report.groups:
        totals, (key,) = group.totals, group.key.values()
        tokens = [totals.tokens[name] for name in ("input", "output", "cache_read", "cache_write")]
        assert totals.has_all_calls
        assert None not in tokens
        assert totals.cost is not None
        figures[key] = (totals.calls, *tokens, round(totals.cost * 10**10))
    return figures  # type: ignore[return-value]


def check(history: History, database: CatalogDatabase) -> None:
    keys: dict[str, Callable[[UpstreamCall], str | None]] = {
        "model": lambda call: call.model,
        "session": lambda call: history.in_sessions.get(call.number),
        "tool": lambda call: "claude-code" if call.number in history.in_sessions else None,
    }
    for name, key in keys.items():
        assert found(sums(database, name)) == expected(history, key), name
    for name in ("month", "day"):
        length = 7 if name == "month" else 10
        days = expected(history, lambda call: moment(call.time)[:length])  # noqa: B023 - called at once
        near = {key for key in days if key}
        assert {key for key, _ in found(sums(database, name)).items()} <= near | {None}
    whole = expected(history, lambda _: None).get(None, (0,) * 6)
    for by in (
        "agent",
        "role",
        "host",
        "provider",
        "project",
        "experiment",
        "branch",
        "config.seed",
        "day",
        "week",
        "month",
    ):
        parts = found(sums(database, by)).values()
        assert tuple(map(sum, zip(*parts, strict=True))) == (whole if parts else ()), by
    check_experiments(history, database)
    totals = sums(database, "model").totals
    if any(run.is_open and run.events for run in history.runs):
        assert totals.at_least
    elif not history.has_transcripts:
        assert not totals.at_least


def check_experiments(history: History, database: CatalogDatabase) -> None:
    """The calls that the runs of an experiment have, each once; and those that all runs have."""
    listed = list_table(database, EXPERIMENTS, Filters(), ("name", "runs", "calls", "cost"))
    rows = {name: (runs, calls or 0, round((cost or 0) * 10**10)) for name, runs, calls, cost in listed.rows}
    expected: dict[str, tuple[int, int, int]] = {}
    for name in {run.experiment for run in history.runs if run.experiment is not None}:
        own = [run for run in history.runs if run.experiment == name]
        expected[name] = len(own), *figures_of(history, own)
    assert rows == expected, (rows, expected)
    twice = counted_twice(database)
    sql = "SELECT sum(input), sum(output), sum(cost) FROM records WHERE kind = 'run' AND is_copy = 0"
    ((*whole,),) = database.rows(sql)
    calls = [history.calls[number] for number in set[int]().union(*(run.calls for run in history.runs))]
    assert [(one or 0) - more for one, more in zip(whole, twice, strict=True)] == [
        sum(call.tokens["input"] for call in calls),
        sum(call.tokens["output"] for call in calls),
        sum(round(call.cost * 10**10) for call in calls),
    ]


def figures_of(history: History, runs: Sequence[HistoryRun]) -> tuple[int, int]:
    calls = set[int]().union(*(run.calls for run in runs))
    return len(calls), sum(round(history.calls[number].cost * 10**10) for number in calls)


@pytest.mark.file_only
@pytest.mark.parametrize(
    "group", [*range(SHORT), *(pytest.param(group, marks=pytest.mark.long) for group in range(SHORT, GROUPS))]
)
def test_every_sum_is_that_of_the_calls_at_the_upstream(group: int) -> None:
    for seed in range(group, HISTORIES, GROUPS):
        play(seed, None)


@pytest.mark.server_only
@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)]
)
def test_on_a_server(seed: int) -> None:
    play(seed, os.environ["RUNCARD_CATALOG"])


def play(seed: int, place: str | None) -> None:
    with CatalogDatabase(place) as database:
        for store, host in enumerate("ab", 1):
            sql = "INSERT INTO stores (id, host, path) VALUES (?, ?, '/outputs')"
            database.query(sql, (store, host))
        history = History(database, seed)
        for _ in history.play(40):
            try:
                check(history, database)
            except AssertionError as error:
                raise AssertionError(f"history {seed}") from error
