"""Work that takes long, in a thread beside the event loop.

Hashing a large file in a coroutine would stop every other task. A cancellation does not stop the work: it is raised when
the work is done, so that a run is always closed completely.
"""

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from runcard.recording.caller_warnings import POSTPONED, warn_caller

T = TypeVar("T")


async def run_off_loop(function: Callable[[], T]) -> T:
    """Call a function in a thread and wait for its end, even if the task is cancelled meanwhile.

    Without an event loop of asyncio (under trio, for example) the function is called here.
    """
    loop = running_loop()
    if loop is None:
        return function()
    import asyncio  # noqa: PLC0415 - loaded already, by whoever runs the loop
    from concurrent.futures import Future  # noqa: PLC0415

    messages: list[str] = []
    outcome: Future[T] = Future()
    context = copy_context()
    context.run(POSTPONED.set, messages)
    thread = threading.Thread(target=_work, args=(outcome, context.run, function), name="runcard-off-loop")
    try:
        thread.start()
    except RuntimeError:  # no more threads, or the interpreter is ending
        return function()
    waiter = asyncio.wrap_future(outcome, loop=loop)
    cancellation: BaseException | None = None
    while not waiter.done():
        try:
            await asyncio.wait([waiter])
        except asyncio.CancelledError as error:
            cancellation = error
    failure = waiter.exception()
    if failure is None:
        for message in messages:
            warn_caller(message)
    if cancellation is not None:
        raise cancellation from failure
    return waiter.result()


def _work(outcome: Any, call: Callable[..., Any], function: Callable[[], object]) -> None:  # noqa: ANN401
    try:
        outcome.set_result(call(function))
    except BaseException as error:  # noqa: BLE001 - raised again by the task that waits
        outcome.set_exception(error)


def running_loop() -> Any:  # noqa: ANN401 - asyncio is not loaded for its types
    """The event loop of asyncio that runs in this thread."""
    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None else asyncio._get_running_loop()  # noqa: SLF001 - public, for frameworks
