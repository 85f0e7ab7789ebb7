"""Calls in threads: results, errors, order; and no thread for a single call."""

import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from runcard.parallel.calls import CallThreads
from waiting import wait_until


@pytest.fixture
def threads() -> Iterator[CallThreads]:
    with closing(CallThreads(2)) as started:
        yield started


def test_a_single_call_is_made_where_its_result_is_asked_for(threads: CallThreads) -> None:
    call = threads.submit(threading.get_ident)
    assert not threads.are_started
    assert call.result() == call.result() == threading.get_ident()


def test_threads_make_several_calls(threads: CallThreads) -> None:
    calls = [threads.submit(partial(pow, 2, number)) for number in range(100)]
    assert threads.are_started
    assert [call.result() for call in calls] == [2**number for number in range(100)]


@pytest.mark.parametrize("others", [0, 5])
def test_an_error_is_raised_where_the_result_is_asked_for(threads: CallThreads, others: int) -> None:
    failing = threads.submit(lambda: 1 // 0)
    good = [threads.submit(lambda: 1) for _ in range(others)]
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            failing.result()
    assert [call.result() for call in good] == [1] * others


def test_one_thread_keeps_the_order() -> None:
    done: list[int] = []
    with closing(CallThreads(1)) as thread:
        calls = [thread.submit(partial(done.append, number)) for number in range(1000)]
        for call in calls:
            call.result()
    assert done == list(range(1000))


def test_closing_leaves_out_what_was_not_begun() -> None:
    begun, late = threading.Event(), []
    thread = CallThreads(1)

    def until_closed() -> None:
        begun.set()
        wait_until(lambda: thread.is_closed)

    thread.submit(until_closed)
    thread.submit(lambda: late.append(1))
    begun.wait(60)
    thread.close()
    assert late == []


def test_where_no_thread_can_be_started_calls_are_made_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []
    with closing(CallThreads(2)) as threads:
        for call in [threads.submit(partial(done.append, number)) for number in range(5)]:
            call.result()
    assert done == [0, 1, 2, 3, 4]
