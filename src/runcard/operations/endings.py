"""How a run ends: the exception that passes through, or the signal that asks the process to go."""

import asyncio
import signal
import threading
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(BaseException):
    """A termination signal, on its way up through the user's code so that runs can be closed."""

    def __init__(self, number: int) -> None:
        super().__init__(f"terminated by {signal.Signals(number).name}")
        self.number = number


def status_of(error: BaseException | None) -> tuple[str, int | None]:
    """The status of a run through which this exception passed, and the exit code where there is one."""
    if error is None:
        return "completed", None
    if isinstance(error, SystemExit):
        if error.code is None or error.code == 0:
            return "completed", 0
        return "failed", int(error.code) if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | Terminated):
        return "interrupted", None
    return "failed", None


class TerminationGuard:
    """While a run is open, a termination signal closes it first; then the process dies of it as it would have.

    Only in the main thread, and only where the program has no handler of its own.
    """

    def __init__(self) -> None:
        self._ours: list[int] = []

    def begin(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _raise)
                self._ours.append(number)

    def end(self, terminated: Terminated | None) -> None:
        for number in self._ours:
            if signal.getsignal(number) is _raise:
                signal.signal(number, signal.SIG_DFL)
        if terminated is not None and terminated.number in self._ours:
            signal.raise_signal(terminated.number)


def _raise(number: int, _: FrameType | None) -> None:
    raise Terminated(number)
