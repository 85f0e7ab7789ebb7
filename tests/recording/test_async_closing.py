"""Closing a run beside the event loop: other tasks go on, a cancellation waits, signals and warnings arrive."""

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.recording.off_loop import run_off_loop
from runcard.recording.run_closer import RunCloser
from runs.runs import read, verdict
from waiting import LIMIT


class SlowHashing:
    """Hashing that has begun, and goes on until somebody ends it."""

    def __init__(self) -> None:
        self.begun, self.end = threading.Event(), threading.Event()

    def then(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.begun.set()
            assert self.end.wait(LIMIT)
            return real(*arguments)

        return call

    async def is_begun(self) -> None:
        while not self.begun.is_set():  # noqa: ASYNC110 - by another thread
            await asyncio.sleep(0)

    async def end_after_turns_of_others(self, while_this: Coroutine[Any, Any, object]) -> None:
        """It would never end if it blocked the event loop."""
        task = asyncio.create_task(while_this)
        await self.is_begun()
        for _ in range(100):
            await asyncio.sleep(0)
        assert not task.done()
        self.end.set()
        await task


@pytest.fixture
def inputs(monkeypatch: pytest.MonkeyPatch) -> SlowHashing:
    slow = SlowHashing()
    monkeypatch.setattr(runcard.Run, "add_input", slow.then(runcard.Run.add_input))
    return slow


@pytest.fixture
def closing(monkeypatch: pytest.MonkeyPatch) -> SlowHashing:
    slow = SlowHashing()
    monkeypatch.setattr(RunCloser, "_write_checksums", slow.then(RunCloser._write_checksums))
    return slow


def test_other_tasks_go_on_while_a_run_is_closed(outputs: Path, closing: SlowHashing) -> None:
    async def main() -> runcard.Run:
        recording = runcard.record(outputs, strict=True)
        run = await recording.__aenter__()
        await closing.end_after_turns_of_others(recording.__aexit__(None, None, None))
        return run

    assert read(asyncio.run(main()).path)["generation"]["status"] == "completed"


def test_other_tasks_go_on_while_inputs_are_hashed(outputs: Path, inputs: SlowHashing) -> None:
    async def main() -> None:
        recording = runcard.record(outputs, inputs=[__file__], strict=True)
        await inputs.end_after_turns_of_others(recording.__aenter__())
        await recording.__aexit__(None, None, None)

    asyncio.run(main())


def test_other_tasks_go_on_while_the_run_of_a_coroutine_is_closed(
    outputs: Path, closing: SlowHashing
) -> None:
    @runcard.record(outputs, strict=True)
    async def work() -> None:
        assert runcard.current_run() is not None

    async def main() -> None:
        await closing.end_after_turns_of_others(work())

    asyncio.run(main())


def test_a_cancellation_waits_until_the_run_is_closed(outputs: Path, closing: SlowHashing) -> None:
    async def work() -> None:
        async with runcard.record(outputs, strict=True) as run:
            opened.append(run)

    opened: list[runcard.Run] = []

    async def main() -> runcard.Run:
        task = asyncio.create_task(work())
        await closing.is_begun()
        for _ in range(10):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        closing.end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
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


def test_a_cancellation_while_a_run_begins_closes_it(outputs: Path, inputs: SlowHashing) -> None:
    async def work() -> None:
        async with runcard.record(outputs, inputs=[__file__], strict=True):
            raise AssertionError("not reached")

    async def main() -> None:
        task = asyncio.create_task(work())
        await inputs.is_begun()
        task.cancel()
        await asyncio.sleep(0)
        inputs.end.set()
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
import asyncio, os, signal, threading, time
import runcard
from runcard.recording.run_closer import RunCloser

begun, write = threading.Event(), RunCloser._write_checksums

def slow(self):
    assert threading.current_thread().name == "runcard-off-loop"
    begun.set()
    time.sleep(0.2)
    return write(self)

RunCloser._write_checksums = slow

async def main():
    async with runcard.record("outputs") as run:
        async def strike():
            while not begun.is_set():
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
