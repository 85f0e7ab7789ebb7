"""Share work on many items, such as the records of a store, with forked copies of this process, or with a cluster.

A fork has everything that is loaded and read already, so it starts within milliseconds; but it is safe only in a process
without other threads. So there are none in a program that has any, on a system that does not tell, on a single core, for
a single item, and for work that is done in less time than they would save. Then all the work is done here. Inside
`cluster.use_cluster`, the workers of that cluster take the place of the forks.

Invariants: there is one result for each item, in the order of the items. An item whose fork dies or raises is done again
here, so that nothing is lost and an error is raised as usual. All forks have ended when the iterator ends or is closed.
"""

import contextlib
import os
import pickle
import signal
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from select import POLLIN, poll
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from runcard.parallel import cores
from runcard.parallel.current_cluster import current_cluster
from runcard.parallel.progress import PERIOD, Progress

if TYPE_CHECKING:
    from runcard.parallel.shard import ItemPlace

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[T, Progress], R]

START_AFTER = 0.02  # seconds of work before a fork, and of work that must be left
_MAX_FORKS = 8  # one process cannot read the results of more
_CHUNK = 8  # items, at most, that a fork is given at once
_CHUNKS_EACH = 2  # that a fork is given, so that it never waits
_AHEAD = 1024  # items that may be done before their turn
_SIZE = struct.Struct("=I")
_RANGE = struct.Struct("=II")


def work_in_order(
    items: Sequence[T],
    work: Work[T, R],
    progress: Progress | None = None,
    *,
    place: "Callable[[T], ItemPlace | None] | None" = None,
) -> Iterator[R]:
    """Do the work for all items, on all cores, and yield the results in the order of the items.

    `work` gets an item and a function for its progress. `progress` gets the files and bytes so far of the item whose
    result is next. `place` says where an item is, for a cluster; without it, and for a single item, none is used. There,
    `work` must be a function of a module, or a `partial` of one.
    """
    report = progress or _no_progress
    cluster = current_cluster()
    if cluster is not None and place is not None and len(items) > 1:
        yield from cluster.work_in_order(items, work, report, place)
        return
    started = time.monotonic()
    for position, item in enumerate(items):
        if position and _is_worth_forks(time.monotonic() - started, position, len(items) - position):
            yield from _forked(items[position:], work, report)
            return
        yield work(item, report)


def _is_worth_forks(seconds: float, done: int, left: int) -> bool:
    takes_long = left > 1 and seconds >= START_AFTER and seconds / done * left >= START_AFTER
    return takes_long and cores() > 1 and _is_single_threaded()


def _is_single_threaded() -> bool:
    """Whether this process surely has no other threads, those of libraries included."""
    if threading.active_count() > 1 or getattr(sys, "frozen", False):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _no_progress(files: int, size: int) -> None:
    """Show no progress."""


def _forked(items: Sequence[T], work: Work[T, R], progress: Progress) -> Iterator[R]:
    pool = _ForkPool(items, work)
    try:
        for index in range(len(items)):
            found = pool.result(index, progress)
            if found is None:
                yield work(items[index], progress)
            else:
                result, amount = found
                if any(amount):
                    progress(*amount)
                yield result
    finally:
        pool.close()


