"""The events of an open run: those of all its writers, in whichever file they are.

The owner's journal has two names (see `directory`), and every other writer has a file of its own. An attempt to close the run
that was killed may have left a file in which all of them are already merged. And the user's program may have written to any
of these files, or replaced them. So lines are recognized by the run id in them, and a line that is found twice counts once.
Nothing here changes a file.
"""

import contextlib
import itertools
import os
from collections.abc import Iterable
from stat import S_ISREG
from typing import NamedTuple

from runcard.checksums.unstable_directory import is_concurrent_change
from runcard.documents.chain import Journal, JournalEntry, merge
from runcard.errors import StoreError
from runcard.store import layout
from runcard.store.journal import read_journal

_LINE_START = b'{"seq":'  # how a line of a journal begins, and so a torn one


class JournalFile(NamedTuple):
    """A file that has the name of a journal, and the lines of this run in it."""

    name: str
    path: str
    journal: Journal  # only lines of this run
    has_foreign_lines: bool  # whether it holds lines that no writer of this run wrote


class OpenJournals(NamedTuple):
    """All journals of an open run."""

    run_id: str | None
    files: tuple[JournalFile, ...]

    def merged(self, more: Iterable[JournalEntry] = ()) -> list[JournalEntry]:
        """All lines in the order of time, with those of `more`."""
        queues: dict[str, list[JournalEntry]] = {}
        for entry in itertools.chain(*(file.journal.entries for file in self.files), more):
            queue = queues.setdefault(entry.line["writer"], [])
            if not queue or entry.line["seq"] > queue[-1].line["seq"]:
                queue.append(entry)
        return list(merge(queues.values()))


def read_open_journals(run: str, run_id: str | None = None, fallback_id: str | None = None) -> OpenJournals:
    """Read all journals of a run. Without `run_id` the journals tell the id; where they do not, `fallback_id` counts."""
    journals = [(path, journal) for path in _paths(run) if (journal := _read(path)) is not None]
    ids = [entry.line.get("run_id") for _, journal in journals for entry in journal.entries[-1:]]
    run_id = run_id or next((name for name in ids if isinstance(name, str)), fallback_id)
    return OpenJournals(
        run_id, tuple(_journal_file(run, path, journal, run_id) for path, journal in journals)
    )


def _read(path: str) -> Journal | None:
    """The journal in a file; None when a process that is still running removed it since it was listed."""
    try:
        return read_journal(path)
    except StoreError as error:
        if is_concurrent_change(error):
            return None
        raise


def _paths(run: str) -> list[str]:
    """The paths of the journals; the open mark first, unless it is the same file as one of the others."""
    journals, mark = layout.journals(run), layout.open_mark(run)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        status = os.lstat(mark)
        is_same = any(os.path.samestat(status, os.lstat(path)) for path in journals)
        if S_ISREG(status.st_mode) and status.st_size > 0 and not is_same:
            return [mark, *journals]
    return journals


def _journal_file(run: str, path: str, journal: Journal, run_id: str | None) -> JournalFile:
    own = [entry for entry in journal.entries if entry.line.get("run_id") == run_id]
    is_torn_line = journal.torn.startswith(_LINE_START) or _LINE_START.startswith(journal.torn)
    has_foreign_lines = bool(journal.damaged) or len(own) < len(journal.entries) or not is_torn_line
    name = os.path.basename(path) if os.path.dirname(path) == run else layout.JOURNAL
    return JournalFile(name, path, Journal(own, journal.torn if is_torn_line else b""), has_foreign_lines)
