"""Counting the tokens of input files, in a thread while the run goes on.

Invariants: a count belongs to the contents whose digest is recorded, so a file that changed since has none; nor has a file
that is not text. Counting raises nothing, and never blocks longer than the given timeout.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from threading import Lock

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject
from runcard.files import read_regular
from runcard.observe.background_thread import BackgroundThread

MAX_FILE_SIZE = 16 << 20  # bytes of a file that is counted
MAX_TOTAL_SIZE = 64 << 20  # bytes of all files that are counted at once


class TokenCounter:
    """Counts the tokens of files in threads of its own."""

    def __init__(self) -> None:
        self._threads: list[BackgroundThread] = []
        self._lock = Lock()
        self._is_stopped = False

    def start(
        self,
        files: list[JsonObject],
        directory: str,
        model: str | None,
        on_counted: Callable[[list[JsonObject]], object],
    ) -> None:
        """Count the files of a `data_sources.files` list; without the extra `tokens`, nothing happens."""
        if not files:
            return
        from runcard.accounting import token_estimate  # noqa: PLC0415 - long to load

        if not token_estimate.can_count():
            return

        def work() -> None:
            counted = list(_counted(files, directory, token_estimate.tokenizer_for(model)))
            with self._lock:
                if counted and not self._is_stopped:
                    on_counted(counted)

        thread = BackgroundThread(work, "runcard-tokens")
        with contextlib.suppress(RuntimeError):  # no more threads, or the interpreter is ending
            thread.start()
            self._threads.append(thread)

    def stop(self, timeout: float) -> None:
        """Wait for running counts, up to the timeout for each; later results are dropped."""
        for thread in self._threads:
            thread.wait(timeout)
        with self._lock:
            self._is_stopped = True


def _counted(files: Iterable[JsonObject], directory: str, tokenizer: str) -> Iterator[JsonObject]:
    from runcard.accounting.token_estimate import count_tokens  # noqa: PLC0415

    left = MAX_TOTAL_SIZE
    for file in files:
        if not 0 <= file["bytes"] <= min(MAX_FILE_SIZE, left):
            continue
        text = _text(file, directory)
        if text is None:
            continue
        left -= file["bytes"]
        yield {
            "path": file["path"],
            "sha256": file["sha256"],
            "tokens": count_tokens(text, tokenizer),
            "token_source": "estimated",
            "tokenizer": tokenizer,
        }


def _text(file: JsonObject, directory: str) -> str | None:
    name = file["path"]
    if "path_base64" in file:
        from base64 import b64decode  # noqa: PLC0415 - hardly any name needs it

        name = os.fsdecode(b64decode(file["path_base64"]))
    try:
        data = read_regular(os.path.realpath(os.path.join(directory, name)))
        return data.decode() if data is not None and sha256_bytes(data).hex == file["sha256"] else None
    except (OSError, UnicodeDecodeError):
        return None
