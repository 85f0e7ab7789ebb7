"""Threads that find something out for a run while it goes on.

They are stopped when the program ends, wherever they are by then, and keep the locks that they hold: a run that is closed
after that, such as one in a generator that nobody has closed, would wait for these for ever. So the end of the program
first lets them finish, for a moment.
"""

import atexit
import time
from collections.abc import Callable
from threading import Thread
from weakref import WeakSet

PATIENCE = 2.0  # seconds that a program waits at its end for what is not yet known

_at_work: WeakSet["BackgroundThread"] = WeakSet()


class BackgroundThread(Thread):
    """A thread that is waited for, but not for ever."""

    def __init__(self, target: Callable[[], object], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)

    def start(self) -> None:
        """Begin; raises RuntimeError when there can be no more threads."""
        super().start()
        _at_work.add(self)

    def wait(self, timeout: float) -> None:
        """Wait so many seconds, and not once more when the program ends."""
        _at_work.discard(self)
        self.join(timeout)


def _let_finish() -> None:
    end = time.monotonic() + PATIENCE
    for helper in list(_at_work):
        helper.join(max(0.0, end - time.monotonic()))


atexit.register(_let_finish)
