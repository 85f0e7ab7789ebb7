"""Pass on the output of a command, unchanged, and copy it to the log.

One loop, in the main thread, waits for output, keys and signals, until the child and its output have ended. A process that
the command leaves behind may keep the output open for ever: so when the child has ended, the output is closed when nothing
came for `QUIET` seconds, or after `LONGEST` seconds.
"""

import contextlib
import fcntl
import os
import select
import signal
import sys
import termios
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from runcard.child_process.child import Child
from runcard.child_process.signals import ReceivedSignal, stop
from runcard.observe.process_tree import ProcessTree

if TYPE_CHECKING:
    from runcard.child_process.terminal import Terminal

QUIET = 0.2
LONGEST = 2.0

_PIECE = 1 << 16
_KEYBOARD = 0
_NOT_FORWARDED = {signal.SIGCHLD, signal.SIGWINCH, signal.SIGTSTP}  # handled by the loop


class OutputCopy(Protocol):
    """Receives a copy of the output."""

    def feed(self, stream: str, data: bytes, /) -> None: ...


class OutputStream:
    """An output stream of the command, and the descriptor that it is passed on to."""

    def __init__(self, name: str, source: int, target: int) -> None:
        self.name = name
        self.source = source
        self._target: int | None = target
        self.write_error: OSError | None = None  # why it could not be passed on

    def pass_on(self, log: OutputCopy) -> int:
        """Pass on what is available; returns how many bytes, and 0 at the end."""
        try:
            data = os.read(self.source, _PIECE)
        except BlockingIOError:
            return 1  # not the end
        except OSError:  # on Linux: the other side of the terminal is closed
            return 0
        log.feed(self.name, data)
        return len(data) if self._write(data) else 0

    def _write(self, data: bytes) -> bool:
        """False when the reader is gone: then the stream is closed, so that the command notices too."""
        rest = memoryview(data)
        while rest and self._target is not None:
            try:
                rest = rest[os.write(self._target, rest) :]
            except BlockingIOError:  # another process made it non-blocking
                select.select([], [self._target], [])
            except OSError as error:
                self.write_error = error
                return False
        return True

    def waiting(self) -> int:
        """How many bytes are waiting to be read."""
        try:
            return int.from_bytes(fcntl.ioctl(self.source, termios.FIONREAD, b"\0" * 4), sys.byteorder)
        except OSError:  # a closed terminal
            return 0

    def close(self) -> None:
        os.close(self.source)


class TerminalOutput(OutputStream):
    """Output of the inner terminal. When the outer one is closed, the command gets a signal, and may go on."""

    def _write(self, data: bytes) -> bool:
        if not super()._write(data):
            self._target, self.write_error = None, None
        return True

    def close(self) -> None:
        """Nothing to do: the terminal closes it."""


