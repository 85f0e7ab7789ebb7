"""A file system that refuses `flock`: recording goes on with lock files, loses nothing and closes no living run."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from attacks.without_locks import RUNCARD, run, start
from runcard.errors import StoreError
from runcard.files import lock_files
from runcard.files.lock_files import lock_file
from runcard.files.processes import identity
from runs.harness import assert_closed, assert_tidy, document_of, environment, runs_of, status_of, warnings_of
from sessions.collecting.teams import lay_out

NO_LOCKS = "Warning: the file system of the store does not support file locks"

TWENTY_RUNS = """
import sys, warnings, runcard
warnings.simplefilter("ignore", runcard.RuncardWarning)
for number in range(20):
    with runcard.record(sys.argv[1], strict=True) as run:
        run.log("spoke", number=number)
        (run.path / "out.txt").write_text(f"{sys.argv[2]} {number}")
"""

JOINED = """
import os, subprocess, sys, warnings, runcard
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with runcard.record("outputs", strict=True) as run:
        if os.fork() == 0:
            run.log("forked")
            os._exit(0)
        code = "import runcard; runcard.current_run().log('joined')"
        both = [subprocess.Popen([sys.executable, "-c", code], env=os.environ | run.environ) for _ in range(2)]
        assert [child.wait() for child in both] == [0, 0]
        os.wait()
print([warning.category.__name__ for warning in caught])
"""

LIVES = """
import sys, runcard, warnings
warnings.simplefilter("ignore", runcard.RuncardWarning)
with runcard.record("outputs", strict=True) as run:
    run.log("begun")
    print("begun", flush=True)
    sys.stdin.read()
