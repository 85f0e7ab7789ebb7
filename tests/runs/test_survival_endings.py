"""However a block ends, and whoever else is at work in it: the user's program ends as it would have without runcard."""

import asyncio
import contextlib
import shutil
import signal
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.errors import RuncardError
from runs.harness import (
    assert_closed,
    assert_one_story,
    assert_tidy,
    close_all,
    document_of,
    lines_of,
    python,
    runs_of,
    started,
    status_of,
    warnings_of,
)


class OddError(Exception):
    """An error of the user's that cannot even say what it is."""

    def __str__(self) -> str:
        raise ZeroDivisionError


# The user's exception


def break_store(run: runcard.Run) -> None:
    """Make every further recording fail."""
    shutil.rmtree(run.path)
    run.path.parent.joinpath(".runcard").rename(run.path.parent / "gone")


def break_and_raise(run: runcard.Run, error: BaseException) -> None:
    break_store(run)
    raise error


STRICT = pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])


@STRICT
@pytest.mark.parametrize(
    "error",
    [
        ValueError("mine"),
        SystemExit(3),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        GeneratorExit(),
        OddError(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.filterwarnings("ignore::runcard.RuncardWarning")
def test_the_users_exception_passes_also_when_recording_fails(
    place: Path,
    error: BaseException,
    strict: bool,  # noqa: FBT001
) -> None:
    with pytest.raises(type(error)) as raised, runcard.record(place / "outputs", strict=strict) as run:
        break_and_raise(run, error)
    assert raised.value is error
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


@STRICT
@pytest.mark.filterwarnings("error::runcard.RuncardWarning")
def test_the_users_exception_passes_also_where_warnings_are_errors(
    place: Path,
    strict: bool,  # noqa: FBT001
) -> None:
    with pytest.raises(ValueError, match="mine") as raised, runcard.record(place / "o", strict=strict) as run:
        break_and_raise(run, ValueError("mine"))
    assert "runcard could not record this run" in "".join(raised.value.__notes__)


def test_a_recording_that_fails_at_the_end_is_an_error_only_for_who_wants_to_know(place: Path) -> None:
    with pytest.warns(runcard.RuncardWarning), runcard.record(place / "a") as run:
        break_store(run)
    with pytest.raises(RuncardError), runcard.record(place / "b", strict=True) as run:
        break_store(run)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ValueError("mine"), "failed", None),
        (OddError(), "failed", None),
        (SystemExit(), "completed", 0),
        (SystemExit(0), "completed", 0),
        (SystemExit(3), "failed", 3),
        (SystemExit("no"), "failed", 1),
        (KeyboardInterrupt(), "interrupted", None),
        (asyncio.CancelledError(), "interrupted", None),
        (GeneratorExit(), "failed", None),
    ],
    ids=repr,
)
def test_the_exception_decides_the_status(
    place: Path, error: BaseException, status: str, code: int | None
) -> None:
    with pytest.raises(type(error)) as raised, runcard.record(place / "outputs", strict=True) as run:
        raise error
    assert raised.value is error
    assert document_of(run.path)["generation"]["status"] == status
    assert document_of(run.path)["generation"]["exit_code"] == code
    assert bool(document_of(run.path)["errors"]) == (status == "failed")
    assert_closed(place / "outputs", runs=1)


def test_an_exception_in_an_async_block_passes(place: Path) -> None:
    async def work() -> None:
        async with runcard.record(place / "outputs", strict=True):
            await asyncio.sleep(0)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(work())
    (run,) = runs_of(place / "outputs")
    assert document_of(run)["generation"]["status"] == "failed"


def test_a_task_that_is_cancelled_was_interrupted(place: Path) -> None:
    async def work() -> None:
        async with runcard.record(place / "outputs", strict=True):
            begun.set()
            await asyncio.Event().wait()

    begun = asyncio.Event()

    async def cancel() -> None:
        task = asyncio.create_task(work())
        await begun.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(cancel())
    (run,) = runs_of(place / "outputs")
    assert document_of(run)["generation"]["status"] == "interrupted"
    assert_closed(place / "outputs", runs=1)


def test_a_generator_that_is_left_early_closes_its_run(place: Path) -> None:
    def steps() -> Generator[int]:
        with runcard.record(place / "outputs", strict=True):
            yield 1
            yield 2

    for number in steps():
        assert number == 1
        break
    generator = steps()
    next(generator)
    generator.close()
    assert_closed(place / "outputs", runs=2)
    assert runcard.current_run() is None


