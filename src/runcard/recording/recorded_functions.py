"""Functions whose calls are recorded, each as a run of its own: `@runcard.record`.

A function keeps its kind: of a coroutine function comes a coroutine function, of a generator function a generator function. The
run of a generator is open from its first value to its end. It is the current run while the generator works, and not while its
consumer does.

A consumer that stops early, with `break` or `close()`, ends the run as `completed`: the generator did what was asked of it.
After `break` the event loop closes an async generator in a task of its own, which it cancels if the program ends: this is an
early stop as well. At the end of the program, generators that are still waiting for their consumer are closed. An async
generator cannot be closed then: its run is `interrupted`.
"""

import atexit
import contextlib
import functools
import inspect
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from runcard.errors import UsageError
from runcard.recording.lifetime import RunLifetime
from runcard.recording.off_loop import running_loop
from runcard.recording.run import CURRENT_RUN, RecordOptions, Run

if TYPE_CHECKING:
    from contextvars import Token

Function = TypeVar("Function", bound=Callable[..., Any])

# The generators that have begun and not ended; None for an async one.
_waiting: dict[RunLifetime, tuple["_InsideRun", Generator[Any, Any, Any] | None]] = {}


def recorded(function: Function, options: RecordOptions) -> Function:
    """The function, with a run around each of its calls."""
    if isinstance(function, staticmethod | classmethod):
        return cast("Function", type(function)(recorded(function.__func__, options)))
    if inspect.isclass(function):
        raise UsageError(
            f"{function.__name__} is a class, and cannot be recorded", hint="decorate its methods instead"
        )
    for is_of_kind, wrap in _KINDS.items():
        # The second is for objects that can be called.
        if is_of_kind(function) or is_of_kind(getattr(function, "__call__", None)):  # noqa: B004
            return cast("Function", wrap(function, options))
    return cast("Function", _recorded_function(function, options))


def _recorded_function(function: Callable[..., Any], options: RecordOptions) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded_function(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        with RunLifetime(options).begin():
            return function(*args, **kwargs)

    return recorded_function


def _recorded_coroutine(function: Callable[..., Any], options: RecordOptions) -> Callable[..., Any]:
    @functools.wraps(function)
    async def recorded_coroutine(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        async with await RunLifetime(options).begin_off_loop():
            return await function(*args, **kwargs)

    return recorded_coroutine


def _recorded_generator(function: Callable[..., Any], options: RecordOptions) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded_generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:  # noqa: ANN401
        lifetime = RunLifetime(options)
        inside = _InsideRun(lifetime.begin())
        try:
            with inside:
                generator: Generator[Any, Any, Any] = function(*args, **kwargs)
            _waiting[lifetime] = inside, generator
            step = functools.partial(next, generator)
            while True:
                with inside:
                    try:
                        value = step()
                    except StopIteration as stop:
                        lifetime.end()
                        return stop.value
                try:
                    sent = yield value
                except GeneratorExit:
                    with inside:
                        generator.close()
                    lifetime.end()
                    raise
                except BaseException as error:  # noqa: BLE001 - it is the generator's
                    step = functools.partial(generator.throw, error)
                else:
                    step = functools.partial(generator.send, sent)
        except BaseException as error:
            lifetime.end(error)
            raise
        finally:
            _waiting.pop(lifetime, None)

    return recorded_generator


def _recorded_async_generator(function: Callable[..., Any], options: RecordOptions) -> Callable[..., Any]:
    @functools.wraps(function)
    async def recorded_async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:  # noqa: ANN401
        lifetime = RunLifetime(options)
        inside = _InsideRun(await lifetime.begin_off_loop())
        try:
            with inside:
                generator: AsyncGenerator[Any, Any] = function(*args, **kwargs)
            _waiting[lifetime] = inside, None
            step: Callable[[], Awaitable[Any]] = functools.partial(_first_step, generator)
            while True:
                with inside:
                    try:
                        value = await step()
                    except StopAsyncIteration:
                        break
                try:
                    sent = yield value
                except BaseException as error:  # it is the generator's, unless it only ends it
                    if isinstance(error, GeneratorExit) or _is_cancelled_close(error):
                        with inside:
                            await generator.aclose()
                        await lifetime.end_off_loop()
                        raise
                    step = functools.partial(generator.athrow, error)
                else:
                    step = functools.partial(generator.asend, sent)
        except BaseException as error:
            await lifetime.end_off_loop(error)
            raise
        else:
            await lifetime.end_off_loop()
        finally:
            _waiting.pop(lifetime, None)

    return recorded_async_generator


def _first_step(generator: AsyncGenerator[Any, Any]) -> Awaitable[Any]:
    """Begin an async generator, unknown to its event loop: that closes the recorded one at its end, which closes this one."""
    begun = sys.get_asyncgen_hooks().firstiter
    sys.set_asyncgen_hooks(firstiter=None)
    try:
        return anext(generator)
    finally:
        sys.set_asyncgen_hooks(firstiter=begun)


def _is_cancelled_close(error: BaseException) -> bool:
    """Whether this is the cancellation of the task in which the event loop closes a generator that its consumer left."""
    if running_loop() is None:
        return False
    import asyncio  # noqa: PLC0415 - loaded already, by whoever runs the loop

    task = asyncio.current_task()
    if not isinstance(error, asyncio.CancelledError) or task is None:
        return False
    return type(task.get_coro()).__name__ == "async_generator_athrow"  # what `aclose()` returns


_KINDS: dict[Callable[[Any], bool], Callable[[Callable[..., Any], RecordOptions], Callable[..., Any]]] = {
    inspect.iscoroutinefunction: _recorded_coroutine,
    inspect.isgeneratorfunction: _recorded_generator,
    inspect.isasyncgenfunction: _recorded_async_generator,
}


class _InsideRun:
    """Makes a run the current one while its generator works; a run that the generator opened itself stays so, too."""

    def __init__(self, run: Run) -> None:
        self._current: Run | None = run
        self._token: Token[Run | None] | None = None

    def __enter__(self) -> None:
        self._token = CURRENT_RUN.set(self._current)

    def __exit__(self, *_: object) -> None:
        self._current = CURRENT_RUN.get()
        if self._token is not None:
            with contextlib.suppress(ValueError):  # closed by the garbage collector, in another context
                CURRENT_RUN.reset(self._token)


def _end_waiting() -> None:
    with contextlib.ExitStack() as stack:
        for lifetime, (inside, generator) in list(_waiting.items()):
            stack.callback(_end_at_exit, lifetime, inside, generator)


def _end_at_exit(
    lifetime: RunLifetime, inside: _InsideRun, generator: Generator[Any, Any, Any] | None
) -> None:
    if not lifetime.is_open:  # that of the parent process
        return
    status = "interrupted"
    try:
        if generator is not None and inspect.getgeneratorstate(generator) == inspect.GEN_SUSPENDED:
            with inside:
                generator.close()
            status = "completed"
    except BaseException as error:
        lifetime.end(error)
        raise
    lifetime.end(status=status)


atexit.register(_end_waiting)