"""

DIES = """
import os, warnings, runcard
warnings.simplefilter("ignore", runcard.RuncardWarning)
runcard.record("outputs", strict=True).__enter__().log("begun")
os.kill(os.getpid(), 9)
"""


def assert_no_lock_files(place: Path) -> None:
    assert list(place.rglob("*.runcard-lock*")) == []


@pytest.mark.needs("strace")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("ENOLCK", 0),
        ("ENOSYS", 3),
        pytest.param("EOPNOTSUPP", 0, marks=pytest.mark.long),
        pytest.param("ENOLCK", 3, marks=pytest.mark.long),
        pytest.param("ENOSYS", 0, marks=pytest.mark.long),
        pytest.param("EOPNOTSUPP", 3, marks=pytest.mark.long),
    ],
)
def test_a_command_is_recorded_with_one_warning_and_its_own_exit_code(
    place: Path, error: str, code: int
) -> None:
    done = run(place, *RUNCARD, "run", "--", "sh", "-c", f"echo hello; exit {code}", error=error, code=code)
    assert done.stdout == "hello\n"
    assert done.stderr.count("Warning:") == done.stderr.count(NO_LOCKS) == 1
    (recorded,) = runs_of(place / "outputs")
    assert warnings_of(recorded) == ["no-locks"]
    assert document_of(recorded)["generation"]["exit_code"] == code
    assert_closed(place / "outputs", runs=1)
    assert_tidy(place / "outputs")
    assert_no_lock_files(place)


@pytest.mark.needs("strace")
def test_children_add_their_events_and_the_program_gets_one_warning(place: Path) -> None:
    done = run(place, sys.executable, "-c", JOINED)
    assert done.stdout == "['RuncardWarning']\n"
    (recorded,) = runs_of(place / "outputs")
    events = (recorded / "experiment.jsonl").read_text()
    assert events.count('"event":"joined"') == 2
    assert events.count('"event":"forked"') == 1
    assert_closed(place / "outputs", runs=1)
    assert_tidy(place / "outputs")


@pytest.mark.long
@pytest.mark.needs("strace")
def test_two_processes_that_record_twenty_runs_each_lose_none(place: Path) -> None:
    both = [start(place, sys.executable, "-c", TWENTY_RUNS, "outputs", name) for name in "ab"]
    for process in both:
        _, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
    assert_closed(place / "outputs", runs=40)
    written = {(path / "out.txt").read_text() for path in runs_of(place / "outputs")}
    assert written == {f"{name} {number}" for name in "ab" for number in range(20)}
    assert_tidy(place / "outputs")
    assert_no_lock_files(place)


@pytest.mark.needs("strace")
def test_a_living_run_is_left_alone(place: Path) -> None:
    process = start(place, sys.executable, "-c", LIVES)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        (recorded,) = runs_of(place / "outputs")
        closing = run(place, *RUNCARD, "close")
        assert f"{recorded.relative_to(place)}: running, left alone: its process is running" in closing.stdout
        assert "running" in run(place, *RUNCARD, "show", recorded).stdout
        run(place, *RUNCARD, "run", "--quiet", "--", "true")  # the next recording closes what is dead
        assert document_of(recorded)["generation"]["status"] == "running"
    finally:
        process.communicate("", timeout=60)
    assert process.returncode == 0
    assert document_of(recorded)["generation"]["status"] == "completed"
    assert_closed(place / "outputs", runs=2)


@pytest.mark.needs("strace")
@pytest.mark.parametrize("closer", [("close",), ("run", "--quiet", "--outputs", "outputs", "--", "true")])
def test_a_run_that_was_killed_is_closed(place: Path, closer: tuple[str, ...]) -> None:
    start(place, sys.executable, "-c", DIES).communicate(timeout=60)
    (dead,) = runs_of(place / "outputs")
    assert "interrupted" in run(place, *RUNCARD, "show", dead, code=2).stdout
    run(place, *RUNCARD, *closer)
    assert document_of(dead)["generation"]["status"] == "interrupted"
    assert_closed(place / "outputs")
    assert_tidy(place / "outputs")


@pytest.mark.long
@pytest.mark.needs("strace")
def test_two_closers_at_once_enter_a_dead_run_once(place: Path) -> None:
    for _ in range(3):
        start(place, sys.executable, "-c", DIES).communicate(timeout=60)
    closers = [start(place, *RUNCARD, "close") for _ in range(3)]
    for closer in closers:
        _, err = closer.communicate(timeout=120)
        assert closer.returncode == 0, err
    assert_closed(place / "outputs", runs=3)


@pytest.mark.needs("strace")
def test_a_record_is_amended_archived_and_restored(place: Path) -> None:
    run(place, *RUNCARD, "run", "--quiet", "--", "true")
    (recorded,) = runs_of(place / "outputs")
    run(place, *RUNCARD, "amend", recorded, "note", "looked at", "--by", "anna")
    run(place, *RUNCARD, "archive", recorded)
    assert not recorded.exists()
    (packed,) = (place / "outputs" / "archive").glob("*/*.tar.gz")
    run(place, *RUNCARD, "restore", packed)
    assert status_of(recorded) == "completed"
    run(place, *RUNCARD, "verify", recorded)
    assert_no_lock_files(place)


@pytest.mark.needs("strace")
def test_a_session_is_collected_and_what_a_killed_collection_left_is_removed(place: Path) -> None:
    spec = lay_out(place)
    left = place / "artifacts" / ".open" / "research-team-001.0f000000"
    left.mkdir(parents=True)
    run(place, *RUNCARD, "collect", spec)
    (session,) = (path for path in (place / "artifacts").iterdir() if not path.name.startswith("."))
    first = (session / "audit.jsonl").read_bytes().split(b"\n")[0] + b"\n"
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    left.mkdir(exist_ok=True)
    line = json.loads(first)
    assert line["payload"]["process"]["host"] == os.uname().nodename
    line["payload"]["process"]["pid"] = int(dead.stdout)
    (left / "audit.jsonl").write_text(json.dumps(line) + "\n")
    done = run(place, *RUNCARD, "collect", spec, code=2)
    assert "removed an interrupted collection" in done.stderr
    assert not left.exists()
    run(place, *RUNCARD, "verify", "artifacts")
    assert_no_lock_files(place)


# The lock file itself

COUNTING = """
import os, random, sys, time
from pathlib import Path
from runcard.files.lock_files import lock_file
path = Path(sys.argv[1])
for number in range(int(sys.argv[2])):
    with lock_file(str(path), shared=False, deadline=time.monotonic() + 60):
        count = int(path.read_text())
        if random.random() < 0.05:
            os.kill(os.getpid(), 9)
        time.sleep(0.0005)
        path.write_text(str(count + 1))
        print("counted", flush=True)
