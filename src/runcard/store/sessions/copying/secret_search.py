"""Searching large texts for clues to secrets, on all cores.

A search holds the interpreter's lock, so that threads cannot search at the same time. Processes can: each thread that
copies has a helper of its own, which is started when the thread has searched so much that the start pays.

Invariant: a helper that cannot be started or dies changes nothing but the time: its text is searched here.
"""

import contextlib
import sys
from typing import TYPE_CHECKING

from runcard.checksums.helper_pool import cores
from runcard.masking.secret_scanner import is_suspect, scan_patterns
from runcard.store.sessions.copying import secret_search_helper
from runcard.store.sessions.copying.secret_search_helper import FOUND, NOTHING, QUESTION

if TYPE_CHECKING:
    import subprocess

_PATIENCE = 8 * 1024 * 1024  # bytes that a thread searches itself first: as long as a helper takes to start


class Searcher:
    """Searches the texts of one thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._searched = 0
        # In a frozen program sys.executable is that program, which would start a second time.
        self._may_start = cores() > 1 and not getattr(sys, "frozen", False)

    def is_suspect(self, text: bytes) -> bool:
        """Whether a secret may be in `text`."""
        self._searched += len(text)
        if self._may_start and self._searched > _PATIENCE:
            self._start()
        if self._process is not None:
            answer = self._ask(self._process, text)
            if answer in {FOUND, NOTHING}:
                return answer == FOUND
            self.close()
        return is_suspect(text)

    def close(self) -> None:
        """End the helper; it has nothing to finish."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError):  # what it did not take
                self._process.communicate()
            self._process = None

    def _start(self) -> None:
        import subprocess  # noqa: PLC0415 - most workspaces have no such amount of text

        self._may_start = False
        patterns = [clue.pattern.decode("ascii") for clue in scan_patterns()]
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter and our own file
                [sys.executable, "-I", "-S", secret_search_helper.__file__, *patterns],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

    @staticmethod
    def _ask(process: "subprocess.Popen[bytes]", text: bytes) -> bytes:
        """Its answer, or nothing when it died."""
        assert process.stdin is not None  # noqa: S101 - pipes were asked for
        assert process.stdout is not None  # noqa: S101
        try:
            process.stdin.write(QUESTION.pack(len(text)))
            process.stdin.write(text)
            process.stdin.flush()
            return process.stdout.read(1)
        except OSError:
            return b""
