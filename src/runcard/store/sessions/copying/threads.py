"""Copying files in threads, one file at a time in each.

While a block is read, hashed or written the interpreter is free, so threads use all cores.

Invariants: every job has an outcome, or an error is raised; an interrupt or a full disk ends all threads within a block.
"""

import contextlib
from collections import deque
from collections.abc import Iterable
from threading import Thread
from typing import NamedTuple

from runcard.checksums.progress import PERIOD
from runcard.store.sessions.copying.large_files import Order, Outcome, Places, copy_closely
from runcard.store.sessions.copying.omission_reasons import NotCopiedError, refusal
from runcard.store.sessions.copying.progress import Tally
from runcard.store.sessions.copying.secret_search import Searcher
from runcard.store.sessions.copying.worker import Folder


class Job(NamedTuple):
    """A file, how large it was when it was looked at, and whether it is searched for secrets if the order says so."""

    path: str
    size: int
    scan: bool = True


class _StoppedError(Exception):
    """Another file has failed, or the user has had enough."""


def copy_all(
    source: int, target: int, jobs: Iterable[Job], order: Order, tally: Tally, count: int
) -> dict[str, Outcome]:
    """The outcome of each job; raises what ends the work: the target takes nothing more, or a thread failed."""
    work = _Work(source, target, sorted(jobs, key=_size, reverse=True), order, tally)
    work.run(count)
    return work.outcomes


class _Work:
    """Jobs that threads share: the largest first, so that none of them is begun last."""

    def __init__(self, source: int, target: int, jobs: list[Job], order: Order, tally: Tally) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self._roots = source, target
        self._waiting, self._order, self._tally = deque(jobs), order, tally
        self._error: BaseException | None = None
        self._stopped = False

    def run(self, count: int) -> None:
        threads = self._start(min(count, len(self._waiting)))
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(PERIOD)
                    self._tally.tell()
            self._work()  # all of it, when no thread could be started
        finally:
            self._stopped = True
            for thread in threads:
                thread.join()
        if self._error is not None:
            raise self._error

    def _start(self, count: int) -> list[Thread]:
        threads: list[Thread] = []
        with contextlib.suppress(RuntimeError):  # while the interpreter ends, there are no new threads
            for _ in range(count):
                thread = Thread(target=self._work, daemon=True)
                thread.start()
                threads.append(thread)
        return threads

    def _work(self) -> None:
        places = Places(Folder(self._roots[0]), Folder(self._roots[1]))
        searcher = Searcher()
        order = self._order._replace(is_suspect=searcher.is_suspect)
        try:
            while not self._stopped and (job := self._next()) is not None:
                scan = order.scan and job.scan
                self.outcomes[job.path] = self._copy(job, places, order._replace(scan=scan))
        except _StoppedError:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised again by the thread that waits for this one
            self._error, self._stopped = error, True
        finally:
            places.close()
            searcher.close()

    def _next(self) -> Job | None:
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def _copy(self, job: Job, places: Places, order: Order) -> Outcome:
        try:
            outcome = copy_closely(places, job.path, job.size, order, self._on_block)
        except NotCopiedError as error:
            return Outcome(None, remark=str(error))
        except OSError as error:
            return Outcome(None, remark=refusal(error))
        self._tally.add(1, 0)
        return outcome

    def _on_block(self, size: int) -> None:
        if self._stopped:
            raise _StoppedError
        self._tally.add(0, size)


def _size(job: Job) -> int:
    return job.size
