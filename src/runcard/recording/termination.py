"""How a run ends: the exception that passes through, or the signal that asks the process to go."""

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(SystemExit):
    """A termination signal, on its way up through the user's code so that runs can be closed.

    It asks the program to exit, so event loops let it pass and do not keep it with the task it came upon.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number

    def __str__(self) -> str:
        return f"terminated by {signal.Signals(self.number).name}"


def status_of(error: BaseException | None) -> tuple[str, int | None]:
    """The status of a run through which this exception passed, and the exit code where there is one."""
    if error is None:
        return "completed", None
    if isinstance(error, KeyboardInterrupt | Terminated) or _is_cancelled(error):
        return "interrupted", None
    if isinstance(error, SystemExit):
        if error.code is None or error.code == 0:
            return "completed", 0
        return "failed", int(error.code) if isinstance(error.code, int) else 1
    return "failed", None


def _is_cancelled(error: BaseException) -> bool:
    """Only where asyncio was loaded can anybody have been cancelled; loading it would take longer than all the rest."""
    cancelled = getattr(sys.modules.get("asyncio"), "CancelledError", None)
    return cancelled is not None and isinstance(error, cancelled)


class _Watch:
    """The signals that are caught while runs of the main thread are open, and the one that came."""

    def __init__(self) -> None:
        self.runs = 0
        self.caught: list[int] = []
        self.received: int | None = None

    def begin(self) -> None:
        self.runs += 1
        for number in _SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _raise)
                self.caught.append(number)

    def end(self) -> None:
        self.runs -= 1
        if self.runs == 0:
            self.give_back()

    def give_back(self) -> None:
        """Leave the signals to the system again, and the process to the one that came."""
        if threading.current_thread() is not threading.main_thread():
            return  # then the handler itself does it
        for number in self.caught:
            if signal.getsignal(number) is _raise:
                signal.signal(number, signal.SIG_DFL)
        self.caught.clear()
        if self.received is not None:
            signal.raise_signal(self.received)


_watch = _Watch()


class TerminationGuard:
    """While a run is open, a termination signal closes it first; then the process dies of it as it would have.

    Only in the main thread, and only where the program has no handler of its own. When many runs are open, the process
    lives until the last one is closed.
    """

    def __init__(self) -> None:
        self._begun = False

    def begin(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._begun = True
            _watch.begin()

    def end(self) -> None:
        if self._begun:
            self._begun = False
            _watch.end()


def _raise(number: int, _: FrameType | None) -> None:
    again, _watch.received = _watch.received is not None, number
    if _watch.runs == 0:
        _watch.give_back()
    loop = _running_loop()
    if loop is not None and not again:
        # An event loop that is interrupted between two of its steps loses one, and would wait for it for ever.
        loop.call_soon_threadsafe(_raise_in_loop, number)
        return
    raise Terminated(number)


def _raise_in_loop(number: int) -> None:
    raise Terminated(number)


def _running_loop() -> Any:  # noqa: ANN401 - asyncio is not loaded for its types
    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None else asyncio._get_running_loop()  # noqa: SLF001 - public, for frameworks


# A forked child has no runs to close: a signal ends it as if runcard were not there. One that came in between, before the
# child has forgotten the handler, would be lost; so it waits until then.

_forking = threading.local()


def _hold() -> None:
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _watch.caught)


def _let_go() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _forget() -> None:
    global _watch  # noqa: PLW0603 - it belongs to the process
    for number in _watch.caught:
        if signal.getsignal(number) is _raise:
            signal.signal(number, signal.SIG_DFL)
    _watch = _Watch()
    _let_go()


os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_forget)
