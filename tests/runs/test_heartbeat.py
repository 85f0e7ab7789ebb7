"""A run that was killed ends with its last sign of life: its last event, its heartbeat, or its newest file."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from runcard.documents.run.events import ENVIRONMENT_OBSERVED, RUN_HEARTBEAT
from runcard.operations.runs.close import close
from runs.runs import read, verdict
from waiting import wait_until

TIMEOUT = 60.0

FAST = "from runcard.recording import heartbeat\nheartbeat.INTERVAL = 0.02\n"
WITH_BLOCK = "import runcard, time\nwith runcard.record('outputs'):\n    while True: time.sleep(0.01)\n"
UNTIL_A_BEAT = """
import threading, runcard
from runcard.recording import run as recording_run
written, write = threading.Event(), recording_run.write_heartbeat
def noted(*arguments):
    write(*arguments)
    written.set()
recording_run.write_heartbeat = noted
with runcard.record('outputs'):
    assert written.wait(60)
"""
COMMAND = (
    "import sys\nsys.argv = ['runcard', 'run', '--', 'sleep', '1000']\n"
    "from runcard.cli.main import main\nmain()\n"
)
FORK = """\
import os, sys, threading
from runcard.recording import heartbeat
at_fork = []
os.register_at_fork(before=lambda: at_fork.append([thread.name for thread in threading.enumerate()]))
# Hooks of this kind are called in reverse order: this one must come after runcard's own.
os.register_at_fork(before=heartbeat.HEARTBEAT.pause)
import runcard
with runcard.record('outputs', strict=True):
    names = [thread.name for thread in threading.enumerate()]
    if (pid := os.fork()) == 0:
        os._exit(0 if not any('heartbeat' in thread.name for thread in threading.enumerate()) else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    after = [thread.name for thread in threading.enumerate()]
assert 'runcard-heartbeat' in names, names
assert 'runcard-heartbeat' not in at_fork[0], at_fork
assert code == 0, code
assert 'runcard-heartbeat' in after, after
"""


def has_beaten(process: subprocess.Popen[bytes], store: Path) -> bool:
    """Whether the run in a store has a heartbeat after its last event, and will write no other event of its own accord."""
    assert process.poll() is None
    with contextlib.suppress(ValueError):  # what is being written
        for heartbeat in store.glob(".runcard/heartbeats/2*"):
            lines = (store / heartbeat.name / "experiment.jsonl").read_bytes().splitlines()
            last, beat = json.loads(lines[-1]), json.loads(heartbeat.read_bytes())
            return bool(last["event"] == ENVIRONMENT_OBSERVED and beat["timestamp"] > last["timestamp"])
    return False


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def killed_run(place: Path, program: str) -> Path:
    """A run whose process was killed after its first heartbeat."""
    process = subprocess.Popen([sys.executable, "-c", FAST + program], cwd=place)
    try:
        wait_until(lambda: has_beaten(process, place / "outputs"))
    finally:
        process.kill()
        process.wait()
    (run,) = (place / "outputs").glob("2*")
    return run


@pytest.fixture(scope="module")
def _killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return killed_run(tmp_path_factory.mktemp("killed"), WITH_BLOCK)


@pytest.fixture
def killed(_killed: Path, place: Path) -> Path:
    """A copy of a run that was killed, in which files with two names still are one file."""
    subprocess.run(["cp", "-a", _killed.parent, place / "outputs"], check=True)
    return place / "outputs" / _killed.name


@pytest.mark.parametrize("program", [WITH_BLOCK, COMMAND], ids=["record", "runcard run"])
def test_a_killed_run_ends_with_its_last_heartbeat(place: Path, program: str) -> None:
    run = killed_run(place, program)
    heartbeat = place / "outputs" / ".runcard" / "heartbeats" / run.name
    last = json.loads(heartbeat.read_bytes())["timestamp"]
    (result,) = close(run)
    assert (result.closed, result.status) == (True, "interrupted")
    generation = read(run)["generation"]
    assert generation["timestamp_end"] == last
    assert generation["duration_seconds"] > 0
    assert generation["estimated"] == ["/generation/timestamp_end", "/generation/duration_seconds"]
    assert verdict(run)["intact"]
    assert not heartbeat.exists()


def test_the_journal_has_one_heartbeat_and_only_of_a_run_that_was_killed(killed: Path) -> None:
    assert RUN_HEARTBEAT not in (killed / "experiment.jsonl").read_text()
    list(close(killed))
    lines = [json.loads(line) for line in (killed / "experiment.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines].count(RUN_HEARTBEAT) == 1
    document = read(killed)
    assert sum(chain["count"] for chain in document["event_chains"]) == len(lines)


def test_a_newer_file_counts_more_than_the_heartbeat(killed: Path) -> None:
    newest = time.time()  # later than the kill, so later than any heartbeat
    (killed / "result.txt").write_text("late\n")
    os.utime(killed / "result.txt", (newest, newest))
    list(close(killed))
    assert abs(moment(read(killed)["generation"]["timestamp_end"]) - newest) < 0.002


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"run_id": "run-of-another", "timestamp": "2099-01-01T00:00:00.000Z"}',
        b'{"run_id": "ID", "timestamp": "tomorrow"}',
        b'{"run_id": "ID", "timestamp": "2099-99-01T00:00:00.000Z"}',
        b'{"run_id": "ID", "timestamp": 7}',
        b'{"run_id": "ID", "timestamp": "2099-01-01T00:00:00.000Z"}',
    ],
)
def test_a_damaged_heartbeat_counts_for_nothing(killed: Path, content: bytes) -> None:
    heartbeat = killed.parent / ".runcard" / "heartbeats" / killed.name
    heartbeat.write_bytes(content.replace(b"ID", read(killed)["generation"]["run_id"].encode()))
    list(close(killed))
    assert RUN_HEARTBEAT not in (killed / "experiment.jsonl").read_text()
    assert not read(killed)["generation"]["timestamp_end"].startswith("2099")
    assert verdict(killed)["intact"]


def test_a_link_in_the_place_of_the_heartbeats_is_not_followed(place: Path) -> None:
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    own = place / "outputs" / ".runcard"
    own.mkdir(parents=True)
    (own / "heartbeats").symlink_to(elsewhere)
    subprocess.run([sys.executable, "-c", FAST + UNTIL_A_BEAT], cwd=place, check=True, timeout=TIMEOUT)
    (run,) = (place / "outputs").glob("2*")
    assert read(run)["generation"]["status"] == "completed"
    assert list(elsewhere.iterdir()) == []


def test_closing_leaves_no_heartbeat_behind(place: Path) -> None:
    subprocess.run([sys.executable, "-c", FAST + UNTIL_A_BEAT], cwd=place, check=True, timeout=TIMEOUT)
    assert list((place / "outputs" / ".runcard" / "heartbeats").iterdir()) == []


def test_the_thread_is_gone_at_a_fork_and_in_the_child(place: Path) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", FORK], cwd=place, check=True, timeout=TIMEOUT)


def test_a_program_that_forks_all_the_time_has_a_heartbeat_as_well(place: Path) -> None:
    program = FAST.replace("0.02", "0.1") + (
        "import os, runcard\nwith runcard.record('outputs'):\n    while True:\n"
        "        if (pid := os.fork()) == 0: os._exit(0)\n        os.waitpid(pid, 0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd=place)
    try:
        wait_until(lambda: process.poll() is not None or list(place.glob("outputs/.runcard/heartbeats/2*")))
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_an_open_run_does_not_keep_the_program_alive(place: Path) -> None:
    program = "import runcard\nrun = runcard.record('outputs').__enter__()\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=place, check=False, timeout=TIMEOUT)
    assert done.returncode == 0


def test_a_termination_signal_is_no_matter_of_heartbeats(place: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", FAST + WITH_BLOCK], cwd=place)
    wait_until(lambda: has_beaten(process, place / "outputs"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT) == -signal.SIGTERM
    (run,) = (place / "outputs").glob("2*")
    assert (read(run)["generation"]["status"], read(run)["generation"]["estimated"]) == ("interrupted", [])
