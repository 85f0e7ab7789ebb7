"""The sessions of a store by their ids, for a command that looks many of them up.

The store is read once. What other processes add later is looked for by `find_new`, which reads only names. If many sessions
are verified, their ledgers are read once for all of them.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Self

from runcard.errors import RuncardError
from runcard.store import directory_names, layout
from runcard.store.ledger import entries_in
from runcard.store.ledger_index import LedgerIndex
from runcard.store.record import Record
from runcard.store.store_search import RecordMatch, StoreSearch
from runcard.store.verification import verify_record

_FEW = 8  # sessions that are looked up by searching the ledgers, instead of reading them


class SessionIndex:
    """The sessions of one store; raises RuncardError if its archives or ledgers cannot be read."""

    def __init__(self, store: str) -> None:
        self.store = os.path.abspath(store)
        self._by_id: dict[str, dict[str, RecordMatch]] = {}
        self._ledgers: LedgerIndex | None = None
        self._verified = 0
        search = StoreSearch(self.store)
        for name in search.names:
            self._add(directory_names.session_id_in(name), search.match(name))
        self._index_state = self._state_of_index()
        self._add_archives(search)
        for entry in entries_in(self.store):  # archives in other folders
            if entry.kind == "session" and (match := search.archive_elsewhere(entry)) is not None:
                self._add(entry.id, match)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._ledgers is not None:
            self._ledgers.close()

    def is_whole(self, session: Record) -> bool:
        """Whether a session passes verification. A fault in the ledger that is about other records does not count."""
        self._verified += 1
        if self._verified > _FEW and self._ledgers is None:
            self._ledgers = LedgerIndex(self.store)
        try:
            verdict = verify_record(session, index=self._ledgers)
        except (RuncardError, OSError):
            return False
        return verdict.intact and verdict.complete

    def _add_archives(self, search: StoreSearch) -> None:
        for entry in search.entries:
            if entry.kind == "session":
                self._add(entry.id, RecordMatch(self.store, entry.name, archive=entry))
        if search.problem is not None:  # an archived session could be stored once more
            raise search.problem

    def _add(self, session_id: str | None, match: RecordMatch) -> None:
        if session_id is not None:
            own = self._by_id.setdefault(session_id, {})
            own[match.name] = own[match.name].merged(match) if match.name in own else match

    def find(self, session_id: str) -> Iterator[Record]:
        """The sessions with this id, archived or not, newest first; those that cannot be read are left out."""
        return self._opened(session_id, self._by_id.get(session_id, {}))

    def find_new(self, session_id: str) -> Iterator[Record]:
        """Those that other processes have added since the last time; the caller holds the lock of the ledger."""
        known = dict(self._by_id.get(session_id, {}))
        for name in os.listdir(self.store):
            if (
                name.endswith(session_id)
                and name not in known
                and directory_names.session_id_in(name) == session_id
            ):
                self._add(session_id, RecordMatch(self.store, name, os.path.join(self.store, name)))
        if (state := self._state_of_index()) != self._index_state:
            self._index_state = state
            self._add_archives(StoreSearch(self.store))
        new = {name: match for name, match in self._by_id.get(session_id, {}).items() if name not in known}
        return self._opened(session_id, new)

    def _state_of_index(self) -> tuple[int, ...]:
        """What changes with the index of the archives."""
        try:
            status = os.stat(os.path.join(layout.archive_folder(self.store), layout.ARCHIVE_INDEX))
        except OSError:
            return ()
        return status.st_ino, status.st_size, status.st_mtime_ns

    @staticmethod
    def _opened(session_id: str, matches: dict[str, RecordMatch]) -> Iterator[Record]:
        for _, match in sorted(matches.items(), reverse=True):
            with contextlib.suppress(RuncardError):
                record = match.open(None)
                if record.id == session_id:  # names and indexes can be wrong
                    yield record
