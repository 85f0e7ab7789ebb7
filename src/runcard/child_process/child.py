"""Start the command as a child process that does not outlive runcard.

The child is forked early and waits until it is released: nothing of the command runs before its record is ready. On Linux the
system kills it when runcard dies (PR_SET_PDEATHSIG); if runcard dies before that is set, the child is never released, and
exits. On other systems the command is ended by its closed output or terminal, if at all.

Invariant: no signal is sent after the child was waited for, since its pid may be that of another process by then.
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

from runcard.child_process.find_program import Command, exec_error

if TYPE_CHECKING:
    from resource import struct_rusage

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ERRNO_SIZE = 4  # bytes of an error number in the pipe
_CHANGED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT)  # reset to the defaults in the child


class ChildStreams(NamedTuple):
    """The descriptors that become the standard streams of the child; None means runcard's own."""

    stdin: int | None
    stdout: int
    stderr: int
    terminal: int | None = None  # the controlling terminal of a new session


class Child:
    """A child process that waits until it is released, and then executes the command."""

    def __init__(
        self, command: Command, environment: dict[str, str], streams: ChildStreams, mask: Iterable[int]
    ) -> None:
        """`mask` are the signals to block in the command: those that were blocked when runcard was started."""
        self.usage: struct_rusage | None = None  # set when it has ended
        self._command = command
        self._ended = False
        self._lock = threading.Lock()
        prctl = _prctl()
        ready, self._release = os.pipe()
        self._error, error = os.pipe()
        try:
            self.pid = os.fork()
        except OSError:
            for descriptor in (ready, self._release, self._error, error):
                os.close(descriptor)
            raise
        if self.pid == 0:
            os.close(self._release)
            _run_in_child(command, environment, streams, mask, prctl, ready, error)
        os.close(ready)
        os.close(error)

    def release(self) -> None:
        """Let it execute the command; raises CannotRun when the system refuses, and then the child is gone."""
        with contextlib.suppress(BrokenPipeError):  # a signal has already killed it
            os.write(self._release, b"!")
        os.close(self._release)
        error = os.read(self._error, _ERRNO_SIZE)
        os.close(self._error)
        if error:
            os.waitpid(self.pid, 0)
            self._ended = True
            number = int.from_bytes(error, sys.byteorder)
            raise exec_error(self._command, OSError(number, os.strerror(number)))

    def send(self, number: int, *, group: bool = False) -> None:
        """Send a signal to it, or to its process group, if it is still running."""
        with self._lock, contextlib.suppress(ProcessLookupError, PermissionError):
            if not self._ended:
                os.kill(-self.pid if group else self.pid, number)

    def poll(self) -> int | None:
        """Its wait status when it has ended; None while it is running."""
        with self._lock:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid == 0:
                return None
            self._ended, self.usage = True, usage
            return status


def adopt_orphans(*, wanted: bool) -> None:
    """Start or stop being the parent of processes that the command leaves behind, so that their use is counted."""
    if (prctl := _prctl()) is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


@cache
def _prctl() -> Callable[..., int] | None:
    prctl: Callable[..., int] | None = getattr(ctypes.CDLL(None), "prctl", None)
    return prctl if sys.platform == "linux" else None


def _run_in_child(
    command: Command,
    environment: dict[str, str],
    streams: ChildStreams,
    mask: Iterable[int],
    prctl: Callable[..., int] | None,
    ready: int,
    error_pipe: int,
) -> NoReturn:
    """In the child: execute the command, or report the error. Python's exit handlers are not run."""
    try:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _set_streams(streams)
        for number in _CHANGED_BY_PYTHON:
            if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if os.read(ready, 1):  # empty when runcard has died
            _execute(command, environment)
    except OSError as error:
        os.write(error_pipe, (error.errno or errno.EIO).to_bytes(_ERRNO_SIZE, sys.byteorder))
    finally:
        os._exit(127)


def _set_streams(streams: ChildStreams) -> None:
    stdin = os.dup(0 if streams.stdin is None else streams.stdin)
    if streams.terminal is not None:
        os.login_tty(os.dup(streams.terminal))
    for target, source in enumerate((stdin, streams.stdout, streams.stderr)):
        os.dup2(source, target)


def _execute(command: Command, environment: dict[str, str]) -> NoReturn:
    try:
        os.execve(command.path, command.arguments, environment)  # noqa: S606 - it is what the user asked for
    except OSError as error:
        script = command.with_shell() if error.errno == errno.ENOEXEC else None
        if script is None:
            raise
        os.execve(script.path, script.arguments, environment)  # noqa: S606
