"""Many at once, clocks that jump, processes that are gone or only seem to be: runs are told apart, and so are the dead."""

import asyncio
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakSet

import pytest

import runcard
from runcard.observe.process import this_process
from runcard.operations.checks.show import show_run
from runcard.operations.runs.close import close
from runcard.recording import run as recording_run
from runs.harness import (
    assert_closed,
    assert_one_story,
    assert_tidy,
    close_all,
    document_of,
    environment,
    findings,
    harness,
    in_memory,
    lines_of,
    python,
    runs_of,
    started,
    status_of,
)
from waiting import wait_until


def check_crowd(store: Path, count: int) -> None:
    """So many runs, each with its own story: the events that name it say the same as the file it wrote."""
    assert_closed(store, runs=count)
    assert_tidy(store)
    for run in runs_of(store):
        assert_one_story(run)
        spoken = [line["payload"]["me"] for line in lines_of(run) if line["event"] == "spoke"]
        assert spoken == [(run / "me").read_text()] * 3
    assert len({(run / "me").read_text() for run in runs_of(store)}) == count


def speak(run: runcard.Run, me: str) -> Iterator[None]:
    """Say three times who one is, with time for others in between."""
    for _ in range(3):
        run.log("spoke", me=me)
        yield
    (run.path / "me").write_text(me)


@pytest.mark.long
def test_fifty_processes_in_one_second_get_fifty_directories(place: Path) -> None:
    (report,) = harness("runs.harness_crowd", place / "outputs", "50")
    assert report["codes"] == [0] * 50
    assert report["seconds"] < 30
    check_crowd(place / "outputs", 50)
    assert len({run.name[:17] for run in runs_of(place / "outputs")}) < 50  # of the same second


@pytest.mark.long
def test_twenty_processes_with_many_runs_each_lose_none(place: Path) -> None:
    (report,) = harness("runs.harness_crowd", place / "outputs", "20", "5")
    assert report["codes"] == [0] * 20
    check_crowd(place / "outputs", 100)


def test_twenty_threads_record_twenty_runs(place: Path) -> None:
    barrier = threading.Barrier(20)

    def work(number: int) -> None:
        barrier.wait()
        with runcard.record(place / "outputs", strict=True) as run:
            for _ in speak(run, f"thread {number}"):
                current = runcard.current_run()
                assert current is run

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(work, range(20)))
    check_crowd(place / "outputs", 20)


def test_twenty_tasks_record_twenty_runs(place: Path) -> None:
    async def work(number: int) -> None:
        async with runcard.record(place / "outputs", strict=True) as run:
            for _ in speak(run, f"task {number}"):
                assert runcard.current_run() is run
                await asyncio.sleep(0)

    async def all_of_them() -> None:
        await asyncio.gather(*(work(number) for number in range(20)))

    asyncio.run(all_of_them())
    check_crowd(place / "outputs", 20)
    assert all(document_of(run)["relations"] == [] for run in runs_of(place / "outputs"))


def test_twenty_threads_share_one_run_and_its_lines_stand_in_the_order_of_time(place: Path) -> None:
    def work(number: int) -> None:
        for _ in range(20):
            run.log("said", number=number)

    with runcard.record(place / "outputs", strict=True) as run, ThreadPoolExecutor(20) as pool:
        list(pool.map(work, range(20)))
    assert_one_story(run.path)
    assert sum(line["event"] == "said" for line in lines_of(run.path)) == 400


# A clock that jumps

CLOCK = """
import os, signal, sys, time
real, offset = time.time, 0.0
time.time = lambda: real() + offset
time.time_ns = lambda: int(time.time() * 1e9)
import runcard
with runcard.record(sys.argv[1], strict=True) as run:
    run.log("before")
    offset = -3600.0
    run.log("after")
    if os.fork() == 0:
        run.log("child")
        os._exit(0)
    os.wait()
    if sys.argv[2] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
with runcard.record(sys.argv[1], strict=True) as later:
    pass
print(run.path, later.path)
"""


@pytest.mark.parametrize("end", ["lives", "dies"])
def test_a_clock_that_is_set_back_makes_nothing_negative(place: Path, end: str) -> None:
    python(CLOCK, place / "outputs", end)
    close_all(*runs_of(place / "outputs"))
    assert_closed(place / "outputs", runs=1 + (end == "lives"))
    for run in runs_of(place / "outputs"):
        generation = document_of(run)["generation"]
        begun, ended = (datetime.fromisoformat(generation[f"timestamp_{name}"]) for name in ("start", "end"))
        assert 0 <= generation["duration_seconds"] < 60
        assert 0 <= (ended - begun).total_seconds() < 60
        assert_one_story(run)
        assert [line["elapsed"] for line in lines_of(run) if line["elapsed"] is not None] == sorted(
            line["elapsed"] for line in lines_of(run) if line["elapsed"] is not None
        )


