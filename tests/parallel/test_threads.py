"""Jobs in threads: each is done once, and an error or an interrupt stops all of them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from runcard.parallel.progress import Amount, ProgressCounter
from runcard.parallel.threads import JobThreads


class Work:
    """Does jobs by appending them to a list; `act` is called first."""

    def __init__(self, jobs: list[int], act: Callable[["Work", int], object] = lambda *_: None) -> None:
        self.done: list[int] = []
        self.opened = self.closed = 0
        self.amounts: list[Amount] = []
        self.counter = ProgressCounter(self.amounts.append)
        self.threads = JobThreads(jobs, self.open_worker, self.counter)
        self._act = act

    @contextmanager
    def open_worker(self) -> Iterator[Callable[[int], None]]:
        self.opened += 1
        try:
            yield self.do
        finally:
            self.closed += 1

    def do(self, job: int) -> None:
        self._act(self, job)
        self.done.append(job)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_job_is_done_once(count: int) -> None:
    work = Work(list(range(100)))
    work.threads.run(count)
    assert sorted(work.done) == list(range(100))
    assert work.opened == work.closed


def test_one_thread_does_the_jobs_in_their_order() -> None:
    work = Work([3, 1, 2])
    work.threads.run(1)
    assert work.done == [3, 1, 2]


def test_without_threads_the_jobs_are_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    work = Work([1, 2, 3])
    work.threads.run(2)
    assert work.done == [1, 2, 3]


def test_an_error_stops_the_work_and_is_raised() -> None:
    def fail(_: Work, job: int) -> None:
        if job == 2:
            raise IndexError("unexpected")

    work = Work([1, 2, 3], fail)
    with pytest.raises(IndexError, match="unexpected"):
        work.threads.run(1)
    assert work.done == [1]
    assert work.opened == work.closed


def test_work_that_was_stopped_ends_at_the_next_block() -> None:
    def stop(work: Work, job: int) -> None:
        if job == 2:
            work.threads.stop()
        work.threads.count_block(10)

    work = Work([1, 2, 3], stop)
    work.threads.run(1)
    work.counter.finish()
    assert work.done == [1]
    assert work.amounts[-1] == Amount(0, 10)
