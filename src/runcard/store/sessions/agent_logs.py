"""The logs of a session's instances while they are written: text for text, for one instance after the other.

Secrets are masked on the way, in large blocks. One file is open at a time: a session may have thousands of instances.
"""

import contextlib
import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Self

from runcard.files import failure
from runcard.masking import Masker
from runcard.store import layout
from runcard.store.sessions.copying import CopiedFile, Redaction
from runcard.store.sessions.copying.results import CopiedLog
from runcard.store.sessions.directory import SessionDirectory

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 18  # bytes that are written at once


class _Log:
    """One log: what is known of it."""

    def __init__(self, path: str, masker: Masker | None) -> None:
        self.path = path
        self.hasher = sha256()
        self.size = self.lines = 0
        self._masker = masker

    def masked(self, data: bytes, *, is_last: bool) -> bytes:
        """What may be written now; all of it before another log follows."""
        if self._masker is None:
            return data
        return self._masker.feed(data) + (self._masker.flush() if is_last else b"")

    @property
    def redactions(self) -> tuple[Redaction, ...]:
        counts = self._masker.counts if self._masker is not None else {}
        return tuple(Redaction(rule, layout.OUTPUT, count) for rule, count in sorted(counts.items()))


class AgentLogs:
    """The file `output.log` of each instance."""

    def __init__(self, directory: SessionDirectory, *, mask: bool) -> None:
        self._directory, self._mask = directory, mask
        self._logs: dict[str, _Log] = {}
        self._current: _Log | None = None
        self._descriptor = -1
        self._pieces: list[bytes] = []
        self._pending = 0  # bytes of these pieces

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._switch(None)
        elif self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def write(self, instance_id: str, text: str) -> None:
        """Add whole lines to the log of an instance."""
        if instance_id not in self._logs:
            path = layout.instance_file(instance_id, layout.OUTPUT)
            self._logs[instance_id] = _Log(path, Masker() if self._mask else None)
        log = self._logs[instance_id]
        if log is not self._current:
            self._switch(log)
        data = text.encode("utf-8", "backslashreplace")
        self._pieces.append(data)
        self._pending += len(data)
        if self._pending >= _BLOCK:
            self._flush()

    def written(self) -> dict[str, CopiedLog]:
        """All logs, by instance, after the `with` block."""
        return {own: self._copied(log) for own, log in self._logs.items()}

    @staticmethod
    def _copied(log: _Log) -> CopiedLog:
        file = CopiedFile(layout.OUTPUT, log.size, log.hasher.hexdigest())
        return CopiedLog(file, log.lines, (), log.redactions)

    def _switch(self, log: _Log | None) -> None:
        """Write the rest of the current log, and open the next one."""
        with _errors_of(self._current):
            if self._current is not None:
                self._flush(is_last=True)
                descriptor, self._descriptor = self._descriptor, -1
                os.close(descriptor)
        self._current = log
        if log is not None:
            path = self._directory.path_of(log.path)
            with _errors_of(log):
                self._descriptor = os.open(path, _APPEND, self._directory.modes.file)

    def _flush(self, *, is_last: bool = False) -> None:
        log, data = self._current, b"".join(self._pieces)
        self._pieces, self._pending = [], 0
        if log is None:
            return
        data = log.masked(data, is_last=is_last)
        log.hasher.update(data)
        log.size += len(data)
        log.lines += data.count(b"\n")
        rest = memoryview(data)
        with _errors_of(log):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


@contextlib.contextmanager
def _errors_of(log: _Log | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise failure(error, log.path if log else layout.OUTPUT, "write") from error
