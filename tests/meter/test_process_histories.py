"""Real processes, one in the other: every command says what the upstream knows, whoever recorded the calls."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from starlette.testclient import TestClient

from conftest import Cli
from mcp_server.answers import Tools
from meter.records import TIMEOUT
from meter.scripted_upstream import ScriptedUpstream, Step
from meter.vendor_replies import Json, SentCall
from runcard.local_http.listener import HttpListener, listen
from runcard.web.app import make_app

HISTORIES = int(os.environ.get("RUNCARD_TEST_PROCESS_HISTORIES", "12"))
PROGRAM = Path(__file__).with_name("history_program.py")
# Dollars for a million tokens: input, output, cache read, and written for 5 minutes and for an hour.
MODELS = {
    "claude-sonnet-4-5": ("3", "15", "0.3", "3.75", "6"),
    "claude-haiku-4-5": ("1", "5", "0.1", "1.25", "2"),
}
TIMES = ("day", "week", "month")
DIMENSIONS = (
    *("model", "provider", "experiment", "branch", "role", "agent", "session", "tool", "project", "host"),
    *("label.team", "config.seed", *TIMES),
)
CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")


@pytest.fixture
def listener() -> Iterator[HttpListener]:
    opened = listen("127.0.0.1", 0)
    yield opened
    opened.listening.close()


def plan(random: Random, depth: int, *, in_run: bool, is_metered: bool) -> list[Any]:
    """Steps whose calls somebody sees: a relay around them, their own run, or a session file."""
    kinds = ["agent", "record", "run", "both"] if depth else ["agent"]
    kinds += ["call", "call"] if is_metered else []
    kinds += ["reported", "nameless"] if in_run else []
    kinds += ["watched"] if in_run and random.random() < 0.3 else []
    steps: list[Any] = []
    for _ in range(random.randrange(1, 4)):
        kind, model = random.choice(kinds), random.choice(list(MODELS))
        if kind == "record":
            own = plan(random, depth - 1, in_run=True, is_metered=is_metered)
            steps.append([kind, random.choice([None, "x", "y"]), own])
        elif kind == "run":
            without = random.random() < 0.3
            options = [*(["--no-meter"] if without else []), *random.choice([[], ["--experiment", "x"]])]
            own = plan(random, depth - 1, in_run=False, is_metered=is_metered or not without)
            steps.append([kind, [*options, "--label", f"team={random.choice('ab')}"], own])
        elif kind == "both":
            steps.append(
                [kind, *(plan(random, depth - 1, in_run=False, is_metered=is_metered) for _ in range(2))]
            )
        else:
            steps.append([kind, model, *([f"session-{random.randrange(3)}"] if kind == "agent" else [])])
    return steps


def figures(calls: list[SentCall]) -> tuple[int, Counter[str], Decimal]:
    """Calls, tokens and dollars of what the upstream sent."""
    tokens, cost = Counter[str](), Decimal(0)
    for call in calls:
        counts = call.tokens
        cached = [counts[name] for name in ("cache_read", "cache_write_5m", "cache_write_1h")]
        fresh = counts["input"] - sum(cached)
        tokens.update({"input": fresh, "output": counts["output"], "cache_read": cached[0]})
        tokens.update({"cache_write": cached[1] + cached[2], "reasoning": counts["reasoning"]})
        rates = map(Decimal, MODELS[str(call.model)])
        parts = zip((fresh, counts["output"], *cached), rates, strict=True)
        cost += sum((count * rate for count, rate in parts), Decimal(0)) / 1_000_000
    return len(calls), tokens, cost


class Answers:
    """What every command says."""

    def __init__(self, cli: Cli, page: TestClient) -> None:
        self._cli, self._page = cli, page

    def costs(self, *arguments: str) -> Json:
        done = self._cli("costs", "--json", *arguments)
        assert done.code in {0, 2}, done.err
        return dict(json.loads(done.out))

    def check(self, calls: list[SentCall]) -> None:
        count, tokens, cost = figures(calls)
        for by in DIMENSIONS:
            report = self.costs("--by", by)
            self._check_totals(report["totals"], count, tokens, cost)
            groups = report["groups"]
            assert sum(group["known_calls"] for group in groups) == count
            assert sum(Decimal(str(group["known_cost_usd"] or 0)) for group in groups) == cost, by
        models = self._page.get("/api/costs", params={"by": "model"}).json()
        by_model = {group["key"]["model"]: group["known_calls"] for group in models["groups"]}
        assert by_model == Counter(call.model for call in calls)
        assert Tools()("cost_report", by=["model"])["totals"] == models["totals"]
        self._check_tables(count, cost)
        self._check_budget(cost)
        self._check_experiments()

    @staticmethod
    def _check_totals(totals: Json, count: int, tokens: Counter[str], cost: Decimal) -> None:
        assert (totals["known_calls"], Decimal(str(totals["known_cost_usd"] or 0))) == (count, cost)
        known = totals["known_tokens"]
        names = CLASSES if known["reasoning"] == tokens["reasoning"] else CLASSES[:-1]  # not all say it
        assert {name: known[name] for name in names} == {name: tokens[name] for name in names}

    def _check_tables(self, count: int, cost: Decimal) -> None:
        sql = "SELECT sum(calls), sum(known_cost_usd) FROM v1_counted_usage"
        ((calls, dollars),) = json.loads(self._cli("query", sql, "--json").out)["rows"]
        assert (calls or 0, round(dollars or 0, 8)) == (count, float(round(cost, 8)))
        import pyarrow.parquet  # noqa: PLC0415 - takes long to load

        path = Path("counted.parquet")
        assert self._cli("export", "counted_usage", "--to", "parquet", "-o", str(path)).code in {0, 2}
        rows = pyarrow.parquet.read_table(path).to_pylist()
        path.unlink()
        assert sum(row["calls"] for row in rows) == count
        assert sum((Decimal(row["known_cost_usd"]) for row in rows), Decimal(0)) == cost

    def _check_budget(self, cost: Decimal) -> None:
        for amount, code in ((cost + Decimal("0.000001"), 2), (cost - Decimal("0.000001"), 1)):
            if cost:
                assert self._cli("costs", "--budget", f"{amount:f}", "--quiet").code == code

    def _check_experiments(self) -> None:
        rows = json.loads(self._cli("ls", "experiments", "--json").out)["records"]
        for row in rows:
            shown = json.loads(self._cli("experiment", "show", row["name"], "--json").out)
            assert (shown["runs"], shown["cost_usd"]["known"] or 0) == (row["runs"], row["known_cost"] or 0)


def play(steps: list[Any], folder: Path, upstream: ScriptedUpstream) -> None:
    env = os.environ | {"ANTHROPIC_BASE_URL": upstream.url}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), json.dumps(steps)],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def rearrange(random: Random, cli: Cli) -> None:
    """Archive some runs, restore some, copy some to another store."""
    for run in sorted(Path("outputs").glob("20*")):
        choice = random.random()
        if choice < 0.3:
            shutil.copytree(run, Path("copies") / run.name, dirs_exist_ok=True)
        if choice < 0.15 or choice > 0.7:
            assert cli("archive", str(run)).code == 0
        if choice > 0.9:
            assert cli("restore", run.name).code == 0
    if Path("copies").exists():
        assert cli("index", "copies").code == 0


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, HISTORIES))]
)
def test_every_command_says_what_the_upstream_sent(
    upstream: ScriptedUpstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
    listener: HttpListener,
    seed: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    random = Random(seed)  # noqa: S311
    answers = Answers(cli, TestClient(make_app(listener), base_url=listener.url))
    for _ in range(2):
        upstream.plan(*(Step(status=random.choice([429, 529])) for _ in range(random.randrange(2))))
        play(plan(random, 2, in_run=False, is_metered=False), tmp_path, upstream)
    imported = cli("import", "claude-code", "--all")
    assert imported.code in {0, 2}, imported.err
    answered = [call for call in upstream.calls if call.status == 200]
    answers.check(answered)
    rearrange(random, cli)
    answers.check(answered)
    assert cli("index", "--rebuild").code == 0
    answers.check(answered)
