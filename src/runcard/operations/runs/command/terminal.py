"""A terminal for the command inside the user's: it sees one of the same size and settings, and the user sees its output.

While it lasts, the user's keyboard is raw: keys go to the inner terminal, which makes characters and signals of them as its
settings say. That is so only when runcard is in the foreground and standard input is the terminal; in all other cases the
user's terminal is left as it is.

Invariant: whatever happens but a kill, the user's terminal has its settings back at the end, and when runcard is stopped.
"""

import contextlib
import fcntl
import os
import termios
import tty
from typing import Any

_OUTPUT, _LOCAL, _CHARACTERS = 1, 3, 6  # places in what termios calls attributes
_KEYBOARD, _SCREEN = 0, 1


class Terminal:
    """The inner terminal, and the settings of the outer one."""

    def __init__(self) -> None:
        self.has_keyboard = os.isatty(_KEYBOARD)
        self._kept: list[Any] | None = None  # the settings of the outer one while it is raw
        self.inner, self.slave = os.openpty()
        os.set_blocking(self.inner, False)
        with contextlib.suppress(termios.error):
            settings = termios.tcgetattr(_SCREEN)
            if not self.has_keyboard:
                settings[_OUTPUT] &= ~termios.OPOST  # the outer one does it: see `raw`
            termios.tcsetattr(self.slave, termios.TCSANOW, settings)
        self.resize()

    def raw(self) -> None:
        """Hand the keyboard over, when it is ours to hand over."""
        if self._kept is None and self.is_in_foreground():
            with contextlib.suppress(termios.error):
                self._kept = termios.tcgetattr(_KEYBOARD)
                tty.setraw(_KEYBOARD, termios.TCSADRAIN)

    def restore(self) -> None:
        """Take it back."""
        if self._kept is not None:
            with contextlib.suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(_KEYBOARD, termios.TCSADRAIN, self._kept)
            self._kept = None

    def is_in_foreground(self) -> bool:
        try:
            return self.has_keyboard and os.tcgetpgrp(_KEYBOARD) == os.getpgrp()
        except OSError:
            return False

    def resize(self) -> None:
        """Give the inner terminal the size of the outer one; the system tells the command."""
        with contextlib.suppress(OSError):
            size = fcntl.ioctl(_SCREEN, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.inner, termios.TIOCSWINSZ, size)

    def send(self, number: int) -> None:
        """Send a signal to the processes in the foreground of the inner terminal, as a key of it would."""
        with contextlib.suppress(OSError):
            os.killpg(os.tcgetpgrp(self.inner), number)

    def suspends(self, keys: bytes, leader: int) -> bool:
        """Whether these keys ask to stop the command, which the inner terminal cannot do for its first process.

        The system stops nobody who has no parent in its session to continue it; any other process is left to the shell
        in there.
        """
        try:
            settings = termios.tcgetattr(self.inner)
            key = settings[_CHARACTERS][termios.VSUSP]
            is_ours = settings[_LOCAL] & termios.ISIG and os.tcgetpgrp(self.inner) == leader
        except (OSError, termios.error):
            return False
        return bool(is_ours) and key in keys

    def close(self) -> None:
        self.restore()
        os.close(self.inner)
