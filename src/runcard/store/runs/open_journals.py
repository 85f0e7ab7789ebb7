"""The lines of an open run: those of all its writers, wherever they lie by now.

The owner's journal has two names (see `runs`), and every other writer has a file of its own. A closing that was killed can
have left a file in which all of them are merged already. And the user's program, which is at home in the run's directory,
can have written to any of these, or put something else in their place. So lines are told apart by the run that they name,
and one that is found twice counts once. Nothing here changes a file.
"""

import contextlib
import os
from collections.abc import Iterable
from stat import S_ISREG
from typing import NamedTuple

from runcard.checksums.unstable_directory import is_concurrent_change
from runcard.documents.chain import Journal, JournalEntry, merge
from runcard.errors import StoreError
from runcard.store import layout
from runcard.store.journal import read_journal

_TORN = b'{"seq":'  # how a line of ours begins, and so a torn one


class Source(NamedTuple):
    """A file that has the name of a journal, and what it holds of this run."""

    name: str
    path: str
    journal: Journal  # the lines of this run
    foreign: bool  # whether it holds something that no writer of this run wrote


class Lines(NamedTuple):
    """All that was found of a run's events."""

    run_id: str | None
    sources: tuple[Source, ...]

    def merged(self, more: Iterable[JournalEntry] = ()) -> list[JournalEntry]:
        """The lines in the order of time, with some more."""
        return merge([*(source.journal for source in self.sources), Journal(list(more))])


def read_lines(run: str, run_id: str | None = None, otherwise: str | None = None) -> Lines:
    """All lines of a run; whose they are is told by the journal where nobody knows, and `otherwise` where that is lost."""
    found = [(path, journal) for path in _files(run) if (journal := _journal(path)) is not None]
    named = [entry.line.get("run_id") for _, journal in found for entry in journal.entries[-1:]]
    run_id = run_id or next((name for name in named if isinstance(name, str)), otherwise)
    return Lines(run_id, tuple(_source(run, path, journal, run_id) for path, journal in found))


def _journal(path: str) -> Journal | None:
    """The journal in a file; None for one that a process which is still at work took away since it was listed."""
    try:
        return read_journal(path)
    except StoreError as error:
        if is_concurrent_change(error):
            return None
        raise


def _files(run: str) -> list[str]:
    """The journals; the owner's by its second name first, unless both are one file."""
    journals, mark = layout.journals(run), layout.open_mark(run)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        status = os.lstat(mark)
        known = any(os.path.samestat(status, os.lstat(path)) for path in journals)
        if S_ISREG(status.st_mode) and status.st_size > 0 and not known:
            return [mark, *journals]
    return journals


def _source(run: str, path: str, journal: Journal, run_id: str | None) -> Source:
    ours = [entry for entry in journal.entries if entry.line.get("run_id") == run_id]
    is_torn = journal.torn.startswith(_TORN) or _TORN.startswith(journal.torn)
    foreign = bool(journal.damaged) or len(ours) < len(journal.entries) or not is_torn
    name = os.path.basename(path) if os.path.dirname(path) == run else layout.JOURNAL
    return Source(name, path, Journal(ours, journal.torn if is_torn else b""), foreign)