def test_a_generator_that_is_closed_elsewhere_closes_its_run(place: Path) -> None:
    """As test frameworks do with their fixtures: begun in one task and ended in another."""

    async def steps() -> AsyncIterator[int]:
        async with runcard.record(place / "outputs", strict=True):
            yield 1

    async def both() -> None:
        generator = steps()
        await asyncio.create_task(anext(generator))  # type: ignore[arg-type]
        with pytest.raises(StopAsyncIteration):
            await asyncio.create_task(anext(generator))  # type: ignore[arg-type]

    asyncio.run(both())
    (run,) = runs_of(place / "outputs")
    assert document_of(run)["generation"]["status"] == "completed"
    assert_closed(place / "outputs", runs=1)


LEFT_OPEN = """
import faulthandler, sys
import runcard
faulthandler.dump_traceback_later(60, exit=True)
def steps():
    with runcard.record(sys.argv[1], strict=True):
        yield 1
generator = steps()
next(generator)
"""


def test_a_program_ends_that_leaves_a_run_open_in_a_generator(place: Path) -> None:
    """It does not wait for ever for a lock of a thread that the interpreter has stopped, and knows what that found."""
    for _ in range(5):
        done = python(LEFT_OPEN, place / "outputs")
        assert (done.returncode, done.stderr) == (0, "")
    close_all(*runs_of(place / "outputs"))
    for run in runs_of(place / "outputs"):
        assert document_of(run)["environment"]["packages"]
    assert_closed(place / "outputs", runs=5)


def test_inputs_that_cannot_be_recorded_do_not_leave_the_run_open(place: Path) -> None:
    wrong: Any = 3
    with pytest.raises((RuncardError, TypeError)), runcard.record(place / "outputs", inputs=[wrong]):
        pytest.fail("not reached")
    assert_closed(place / "outputs")
    assert runcard.current_run() is None


# Signals

WAITS = """
import sys, time
import runcard
with runcard.record(sys.argv[1], strict=True) as run:
    print("ready", flush=True)
    while True:
        time.sleep(0.05)
"""
WAITS_IN_TASKS = """
import asyncio, sys
import runcard
async def work(ready):
    async with runcard.record(sys.argv[1], strict=True) as run:
        ready.release()
        while True:
            await asyncio.sleep(0)
async def other():
    while True:
        await asyncio.sleep(0)
async def main():
    ready = asyncio.Semaphore(0)
    tasks = [asyncio.create_task(work(ready)) for _ in range(3)] + [asyncio.create_task(other())]
    for _ in range(3):
        await ready.acquire()
    print("ready", flush=True)
    await asyncio.gather(*tasks)
asyncio.run(main())
"""
WAITS_IN_NESTED = """
import sys, time
import runcard
with runcard.record(sys.argv[1], strict=True), runcard.record(sys.argv[1], strict=True):
    print("ready", flush=True)
    try:
        while True:
            time.sleep(0.05)
    except Exception:
        print("caught")
print("went on")
"""


@pytest.mark.parametrize(
    ("code", "count", "number"),
    [
        (WAITS, 1, signal.SIGTERM),
        (WAITS, 1, signal.SIGHUP),
        (WAITS, 1, signal.SIGINT),
        (WAITS_IN_NESTED, 2, signal.SIGTERM),
        (WAITS_IN_TASKS, 3, signal.SIGTERM),
    ],
    ids=["TERM", "HUP", "INT", "nested", "tasks"],
)
def test_a_signal_closes_the_runs_and_the_process_still_dies_of_it(
    place: Path, number: signal.Signals, code: str, count: int
) -> None:
    with started(code, place / "outputs") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait() == -number
        assert process.stdout.read() == ""
    for run in runs_of(place / "outputs"):
        assert document_of(run)["generation"]["status"] == "interrupted"
        assert document_of(run)["generation"]["estimated"] == []
    assert_closed(place / "outputs", runs=count)


LOGS_IN_HANDLER = """
import signal, sys
import runcard
said = handled = 0
with runcard.record(sys.argv[1], strict=True) as run:
    def handle(number, frame):
        global handled
        run.log("handled")
        handled += 1
    signal.signal(signal.SIGALRM, handle)
    while handled < 30:
        for number in range(20):
            signal.setitimer(signal.ITIMER_REAL, 0.00005 * (number + 1))
            run.log("said")
            run.log("said")
            said += 2
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(said, handled)
"""


def test_a_signal_handler_may_record_in_the_middle_of_an_event(place: Path) -> None:
    done = python(LOGS_IN_HANDLER, place / "outputs")
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = runs_of(place / "outputs")
    assert_one_story(run)
    events = [line["event"] for line in lines_of(run)]
    assert [events.count("said"), events.count("handled")] == [int(word) for word in done.stdout.split()]
    assert_closed(place / "outputs", runs=1)


