"""A pseudo-terminal for the command, with the size and settings of the user's terminal.

While the command runs, the user's keyboard is in raw mode: keys go to the inner terminal, which turns them into characters and
signals as its settings say. That is so only when runcard is in the foreground and standard input is the terminal; otherwise
the user's terminal is left as it is.

Invariant: unless runcard is killed, the user's terminal gets its settings back at the end, and whenever runcard is stopped.
"""

import contextlib
import fcntl
import os
import termios
import tty
from typing import Any

_OUTPUT, _LOCAL, _CHARACTERS = 1, 3, 6  # positions in the attributes of termios
_KEYBOARD, _SCREEN = 0, 1


class Terminal:
    """The inner terminal, and the settings of the outer one."""

    def __init__(self) -> None:
        self.has_keyboard = os.isatty(_KEYBOARD)
        self._outer_settings: list[Any] | None = None  # to restore; None unless it is raw
        self.inner, self.slave = os.openpty()
        os.set_blocking(self.inner, False)
        with contextlib.suppress(termios.error):
            settings = termios.tcgetattr(_SCREEN)
            if not self.has_keyboard:
                settings[_OUTPUT] &= ~termios.OPOST  # the outer one does it: see `set_raw`
            termios.tcsetattr(self.slave, termios.TCSANOW, settings)
        self.resize()

    def set_raw(self) -> None:
        """Put the user's keyboard into raw mode, if runcard is in the foreground."""
        if self._outer_settings is None and self.is_in_foreground():
            with contextlib.suppress(termios.error):
                self._outer_settings = termios.tcgetattr(_KEYBOARD)
                tty.setraw(_KEYBOARD, termios.TCSADRAIN)

    def restore(self) -> None:
        """Give the user's terminal its settings back."""
        if self._outer_settings is not None:
            with contextlib.suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(_KEYBOARD, termios.TCSADRAIN, self._outer_settings)
            self._outer_settings = None

    def is_in_foreground(self) -> bool:
        try:
            return self.has_keyboard and os.tcgetpgrp(_KEYBOARD) == os.getpgrp()
        except OSError:
            return False

    def resize(self) -> None:
        """Give the inner terminal the size of the outer one; the system sends SIGWINCH to the command."""
        with contextlib.suppress(OSError):
            size = fcntl.ioctl(_SCREEN, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.inner, termios.TIOCSWINSZ, size)

    def send(self, number: int) -> None:
        """Send a signal to the processes in the foreground of the inner terminal, as a key would."""
        with contextlib.suppress(OSError):
            os.killpg(os.tcgetpgrp(self.inner), number)

    def is_suspend_key(self, keys: bytes, leader: int) -> bool:
        """Whether these keys are to stop the command (Ctrl-Z), and the inner terminal cannot do it.

        The system does not stop a process that has no parent in its session to continue it, such as the first one; any
        other process is stopped by the inner terminal.
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
