"""Where the history of another thread ends, with which the file of a fork or of a sub-agent begins.

Newer versions state it, or leave the history where it is. Older ones copied the records of the parent, with their times or with new
ones: they are those that the file of the parent has too. Without that file, what was written at once with the first record.
"""

import json
from collections.abc import Callable
from typing import Any

from runcard.transcripts.codex.thread_meta import ThreadMeta
from runcard.transcripts.content import object_of, text_of

_WRITING = 1000  # milliseconds in which the history of a parent is written, where the parent is missing


class HistoryFilter:
    """Tells the records of a file that are history; for records in their order."""

    def __init__(self, thread: ThreadMeta, parent_records: Callable[[str], set[int] | None]) -> None:
        self._thread = thread
        self._parent_records = parent_records  # the hashes of those of a thread; None: its file is missing
        self._known: set[int] | None = None
        self._parent = thread.fork_of or thread.spawner
        self._is_over = self._parent is None or thread.has_history_elsewhere
        self._is_copied = False  # the records of the parent are here
        self._last = thread.created
        self.records = 0

    def is_history(self, record: dict[str, Any], time: int) -> bool:
        """Whether a record is of the parent."""
        if self._is_over:
            return False
        is_old = self._is_of_parent(record, time)
        self.records += is_old
        return is_old

    def _is_of_parent(self, record: dict[str, Any], time: int) -> bool:
        thread, record_type = self._thread, record.get("type")
        if record_type == "session_meta" and object_of(record.get("payload")).get("id") == thread.id:
            return False
        if thread.history_end is not None:
            ordinal = record.get("ordinal")
            self._is_over = isinstance(ordinal, int) and ordinal >= thread.history_end
            return not self._is_over
        if record_type == "session_meta":
            self._find_parent(record)
            return self._is_copied
        if 0 <= time < thread.created:
            return True
        if not self._is_copied:
            return False
        if self._known is not None:
            is_old = record_hash(record) in self._known
            self._is_over = not is_old and record_type == "response_item"
            return is_old
        self._is_over = not 0 <= time <= self._last + _WRITING
        self._last = max(self._last, time)
        return not self._is_over

    def _find_parent(self, record: dict[str, Any]) -> None:
        """The second record of this type, which is that of the parent, shows that its history was copied."""
        name = text_of(object_of(record.get("payload")).get("id"))
        if name and name != self._thread.id and not self._is_copied:
            self._is_copied = True
            self._known = self._parent_records(self._parent or name)


def record_hash(record: dict[str, Any]) -> int:
    """What is the same in a record and in its copy."""
    try:
        return hash((record.get("type"), json.dumps(record.get("payload"), sort_keys=True)))
    except (TypeError, ValueError, RecursionError):
        return 0
