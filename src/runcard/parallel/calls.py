"""Make calls in threads, and give their results when they are asked for.

A thread takes longer to start than a short call takes, so none is started for a single call: that is made when its result
is asked for. (`concurrent.futures` does not do this, and takes several milliseconds to import.)

Invariant: with one thread, calls are made one after the other, in the order in which they were submitted, as long as
results are asked for in this order.
"""

import contextlib
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class ThreadCall(Generic[R]):
    """A call that is under way."""

    def __init__(self, function: Callable[[], R], threads: "CallThreads") -> None:
        self._function: Callable[[], R] | None = function
        self._threads = threads
        self._is_made = Event()
        self._value: R
        self._error: BaseException | None = None

    def make(self) -> None:
        """Make the call, unless it was made before; its arguments are not held any longer than that."""
        function, self._function = self._function, None
        if function is None:
            return
        try:
            self._value = function()
        except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
            self._error = error
        finally:
            self._is_made.set()

    def result(self) -> R:
        """What the call returned; raises what it raised."""
        if not self._threads.are_started:
            self.make()
        self._is_made.wait()
        if self._error is not None:
            raise self._error
        return self._value


class CallThreads:
    """Up to `count` threads that make calls."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._calls: SimpleQueue[ThreadCall[Any] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self.is_closed = False

    @property
    def are_started(self) -> bool:
        """Whether there are threads that make the calls."""
        return bool(self._threads)

    def submit(self, function: Callable[[], R]) -> ThreadCall[R]:
        """Have a call made."""
        call = ThreadCall(function, self)
        self._calls.put(call)
        if self._calls.qsize() > 1 and len(self._threads) < self._count:
            thread = Thread(target=self._work, daemon=True)
            with contextlib.suppress(
                RuntimeError
            ):  # no more threads: calls are made where results are asked for
                thread.start()
                self._threads.append(thread)
        return call

    def close(self) -> None:
        """Stop the threads; calls that were not begun are not made."""
        self.is_closed = True
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None and not self.is_closed:
            call.make()
