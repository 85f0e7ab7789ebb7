"""Signals while a command runs: none of them hits runcard, each is handed to whoever is to act on it.

They are blocked, and a thread takes them one by one; so nothing is ever interrupted in its middle, also not the closing
of the record, and a signal reaches the command while runcard waits for a slow terminal. Signals that runcard was started
to ignore (`nohup`) stay ignored.

What the terminal sends (Ctrl-C) goes to everybody on it, so to the command as well: it must not get that twice. The system
says where a signal comes from on Linux; elsewhere it is taken to be from the terminal when there is one.
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
_OURS = (signal.SIGCHLD, signal.SIGWINCH)
_OF_KEYS = {signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP}
_BY_KERNEL = 0x80  # SI_KERNEL, which signal does not name


class Signal(NamedTuple):
    """A signal that came."""

    number: int
    to_all: bool  # whether everybody on the terminal got it


Receiver = Callable[[Signal], None]


class Signals:
    """Blocks signals in this thread and those that are started from now on, and gives them to a receiver."""

    def __init__(self) -> None:
        ignored = {number for number in _FORWARDED if signal.getsignal(number) is signal.SIG_IGN}
        self._set = {*_FORWARDED, *_OURS} - ignored
        self._thread: threading.Thread | None = None
        self._receiver: Receiver | None = None

    def __enter__(self) -> Self:
        self._of_children = signal.signal(
            signal.SIGCHLD, signal.SIG_DFL
        )  # ignored, nobody could be waited for
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, self._set)
        return self

    def begin(self, receiver: Receiver) -> None:
        """Give what came so far, and what comes, to a receiver, in a thread of its own."""
        self._receiver = receiver
        self._thread = threading.Thread(target=self._take, name="runcard-signals", daemon=True)
        self._thread.start()

    def _take(self) -> None:
        while (receiver := self._receiver) is not None:
            receiver(_next(self._set))

    def end(self) -> None:
        """Give no more signals to the receiver."""
        if self._thread is not None and self._thread.ident is not None:
            self._receiver = None
            signal.pthread_kill(self._thread.ident, signal.SIGCHLD)
            self._thread.join()
            self._thread = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What came too late for the command is dropped."""
        for number in self._set & signal.sigpending():
            signal.sigwait({number})
        signal.signal(signal.SIGCHLD, self._of_children)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)


def stop(*, everybody: bool) -> None:
    """Stop this process, or all of its job, as Ctrl-Z does: not at all where no shell could continue it."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    try:
        if everybody:
            os.kill(0, signal.SIGTSTP)
        else:
            signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})


def _next(wanted: set[signal.Signals]) -> Signal:
    wait = getattr(signal, "sigwaitinfo", None)
    if wait is not None:
        info = wait(wanted)
        return Signal(info.si_signo, to_all=info.si_code == _BY_KERNEL)
    number = signal.sigwait(wanted)
    return Signal(number, to_all=number in _OF_KEYS and _on_terminal())


def _on_terminal() -> bool:
    """Whether this process is one that keys of the terminal speak to."""
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
