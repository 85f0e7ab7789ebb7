"""Helper processes that work on chunks of small files.

A helper is a new interpreter that runs `worker.py`; nothing is forked, since that is unsafe in a program with threads.
Helpers are started one by one, and only after the work has taken longer than a start does: a short job starts none. A
helper gets a question and gives its reply before the next question, so neither side waits on a full pipe.

Invariant: a helper that cannot be started or dies loses no work: its chunk gets no reply, and the caller does it.
"""

import contextlib
import sys
import time
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import IO, Self, cast

from runcard.parallel import worker
from runcard.parallel.chunks import FileChunk, HelperTask
from runcard.parallel.worker import QUESTION

START_AFTER = 0.01  # seconds of work before a helper is started, and before each further one
_MAX_HELPERS = 7  # one process cannot feed more
_QUEUED_CHUNKS = 2  # for each helper
_LAST_CHUNK_TIMEOUT = 60  # seconds
_POLL = 0.001  # seconds


class HelperPool:
    """The helpers of one task, and their queue; leaving the `with` block waits for the chunks they have started."""

    def __init__(self, task: HelperTask, cores: int) -> None:
        self._task = task
        self._helpers: list[HelperThread] = []
        self._waiting: SimpleQueue[FileChunk | None] = SimpleQueue()
        self._max_helpers = min(cores - 1, _MAX_HELPERS) if can_start_helpers() else 0
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for helper in self._helpers:
            if error is not None:  # an interrupt does not wait
                helper.process.kill()
            self._waiting.put(None)
        for helper in self._helpers:
            helper.end()

    def offer(self, chunk: FileChunk) -> bool:
        """Give a chunk to the helpers; False when they are busy or there are none."""
        if len(self._helpers) < self._max_helpers and self._is_time_to_start():
            self._start_helper()
        if self._waiting.qsize() >= _QUEUED_CHUNKS * len(self._helpers):
            return False
        self._waiting.put(chunk)
        return True

    def take_back(self) -> FileChunk | None:
        """A chunk that no helper has started yet, if there is one."""
        try:
            return self._waiting.get_nowait()
        except Empty:
            return None

    def wait_for(self, chunk: FileChunk) -> None:
        """Wait until a chunk that a helper has started has a reply or is lost; a helper that hangs is killed."""
        deadline = time.monotonic() + _LAST_CHUNK_TIMEOUT
        while chunk.reply is None and not chunk.is_lost:
            time.sleep(_POLL)
            if time.monotonic() > deadline:
                for helper in self._helpers:
                    helper.process.kill()

    def _is_time_to_start(self) -> bool:
        return time.monotonic() - self._started >= START_AFTER * (len(self._helpers) + 1)

    def _start_helper(self) -> None:
        try:
            self._helpers.append(HelperThread(self._task, self._waiting))
        except (
            OSError,
            RuntimeError,
        ):  # no process, or no thread because the interpreter exits: continue without
            self._max_helpers = 0


class HelperProcess:
    """A process that runs `worker.py`; raises OSError when it cannot be started."""

    def __init__(self, task: HelperTask) -> None:
        # Here, because importing it takes as long as hashing a thousand files.
        import subprocess  # noqa: PLC0415

        self._process = subprocess.Popen(  # noqa: S603 - this interpreter and our own file
            [sys.executable, "-I", "-S", worker.__file__, task.job, *task.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=task.descriptors,
        )
        self._questions = cast("IO[bytes]", self._process.stdin)  # not None, since they are pipes
        self._replies = cast("IO[bytes]", self._process.stdout)

    def ask(self, question: bytes, reply_size: int) -> bytes | None:
        """The complete reply, or None when the process has died."""
        try:
            self._questions.write(QUESTION.pack(len(question)) + question)
            self._questions.flush()
            reply = self._replies.read(reply_size)
        except OSError:
            return None
        return reply if len(reply) == reply_size else None

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.wait()

    def close(self) -> None:
        """End the process, which has replied to all it was asked; one that hangs may never read that its input ended."""
        self._process.kill()
        with contextlib.suppress(OSError):  # unsent data of a dead process
            self._questions.close()
        self._replies.close()
        self._process.wait()


class HelperThread:
    """A helper process, and the thread that gives it chunks from a queue until None comes or the process fails."""

    def __init__(self, task: HelperTask, waiting: SimpleQueue[FileChunk | None]) -> None:
        self._waiting = waiting
        self.process = HelperProcess(task)
        self._thread = Thread(target=self._serve, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self.process.close()
            raise

    def end(self) -> None:
        """Wait until the queue is empty, but kill a process that hangs."""
        self._thread.join(_LAST_CHUNK_TIMEOUT)
        if self._thread.is_alive():
            self.process.kill()
            self._thread.join()
        self.process.close()

    def _serve(self) -> None:
        while (chunk := self._waiting.get()) is not None:
            reply = self.process.ask(chunk.question, chunk.reply_size)
            if reply is None:
                self.process.kill()
                self.process.wait()  # it may still write a copy
                chunk.is_lost = True
                return
            chunk.set_reply(reply)


def can_start_helpers() -> bool:
    """False in a frozen program: there sys.executable is the program itself, which would start again."""
    return not getattr(sys, "frozen", False)
