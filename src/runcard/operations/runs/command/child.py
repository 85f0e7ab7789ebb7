"""The process of the command: how it is started, so that it never outlives its recorder, and how it ends.

It is forked early and waits: nothing of the command runs before its record is ready. On Linux the system kills it when
runcard dies, however that happens; if runcard dies before the system knows of that wish, nobody lets the child go, and
it sees so. Elsewhere it dies of its closed output or terminal, if it cares.

Invariant: no signal is sent to a process that was waited for, whose number may be another one's by now.
"""

import contextlib
import ctypes
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from runcard.operations.runs.command.find_program import Command, refused

if TYPE_CHECKING:
    from resource import struct_rusage

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ERRNO = 4  # bytes of an error number in the pipe
_TAKEN_BY_PYTHON = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
)  # a program starts with the system's own ways


class Streams(NamedTuple):
    """The files that become the standard streams of the child; `None` is the one that runcard has."""

    stdin: int | None
    stdout: int
    stderr: int
    terminal: int | None = None  # its controlling terminal, in a session of its own


class Child:
    """A process that waits until it is let go, and then is the command."""

    def __init__(
        self, command: Command, environment: dict[str, str], streams: Streams, mask: Iterable[int]
    ) -> None:
        """`mask` are the signals that are to be blocked in the command: those that were when runcard was started."""
        self.usage: struct_rusage | None = None  # what it used, when it has ended
        self._command = command
        self._ended = False
        self._turn = threading.Lock()
        prctl = _prctl()
        ready, self._go = os.pipe()
        self._told, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._go)
            _be(command, environment, streams, mask, prctl, ready, tell)
        os.close(ready)
        os.close(tell)

    def go(self) -> None:
        """Let it be the command; raises CannotRun when the system refuses that, and then it is gone."""
        with contextlib.suppress(BrokenPipeError):  # a signal was faster
            os.write(self._go, b"!")
        os.close(self._go)
        said = os.read(self._told, _ERRNO)
        os.close(self._told)
        if said:
            os.waitpid(self.pid, 0)
            self._ended = True
            number = int.from_bytes(said, sys.byteorder)
            raise refused(self._command, OSError(number, os.strerror(number)))

    def send(self, number: int, *, group: bool = False) -> None:
        """Send a signal to it, or to its process group, if it is still there."""
        with self._turn, contextlib.suppress(ProcessLookupError, PermissionError):
            if not self._ended:
                os.kill(-self.pid if group else self.pid, number)

    def poll(self) -> int | None:
        """What `wait` says of it, when it has ended; None as long as it works."""
        with self._turn:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid == 0:
                return None
            self._ended, self.usage = True, usage
            return status


def adopt_orphans(*, wanted: bool) -> None:
    """Become the parent of what the command leaves behind, so that it is seen and counted; or not any more."""
    if (prctl := _prctl()) is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


@cache
def _prctl() -> Callable[..., int] | None:
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), "prctl", None)
    return found if sys.platform == "linux" else None


def _be(
    command: Command,
    environment: dict[str, str],
    streams: Streams,
    mask: Iterable[int],
    prctl: Callable[..., int] | None,
    ready: int,
    tell: int,
) -> NoReturn:
    """In the child: become the command, or say why not. Nothing of Python's own ends is run."""
    try:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _take(streams)
        for number in _TAKEN_BY_PYTHON:
            if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if os.read(ready, 1):  # nothing comes when runcard has died
            _become(command, environment)
    except OSError as error:
        os.write(tell, (error.errno or errno.EIO).to_bytes(_ERRNO, sys.byteorder))
    finally:
        os._exit(127)


def _take(streams: Streams) -> None:
    stdin = os.dup(0 if streams.stdin is None else streams.stdin)
    if streams.terminal is not None:
        os.login_tty(os.dup(streams.terminal))
    for target, source in enumerate((stdin, streams.stdout, streams.stderr)):
        os.dup2(source, target)


def _become(command: Command, environment: dict[str, str]) -> NoReturn:
    try:
        os.execve(command.path, command.arguments, environment)  # noqa: S606 - it is what the user asked for
    except OSError as error:
        script = command.by_shell() if error.errno == errno.ENOEXEC else None
        if script is None:
            raise
        os.execve(script.path, script.arguments, environment)  # noqa: S606
