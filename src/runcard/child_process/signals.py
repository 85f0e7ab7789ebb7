"""Receive signals while a command runs, so that they can be forwarded to it.

The signals are blocked, and a thread receives them one by one; so they interrupt nothing, not even the closing of the record,
and they reach the command while runcard waits for a slow terminal. Signals that were ignored when runcard was started
(`nohup`) stay ignored.

A signal of the terminal (Ctrl-C) goes to all processes on it, the command included, which must not get it twice. Linux says
where a signal comes from; on other systems it counts as the terminal's when there is one.
"""

import os
import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self

_FORWARDED = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGCONT),
)
_HANDLED = (signal.SIGCHLD, signal.SIGWINCH)
_KEY_SIGNALS = {signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP}
_SI_KERNEL = 0x80  # not in the module signal


class ReceivedSignal(NamedTuple):
    """A signal that was received."""

    number: int
    from_terminal: bool  # then all processes on the terminal got it


Receiver = Callable[[ReceivedSignal], None]


class Signals:
    """Blocks signals in this thread and those that are started from now on, and passes them to a receiver."""

    def __init__(self) -> None:
        ignored = {number for number in _FORWARDED if signal.getsignal(number) is signal.SIG_IGN}
        self._set = {*_FORWARDED, *_HANDLED} - ignored
        self._thread: threading.Thread | None = None
        self._receiver: Receiver | None = None

    def __enter__(self) -> Self:
        # If SIGCHLD were ignored, children could not be waited for.
        self._sigchld_handler = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, self._set)
        return self

    def begin(self, receiver: Receiver) -> None:
        """Pass all signals since the blocking began to a receiver, in a thread of its own."""
        self._receiver = receiver
        self._thread = threading.Thread(target=self._receive, name="runcard-signals", daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        while (receiver := self._receiver) is not None:
            receiver(_wait_for_signal(self._set))

    def end(self) -> None:
        """Stop passing signals to the receiver."""
        if self._thread is not None and self._thread.ident is not None:
            self._receiver = None
            signal.pthread_kill(self._thread.ident, signal.SIGCHLD)
            self._thread.join()
            self._thread = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop signals that came after the end of the command."""
        for number in self._set & signal.sigpending():
            signal.sigwait({number})
        signal.signal(signal.SIGCHLD, self._sigchld_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)


def stop(*, whole_job: bool) -> None:
    """Stop this process, or its whole job, as Ctrl-Z does; nothing happens if no shell could continue it."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    try:
        if whole_job:
            os.kill(0, signal.SIGTSTP)
        else:
            signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})


def _wait_for_signal(wanted: set[signal.Signals]) -> ReceivedSignal:
    wait = getattr(signal, "sigwaitinfo", None)
    if wait is not None:
        info = wait(wanted)
        return ReceivedSignal(info.si_signo, from_terminal=info.si_code == _SI_KERNEL)
    number = signal.sigwait(wanted)
    return ReceivedSignal(number, from_terminal=number in _KEY_SIGNALS and _is_in_foreground())


def _is_in_foreground() -> bool:
    """Whether this process is in the foreground of its terminal, and so gets its signals."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