LOGS_AT_THE_END = """
import faulthandler, signal, sys, warnings
import runcard
faulthandler.dump_traceback_later(60, exit=True)
warnings.simplefilter("ignore")
def handle(number, frame):
    run.log("handled")
def interrupt(frame, event, argument):
    if frame.f_code.co_filename.endswith("journal.py"):
        signal.raise_signal(signal.SIGALRM)
signal.signal(signal.SIGALRM, handle)
with runcard.record(sys.argv[1]) as run:
    sys.setprofile(interrupt)
sys.setprofile(None)
"""


def test_a_signal_handler_may_record_while_the_journal_is_closed(place: Path) -> None:
    done = python(LOGS_AT_THE_END, place / "outputs")
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = runs_of(place / "outputs")
    assert "handled" in [line["event"] for line in lines_of(run)]
    assert_closed(place / "outputs", runs=1)


RAISES_IN_HANDLER = """
import signal, sys
import runcard
class Tick(Exception):
    pass
def tick(number, frame):
    raise Tick
signal.signal(signal.SIGALRM, tick)
with runcard.record(sys.argv[1], strict=True) as run:
    said = 0
    for _ in range(80):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.003)
            while True:
                run.log("said", number=said)
                said += 1
        except Tick:
            pass
    run.log("counted", said=said)
"""


def test_a_signal_handler_that_raises_in_the_middle_of_an_event_breaks_no_line(place: Path) -> None:
    done = python(RAISES_IN_HANDLER, place / "outputs")
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = runs_of(place / "outputs")
    assert_one_story(run)
    lines = lines_of(run)
    numbers = [line["payload"]["number"] for line in lines if line["event"] == "said"]
    (said,) = [line["payload"]["said"] for line in lines if line["event"] == "counted"]
    assert set(range(said)) <= set(numbers)
    assert document_of(run)["generation"]["status"] == "completed"


EXITS = """
import os, sys
import runcard
with runcard.record(sys.argv[1], strict=True) as run:
    run.log("said")
    os._exit(7)
"""


def test_a_process_that_leaves_without_a_word_was_interrupted(place: Path) -> None:
    assert python(EXITS, place / "outputs").returncode == 7
    (run,) = runs_of(place / "outputs")
    assert status_of(run) == "interrupted"
    close_all(run)
    generation = document_of(run)["generation"]
    assert generation["status"] == "interrupted"
    assert generation["timestamp_end"] == lines_of(run)[-1]["timestamp"]
    assert generation["estimated"] == ["/generation/timestamp_end", "/generation/duration_seconds"]
    assert_closed(place / "outputs", runs=1)


def test_the_exit_code_is_the_users(place: Path) -> None:
    code = "import runcard, sys\nwith runcard.record(sys.argv[1]):\n    sys.exit(int(sys.argv[2]))"
    assert [python(code, place / "o", str(number)).returncode for number in (0, 3)] == [0, 3]
    assert_closed(place / "o", runs=2)


# Children

FORKS = """
import multiprocessing, sys
import runcard

def child(number):
    run = runcard.current_run()
    run.log("forked", number=number)
    together.wait(60)
    run.log("forked", number=number)

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    together = context.Barrier(3)
    with runcard.record(sys.argv[1], strict=True) as run:
        run.log("first")
        children = [context.Process(target=child, args=(number,)) for number in range(3)]
        for process in children:
            process.start()
        for process in children:
            process.join()
        run.log("last")
"""
SPAWNED = """
import os, signal, sys
import runcard
run = runcard.current_run()
run.log("spawned")
if len(sys.argv) > 1:
    (journal,) = (path for path in run.path.glob("experiment.*.jsonl") if "spawned" in path.read_text())
    with journal.open("ab") as file:
        file.write(sys.argv[1].encode())
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_forked_children_write_journals_of_their_own_that_are_merged(place: Path) -> None:
    done = python(FORKS, place / "outputs")
    assert done.returncode == 0, done.stderr
    (run,) = runs_of(place / "outputs")
    assert_one_story(run)
    lines = lines_of(run)
    assert len({line["writer"] for line in lines}) == 4
    assert sorted(line["payload"]["number"] for line in lines if line["event"] == "forked") == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]
    names = [line["event"] for line in lines]
    assert names.index("first") < names.index("forked") < names.index("last")
    assert len(document_of(run)["event_chains"]) == 4
    assert_closed(place / "outputs", runs=1)
    assert_tidy(place / "outputs")


def test_a_spawned_child_joins_by_its_environment(place: Path) -> None:
    with runcard.record(place / "outputs", strict=True) as run:
        done = python(SPAWNED, **run.environ)
        assert (done.returncode, done.stderr) == (0, "")
    assert_one_story(run.path)
    assert "spawned" in [line["event"] for line in lines_of(run.path)]
    assert_closed(place / "outputs", runs=1)


def test_a_child_killed_in_the_middle_of_a_line_gives_a_torn_tail(place: Path) -> None:
    with runcard.record(place / "outputs", strict=True) as run:
        assert python(SPAWNED, '{"seq":2,"timestamp":"2', **run.environ).returncode == -9
    assert warnings_of(run.path) == ["torn-tail"]
    assert "23 bytes were dropped" in document_of(run.path)["warnings"][0]["message"]
    assert "spawned" in [line["event"] for line in lines_of(run.path)]
    assert_one_story(run.path)
    assert_closed(place / "outputs", runs=1)
    assert_tidy(place / "outputs")


OUTLIVES = """
import os, signal, sys, warnings
import runcard
warnings.simplefilter("always")
with runcard.record(sys.argv[1], strict=True) as run:
    run.log("before")
    if os.fork() == 0:
        if sys.argv[2] == "early":
            run.log("child")
        print("child", flush=True)
        sys.stdin.readline()
        run.log("late")
        print("done", flush=True)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_a_child_that_outlives_its_parent_keeps_no_lock_and_cannot_change_what_is_closed(
    place: Path, when: str
) -> None:
    """Whether it had begun its journal before the run was closed, or would begin it after."""
    with started(OUTLIVES, place / "outputs", when) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "child\n"
        process.wait()
        (run,) = runs_of(place / "outputs")
        assert status_of(run) == "interrupted"
        (closing,) = close_all(run)
        assert closing.closed
        process.stdin.write("go on\n")
        process.stdin.flush()
        with contextlib.suppress(ValueError):
            process.stdout.readline()
    assert_closed(place / "outputs", runs=1)
    assert_tidy(place / "outputs")
    assert ("child" in [line["event"] for line in lines_of(run)]) == (when == "early")


