"""What a command prints, on its way to whoever reads it, unchanged; and to the log.

One loop, in the main thread, waits for output, keys and news of the child, until the child has ended and its output with
it. A process that the command leaves behind may keep the output open for ever: so, when the child has ended, what it has
printed is passed on, and the output is closed when nothing came for `QUIET` seconds, or `LONGEST` seconds later.
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
from typing import TYPE_CHECKING, Protocol

from runcard.observe.process_tree import ProcessTree
from runcard.operations.runs.command.child import Child
from runcard.operations.runs.command.signals import Signal, stop

if TYPE_CHECKING:
    from runcard.operations.runs.command.terminal import Terminal

QUIET = 0.2
LONGEST = 2.0

_PIECE = 1 << 16
_KEYBOARD = 0
_FOR_THE_LOOP = {signal.SIGCHLD, signal.SIGWINCH, signal.SIGTSTP}  # all others are the child's


class Log(Protocol):
    """Who keeps what was printed."""

    def feed(self, stream: str, data: bytes, /) -> None: ...


class Stream:
    """Output on its way from the command to a file of ours."""

    def __init__(self, name: str, source: int, target: int) -> None:
        self.name = name
        self.source = source
        self._target: int | None = target
        self.trouble: OSError | None = None  # why it could not be passed on

    def pass_on(self, log: Log) -> int:
        """Pass on what there is; returns how much, and 0 at the end."""
        try:
            data = os.read(self.source, _PIECE)
        except BlockingIOError:
            return 1  # there was something, and it is gone
        except OSError:  # how Linux says that nobody has the other side of a terminal any more
            return 0
        log.feed(self.name, data)
        return len(data) if self._write(data) else 0

    def _write(self, data: bytes) -> bool:
        """False when nobody takes it any more: then the command is to notice that as well."""
        rest = memoryview(data)
        while rest and self._target is not None:
            try:
                rest = rest[os.write(self._target, rest) :]
            except BlockingIOError:  # somebody else made the file so
                select.select([], [self._target], [])
            except OSError as error:
                self.trouble = error
                return False
        return True

    def waiting(self) -> int:
        """How many bytes wait to be read."""
        try:
            return int.from_bytes(fcntl.ioctl(self.source, termios.FIONREAD, b"\0" * 4), sys.byteorder)
        except OSError:  # a terminal that nobody has any more
            return 0

    def close(self) -> None:
        os.close(self.source)


class Screen(Stream):
    """Output of the inner terminal. When the outer one is closed, a signal tells the command, and it may go on."""

    def _write(self, data: bytes) -> bool:
        if not super()._write(data):
            self._target, self.trouble = None, None
        return True

    def close(self) -> None:
        """The terminal closes it."""


class Relay:
    """The loop, and what it knows."""

    def __init__(
        self, child: Child, streams: list[Stream], terminal: "Terminal | None", log: Log, tree: ProcessTree
    ) -> None:
        self._child = child
        self._streams = {stream.source: stream for stream in streams}
        self._terminal = terminal
        self._log = log
        self._tree = tree
        self._keys = b""  # typed, and not taken yet
        self._news: deque[int] = deque()
        self._asleep, self._alarm = os.pipe()
        os.set_blocking(self._alarm, False)
        self._poll = select.poll()
        for descriptor in (self._asleep, *self._streams):
            self._poll.register(descriptor, select.POLLIN)

    def receive(self, came: Signal) -> None:
        """In the thread that takes the signals: tell the child at once, also when the loop waits for a slow reader."""
        if came.number not in _FOR_THE_LOOP:
            self._pass_on(came)
        elif came.number == signal.SIGTSTP and self._terminal is None:
            self._pass_on(came)
            stop(everybody=False)
        self._news.append(came.number)
        with contextlib.suppress(BlockingIOError):  # then it is awake anyway
            os.write(self._alarm, b"!")

    def _pass_on(self, came: Signal) -> None:
        """What everybody on the outer terminal got is for everybody on the inner one; without one they have it already."""
        if not came.to_all:
            self._child.send(came.number)
        elif self._terminal is not None:
            self._terminal.send(came.number)

    def run(self) -> int:
        """Pass on everything until the end; returns what `wait` says of the child."""
        try:
            self._take_keyboard()
            status = None
            while status is None:
                self._wait(self._tree.due - time.monotonic())
                if time.monotonic() >= self._tree.due:
                    self._tree.sample()
                    self._tree.count_orphans()
                    status = (
                        self._child.poll()
                    )  # the signal may have gone to a thread of the program around us
                if status is None:
                    status = self._hear()
            self._drain()
        finally:
            if self._terminal is not None:
                self._terminal.restore()
        return status

    def close(self) -> None:
        """Close what is ours, when no signal comes any more."""
        if self._terminal is not None:
            self._terminal.close()
        for stream in self._streams.values():
            stream.close()
        os.close(self._asleep)
        os.close(self._alarm)

    def _wait(self, seconds: float) -> bool:
        """Wait for something to pass on, and do it; False when nothing came for so long."""
        ready = self._poll.poll(max(0.0, seconds) * 1000)
        for descriptor, event in ready:
            if descriptor == self._asleep:
                os.read(self._asleep, _PIECE)
            elif descriptor == _KEYBOARD:
                self._read_keys()
            else:
                if event & select.POLLOUT:
                    self._hand_keys_over()
                if event & ~select.POLLOUT and self._streams[descriptor].pass_on(self._log) == 0:
                    self._end(self._streams.pop(descriptor))
        return bool(ready)

    def _end(self, stream: Stream) -> None:
        self._poll.unregister(stream.source)
        stream.close()

    def _hear(self) -> int | None:
        """Do what signals ask for; returns how the child ended, once it has."""
        status = None
        while self._news:
            number = self._news.popleft()
            if number == signal.SIGCHLD:
                status = self._child.poll() if status is None else status
            elif self._terminal is not None:
                self._on_terminal(number, self._terminal)
        return status

    def _on_terminal(self, number: int, terminal: "Terminal") -> None:
        if number == signal.SIGWINCH:
            terminal.resize()
        elif number == signal.SIGTSTP:
            self._stop(everybody=False)
        elif number == signal.SIGCONT:
            self._continue()

    def _stop(self, *, everybody: bool) -> None:
        """Stop the command, and this process or everybody in its job; the user's shell takes the terminal meanwhile."""
        if self._terminal is not None:
            self._terminal.restore()
        self._child.send(signal.SIGSTOP, group=True)
        stop(everybody=everybody)
        self._continue()

    def _continue(self) -> None:
        self._take_keyboard()
        if self._terminal is not None:
            self._terminal.resize()
        self._child.send(signal.SIGCONT, group=True)

    def _take_keyboard(self) -> None:
        if self._terminal is not None and self._terminal.is_in_foreground():
            self._terminal.raw()
            self._poll.register(_KEYBOARD, select.POLLIN)

    def _read_keys(self) -> None:
        try:
            keys = os.read(_KEYBOARD, _PIECE)
        except OSError:  # the terminal was closed, or is another job's now
            keys = b""
        if not keys or self._terminal is None:
            self._poll.unregister(_KEYBOARD)
        elif self._terminal.suspends(keys, self._child.pid):
            self._stop(everybody=True)
        else:
            self._keys += keys
            self._hand_keys_over()

    def _hand_keys_over(self) -> None:
        """Give keys to the inner terminal, as many as it takes; it may not, while the command reads none."""
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
        """Pass on what the child has printed, and what others print while they do so without a pause."""
        for descriptor in (self._asleep, _KEYBOARD):
            with contextlib.suppress(KeyError):
                self._poll.unregister(descriptor)
        for stream in list(self._streams.values()):
            left = stream.waiting()
            while left > 0 and (passed := stream.pass_on(self._log)):
                left -= passed
        end = time.monotonic() + LONGEST
        while self._streams and time.monotonic() < end and self._wait(QUIET):
            pass
