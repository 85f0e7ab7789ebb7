"""Threads that gather facts for a run while it goes on.

The interpreter stops daemon threads at its end, wherever they are, and they keep the locks that they hold: a run that is
closed after that, such as one in a generator that was never closed, would wait for these locks forever. So the end of the
program first waits a moment for these threads.
"""

import atexit
import time
from collections.abc import Callable
from threading import Thread
from weakref import WeakSet

PATIENCE = 2.0  # seconds that a program waits at its end for what is not yet known

_running: WeakSet["BackgroundThread"] = WeakSet()


class BackgroundThread(Thread):
    """A daemon thread that the end of the program waits for, up to `PATIENCE`."""

    def __init__(self, target: Callable[[], object], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)

    def start(self) -> None:
        """Start; raises RuntimeError when there can be no more threads."""
        super().start()
        _running.add(self)

    def wait(self, timeout: float) -> None:
        """Wait so many seconds; the end of the program will not wait again."""
        _running.discard(self)
        self.join(timeout)


def _wait_for_all() -> None:
    end = time.monotonic() + PATIENCE
    for thread in list(_running):
        thread.join(max(0.0, end - time.monotonic()))


atexit.register(_wait_for_all)