"""


def test_processes_that_are_killed_with_the_lock_stop_nobody(place: Path) -> None:
    counter = place / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNTING, str(counter), "40"]
    counts: list[int] = []
    codes: list[int] = []

    def count_until_some_are_killed() -> None:
        while codes.count(-signal.SIGKILL) < 6:
            done = subprocess.run(command, stdout=subprocess.PIPE, env=environment(), check=False)
            counts.append(done.stdout.count(b"counted"))
            codes.append(done.returncode)

    threads = [threading.Thread(target=count_until_some_are_killed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(codes) <= {0, -signal.SIGKILL}
    assert int(counter.read_text()) == sum(counts)


def lock(folder: Path, *, wait: float = 0, shared: bool = False) -> None:
    with lock_file(str(folder), shared=shared, deadline=time.monotonic() + wait):
        assert list(folder.parent.glob(f".{folder.name}.runcard-lock"))


def write_lock(folder: Path, data: bytes) -> Path:
    path = folder.with_name(f".{folder.name}.runcard-lock")
    path.write_bytes(data)
    return path


def test_the_lock_of_a_dead_process_and_of_an_earlier_boot_is_broken(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    for changes in ({"pid": int(done.stdout)}, {"boot_id": "another"}, {"start_ticks": 1}):
        path = write_lock(folder, json.dumps(identity() | changes).encode())
        lock(folder)
        assert not path.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("changes", [{}, {"host": "far-away"}, {"pid_namespace": 1}])
def test_a_lock_whose_owner_may_live_is_left_alone_and_named(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    path = write_lock(tmp_path / "store", json.dumps(identity() | changes).encode())
    with pytest.raises(StoreError, match=f"held by process {os.getpid()} on") as caught:
        lock(tmp_path / "store", wait=0.05)
    assert str(path) in caught.value.message
    assert caught.value.hint is not None
    assert "if it is gone, remove that file" in caught.value.hint
    assert path.exists()


@pytest.mark.parametrize("data", [b"my own notes", b"[]"])
def test_a_file_that_is_not_a_lock_is_left_alone(tmp_path: Path, data: bytes) -> None:
    path = write_lock(tmp_path / "store", data)
    with pytest.raises(StoreError, match="held by another process"):
        lock(tmp_path / "store", wait=0.05)
    assert path.read_bytes() == data


@pytest.mark.parametrize("data", [b"", b"\0" * 40], ids=["empty", "zeros"])
def test_a_lock_that_a_killed_process_left_empty_is_broken_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    write_lock(tmp_path / "store", data)
    with pytest.raises(StoreError, match="held by another process"):
        lock(tmp_path / "store", wait=0.05)
    monkeypatch.setattr(lock_files, "_EMPTY_FOR", 0.05)
    lock(tmp_path / "store", wait=60)
    assert list(tmp_path.iterdir()) == []


def test_a_fifo_in_the_place_of_a_lock_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".store.runcard-lock")
    with pytest.raises(StoreError, match="held by another process"):
        lock(tmp_path / "store", wait=0.05)


def test_a_forked_child_that_leaves_the_block_keeps_the_lock_of_its_parent(tmp_path: Path) -> None:
    with lock_file(str(tmp_path / "store"), shared=False, deadline=time.monotonic()):
        code = "import os, sys\nfrom runcard.files.lock_files import lock_file\n"
        code += "with lock_file(sys.argv[1], shared=False, deadline=0.0):\n  pid = os.fork()\n"
        code += "if pid:\n  os.waitpid(pid, 0)\n"
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "other")], check=True)
        with pytest.raises(StoreError):
            lock(tmp_path / "store")
    lock(tmp_path / "store")
    assert list(tmp_path.iterdir()) == []
