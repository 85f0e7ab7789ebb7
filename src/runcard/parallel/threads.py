"""Share jobs between threads: one job, such as a large file, is done by one thread.

Invariants: every job is done, or an error is raised; an interrupt or an error stops all threads at their next block.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from threading import Thread
from typing import Generic, TypeVar

from runcard.parallel.progress import PERIOD, ProgressCounter

J = TypeVar("J")


class StoppedError(Exception):
    """The work was stopped: by an error in another thread, or by the user."""


class JobThreads(Generic[J]):
    """Jobs that are started in the given order. Put the largest first, so that no thread starts it last.

    `open_worker` is called once in each thread; its context manager returns the function that does one job.
    """

    def __init__(
        self,
        jobs: Iterable[J],
        open_worker: Callable[[], AbstractContextManager[Callable[[J], object]]],
        progress: ProgressCounter,
    ) -> None:
        self._waiting, self._open_worker, self._progress = deque(jobs), open_worker, progress
        self._error: BaseException | None = None
        self._is_stopped = False

    def run(self, count: int) -> None:
        """Do all jobs in at most `count` threads; raises the first error of a thread."""
        threads = self._start(min(count, len(self._waiting)))
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(PERIOD)
                    self._progress.report()
            self._work()  # everything, when no thread could be started
        finally:
            self._is_stopped = True
            for thread in threads:
                thread.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Start no more jobs, and stop those that report their blocks."""
        self._is_stopped = True

    def count_block(self, size: int) -> None:
        """Count a block of the job at work; raises StoppedError when the work was stopped."""
        if self._is_stopped:
            raise StoppedError
        self._progress.add(0, size)

    def _start(self, count: int) -> list[Thread]:
        threads: list[Thread] = []
        with contextlib.suppress(RuntimeError):  # no new threads while the interpreter exits
            for _ in range(count):
                thread = Thread(target=self._work, daemon=True)
                thread.start()
                threads.append(thread)
        return threads

    def _work(self) -> None:
        try:
            with self._open_worker() as do_job:
                while not self._is_stopped:
                    try:
                        job = self._waiting.popleft()
                    except IndexError:  # another thread was faster
                        return
                    do_job(job)
        except StoppedError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits for this one
            self._error, self._is_stopped = error, True