class Relay:
    """The loop, and its state."""

    def __init__(
        self,
        child: Child,
        streams: list[OutputStream],
        terminal: "Terminal | None",
        log: OutputCopy,
        tree: ProcessTree,
    ) -> None:
        self._child = child
        self._streams = {stream.source: stream for stream in streams}
        self._terminal = terminal
        self._log = log
        self._tree = tree
        self._keys = b""  # typed, and not yet read by the inner terminal
        self._signals: deque[int] = deque()  # received, and not yet handled
        self._once: dict[int, Callable[[], None]] = {}  # by descriptor
        self._wakeup_read, self._wakeup_write = os.pipe()
        os.set_blocking(self._wakeup_write, False)
        self._poll = select.poll()
        for descriptor in (self._wakeup_read, *self._streams):
            self._poll.register(descriptor, select.POLLIN)

    def call_once_readable(self, descriptor: int, function: Callable[[], None]) -> None:
        """Call a function in the loop, once, when a descriptor is readable while the child runs."""
        self._once[descriptor] = function
        self._poll.register(descriptor, select.POLLIN)

    def receive(self, received: ReceivedSignal) -> None:
        """In the signal thread: forward it at once, even while the loop waits for a slow reader."""
        if received.number not in _NOT_FORWARDED:
            self._forward(received)
        elif received.number == signal.SIGTSTP and self._terminal is None:
            self._forward(received)
            stop(whole_job=False)
        self._signals.append(received.number)
        with contextlib.suppress(BlockingIOError):  # then the loop is awake anyway
            os.write(self._wakeup_write, b"!")

    def _forward(self, received: ReceivedSignal) -> None:
        """A signal from the outer terminal goes to all on the inner one; without an inner one the child already has it."""
        if not received.from_terminal:
            self._child.send(received.number)
        elif self._terminal is not None:
            self._terminal.send(received.number)

    def run(self) -> int:
        """Pass on everything until the end; returns the wait status of the child."""
        try:
            self._start_reading_keys()
            status = None
            while status is None:
                self._wait(self._tree.due - time.monotonic())
                if time.monotonic() >= self._tree.due:
                    self._tree.sample()
                    self._tree.count_orphans()
                    # SIGCHLD may have gone to another thread of this program.
                    status = self._child.poll()
                if status is None:
                    status = self._handle_signals()
            self._drain()
        finally:
            if self._terminal is not None:
                self._terminal.restore()
        return status

    def close(self) -> None:
        """Close all descriptors, when no more signals are received."""
        if self._terminal is not None:
            self._terminal.close()
        for stream in self._streams.values():
            stream.close()
        os.close(self._wakeup_read)
        os.close(self._wakeup_write)

    def _wait(self, seconds: float) -> bool:
        """Wait for something to pass on, and do it; False when nothing came for `seconds`."""
        ready = self._poll.poll(max(0.0, seconds) * 1000)
        for descriptor, event in ready:
            if descriptor == self._wakeup_read:
                os.read(self._wakeup_read, _PIECE)
            elif descriptor == _KEYBOARD:
                self._read_keys()
            elif function := self._once.pop(descriptor, None):
                self._poll.unregister(descriptor)
                function()
            else:
                if event & select.POLLOUT:
                    self._write_keys()
                if event & ~select.POLLOUT and self._streams[descriptor].pass_on(self._log) == 0:
                    self._close_stream(self._streams.pop(descriptor))
        return bool(ready)

    def _close_stream(self, stream: OutputStream) -> None:
        self._poll.unregister(stream.source)
        stream.close()

    def _handle_signals(self) -> int | None:
        """Handle received signals; returns the wait status of the child, once it has ended."""
        status = None
        while self._signals:
            number = self._signals.popleft()
            if number == signal.SIGCHLD:
                status = self._child.poll() if status is None else status
            elif self._terminal is not None:
                self._handle_terminal_signal(number, self._terminal)
        return status

    def _handle_terminal_signal(self, number: int, terminal: "Terminal") -> None:
        if number == signal.SIGWINCH:
            terminal.resize()
        elif number == signal.SIGTSTP:
            self._stop(whole_job=False)
        elif number == signal.SIGCONT:
            self._continue()

    def _stop(self, *, whole_job: bool) -> None:
        """Stop the command, and this process or its whole job; the user's shell has the terminal meanwhile."""
        if self._terminal is not None:
            self._terminal.restore()
        self._child.send(signal.SIGSTOP, group=True)
        stop(whole_job=whole_job)
        self._continue()

    def _continue(self) -> None:
        self._start_reading_keys()
        if self._terminal is not None:
            self._terminal.resize()
        self._child.send(signal.SIGCONT, group=True)

    def _start_reading_keys(self) -> None:
        if self._terminal is not None and self._terminal.is_in_foreground():
            self._terminal.set_raw()
            self._poll.register(_KEYBOARD, select.POLLIN)

    def _read_keys(self) -> None:
        try:
            keys = os.read(_KEYBOARD, _PIECE)
        except OSError:  # the terminal was closed, or is another job's now
            keys = b""
        if not keys or self._terminal is None:
            self._poll.unregister(_KEYBOARD)
        elif self._terminal.is_suspend_key(keys, self._child.pid):
            self._stop(whole_job=True)
        else:
            self._keys += keys
            self._write_keys()

    def _write_keys(self) -> None:
        """Write keys to the inner terminal, as many as it accepts: none while the command does not read."""
        inner = self._terminal.inner if self._terminal is not None else -1
        if inner not in self._streams:
            return
        try:
            self._keys = self._keys[os.write(inner, self._keys) :]
        except BlockingIOError:
            pass
        except OSError:
            self._keys = b""
        self._poll.modify(inner, select.POLLIN | (select.POLLOUT if self._keys else 0))

    def _drain(self) -> None:
        """Pass on what the child has printed, and what other processes print without a pause."""
        for descriptor in (self._wakeup_read, _KEYBOARD, *self._once):
            with contextlib.suppress(KeyError):
                self._poll.unregister(descriptor)
        for stream in list(self._streams.values()):
            left = stream.waiting()
            while left > 0 and (passed := stream.pass_on(self._log)):
                left -= passed
        end = time.monotonic() + LONGEST
        while self._streams and time.monotonic() < end and self._wait(QUIET):
            pass
