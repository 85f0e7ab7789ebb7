"""How a run ends: by an exception that leaves the block, or by a termination signal."""

import os
import signal
import sys
import threading
from types import FrameType

from runcard.recording.off_loop import running_loop

_TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(SystemExit):
    """A termination signal, raised as an exception in the user's code so that runs can be closed.

    It is a SystemExit, so event loops let it pass instead of keeping it as the result of a task.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number

    def __str__(self) -> str:
        return f"terminated by {signal.Signals(self.number).name}"


def status_of(error: BaseException | None) -> tuple[str, int | None]:
    """The status of a run that this exception ended, and its exit code, if it has one."""
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
    """asyncio is not imported for this: it takes long, and without it nothing can have been cancelled."""
    cancelled = getattr(sys.modules.get("asyncio"), "CancelledError", None)
    return cancelled is not None and isinstance(error, cancelled)


class _SignalHandlers:
    """The signals that are handled while runs of the main thread are open, and the one that was received."""

    def __init__(self) -> None:
        self.runs = 0
        self.handled: list[int] = []
        self.received: int | None = None

    def begin(self) -> None:
        self.runs += 1
        for number in _TERMINATION_SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _raise_terminated)
                self.handled.append(number)

    def end(self) -> None:
        self.runs -= 1
        if self.runs == 0:
            self.restore()

    def restore(self) -> None:
        """Restore the default handlers, and let a signal that was received end the process."""
        if threading.current_thread() is not threading.main_thread():
            return  # the handler does it, in the main thread
        for number in self.handled:
            if signal.getsignal(number) is _raise_terminated:
                signal.signal(number, signal.SIG_DFL)
        self.handled.clear()
        if self.received is not None:
            signal.raise_signal(self.received)


_handlers = _SignalHandlers()


def received_signal() -> int | None:
    """The termination signal that is ending this process."""
    return _handlers.received


def uncaught_exception() -> BaseException | None:
    """The exception that ended the program; at a prompt or in a notebook, an exception ends only its cell."""
    if hasattr(sys, "ps1") or sys.flags.interactive:
        return None
    return getattr(sys, "last_value", None)


class TerminationGuard:
    """While a run is open, a termination signal first closes it; then it ends the process as usual.

    Only in the main thread, and only if the program has no handler of its own. If several runs are open, the process
    lives until the last one is closed.
    """

    def __init__(self) -> None:
        self._is_active = False

    def begin(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._is_active = True
            _handlers.begin()

    def end(self) -> None:
        if self._is_active:
            self._is_active = False
            _handlers.end()


def _raise_terminated(number: int, _: FrameType | None) -> None:
    again, _handlers.received = _handlers.received is not None, number
    if _handlers.runs == 0:
        _handlers.restore()
    loop = running_loop()
    if loop is not None and not again:
        # An event loop that is interrupted between two steps loses one, and would wait for it for ever.
        loop.call_soon_threadsafe(_raise_in_loop, number)
        return
    raise Terminated(number)


def _raise_in_loop(number: int) -> None:
    raise Terminated(number)


# A forked child has no runs to close: a signal ends it as if runcard were not there. Signals are blocked during the fork,
# until the child has removed the handler.

_forking = threading.local()


def _block_signals() -> None:
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _handlers.handled)


def _unblock_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _reset_in_child() -> None:
    global _handlers  # noqa: PLW0603 - it belongs to the process
    for number in _handlers.handled:
        if signal.getsignal(number) is _raise_terminated:
            signal.signal(number, signal.SIG_DFL)
    _handlers = _SignalHandlers()
    _unblock_signals()


os.register_at_fork(before=_block_signals, after_in_parent=_unblock_signals, after_in_child=_reset_in_child)
