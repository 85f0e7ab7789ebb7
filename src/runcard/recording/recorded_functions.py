"""Functions whose calls are recorded, each as a run of its own: `@runcard.record`.

A function keeps its kind: of a coroutine function comes a coroutine function, of a generator function a generator function. The
run of a generator is open from its first value to its end. It is the current run while the generator works, and not while its
consumer does.

A consumer that stops early, with `break` or `close()`, ends the run as `completed`: the generator did what was asked of it.
"""

import contextlib
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from runcard.errors import UsageError
from runcard.recording.lifetime import RunLifetime
from runcard.recording.run import CURRENT_RUN, RecordOptions, Run

if TYPE_CHECKING:
    from contextvars import Token

Function = TypeVar("Function", bound=Callable[..., Any])


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

    return recorded_generator


def _recorded_async_generator(function: Callable[..., Any], options: RecordOptions) -> Callable[..., Any]:
    @functools.wraps(function)
    async def recorded_async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:  # noqa: ANN401
        lifetime = RunLifetime(options)
        inside = _InsideRun(await lifetime.begin_off_loop())
        try:
            with inside:
                generator: AsyncGenerator[Any, Any] = function(*args, **kwargs)
            step = generator.__anext__
            while True:
                with inside:
                    try:
                        value = await step()
                    except StopAsyncIteration:
                        break
                try:
                    sent = yield value
                except GeneratorExit:
                    with inside:
                        await generator.aclose()
                    await lifetime.end_off_loop()
                    raise
                except BaseException as error:  # noqa: BLE001 - it is the generator's
                    step = functools.partial(generator.athrow, error)
                else:
                    step = functools.partial(generator.asend, sent)
        except BaseException as error:
            await lifetime.end_off_loop(error)
            raise
        await lifetime.end_off_loop()

    return recorded_async_generator


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
