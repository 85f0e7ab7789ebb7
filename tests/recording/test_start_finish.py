"""`runcard.start` and `run.finish`: runs that no block ends, in notebooks and long scripts."""

import asyncio
import contextvars
import json
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.errors import UsageError
from runs.runs import read, verdict


def program(
    here: Path, code: str, *options: str, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, *(["-c", code] if stdin is None else [])]
    return subprocess.run(
        command, cwd=here, input=stdin, capture_output=True, text=True, timeout=120, check=False
    )


def only_run(here: Path) -> dict[str, Any]:
    (run,) = (here / "outputs").glob("2*")
    assert verdict(run)["intact"]
    return read(run)


@pytest.mark.parametrize("status", ["completed", "failed", "interrupted"])
def test_a_run_lasts_from_start_to_finish(outputs: Path, status: str) -> None:
    run = runcard.start(outputs, model="m", config={"a": 1}, labels={"team": "ux"}, strict=True)
    assert read(run.path)["generation"]["status"] == "running"
    assert runcard.current_run() is run
    run.finish(status)
    document = read(run.path)
    assert (document["generation"]["status"], document["configuration"]["a"]) == (status, 1)
    assert document["generation"]["labels"] == {"team": "ux"}
    assert runcard.current_run() is None
    assert verdict(run.path)["intact"]


def test_without_an_argument_it_is_completed_and_it_is_finished_once(outputs: Path) -> None:
    run = runcard.start(outputs, strict=True)
    with pytest.raises(UsageError, match="invalid status 'done'"):
        run.finish("done")
    run.finish()
    assert read(run.path)["generation"]["status"] == "completed"
    with pytest.raises(UsageError, match="this run is finished"):
        run.finish()


def test_a_started_run_is_current_in_every_thread_and_context(outputs: Path) -> None:
    """The cells of a notebook do not share a context, nor do threads."""
    run = contextvars.copy_context().run(runcard.start, outputs, strict=True)
    seen: list[runcard.Run | None] = [contextvars.Context().run(runcard.current_run)]
    thread = threading.Thread(target=lambda: seen.append(runcard.current_run()))
    thread.start()
    thread.join()
    contextvars.Context().run(run.finish)
    assert seen == [run, run]
    assert runcard.current_run() is None


def test_the_run_of_a_block_has_the_started_run_as_its_parent(outputs: Path) -> None:
    run = runcard.start(outputs, strict=True)
    with runcard.record(outputs, strict=True) as inner:
        assert runcard.current_run() is inner
    assert runcard.current_run() is run
    run.finish()
    later = runcard.start(outputs, strict=True)
    later.finish()
    assert read(inner.path)["relations"] == [{"type": "parent", "id": run.id}]
    assert read(later.path)["relations"] == []


def test_a_block_ends_a_started_run_and_an_exception_decides_how(outputs: Path) -> None:
    with runcard.start(outputs, strict=True) as first:
        pass
    with pytest.raises(LookupError), runcard.start(outputs, strict=True) as second:
        raise LookupError("nothing there")

    async def work() -> runcard.Run:
        async with runcard.start(outputs, strict=True) as run:
            await asyncio.sleep(0)
        return run

    third = asyncio.run(work())
    endings = [read(run.path)["generation"]["status"] for run in (first, second, third)]
    assert endings == ["completed", "failed", "completed"]
    assert runcard.current_run() is None


def test_the_run_of_a_block_can_be_finished_early(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.finish("failed")
        assert read(run.path)["generation"]["status"] == "failed"
        assert runcard.current_run() is None
    assert read(run.path)["generation"]["status"] == "failed"


def test_a_run_that_is_not_finished_is_interrupted_and_says_why(here: Path) -> None:
    done = program(here, "import runcard\nrun = runcard.start()\n")
    assert done.returncode == 0
    assert "before the run was finished: call run.finish()" in done.stderr
    document = only_run(here)
    assert (document["generation"]["status"], document["generation"]["estimated"]) == ("interrupted", [])
    assert [warning["type"] for warning in document["warnings"]] == ["not-finished"]


@pytest.mark.parametrize(
    ("last_line", "status", "errors", "warnings"),
    [
        ("raise LookupError('nothing there')", "failed", ["nothing there"], []),
        ("raise KeyboardInterrupt", "interrupted", [], []),
        ("import sys; sys.exit(3)", "interrupted", [], ["not-finished"]),  # the code cannot be seen
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "interrupted", [], []),
        ("run.finish('failed')", "failed", [], []),
    ],
)
def test_how_the_program_ended_decides_for_a_run_that_is_not_finished(
    here: Path, last_line: str, status: str, errors: list[str], warnings: list[str]
) -> None:
    plain = program(here, last_line.replace("run.finish('failed')", ""))
    done = program(here, f"import runcard\nrun = runcard.start()\n{last_line}\n")
    assert done.returncode == plain.returncode
    document = only_run(here)
    assert document["generation"]["status"] == status
    assert [error["message"] for error in document["errors"]] == errors
    assert [warning["type"] for warning in document["warnings"]] == warnings


