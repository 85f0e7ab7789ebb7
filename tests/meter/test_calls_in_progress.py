"""A call in progress: while the run is open, and after it was killed, its totals are lower bounds."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from meter.records import RUNCARD, TIMEOUT, MeteredRun, run_metered
from meter.scripted_upstream import ScriptedUpstream, Step
from meter.test_sdk_calls import sdk_environment
from waiting import wait_until

REQUESTS = Path(__file__).with_name("plain_requests.py")
STARTED = "metering.started"


def command(*names: str) -> list[str]:
    return [sys.executable, str(REQUESTS), *names]


def names_of(journal: Path) -> list[str]:
    return [
        json.loads(line)["event"]
        for line in journal.read_bytes().splitlines(keepends=True)
        if line[-1:] == b"\n"
    ]


@contextmanager
def running(folder: Path, url: str, *names: str) -> Iterator[Path]:
    """A run whose call is in progress: its journal. It is killed at the end."""
    env = sdk_environment(folder, url)
    process = subprocess.Popen(
        [*RUNCARD, "run", "--", *command(*names)], env=env, cwd=folder / "work", stdout=subprocess.PIPE
    )
    try:
        store = folder / "records"
        wait_until(lambda: [*store.glob("20*/experiment.jsonl")])
        (journal,) = store.glob("20*/experiment.jsonl")
        wait_until(lambda: STARTED in names_of(journal), STARTED)
        yield journal
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=TIMEOUT)


def asked(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [*RUNCARD, *words],
        env=sdk_environment(folder, ""),
        cwd=folder / "work",
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode in {0, 2}, done.stderr
    return done.stdout


def totals(folder: Path, *words: str) -> dict[str, Any]:
    return dict(json.loads(asked(folder, "costs", *words, "--json"))["totals"])


@pytest.mark.parametrize("name", ["call", "stream"])
def test_the_first_call_in_progress_makes_the_totals_lower_bounds(
    name: str, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    env = sdk_environment(tmp_path, upstream.url)
    shutil.move(run_metered(command("call"), env, tmp_path / "work").path, tmp_path / "records/earlier")
    cost = totals(tmp_path)["cost_usd"]
    shown = f"${cost:.6f}"
    upstream.plan(Step(fault="stall"))
    with running(tmp_path, upstream.url, name) as journal:
        assert "model.called" not in names_of(journal)
        found = totals(tmp_path)
        assert (found["at_least"], found["cost_usd"], found["known_cost_usd"]) == (True, None, cost)
        assert f"≥ {shown}" in asked(tmp_path, "costs")
        rows = json.loads(asked(tmp_path, "ls", "--columns", "incomplete", "--json"))["records"]
        assert [row["incomplete"] for row in rows] == [True, False]
        assert "Cost so far" in (screen := asked(tmp_path, "show", journal.parent.name))
        assert "no model calls recorded" not in screen
    asked(tmp_path, "close")
    found = totals(tmp_path)
    assert (found["at_least"], found["cost_usd"], found["known_cost_usd"]) == (True, None, cost)
    run = MeteredRun(0, "", "", journal.parent)
    assert run.calls == []
    (reason,) = run.document["token_usage"]["incomplete"]
    assert reason["reason"].startswith("the end of the run is not recorded")
    assert json.loads(asked(tmp_path, "verify", str(journal.parent), "--json"))["intact"] is True


def test_only_the_first_call_says_that_it_begins(upstream: ScriptedUpstream, tmp_path: Path) -> None:
    run = run_metered(command("call", "call"), sdk_environment(tmp_path, upstream.url), tmp_path / "work")
    names = [event["event"] for event in run.events if event["event"] in {STARTED, "model.called"}]
    assert names == [STARTED, "model.called", "model.called"]
    assert run.document["token_usage"].get("incomplete") is None
    assert totals(tmp_path)["at_least"] is False


def test_requests_that_are_no_calls_do_not_say_that_one_begins(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    run = run_metered(command("no-calls"), sdk_environment(tmp_path, upstream.url), tmp_path / "work")
    assert STARTED not in [event["event"] for event in run.events]