JOINS = """
import sys, time
real = time.time
time.time = lambda: real() + float(sys.argv[1])
import runcard
runcard.current_run().log("joined")
"""


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_child_whose_clock_is_wrong_does_not_make_the_run_end_before_it_began(
    place: Path, hours: int
) -> None:
    with runcard.record(place / "outputs", strict=True) as run:
        assert python(JOINS, str(3600 * hours), **run.environ).returncode == 0
    assert_closed(place / "outputs", runs=1)
    assert_one_story(run.path)
    assert document_of(run.path)["generation"]["duration_seconds"] < 60


# Who is alive

AT_WORK = """
import contextlib, sys
import runcard
with contextlib.ExitStack() as stack:
    for store in sys.argv[1:]:
        run = stack.enter_context(runcard.record(store, strict=True))
        print(run.path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    """A store with an open run whose recorder was killed."""
    with in_memory() as place:
        with started(AT_WORK, place / "outputs") as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.kill()
        yield place / "outputs"


@pytest.fixture
def dead(place: Path, template: Path) -> Path:
    """An open run whose recorder was killed."""
    subprocess.run(["cp", "-a", template, place], check=True)
    (run,) = runs_of(place / "outputs")
    return run


def rewrite(run: Path, **process: Any) -> None:
    """Let an open run say something else about its process, in its document and in its journal."""
    for name in ("metadata.json", "experiment.jsonl"):
        text = (run / name).read_text()
        for key, value in process.items():
            old = document_of(run)["generation"]["process"][key]
            text = text.replace(f'"{key}": {json.dumps(old)}', f'"{key}": {json.dumps(value)}')
            text = text.replace(f'"{key}":{json.dumps(old)}', f'"{key}":{json.dumps(value)}')
        (run / f"{name}.new").write_text(text)
    for name in ("metadata.json", "experiment.jsonl"):
        os.replace(run / f"{name}.new", run / name)
    (run.parent / ".runcard" / "open" / run.name).unlink()
    os.link(run / "experiment.jsonl", run.parent / ".runcard" / "open" / run.name)


def test_a_pid_that_is_used_again_does_not_look_alive(dead: Path) -> None:
    rewrite(dead, pid=os.getpid())  # it started at another time than this process
    assert status_of(dead) == "interrupted"
    (closing,) = close_all(dead)
    assert closing.closed
    assert closing.status == "interrupted"


@pytest.mark.parametrize("alive", [True, False])
def test_without_a_lock_the_process_decides(dead: Path, alive: bool) -> None:  # noqa: FBT001
    """As on a file system that knows none: here the journal is gone, and with it the lock."""
    if alive:
        rewrite(dead, **{key: this_process()[key] for key in ("pid", "start_ticks", "started")})
    (dead / "experiment.jsonl").unlink()
    (dead.parent / ".runcard" / "open" / dead.name).unlink()
    assert status_of(dead) == ("running" if alive else "interrupted")
    (closing,) = close_all(dead)
    assert closing.closed is not alive
    assert (closing.reason is None) is not alive


def test_a_run_of_another_host_stays_running_with_a_reason(dead: Path) -> None:
    rewrite(dead, host="elsewhere")
    assert status_of(dead) == "running"
    (closing,) = close_all(dead)
    assert not closing.closed
    assert closing.status == "running"
    assert closing.reason is not None
    assert "elsewhere" in closing.reason
    (dead / "metadata.json").write_text("the user's own")  # its journal tells the host as well
    (closing,) = close_all(dead)
    assert not closing.closed


def test_a_run_whose_recorder_lives_is_left_alone_by_all(place: Path) -> None:
    store = place / "outputs"
    with started(AT_WORK, store) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        run = Path(process.stdout.readline().strip())
        await_environment(run)
        before = snapshot(run)
        (closing,) = close_all(run)
        assert (closing.status, closing.closed) == ("running", False)
        assert [(one.status, one.closed) for one in close(store=store)] == [("running", False)]
        assert show_run(run).status == "running"
        assert [found.split()[0] for found in findings(run)] == ["open"]
        with runcard.record(store, strict=True) as other:
            pass
        assert snapshot(run) == before
        process.stdin.close()
        assert process.wait() == 0
    assert status_of(run) == "completed"
    assert_closed(store, runs=2)
    assert document_of(other.path)["generation"]["status"] == "completed"


def test_a_run_that_is_killed_keeps_what_is_known_of_its_environment(place: Path) -> None:
    with started(AT_WORK, place / "outputs") as process:
        assert process.stdout is not None
        run = Path(process.stdout.readline().strip())
        await_environment(run)
        process.kill()
    close_all(run)
    document = document_of(run)
    assert document["generation"]["status"] == "interrupted"
    assert document["environment"]["python_version"] == platform.python_version()


def remove(journal: Path) -> None:
    journal.unlink()


def replace(journal: Path) -> None:
    journal.unlink()
    journal.write_text("the user's own\n")


def link(journal: Path) -> None:
    journal.unlink()
    journal.symlink_to("metadata.json")


def empty(journal: Path) -> None:
    os.truncate(journal, 0)


def put_directory(journal: Path) -> None:
    journal.unlink()
    journal.mkdir()


def test_a_living_recorder_is_left_alone_whatever_became_of_its_journal(place: Path) -> None:
    harms = {harm.__name__: harm for harm in (remove, replace, link, empty, put_directory)}
    stores = [place / name for name in harms]
    with started(AT_WORK, *stores) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        runs = [Path(process.stdout.readline().strip()) for _ in stores]
        for run in runs:
            harms[run.parent.name](run / "experiment.jsonl")
            assert status_of(run) == "running", run
            (closing,) = close_all(run)
            assert not closing.closed
            with runcard.record(run.parent, strict=True):
                pass
            assert status_of(run) == "running", run
        process.stdin.close()
        assert process.wait() == 0
    for run in runs:
        assert document_of(run)["generation"]["status"] == "completed"
        assert_closed_but_for_limits(run)


def assert_closed_but_for_limits(run: Path) -> None:
    assert [found for found in findings(run) if not found.startswith("limits")] == []


def await_environment(run: Path) -> None:
    """Wait until a run has written all that it writes of its own accord."""
    wait_until(lambda: b"environment.observed" in (run / "experiment.jsonl").read_bytes())


def snapshot(run: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.iterdir()}


def test_two_who_ask_at_once_get_the_same_answer(dead: Path) -> None:
    """Asking takes the lock that the recorder held; it must not look like a recorder to the next who asks."""
    stop = threading.Event()
    answers: list[str | None] = []

    def ask() -> None:
        while not stop.is_set():
            answers.append(status_of(dead))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(answers) > 200)
    stop.set()
    for thread in threads:
        thread.join()
    assert set(answers) == {"interrupted"}


def test_many_who_close_one_run_at_once_close_it_once(dead: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        closings = [closing for (closing,) in pool.map(lambda _: close_all(dead), range(8))]
    assert sum(closing.closed for closing in closings) == 1
    assert_closed(dead.parent, runs=1)
    assert_tidy(dead.parent)


def test_recorders_that_start_at_once_close_a_dead_run_once(dead: Path) -> None:
    (report,) = harness("runs.harness_crowd", dead.parent, "8")
    assert report["codes"] == [0] * 8
    assert_closed(dead.parent, runs=9)
    assert_tidy(dead.parent)


def test_a_stopped_recorder_is_alive(place: Path) -> None:
    with started(AT_WORK, place / "outputs") as process:
        assert process.stdout is not None
        run = Path(process.stdout.readline().strip())
        process.send_signal(signal.SIGSTOP)
        assert status_of(run) == "running"
        assert not close_all(run)[0].closed


WITHOUT_LOCKS = """
import os, sys, warnings
from pathlib import Path
import runcard
from runs.harness import close_all, status_of
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with runcard.record(sys.argv[1]) as run:
        print(status_of(run.path), close_all(run.path)[0].closed)