@pytest.mark.parametrize("obstacle", ["warnings.simplefilter('error')", "sys.stderr.close()"])
def test_a_warning_that_cannot_be_printed_leaves_no_run_open(here: Path, obstacle: str) -> None:
    done = program(here, f"import runcard, sys, warnings; {obstacle}; runcard.start(); runcard.start()")
    assert done.returncode == 0
    runs = list((here / "outputs").glob("2*"))
    assert [read(run)["generation"]["status"] for run in runs] == ["interrupted"] * 2


def test_a_program_that_closes_all_files_goes_on_with_a_warning(here: Path) -> None:
    code = "import os, runcard; run = runcard.start(); os.closerange(3, 100); run.finish(); print('went on')"
    done = program(here, code)
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert "recording failed: cannot write the journal" in done.stderr


def test_nothing_is_written_to_a_file_that_got_the_number_of_the_journal(here: Path) -> None:
    code = """
import os, runcard, threading
run = runcard.start()
for thread in threading.enumerate():
    if thread.name == "runcard-environment":
        thread.join()  # it must not close a number that it opened before it became another file's
os.closerange(3, 100)
files = [open(f"mine-{number}", "w") for number in range(20)]
run.log("hello")
run.finish()
for file in files:
    file.write("mine")
    file.close()
"""
    done = program(here, code)
    assert done.returncode == 0, done.stderr
    assert {path.read_text() for path in here.glob("mine-*")} == {"mine"}


def test_an_exception_at_the_prompt_does_not_fail_the_run(here: Path) -> None:
    lines = "import runcard\nrun = runcard.start()\nraise LookupError('nothing there')\n"
    done = program(here, "", "-i", stdin=lines)
    assert "nothing there" in done.stderr
    document = only_run(here)
    assert (document["generation"]["status"], document["errors"]) == ("interrupted", [])


def test_a_large_file_is_hashed_at_the_end_of_the_program_too(here: Path) -> None:
    code = "import runcard\nrun = runcard.start()\nopen(run.path / 'large', 'wb').truncate(50_000_000)\n"
    code += "for number in range(300): (run.path / str(number)).write_text('made')\n"
    assert program(here, code).returncode == 0
    assert only_run(here)["generation"]["status"] == "interrupted"


def test_a_forked_child_does_not_end_the_run_of_its_parent(here: Path) -> None:
    code = """
import os, sys, runcard
from runcard.errors import UsageError
run = runcard.start(strict=True)
if (pid := os.fork()) == 0:
    runcard.current_run().log("child")
    try:
        run.finish()
    except UsageError as error:
        run.log("refused", message=str(error))
    sys.exit(0)
os.waitpid(pid, 0)
run.log("parent")
run.finish()
"""
    done = program(here, code)
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = (here / "outputs").glob("2*")
    lines = [json.loads(line) for line in (run / "experiment.jsonl").read_text().splitlines()]
    events = {line["event"]: line["payload"] for line in lines}
    assert {"child", "parent"} <= set(events)
    assert events["refused"] == {"message": "another process started this run"}
    assert only_run(here)["generation"]["status"] == "completed"


def test_a_killed_program_leaves_a_run_that_can_be_closed(here: Path) -> None:
    done = program(here, "import os, runcard\nrun = runcard.start()\nos.kill(os.getpid(), 9)\n")
    assert done.returncode == -signal.SIGKILL
    closed = subprocess.run(
        [sys.executable, "-m", "runcard", "close"], cwd=here, capture_output=True, text=True, check=True
    )
    assert "closed as interrupted" in closed.stdout
    assert only_run(here)["generation"]["estimated"] != []


def test_a_block_is_before_a_started_run_and_a_thread_beside_both_is_uncertain(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as block:
        run = runcard.start(outputs, strict=True)
        assert runcard.current_run() is block
        with (
            pytest.warns(runcard.RuncardWarning, match="is uncertain: 2 runs"),
            ThreadPoolExecutor(1) as pool,
        ):
            assert pool.submit(runcard.current_run).result(60) is block
        run.finish()
