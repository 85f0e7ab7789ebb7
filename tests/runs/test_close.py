"""`runcard close`: runs whose process is gone are closed, and all others left alone."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

import runcard
from conftest import Cli
from runs.runs import copy_store, read, record_one, verdict
from waiting import wait_until

DIE = """
import os, sys, runcard
for _ in range(2):
    run = runcard.record(sys.argv[1], strict=True).__enter__()
    run.log("page.read", number=1)
    (run.path / "half.txt").write_text("half")
os._exit(9)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a closed run whose configuration says "running", and two whose process is gone."""
    outputs = tmp_path_factory.mktemp("close") / "outputs"
    record_one(outputs, config={"state": "running"})
    subprocess.run([sys.executable, "-c", DIE, outputs], check=False, timeout=60)
    return outputs


@pytest.fixture
def store(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return copy_store(made, tmp_path / "outputs")


def by_status(store: Path, status: str) -> list[Path]:
    runs = sorted(path for path in store.iterdir() if path.name != ".runcard")
    return [run for run in runs if read(run)["generation"]["status"] == status]


def test_a_named_run_is_closed_and_the_others_stay(cli: Cli, store: Path) -> None:
    first, second = by_status(store, "running")
    done = cli("close", first)
    assert (done.code, done.out, done.err) == (0, f"{first}: closed as interrupted\n", "")
    assert by_status(store, "running") == [second]
    generation = read(first)["generation"]
    assert generation["estimated"] == ["/generation/timestamp_end", "/generation/duration_seconds"]
    assert verdict(first)["findings"] == []


def last_event(run: Path) -> datetime:
    lines = (run / "experiment.jsonl").read_bytes().splitlines()
    return datetime.fromisoformat(json.loads(lines[-1])["timestamp"])


def test_the_estimated_end_is_that_of_the_newest_file(cli: Cli, store: Path) -> None:
    first, second = by_status(store, "running")
    later = last_event(first) + timedelta(seconds=0.01)
    wait_until(lambda: datetime.now(UTC) > later)
    for name in ("metadata.json", "experiment.jsonl"):  # closing writes them: they say nothing
        os.utime(first / name)
    os.utime(first / "half.txt", (later.timestamp(), later.timestamp()))
    future = time.time() + 3600
    os.utime(second / "half.txt", (future, future))
    assert cli("close").code == 0
    ends = [datetime.fromisoformat(read(run)["generation"]["timestamp_end"]) for run in (first, second)]
    assert abs(ends[0] - later) < timedelta(seconds=0.002)
    assert ends[1] == last_event(second)
    assert read(first)["generation"]["duration_seconds"] >= 0.01
    assert verdict(first)["findings"] == verdict(second)["findings"] == []


def test_an_estimated_end_before_the_last_event_is_forged(cli: Cli, store: Path) -> None:
    first, _ = by_status(store, "running")
    assert cli("close", first).code == 0
    document = read(first)
    document["generation"] |= {
        "timestamp_end": document["generation"]["timestamp_start"],
        "duration_seconds": 0,
    }
    (first / "metadata.json").write_text(json.dumps(document))
    messages = [finding["message"] for finding in verdict(first)["findings"]]
    assert any(message.startswith("/generation/timestamp_end: the journal says") for message in messages)


def test_all_of_a_store_are_closed_and_only_those_are_told(cli: Cli, store: Path) -> None:
    dead = by_status(store, "running")
    done = cli("close")
    assert (done.code, done.err) == (0, "")
    assert done.out == "".join(f"{run}: closed as interrupted\n" for run in dead)
    assert verdict(store)["findings"] == []
    again = cli("close", "--outputs", store)
    assert (again.code, again.out, again.err) == (0, f"{store}: no open run\n", "")


def test_for_programs_there_is_a_list(cli: Cli, store: Path) -> None:
    dead = by_status(store, "running")
    done = cli("close", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {
        "runs": [{"path": str(run), "closed": True, "status": "interrupted", "reason": None} for run in dead]
    }
    assert json.loads(cli("close", "--json").out) == {"runs": []}


def test_a_run_at_work_is_left_alone(cli: Cli, store: Path) -> None:
    with runcard.record(store, strict=True) as run:  # closes the two that were left
        for arguments in ([], [run.path]):
            done = cli("close", *arguments)
            assert (done.code, done.err) == (0, "")
            assert done.out == f"{run.path}: running, left alone: its process is running\n"
        (said,) = json.loads(cli("close", "--json", run.path).out)["runs"]
        assert (said["closed"], said["status"], said["reason"]) == (
            False,
            "running",
            "its process is running",
        )
        assert read(run.path)["generation"]["status"] == "running"
    assert read(run.path)["generation"]["status"] == "completed"
    assert by_status(store, "running") == []


def test_a_run_of_another_host_is_left_alone(cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, host = by_status(store, "running")[0], os.uname().nodename
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="far-away"))
    reason = f"it was recorded on another host, {host}"
    for arguments in ([run], []):
        done = cli("close", *arguments)
        assert done.code == 2
        assert f"{run}: running, left alone: {reason}\n" in done.out
        assert done.err.startswith(f"Warning: {run} is not closed: {reason}\n")


def test_a_run_that_is_not_there_is_told_and_the_others_are_closed(cli: Cli, store: Path) -> None:
    first, _ = by_status(store, "running")
    done = cli("close", "--json", store / "nowhere", first)
    assert done.code == 1
    assert [one["closed"] for one in json.loads(done.out)["runs"]] == [False, True]
    assert done.err.startswith(f"Error: {store / 'nowhere'} does not exist\n")


def test_a_run_that_is_closed_already_stays_as_it_is(cli: Cli, store: Path) -> None:
    (run,) = by_status(store, "completed")
    before = (run / "metadata.json").read_bytes()
    done = cli("close", run)
    assert (done.code, done.out) == (0, f"{run}: completed, left alone: it is closed already\n")
    assert (run / "metadata.json").read_bytes() == before


def test_what_is_no_run_is_an_error_and_the_others_are_closed(cli: Cli, store: Path, tmp_path: Path) -> None:
    (tmp_path / "no-run").mkdir()
    first, second = by_status(store, "running")
    done = cli("close", first, tmp_path / "no-run", second)
    assert done.code == 1
    assert done.out == f"{first}: closed as interrupted\n{second}: closed as interrupted\n"
    assert done.err.startswith(f"Error: {tmp_path / 'no-run'} is not a run\n")
    said = json.loads(cli("close", "--json", first, tmp_path / "no-run").out)["runs"]
    assert [(one["closed"], one["status"]) for one in said] == [(False, "interrupted"), (False, None)]
    assert said[1]["reason"] == f"{tmp_path / 'no-run'} is not a run"


def test_a_store_that_does_not_exist_is_an_error(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("close")
    assert (done.code, done.out) == (1, "")
    assert done.err == "Error: outputs does not exist\n  hint: name the store with --outputs, or a RUN\n"


def test_the_next_recording_closes_what_was_left(store: Path) -> None:
    with runcard.record(store, strict=True) as run:
        assert by_status(store, "running") == [run.path]
    assert len(by_status(store, "interrupted")) == 2


def test_validate_says_that_a_run_is_interrupted(cli: Cli, store: Path) -> None:
    run = by_status(store, "running")[0]
    done = cli("validate", run)
    assert done.code == 2
    assert "/generation/status: the run is interrupted: its process is gone [status.running]" in done.err
    cli("close", run)
    assert cli("validate", run).code == 0


def test_validate_says_no_more_than_it_knows(cli: Cli, store: Path, tmp_path: Path) -> None:
    with runcard.record(store, strict=True) as run:
        assert "/generation/status: the run is not closed [status.running]" in cli("validate", run.path).err
        loose = tmp_path / "loose.json"
        loose.write_bytes((run.path / "metadata.json").read_bytes())
    assert "the run is not closed [status.running]" in cli("validate", loose).err
    document = json.loads(loose.read_bytes())
    document["generation"]["process"]["host"] = "far-away"
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "metadata.json").write_text(json.dumps(document))
    done = cli("validate", tmp_path / "far")
    assert "the run is not closed: it runs on another host" in done.err
