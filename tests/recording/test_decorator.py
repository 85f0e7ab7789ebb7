"""`@runcard.record`: functions of every kind, with and without parentheses."""

import asyncio
import contextlib
import functools
import gc
import inspect
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.errors import UsageError
from runs.runs import read, verdict


def documents(outputs: Path) -> list[dict[str, Any]]:
    return [read(path.parent) for path in sorted(outputs.glob("2*/metadata.json"))]


def endings(outputs: Path) -> list[str]:
    return [document["generation"]["status"] for document in documents(outputs)]


def current() -> runcard.Run:
    run = runcard.current_run()
    assert run is not None
    return run


def is_open(run: runcard.Run) -> bool:
    return bool(read(run.path)["generation"]["status"] == "running")


def test_a_generator_is_recorded_while_it_is_consumed(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    def count(end: int) -> Iterator[runcard.Run]:
        for number in range(end):
            current().log("counted", number=number)
            yield current()

    generator = count(2)
    assert not outputs.exists()  # nothing has happened yet
    run = next(generator)
    assert is_open(run)
    with runcard.record(outputs.parent / "other", strict=True) as own:
        assert next(generator) is run
        assert runcard.current_run() is own  # the consumer does not belong to the run
    assert read(own.path)["relations"] == []
    assert list(generator) == []
    assert endings(outputs) == ["completed"]
    lines = (run.path / "experiment.jsonl").read_text()
    assert lines.count('"event":"counted"') == 2


def test_values_and_exceptions_go_into_a_recorded_generator_and_its_result_comes_out(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    def echo() -> Generator[object, object, str]:
        sent: object = "first"
        while sent is not None:
            try:
                sent = yield sent
            except LookupError as error:
                sent = str(error)
        return "the end"

    generator = echo()
    assert next(generator) == "first"
    assert generator.send(7) == 7
    assert generator.throw(LookupError("thrown")) == "thrown"
    with pytest.raises(StopIteration) as stopped:
        generator.send(None)
    assert stopped.value.value == "the end"
    assert endings(outputs) == ["completed"]


def test_a_generator_whose_consumer_stops_early_is_a_completed_run(outputs: Path) -> None:
    cleaned = []

    @runcard.record(outputs, strict=True)
    def count() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            cleaned.append(current().id)

    for _ in count():
        break
    gc.collect()
    (document,) = documents(outputs)
    assert (document["generation"]["status"], document["errors"]) == ("completed", [])
    assert cleaned == [document["generation"]["run_id"]]


def test_a_generator_that_fails_is_a_failed_run(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    def fail() -> Iterator[int]:
        yield 1
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        list(fail())
    (document,) = documents(outputs)
    assert document["generation"]["status"] == "failed"
    assert document["errors"][0]["message"] == "nothing there"


def test_a_generator_that_does_not_stop_when_it_is_closed_is_a_failed_run(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    def stubborn() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            yield 2

    generator = stubborn()
    next(generator)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        generator.close()  # type: ignore[attr-defined]
    assert endings(outputs) == ["failed"]


def test_generators_that_take_turns_have_a_run_each(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    def work() -> Iterator[str]:
        for _ in range(2):
            yield current().id

    pairs = list(zip(work(), work(), strict=True))
    assert pairs[0] == pairs[1]
    assert len(set(pairs[0])) == 2


def test_a_run_inside_a_recorded_generator_stays_current_there(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    def work() -> Iterator[tuple[str, str]]:
        outer = current()
        with runcard.record(outputs, strict=True) as inner:
            yield outer.id, current().id
            yield inner.id, current().id
        yield outer.id, current().id

    (outer, inner), in_block, after = list(work())
    assert (in_block, after) == ((inner, inner), (outer, outer))
    assert inner != outer
    relations = {d["generation"]["run_id"]: d["relations"] for d in documents(outputs)}
    assert relations[inner] == [{"type": "parent", "id": outer}]


def test_an_async_generator_is_recorded_while_it_is_consumed(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    async def count(end: int) -> AsyncIterator[runcard.Run]:
        for _ in range(end):
            await asyncio.sleep(0)
            yield current()

    async def consume() -> runcard.Run:
        async with runcard.record(outputs.parent / "other", strict=True) as own:
            async for run in count(3):
                assert is_open(run)
                assert runcard.current_run() is own
        return run

    run = asyncio.run(consume())
    assert endings(outputs) == ["completed"]
    assert read(run.path)["generation"]["run_id"] == run.id


def test_values_and_exceptions_go_into_a_recorded_async_generator(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    async def echo() -> AsyncGenerator[object, object]:
        sent: object = "first"
        while True:
            try:
                sent = yield sent
            except LookupError as error:
                sent = str(error)

    async def consume() -> list[object]:
        generator = echo()
        values = [
            await anext(generator),
            await generator.asend(7),
            await generator.athrow(LookupError("thrown")),
        ]
        await generator.aclose()
        return values

    assert asyncio.run(consume()) == ["first", 7, "thrown"]
    assert endings(outputs) == ["completed"]


def test_an_async_generator_that_fails_or_is_cancelled_says_so(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    async def work(*, fail: bool) -> AsyncIterator[int]:
        yield 1
        if fail:
            raise LookupError("nothing there")
        await asyncio.sleep(1000)

    async def consume(*, fail: bool) -> None:
        async for _ in work(fail=fail):
            asyncio.get_running_loop().call_later(0, asyncio.current_task().cancel if not fail else str)  # type: ignore[union-attr]

    with pytest.raises(LookupError, match="nothing there"):
        asyncio.run(consume(fail=True))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(consume(fail=False))
    assert endings(outputs) == ["failed", "interrupted"]


def test_an_async_generator_whose_consumer_stops_early_is_closed(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    async def count() -> AsyncGenerator[int, None]:
        yield 1
        yield 2

    async def consume() -> None:
        async with contextlib.aclosing(count()) as numbers:
            async for _ in numbers:
                break

    async def leave() -> None:
        async for _ in count():
            break

    asyncio.run(consume())
    assert endings(outputs) == ["completed"]
    asyncio.run(leave())  # the loop cancels the task that closes the generator
    assert endings(outputs) == ["completed", "completed"]


def test_an_async_generator_that_is_thrown_a_cancellation_is_interrupted(outputs: Path) -> None:
    @contextlib.asynccontextmanager
    @runcard.record(outputs, strict=True)
    async def work() -> AsyncGenerator[int, None]:
        yield 1

    async def consume() -> None:
        async with work():
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(consume())
    assert endings(outputs) == ["interrupted"]


class Worker:
    """Has methods of every kind."""

    @runcard.record
    def method(self) -> str:
        return current().id

    @classmethod
    @runcard.record
    def of_class(cls) -> str:
        return f"{cls.__name__} {current().id}"

    @runcard.record
    @classmethod
    def wrapped_classmethod(cls) -> str:
        return f"{cls.__name__} {current().id}"

    @staticmethod
    @runcard.record
    def static() -> str:
        return current().id

    @runcard.record
    @staticmethod
    def wrapped_staticmethod() -> str:
        return current().id

    async def __call__(self) -> str:
        return current().id


def test_no_parentheses_are_needed(outputs: Path) -> None:
    @runcard.record
    def function(one: int, *, other: int = 2) -> int:
        """Adds."""
        assert current().id
        return one + other

    @runcard.record
    async def coroutine() -> str:
        return current().id

    @runcard.record
    def generator() -> Iterator[str]:
        yield current().id

    @runcard.record
    async def async_generator() -> AsyncIterator[str]:
        yield current().id

    async def in_loop() -> list[str]:
        return [await coroutine(), *[value async for value in async_generator()]]

    assert function(1, other=3) == 4
    assert (function.__name__, function.__doc__) == ("function", "Adds.")
    assert len({*generator(), *asyncio.run(in_loop())}) == 3
    assert len(endings(outputs)) == 4


def test_methods_are_recorded_whatever_their_kind(outputs: Path) -> None:
    worker = Worker()
    results = [worker.method(), worker.of_class(), Worker.wrapped_classmethod(), worker.static()]
    results.append(Worker.wrapped_staticmethod())
    assert len({text.split()[-1] for text in results}) == len(documents(outputs)) == 5


def test_an_object_that_can_be_called_is_recorded_by_what_its_call_is(outputs: Path) -> None:
    call = runcard.record(outputs, strict=True)(Worker())
    assert asyncio.run(call()) in {d["generation"]["run_id"] for d in documents(outputs)}
    assert inspect.iscoroutinefunction(call)
    partly = runcard.record(outputs, strict=True)(functools.partial(max, 1))
    assert partly(2) == 2


def test_a_function_keeps_its_kind() -> None:
    def function() -> None: ...

    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def async_generator() -> AsyncIterator[int]:
        yield 1

    checks = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    for original in (function, coroutine, generator, async_generator):
        for recorded in (runcard.record(original), runcard.record("outputs")(original)):
            assert [is_kind(recorded) for is_kind in checks] == [is_kind(original) for is_kind in checks]
            assert inspect.signature(recorded) == inspect.signature(original)


def test_a_class_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match="Worker is a class") as raised:
        runcard.record(Worker)
    assert raised.value.hint == "decorate its methods instead"


TYPED = """
from collections.abc import AsyncIterator, Iterator
from typing import assert_type
import runcard

@runcard.record
def plain(one: int, *, other: str = "") -> float: return one / 2

@runcard.record("store", config={"a": 1})
async def coroutine(one: int) -> str: return str(one)

@runcard.record
def generator() -> Iterator[int]: yield 1

@runcard.record()
async def async_generator() -> AsyncIterator[int]: yield 1

class Worker:
    @runcard.record
    def method(self, one: int) -> str: return str(one)

assert_type(plain(1, other="x"), float)
assert_type(generator(), Iterator[int])
assert_type(async_generator(), AsyncIterator[int])
assert_type(Worker().method(1), str)

async def use() -> None:
    assert_type(await coroutine(1), str)
    async with runcard.record() as run:
        assert_type(run, runcard.Run)

with runcard.start("store", labels={"a": 1}) as run:
    assert_type(run, runcard.Run)
    run.finish("failed")
plain("wrong")  # type: ignore[arg-type]
runcard.record(3)  # type: ignore[call-overload]
"""


@pytest.mark.long
def test_a_recorded_function_keeps_its_types(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(TYPED)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        f"--cache-dir={tmp_path}/cache",
        "sample.py",
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"MYPYPATH": str(Path(runcard.__file__).parents[1]), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("Success"), done.stdout


def _exit_with(code: str, here: Path) -> tuple[str, list[str]]:
    """What a program prints, and how its runs ended."""
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, timeout=120, check=True
    )
    assert all(verdict(run)["intact"] for run in (here / "outputs").glob("2*"))
    return ended.stdout + ended.stderr, endings(here / "outputs")


@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "kept = [waiting, lambda: kept]; del waiting"])
def test_a_generator_that_waits_at_the_end_of_the_program_is_a_completed_run(
    tmp_path: Path, ending: str
) -> None:
    code = f"""
import sys, runcard

@runcard.record
def count():
    try:
        yield 1
    finally:
        runcard.current_run().log("cleaned")
        print("cleaned")

waiting = count()
next(waiting)
{ending}
"""
    assert _exit_with(code, tmp_path) == ("cleaned\n", ["completed"])
    (journal,) = tmp_path.glob("outputs/2*/experiment.jsonl")
    assert '"event":"cleaned"' in journal.read_text()


def test_the_end_of_the_event_loop_closes_a_recorded_async_generator_once(tmp_path: Path) -> None:
    code = """
import asyncio, runcard

@runcard.record
async def count():
    try:
        yield 1
    finally:
        await asyncio.sleep(0)
        print("cleaned")

async def main():
    global waiting
    waiting = count()
    await anext(waiting)

asyncio.run(main())
"""
    assert _exit_with(code, tmp_path) == ("cleaned\n", ["completed"])


def test_an_async_generator_whose_event_loop_is_gone_is_interrupted(tmp_path: Path) -> None:
    code = """
import asyncio, runcard

@runcard.record
async def count():
    yield 1

loop = asyncio.new_event_loop()
waiting = count()
loop.run_until_complete(anext(waiting))
loop.close()
"""
    assert _exit_with(code, tmp_path) == ("", ["interrupted"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (property(list), "a property cannot be recorded"),
        (5, "outputs is of the type int"),
        (b"outputs", "outputs is of the type bytes"),
        (functools.cached_property(list), "outputs is of the type cached_property"),
    ],
)
def test_what_is_neither_a_function_nor_a_path_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        runcard.record(wrong)


def test_the_run_of_a_function_has_its_name(outputs: Path) -> None:
    class Chatbot:
        """Has a method, and can be called."""

        @runcard.record(outputs, strict=True)
        def answer(self) -> None: ...

        def __call__(self) -> None: ...

    @runcard.record(outputs, strict=True)
    async def ask() -> None: ...

    Chatbot().answer()
    asyncio.run(ask())
    runcard.record(outputs, strict=True)(Chatbot())()
    with runcard.record(outputs, strict=True):
        pass
    here = f"{__name__}.test_the_run_of_a_function_has_its_name.<locals>"
    names = [document["generation"].get("function") for document in documents(outputs)]
    assert names == [f"{here}.Chatbot.answer", f"{here}.ask", f"{here}.Chatbot", None]
    assert f"`{here}.ask`" in sorted(outputs.glob("2*/README.md"))[1].read_text()