LEAVES = """
import os, sys
import runcard
with runcard.record(sys.argv[1], strict=True) as run:
    child = os.fork()
    if child == 0:
        run.log("child")
        sys.exit(5)
    _, status = os.waitpid(child, 0)
    run.log("after", code=os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_that_leaves_the_block_does_not_close_its_parents_run(place: Path) -> None:
    done = python(LEAVES, place / "outputs")
    assert done.returncode == 0, done.stderr
    (run,) = runs_of(place / "outputs")
    assert [line["payload"]["code"] for line in lines_of(run) if line["event"] == "after"] == [5]
    assert document_of(run)["generation"]["status"] == "completed"
    assert_one_story(run)
    assert_closed(place / "outputs", runs=1)


TERMINATES = """
import multiprocessing, sys, time
import runcard
with runcard.record(sys.argv[1], strict=True):
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    child.terminate()
    child.join()
    sys.exit(-child.exitcode)
"""


def test_a_forked_child_dies_of_a_signal_as_it_would_have(place: Path) -> None:
    done = python(TERMINATES, place / "outputs")
    assert (done.returncode, done.stderr) == (signal.SIGTERM, "")


FORKS_WHILE_RECORDING = """
import os, sys, threading
import runcard
with runcard.record(sys.argv[1], strict=True) as run:
    stop = threading.Event()
    def talk():
        while not stop.is_set():
            run.log("talk")
    threads = [threading.Thread(target=talk) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            run.log("forked")
            os._exit(0)
        os.waitpid(child, 0)
    stop.set()
    for thread in threads:
        thread.join()
"""


def test_a_child_forked_in_the_middle_of_an_event_can_record(place: Path) -> None:
    done = python(FORKS_WHILE_RECORDING, place / "outputs")
    assert done.returncode == 0, done.stderr
    (run,) = runs_of(place / "outputs")
    assert sum(line["event"] == "forked" for line in lines_of(run)) == 20
    assert_one_story(run)
    assert_closed(place / "outputs", runs=1)


CLOSED_ALREADY = """
import os, sys, warnings
import runcard
for path in sys.argv[1:]:
    os.environ["RUNCARD_RUN_DIR"] = path
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        print(runcard.current_run(), [warning.category.__name__ for warning in caught])
"""


def test_a_child_of_a_run_that_is_closed_or_gone_goes_on_unrecorded(place: Path) -> None:
    with runcard.record(place / "outputs", strict=True) as run:
        pass
    done = python(CLOSED_ALREADY, run.environ["RUNCARD_RUN_DIR"], place / "nowhere")
    assert done.stdout.splitlines() == ["None ['RuncardWarning']"] * 2
    assert_closed(place / "outputs", runs=1)


def test_what_is_recorded_after_the_end_is_a_warning(place: Path) -> None:
    with runcard.record(place / "outputs") as run:
        pass
    with pytest.warns(runcard.RuncardWarning, match="is closed"):
        run.log("late")
    assert_closed(place / "outputs", runs=1)
