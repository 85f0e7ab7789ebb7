"""A process that a command left behind and that keeps changing the run's directory: the run is closed all the same."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import runcard
from child_process.commands import Done, Runner, state_of
from runs.harness import document_of, findings, python, runs_of, warnings_of
from waiting import wait_until

# Leaves a process behind that does one thing to the run's directory until it is killed, and says who that is.
VANDAL = """
import itertools, os, shutil, sys, threading, time
from pathlib import Path
run, kind, told = Path(os.environ["RUNCARD_RUN_DIR"]), sys.argv[1], Path(sys.argv[2])
if os.fork():
    while not told.exists():
        time.sleep(0.01)
    sys.exit(0)
os.setsid()
null = os.open(os.devnull, os.O_RDWR)
for stream in range(3):
    os.dup2(null, stream)

def append(n):
    with open(run / "log.bin", "ab") as file:
        file.write(os.urandom(4096) * (16 if n else 1 << 14))  # so large that it takes a while to be read
        if file.tell() > 1 << 28:
            file.truncate(1 << 26)

def create(n):
    (run / f"new-{n}").touch()

def delete(n):
    path = run / f"file-{n % 20}"
    path.unlink() if path.exists() else path.write_text("x" * (n % 900))

def folders(n):
    folder = run / f"folder-{n % 10}"
    if folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
    else:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "c").write_text("x")
        (folder / "link").symlink_to("a")

def swap(n):
    path = run / "swapped"
    path.unlink(missing_ok=True)
    path.symlink_to("x") if n % 2 else path.write_text("x")

def names(n):
    for name in ("metadata.json", "SHA256SUMS", "README.md", "experiment.w-aa.jsonl", "amendments.jsonl"):
        path = run / name
        path.unlink(missing_ok=True)
        path.symlink_to("x") if n % 2 else path.write_text("{}")

def journal(n):
    with open(run / "experiment.jsonl", "ab") as file:
        file.write(b"garbage\\n")

def wipe(n):
    for path in run.iterdir():
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

def remove(n):
    shutil.rmtree(run, ignore_errors=True)

def work(n):
    try:
        globals()[kind](n)
    except OSError:
        pass

work(0)
Path(f"{told}.new").write_text(str(os.getpid()))
os.rename(f"{told}.new", told)
end = time.monotonic() + 600  # the command must end long before

def append_too():
    while time.monotonic() < end:
        work(1)

for _ in range(7 if kind == "append" else 0):  # so that one of them runs at any moment, also where others are at work
    threading.Thread(target=append_too, daemon=True).start()
for n in itertools.count(1):
    work(n)
    if time.monotonic() > end:
        break
"""


@pytest.fixture
def vandal(runner: Runner) -> Iterator["Vandal"]:
    vandal = Vandal(runner)
    yield vandal
    vandal.kill()


class Vandal:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._told = runner.place / "vandal.pid"

    def __call__(self, kind: str) -> Done:
        (self._runner.place / "vandal.py").write_text(VANDAL)
        return self._runner("--quiet", "--", sys.executable, "vandal.py", kind, str(self._told))

    def kill(self) -> None:
        if self._told.exists():
            pid = int(self._told.read_text())
            self._told.unlink()
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: state_of(pid) in "XZ", "the end of the vandal")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


LEFT = b"Warning: the command left a process running, which may still write here; model calls from there fail now: "


@pytest.mark.parametrize(
    "kind", ["append", "create", "delete", "folders", "swap", "names", "journal", "wipe"]
)
def test_a_run_is_closed_whatever_a_process_left_behind_does_to_it(vandal: Vandal, kind: str) -> None:
    done = vandal(kind)
    assert done.code == 0, done.err
    assert LEFT in done.err
    assert b"Error:" not in done.err
    vandal.kill()
    store = done.place / "outputs"
    assert list((store / ".runcard" / "open").iterdir()) == []
    ledger = next((store / ".runcard").glob("ledger-*.jsonl")).read_text().splitlines()
    assert [json.loads(line)["event"] for line in ledger] == ["record.closed"]
    if kind in {
        "append",
        "create",
        "delete",
        "folders",
        "swap",
    }:  # the others destroy the document in the end
        assert document_of(done.run)["generation"]["status"] == "completed"
        assert "still-running" in warnings_of(done.run)
        runcard.load(done.run / "metadata.json")


def test_a_file_that_does_not_stop_changing_is_named_and_verify_says_that_it_was_changed(
    vandal: Vandal,
) -> None:
    done = vandal("append")
    message = "files kept changing while the run was closed: log.bin"
    assert f"Warning: {message}\n".encode() in done.err
    size = (done.run / "log.bin").stat().st_size
    wait_until(lambda: (done.run / "log.bin").stat().st_size != size, "a change after the end")
    vandal.kill()
    (warning,) = (one for one in done.document["warnings"] if one["type"] == "changing-files")
    assert warning["message"] == message
    assert message in (done.run / "README.md").read_text()
    assert [found.partition(" ")[0] for found in findings(done.run)] == ["changed"]


def test_a_directory_that_is_removed_again_and_again_ends_in_bounded_time(vandal: Vandal) -> None:
    done = vandal("remove")
    assert done.code in (0, 125)
    vandal.kill()
    after = vandal._runner("--quiet", "--", "true")
    assert after.code == 0, after.err


def test_a_child_that_keeps_recording_loses_only_what_comes_after_the_end(place: Path) -> None:
    code = """
import os, subprocess, sys, runcard
child = '''
import runcard, sys, warnings
warnings.simplefilter("ignore")
run = runcard.current_run()
for n in range(100_000):
    run.log("spoke", n=n)
    if n == 30:
        print("ready", flush=True)
'''
with runcard.record("outputs", strict=True) as run:
    process = subprocess.Popen([sys.executable, "-c", child], env=os.environ | run.environ, stdout=subprocess.PIPE)
    process.stdout.readline()
process.kill()
process.wait()
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    (run,) = runs_of(place / "outputs")
    assert document_of(run)["generation"]["status"] == "completed"
    assert findings(run) == []
    lines = [json.loads(line) for line in (run / "experiment.jsonl").read_text().splitlines()]
    spoken = [line["payload"]["n"] for line in lines if line["event"] == "spoke"]
    assert spoken == list(range(len(spoken)))
    assert spoken