print([str(warning.message).partition(":")[0] for warning in caught])
if os.fork() == 0:
    with runcard.record(sys.argv[2]) as run:
        os._exit(0)
os.wait()
(dead,) = (run for run in os.scandir(sys.argv[2]) if run.name != ".runcard")
print(status_of(Path(dead.path)))
"""


@pytest.mark.needs("strace")
def test_where_the_file_system_knows_no_locks_the_process_decides(place: Path) -> None:
    command = ["strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "inject=flock:error=ENOLCK"]
    command += [sys.executable, "-c", WITHOUT_LOCKS, str(place / "a"), str(place / "b")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "running False"
    assert lines[2] == "interrupted"
    for store in (place / "a", place / "b"):
        close_all(*runs_of(store))  # where there are locks again
        assert_closed(store, runs=1)


class _StartedRun:
    is_open = True


def test_another_thread_may_start_a_run_while_the_open_ones_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed: WeakSet[Any] = WeakSet()
    monkeypatch.setattr(recording_run, "_journal_events", listed)
    runs = [_StartedRun() for _ in range(3)]
    listed.update(runs)

    def start_once(frame: FrameType, event: str, _: object) -> None:
        """Called when the next run of the list is fetched: that is where Python may switch to another thread."""
        if event == "return" and frame.f_code is WeakSet.__iter__.__code__ and len(runs) == 3:
            runs.append(_StartedRun())
            listed.add(runs[-1])

    sys.setprofile(start_once)
    try:
        found = recording_run.open_journal_events()
    finally:
        sys.setprofile(None)
    assert len(found) == len(runs) == 4
