"""Closing a run beside the event loop: other tasks go on, a cancellation waits, signals and warnings arrive."""

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.recording.off_loop import run_off_loop
from runs.runs import read, verdict

LARGE = 200_000_000  # bytes, of a file that has no blocks on disk


def large_file(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(LARGE)


async def count_ticks(while_this: Callable[[], Any]) -> int:
    """How often another task gets its turn."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    ticks = 0
    await while_this()
    ticking.cancel()
    return ticks


def test_other_tasks_go_on_while_a_run_is_closed(outputs: Path) -> None:
    async def measured() -> int:
        recording = runcard.record(outputs, strict=True)
        run = await recording.__aenter__()
        large_file(run.path / "large")
        ticks = await count_ticks(lambda: recording.__aexit__(None, None, None))
        assert read(run.path)["generation"]["status"] == "completed"
        return ticks

    assert asyncio.run(measured()) > 100


def test_other_tasks_go_on_while_inputs_are_hashed(outputs: Path, tmp_path: Path) -> None:
    large_file(tmp_path / "large")

    async def measured() -> int:
        recording = runcard.record(outputs, inputs=[tmp_path / "large"], strict=True)
        ticks = await count_ticks(recording.__aenter__)
        await recording.__aexit__(None, None, None)
        return ticks

    assert asyncio.run(measured()) > 100


def test_other_tasks_go_on_while_the_run_of_a_coroutine_is_closed(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    async def work() -> None:
        run = runcard.current_run()
        assert run is not None
        large_file(run.path / "large")

    async def measured() -> int:
        return await count_ticks(work)

    assert asyncio.run(measured()) > 100


def test_a_cancellation_waits_until_the_run_is_closed(outputs: Path) -> None:
    async def work(opened: list[runcard.Run], done: asyncio.Event) -> None:
        async with runcard.record(outputs, strict=True) as run:
            opened.append(run)
            large_file(run.path / "large")
            done.set()

    async def main() -> runcard.Run:
        opened: list[runcard.Run] = []
        done = asyncio.Event()
        task = asyncio.create_task(work(opened, done))
        await done.wait()
        while not task.done():
            task.cancel()
            await asyncio.sleep(0.001)
        assert task.cancelled()
        return opened[0]

    run = asyncio.run(main())
    assert read(run.path)["generation"]["status"] == "completed"  # its work was done
    assert verdict(run.path)["intact"]


def test_a_cancelled_block_is_interrupted_and_a_timeout_is_a_timeout(outputs: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(0.05):
            async with runcard.record(outputs, strict=True):
                await asyncio.sleep(1000)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    (run,) = outputs.glob("2*")
    assert read(run)["generation"]["status"] == "interrupted"


def test_a_cancellation_while_a_run_begins_closes_it(outputs: Path, tmp_path: Path) -> None:
    large_file(tmp_path / "large")

    async def work() -> None:
        async with runcard.record(outputs, inputs=[tmp_path / "large"], strict=True):
            raise AssertionError("not reached")

    async def main() -> None:
        task = asyncio.create_task(work())
        while not list(outputs.glob("2*")):  # noqa: ASYNC110, ASYNC240 - another thread makes it
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (run,) = outputs.glob("2*")
    assert read(run)["generation"]["status"] == "interrupted"


def test_the_exception_of_the_block_passes_unchanged(outputs: Path) -> None:
    error = LookupError("nothing there")

    async def main() -> None:
        async with runcard.record(outputs, strict=True):
            raise error

    with pytest.raises(LookupError) as raised:
        asyncio.run(main())
    assert raised.value is error


def test_a_warning_names_the_line_of_the_caller(outputs: Path) -> None:
    """A failure in the thread is shown where the block is."""
    (outputs.parent / "taken").write_text("a file")

    async def main() -> None:
        async with runcard.record(outputs.parent / "taken"):
            pass

    with warnings.catch_warnings(record=True, action="always") as caught:
        asyncio.run(main())
    assert [(warning.category, warning.filename) for warning in caught] == [
        (runcard.RuncardWarning, __file__)
    ]


def test_the_work_runs_in_a_thread_with_the_context_of_the_task() -> None:
    variable = contextvars.ContextVar("variable", default="outside")

    async def main() -> tuple[str, str]:
        variable.set("inside")
        return await run_off_loop(lambda: (threading.current_thread().name, variable.get()))

    assert asyncio.run(main()) == ("runcard-off-loop", "inside")


def test_without_a_loop_of_asyncio_the_work_is_done_at_once() -> None:
    coroutine = run_off_loop(lambda: threading.current_thread().name)
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    assert stopped.value.value == "MainThread"


TERMINATED = """
import asyncio, os, signal, threading
import runcard

async def main():
    async with runcard.record("outputs") as run:
        with open(run.path / "large", "wb") as file:
            file.truncate(400_000_000)
        loop = asyncio.get_running_loop()

        async def strike():
            while not any(thread.name == "runcard-off-loop" for thread in threading.enumerate()):
                await asyncio.sleep(0)
            os.kill(os.getpid(), signal.SIGTERM)

        asyncio.ensure_future(strike())

asyncio.run(main())
"""


def test_a_signal_while_the_run_is_closed_ends_the_process_with_a_closed_run(here: Path) -> None:
    done = subprocess.run([sys.executable, "-c", TERMINATED], cwd=here, check=False, timeout=120)
    assert done.returncode == -signal.SIGTERM
    (run,) = (here / "outputs").glob("2*")
    assert read(run)["generation"]["status"] == "completed"
    assert verdict(run)["intact"]
    assert not os.listdir(here / "outputs" / ".runcard" / "open")
