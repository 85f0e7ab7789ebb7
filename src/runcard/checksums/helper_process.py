"""One helper process, and the thread that asks it.

It is a new interpreter with nothing but the task's script; nothing is forked, since that is unsafe in a program with
threads. The two take turns, a question and its answer, so neither can wait for the other with a full pipe.

Invariant: an answer is complete or none.
"""

import contextlib
import subprocess
import sys
from queue import SimpleQueue
from threading import Thread
from typing import IO, Generic, cast

from runcard.checksums.helper_pool import C, Task
from runcard.checksums.worker import QUESTION

_LONGEST = 60  # seconds for its last chunk


class Helper(Generic[C]):
    """It takes chunks from a queue until there comes None, or until its process fails."""

    def __init__(self, task: Task, waiting: SimpleQueue[C | None]) -> None:
        self._waiting = waiting
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter and our own file
            [sys.executable, "-I", "-S", task.script, *task.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=task.descriptors,
        )
        self._questions = cast("IO[bytes]", self._process.stdin)  # pipes were asked for, so they are there
        self._answers = cast("IO[bytes]", self._process.stdout)
        self._thread = Thread(target=self._serve, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self.kill()
            self._close()
            raise

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Wait until the queue says that there is no more, but not for a process that has stopped working."""
        self._thread.join(_LONGEST)
        if self._thread.is_alive():
            self.kill()
            self._thread.join()
        self._close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):  # what a dead process did not take
            self._questions.close()
        self._answers.close()
        self._process.wait()

    def _serve(self) -> None:
        while (chunk := self._waiting.get()) is not None:
            reply = self._ask(chunk.question, chunk.length)
            if reply is None:
                self.kill()  # somebody else does its chunk now
                return
            chunk.answer(reply)

    def _ask(self, question: bytes, length: int) -> bytes | None:
        try:
            self._questions.write(QUESTION.pack(len(question)) + question)
            self._questions.flush()
            reply = self._answers.read(length)
        except OSError:
            return None
        return reply if len(reply) == length else None
