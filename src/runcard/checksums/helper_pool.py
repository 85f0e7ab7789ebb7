"""Sharing work on many small files between this process and helpers.

For small files the interpreter itself is what costs time, so threads do not help and processes do. Helpers are started
one by one, and only when the work has lasted longer than a start takes: a short job never pays for one.

What the work is, here and in the helpers, is said by a task and its chunks: hashing is one, copying another.

Invariant: a helper that cannot be started or dies loses no work: its chunk is never answered, and who asked does it.
"""

import os
import sys
import time
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from runcard.checksums.helper_process import Helper

PATIENCE = 0.01  # seconds of work before a helper is started, and before each further one
_MOST = 7  # more than these cannot be fed by one process
_AHEAD = 2  # chunks that wait for each helper


class Task(NamedTuple):
    """What helpers run: a script of the standard library alone, and its arguments; it inherits the descriptors."""

    script: str
    arguments: tuple[str, ...]
    descriptors: tuple[int, ...]


class Chunk(Protocol):
    """Some files: what a helper is asked, how many bytes it answers, and who hears the answer."""

    @property
    def question(self) -> bytes: ...

    @property
    def length(self) -> int: ...

    def answer(self, reply: bytes, /) -> None: ...


C = TypeVar("C", bound=Chunk)


class Crew(Generic[C]):
    """The helpers of one job, and the queue in front of them; leaving the `with` block waits for what they began."""

    def __init__(self, task: Task, cores: int) -> None:
        self._task = task
        self._helpers: list[Helper[C]] = []
        self._waiting: SimpleQueue[C | None] = SimpleQueue()
        # In a frozen program sys.executable is that program, which would start a second time.
        self._most = 0 if getattr(sys, "frozen", False) else min(cores - 1, _MOST)
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for helper in self._helpers:
            if error is not None:  # an interrupt does not wait
                helper.kill()
            self._waiting.put(None)
        for helper in self._helpers:
            helper.end()

    def offer(self, chunk: C) -> bool:
        """Leave a chunk to the helpers; False when they have enough to do, or there are none."""
        if len(self._helpers) < self._most and self._is_time():
            self._hire()
        if self._waiting.qsize() >= _AHEAD * len(self._helpers):
            return False
        self._waiting.put(chunk)
        return True

    def take_back(self) -> C | None:
        """A chunk that no helper has begun, if there is one."""
        try:
            return self._waiting.get_nowait()
        except Empty:
            return None

    def _is_time(self) -> bool:
        return time.monotonic() - self._begun >= PATIENCE * (len(self._helpers) + 1)

    def _hire(self) -> None:
        # Here, because loading subprocess takes as long as hashing a thousand files.
        from runcard.checksums.helper_process import Helper  # noqa: PLC0415

        try:
            self._helpers.append(Helper(self._task, self._waiting))
        except (
            OSError,
            RuntimeError,
        ):  # no process, or no thread because the interpreter is ending: go on without
            self._most = 0


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
