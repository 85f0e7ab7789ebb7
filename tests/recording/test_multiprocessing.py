"""A run that is handed to other processes: each of them is another writer."""

import concurrent.futures
import copy
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.accounting import Prices
from runs.runs import read, verdict

METHODS = multiprocessing.get_all_start_methods()
CONTEXTS: dict[str, Any] = {method: multiprocessing.get_context(method) for method in METHODS}


@pytest.fixture(scope="module", autouse=True)
def _fork_server() -> Iterator[None]:
    """It is started once for all processes, and ends with this one or when it is stopped."""
    forkserver.ensure_running()
    yield
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


def events(run: Path, name: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "experiment.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == name]


def work(run: runcard.Run, number: int = 0) -> int:
    """What a worker process does; in a module, so that it can be found there."""
    run.add_usage({"input": 100, "output": 10}, cost=0.5)
    run.log("worked", number=number, current=str(runcard.current_run() and "there"))
    return os.getpid()


def work_inside(run: runcard.Run) -> None:
    with run:
        current = runcard.current_run()
        assert current is not None
        current.log("inside", same=current is run)
    run.log("still open")


@pytest.mark.parametrize("method", METHODS)
def test_a_process_that_gets_a_run_adds_to_it(outputs: Path, method: str) -> None:
    with runcard.record(outputs, strict=True) as run:
        process = CONTEXTS[method].Process(target=work, args=(run,))
        process.start()
        process.join()
        assert process.exitcode == 0
    document = read(run.path)
    assert document["costs"]["total_cost_usd"] == 0.5
    assert len(document["event_chains"]) == 2
    assert verdict(run.path)["intact"]


@pytest.mark.parametrize("method", METHODS)
def test_the_tasks_of_a_worker_share_one_journal(outputs: Path, method: str) -> None:
    context = CONTEXTS[method]
    with (
        runcard.record(outputs, strict=True) as run,
        concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool,
    ):
        workers = set(pool.map(work, [run] * 8, range(8)))
    assert sorted(event["payload"]["number"] for event in events(run.path, "worked")) == list(range(8))
    assert len(read(run.path)["event_chains"]) == 1 + len(workers)


@pytest.mark.parametrize("method", METHODS)
def test_a_block_in_the_child_makes_the_run_current_there_and_does_not_close_it(
    outputs: Path, method: str
) -> None:
    with runcard.record(outputs, strict=True) as run:
        process = CONTEXTS[method].Process(target=work_inside, args=(run,))
        process.start()
        process.join()
        assert process.exitcode == 0
        assert read(run.path)["generation"]["status"] == "running"
    assert [event["payload"] for event in events(run.path, "inside")] == [{"same": True}]
    assert events(run.path, "still open")


def test_in_its_own_process_a_copy_is_the_same_run(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        assert pickle.loads(pickle.dumps(run)) is run  # noqa: S301
        assert copy.copy(run) is copy.deepcopy(run) is run


LOADS = """
import pickle, sys, warnings
import runcard
from runcard.errors import UsageError
run = pickle.loads(sys.stdin.buffer.read())
print(run.id, run.path)
with warnings.catch_warnings(record=True, action="always") as caught:
    run.log("late")
for warning in caught:
    print(warning.category.__name__, warning.message)
try:
    run.finish()
except UsageError as error:
    print(error)
"""


def loaded(run: bytes, place: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADS], input=run, cwd=place, capture_output=True, check=True
    )
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


def test_another_process_cannot_finish_the_run(outputs: Path, tmp_path: Path) -> None:
    with runcard.record(outputs) as run:
        assert loaded(pickle.dumps(run), tmp_path) == [
            f"{run.id} {run.path}",
            "another process started this run",
        ]
    assert len(events(run.path, "late")) == 1


def test_using_a_run_that_is_closed_is_a_warning_that_says_so(outputs: Path, tmp_path: Path) -> None:
    with runcard.record(outputs) as run:
        pickled = pickle.dumps(run)
    for data in (pickled, pickle.dumps(run)):
        _, warning, _ = loaded(data, tmp_path)
        assert warning == f"RuncardWarning the run in {run.path} is closed: this call was not recorded"
    assert verdict(run.path)["intact"]


def test_the_options_of_the_recording_go_along(outputs: Path, tmp_path: Path) -> None:
    model = {"model": "my-model", "usd_per_million": {"input": 1000, "output": 1000}}
    table = {"source": "ours", "as_of": "2026-11-01", "providers": {"me": {"models": [model]}}}
    (tmp_path / "prices.json").write_text(json.dumps(table))
    own = Prices.with_file(tmp_path / "prices.json")
    with runcard.record(outputs, strict=True, prices=own, keep_secrets=True) as run:
        data = pickle.dumps(run)
        code = (
            "import pickle, sys\nrun = pickle.loads(sys.stdin.buffer.read())\n"
            "run.add_usage({'input': 1000, 'output': 0, 'model': 'my-model'}, provider='me')\n"
            "run.log('kept', password='xK9mQ2vLp7wZt4rB')\n"
        )
        subprocess.run([sys.executable, "-c", code], input=data, cwd=tmp_path, check=True)
    assert read(run.path)["costs"]["total_cost_usd"] == 1
    assert events(run.path, "kept")[0]["payload"] == {"password": "xK9mQ2vLp7wZt4rB"}


def test_a_run_that_is_not_recorded_can_be_handed_on_as_well(here: Path) -> None:
    (here / "taken").write_text("a file")
    with pytest.warns(runcard.RuncardWarning, match="not recorded"), runcard.record(here / "taken") as run:
        assert loaded(pickle.dumps(run), here) == [f"{run.id} {run.path}", "another process started this run"]


def test_a_worker_that_joins_many_runs_keeps_few_files_open(outputs: Path, tmp_path: Path) -> None:
    runs = [runcard.start(outputs, strict=True) for _ in range(20)]
    code = """
import os, pickle, sys
for data in sys.argv[1:]:
    pickle.loads(bytes.fromhex(data)).log("joined")
print(len(os.listdir("/proc/self/fd")))
"""
    command = [sys.executable, "-c", code, *(pickle.dumps(run).hex() for run in runs)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    for run in reversed(runs):
        run.finish()
        assert len(events(run.path, "joined")) == 1
    assert int(done.stdout) < 16
