"""What is in the directory of a run that is being closed, listed once, and which of it has names of runcard's own.

Other processes may still write to the directory: see `checksums/unstable_directory.py`.
"""

import contextlib
import os
import re
import time
from collections.abc import Collection, Iterator
from datetime import UTC, datetime

from runcard.checksums.unstable_directory import walk_unstable, walked_entries
from runcard.files import FileKind, WalkEntry
from runcard.observe.clock import timestamp
from runcard.store import layout

_OWN_NAMES = {*layout.NOT_LISTED, layout.README, layout.OTHER_README}
_LEFTOVER = re.compile(
    r"\.(metadata\.json|SHA256SUMS|README\.md|RUNCARD\.md|experiment(\.w-[0-9a-f]+)?\.jsonl)\.[0-9a-f]{8}\.tmp"
)


class RunContents:
    """The contents of the directory of a run."""

    def __init__(self, run: str) -> None:
        self._run = run
        self.list()

    def list(self) -> None:
        """List the directory, again when something has moved."""
        self._entries = walk_unstable(self._run)
        self._removed: set[str] = set()  # since then
        self.kinds = {
            path: kind for path, kind in self.walked() if _is_own_name(path)
        }  # of runcard's own names

    def walked(self) -> Iterator[WalkEntry]:
        """All paths and their kinds, in order."""
        return (entry for entry in walked_entries(self._entries) if entry.path not in self._removed)

    def add_file(self, name: str) -> None:
        """Add a file of runcard's own that was written since."""
        self.kinds[name] = self._entries[name] = FileKind.FILE

    def remove_leftovers(self) -> None:
        """Remove temporary files of processes that were killed."""
        leftovers = [name for name, kind in self.kinds.items() if kind is FileKind.FILE]
        for name in filter(_LEFTOVER.fullmatch, leftovers):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self._run, name))
            self._removed.add(name)
            del self.kinds[name]

    def newest_file_time(self, besides: Collection[str]) -> str | None:
        """When the newest file was written, besides some; the future does not count."""
        now, newest = time.time(), 0.0
        for path, kind in self.walked():
            if kind is FileKind.FILE and path not in besides:
                with contextlib.suppress(OSError):  # removed meanwhile
                    written = os.lstat(os.path.join(self._run, path)).st_mtime
                    newest = max(newest, written if written <= now else 0.0)
        return timestamp(datetime.fromtimestamp(newest, UTC)) if newest else None


def _is_own_name(path: str) -> bool:
    if "/" in path:
        return False
    return path in _OWN_NAMES or bool(layout.journal_names([path]) or _LEFTOVER.fullmatch(path))