class _ForkPool(Generic[T, R]):
    """The forks at work, and the results that came before their turn."""

    def __init__(self, items: Sequence[T], work: Work[T, R]) -> None:
        count = min(cores(), _MAX_FORKS, len(items))
        self._length, self._chunk = len(items), max(1, min(_CHUNK, len(items) // (4 * count)))
        self._next = 0  # the first item that no fork was given
        self._results: dict[int, tuple[R, tuple[int, int]]] = {}
        self._forks: list[_Fork] = []
        try:
            for _ in range(count):
                self._forks.append(_Fork(items, work, self._forks))
        except OSError:
            pass  # no process or descriptor to spare: those that there are will do, even none
        except BaseException:
            self.close()
            raise

    def result(self, index: int, progress: Progress) -> tuple[R, tuple[int, int]] | None:
        """The result for an item, with its files and bytes; None if it must be done here."""
        while index not in self._results:
            self._give(index)
            if not any(fork.has(index) for fork in self._forks):
                self._next = max(self._next, index + 1)
                return None
            self._receive(index, progress)
        return self._results.pop(index)

    def _give(self, current: int) -> None:
        """Give the forks enough to do, but not too far ahead of the current item."""
        for fork in self._forks:
            while len(fork.chunks) < _CHUNKS_EACH and self._next < min(self._length, current + _AHEAD):
                end = min(self._next + self._chunk, self._length)
                fork.give(range(self._next, end))
                self._next = end

    def _receive(self, current: int, progress: Progress) -> None:
        waiting = poll()
        by_descriptor = {fork.replies: fork for fork in self._forks}
        for descriptor in by_descriptor:
            waiting.register(descriptor, POLLIN)
        for descriptor, _ in waiting.poll():
            fork = by_descriptor[descriptor]
            message = fork.receive()
            if message is None:
                self._forks.remove(fork)
                fork.close()
                continue
            results, (index, *amount) = message
            self._results |= results
            if index == current:
                progress(*amount)

    def close(self) -> None:
        for fork in self._forks:
            fork.close()
        self._forks = []


class _Fork:
    """A forked process. It is given ranges of items, and replies with their results."""

    def __init__(self, items: Sequence[T], work: Work[T, R], earlier: "list[_Fork]") -> None:
        self.chunks: deque[range] = deque()  # that are not finished
        asked, self._questions = os.pipe()
        try:
            self.replies, answers = os.pipe()
        except OSError:
            os.close(asked)
            os.close(self._questions)
            raise
        try:
            self._pid = os.fork()
        except OSError:
            for descriptor in (asked, self._questions, self.replies, answers):
                os.close(descriptor)
            raise
        if not self._pid:
            _run_fork(items, work, asked, answers, [self, *earlier])
        os.close(asked)
        os.close(answers)

    def has(self, index: int) -> bool:
        return any(index in chunk for chunk in self.chunks)

    def give(self, chunk: range) -> None:
        self.chunks.append(chunk)
        with contextlib.suppress(OSError):  # a dead fork is noticed by its reply
            os.write(self._questions, _RANGE.pack(chunk.start, chunk.stop))

    def receive(self) -> "tuple[dict[int, Any], tuple[int, int, int]] | None":
        """The next results, and the progress of an item; None when the fork has died."""
        header = self._read(_SIZE.size)
        data = header and self._read(_SIZE.unpack(header)[0])
        if not data:
            return None
        message: tuple[dict[int, Any], tuple[int, int, int]] = pickle.loads(data)  # noqa: S301 - of our own process
        while self.chunks and self.chunks[0].stop - 1 in message[0]:
            self.chunks.popleft()
        return message

    def _read(self, size: int) -> bytes | None:
        parts = []
        while size and (part := os.read(self.replies, size)):
            parts.append(part)
            size -= len(part)
        return None if size else b"".join(parts)

    def close_descriptors(self) -> None:
        os.close(self._questions)
        os.close(self.replies)

    def close(self) -> None:
        """End the process at once: it has nothing to finish."""
        self.close_descriptors()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # the program has waited for it
            os.waitpid(self._pid, 0)


def _run_fork(
    items: Sequence[T], work: Work[T, R], questions: int, replies: int, of_parent: list[_Fork]
) -> NoReturn:
    """The life of a fork. Whatever goes wrong, it ends without a reply and prints nothing."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        for fork in of_parent:  # so that it ends when the parent is gone
            fork.close_descriptors()
        sender = _Sender(replies)
        while len(question := os.read(questions, _RANGE.size)) == _RANGE.size:
            for index in range(*_RANGE.unpack(question)):
                sender.begin(index)
                sender.add(work(items[index], sender.progress))
            sender.send()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the parent does the work again, and sees the error
        os._exit(1)


class _Sender:
    """Collects results in a fork, and sends them at the end of a chunk or after a while."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._results: dict[int, Any] = {}
        self._sent = time.monotonic()
        self._index = self._files = self._bytes = 0

    def begin(self, index: int) -> None:
        self._index, self._files, self._bytes = index, 0, 0

    def progress(self, files: int, size: int) -> None:
        self._files, self._bytes = files, size
        self._send_in_time()

    def add(self, result: object) -> None:
        self._results[self._index] = (result, (self._files, self._bytes))
        self._send_in_time()

    def _send_in_time(self) -> None:
        if time.monotonic() - self._sent >= PERIOD:
            self.send()

    def send(self) -> None:
        message = (self._results, (self._index, self._files, self._bytes))
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        rest = memoryview(_SIZE.pack(len(data)) + data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self._results, self._sent = {}, time.monotonic()
