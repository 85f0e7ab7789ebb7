"""Sharing chunks of small files between this process and helpers.

For small files the interpreter itself is what costs time, so threads do not help and processes do. Helpers are started
one by one, and only when the work has lasted longer than a start takes: a short job never pays for one.

Invariant: a helper that cannot be started or dies loses no work: its chunk keeps `digests` None, and who asked does it.
"""

import sys
import time
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Self

from runcard.checksums.tally import Tally
from runcard.checksums.worker import Answer
from runcard.files import encode_name

if TYPE_CHECKING:
    from runcard.checksums.helper import Helper

PATIENCE = 0.01  # seconds of work before a helper is started, and before each further one
_MOST = 7  # more than these cannot be fed by one process
_AHEAD = 2  # chunks that wait for each helper


class Chunk:
    """Some files, and their digests one after the other."""

    __slots__ = ("digests", "paths")

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.digests: bytes | None = None

    @property
    def names(self) -> bytes:
        return encode_name("\0".join(self.paths))

    def answer(self, answer: Answer, tally: Tally) -> None:
        files, size, self.digests = answer
        tally.add(files, size)


class Crew:
    """The helpers of one job, and the queue in front of them; leaving the `with` block waits for what they began."""

    def __init__(self, root: int, cores: int, tally: Tally) -> None:
        self._root, self._tally = root, tally
        self._helpers: list[Helper] = []
        self._waiting: SimpleQueue[Chunk | None] = SimpleQueue()
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

    def offer(self, chunk: Chunk) -> bool:
        """Leave a chunk to the helpers; False when they have enough to do, or there are none."""
        if len(self._helpers) < self._most and self._is_time():
            self._hire()
        if self._waiting.qsize() >= _AHEAD * len(self._helpers):
            return False
        self._waiting.put(chunk)
        return True

    def take_back(self) -> Chunk | None:
        """A chunk that no helper has begun, if there is one."""
        try:
            return self._waiting.get_nowait()
        except Empty:
            return None

    def _is_time(self) -> bool:
        return time.monotonic() - self._begun >= PATIENCE * (len(self._helpers) + 1)

    def _hire(self) -> None:
        # Here, because loading subprocess takes as long as hashing a thousand files.
        from runcard.checksums.helper import Helper  # noqa: PLC0415

        try:
            self._helpers.append(Helper(self._root, self._waiting, self._tally))
        except (
            OSError,
            RuntimeError,
        ):  # no process, or no thread because the interpreter is ending: go on without
            self._most = 0
