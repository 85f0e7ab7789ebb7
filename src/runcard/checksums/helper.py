"""One helper process, and the thread that asks it.

It is a new interpreter with nothing but the worker file; nothing is forked, since that is unsafe in a program with
threads. The two take turns, a question and its answer, so neither can wait for the other with a full pipe.

Invariant: an answer is complete or none.
"""

import contextlib
import subprocess
import sys
from queue import SimpleQueue
from threading import Thread
from typing import IO, cast

from runcard.checksums import worker
from runcard.checksums.crew import Chunk
from runcard.checksums.tally import Tally

_LONGEST = 60  # seconds for its last chunk


class Helper:
    """It takes chunks from a queue until there comes None, or until its process fails."""

    def __init__(self, root: int, waiting: SimpleQueue[Chunk | None], tally: Tally) -> None:
        self._waiting, self._tally = waiting, tally
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter and our own file
            [sys.executable, "-I", "-S", worker.__file__, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(root,),
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
            answer = self._ask(chunk.names, len(chunk.paths))
            if answer is None:
                return
            chunk.answer(answer, self._tally)

    def _ask(self, names: bytes, count: int) -> worker.Answer | None:
        start = worker.ANSWER.size
        size = start + count * len(worker.ELSEWHERE)
        try:
            self._questions.write(worker.QUESTION.pack(len(names)) + names)
            self._questions.flush()
            reply = self._answers.read(size)
        except OSError:
            return None
        if len(reply) < size:
            return None
        files, total = worker.ANSWER.unpack(reply[:start])
        return files, total, reply[start:]
