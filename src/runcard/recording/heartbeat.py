"""A thread that notes every few seconds that the runs of this process are alive.

If the process is killed, the last heartbeat tells when it was still working. There is one thread for all runs. It ends when
no run is open at the time of a beat: a program with many short runs does not start a thread for each. It never keeps the
program from ending.

A forked child has no such thread, and does not speak for the runs of its parent. The thread is stopped before a fork and
started again after it, so that it holds no lock then, and most versions of Python have no reason to warn about a fork with threads.
"""

import atexit
import os
import threading
import time
from collections.abc import Callable

INTERVAL = 5.0  # seconds

_STOP_TIMEOUT = 1.0  # seconds; only a file system that does not answer takes longer


class Heartbeat:
    """Calls a function for each open run, every `INTERVAL` seconds, in a thread of its own."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all runs and the thread: in a forked child they are those of the parent."""
        self._turn = threading.RLock()
        self._beats: dict[str, Callable[[], object]] = {}  # by run id
        self._stop: threading.Event | None = None  # of the thread, if there is one
        self._thread: threading.Thread | None = None
        self._due = 0.0  # when the next beat is, by the monotonic clock

    def begin(self, run_id: str, beat: Callable[[], object]) -> None:
        with self._turn:
            if not self._beats:
                self._due = time.monotonic() + INTERVAL
            self._beats[run_id] = beat
            self.resume()

    def end(self, run_id: str) -> None:
        """No beat of this run is written after this."""
        with self._turn:
            self._beats.pop(run_id, None)

    def resume(self) -> None:
        """Start the thread, if there is something to do and no thread yet."""
        with self._turn:
            if not self._beats or self._thread is not None:
                return
            self._stop = threading.Event()
            self._thread = threading.Thread(
                target=self._work, args=(self._stop,), name="runcard-heartbeat", daemon=True
            )
            try:
                self._thread.start()
            except RuntimeError:  # no more threads, or the interpreter is ending
                self._stop = self._thread = None

    def pause(self) -> None:
        """Stop the thread, and wait until it has."""
        stop, thread = self._stop, self._thread
        self._stop = self._thread = None
        if stop is not None and thread is not None:
            stop.set()
            if thread.is_alive():
                thread.join(_STOP_TIMEOUT)

    def _work(self, stop: threading.Event) -> None:
        # The time of the next beat outlives the thread: forks that follow each other quickly do not put it off.
        while not stop.wait(max(0.0, self._due - time.monotonic())):
            with self._turn:
                if stop.is_set():
                    return
                if not self._beats:
                    self._stop = self._thread = None
                    return
                if time.monotonic() < self._due:
                    continue  # the run that it was due for has ended, and another one has begun
                for beat in self._beats.values():
                    beat()
                self._due = time.monotonic() + INTERVAL


HEARTBEAT = Heartbeat()


os.register_at_fork(before=HEARTBEAT.pause, after_in_parent=HEARTBEAT.resume, after_in_child=HEARTBEAT.reset)
atexit.register(HEARTBEAT.pause)
