"""Importing a session again: whether its import is up to date, and what a new one replaces.

The new import is published first. Then an entry in the ledger says what it replaces, and then the earlier import is deleted
as `prune` does it: with a tombstone, and only if it is unchanged. So at every moment there is at least one; after a kill
there may be two, and the next import deletes the earlier one.

Invariant: an import that was amended or signed is never deleted, nor is one whose files were rewritten since, nor one that
has something which the new import has not.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import BinaryIO, Literal, NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.chain import JournalStream
from runcard.documents.kinds import TEAM
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import printable
from runcard.observe.clock import Clock
from runcard.operations.archives.candidate import Candidate
from runcard.operations.archives.candidates import copies_of, delete, reason_to_keep
from runcard.operations.sessions.earlier_sessions import SameContentError
from runcard.operations.sessions.source_changes import (
    Change,
    SourceChange,
    StoredSource,
    compare_sources,
    file_name,
)
from runcard.store import layout
from runcard.store.amendments.read import read_amendments
from runcard.store.archives.record import ArchivedRecord
from runcard.store.directory_names import start_in
from runcard.store.ledger import REIMPORTED, Ledger, entries_about, entry_payload
from runcard.store.record import Record
from runcard.store.session_index import SessionIndex
from runcard.store.sessions.instance_copies import TranscriptSource

_UP_TO_DATE = {Change.SAME, Change.AHEAD}
_SECOND, _DAY = timedelta(seconds=1), timedelta(days=1)
_ADVICE = "pass --again to store it beside that, as it is now"


class StoredImport(NamedTuple):
    """An earlier import of a session."""

    record: Record
    document: Team
    found: SourceChange  # how the files have changed since

    @property
    def reason_to_keep(self) -> str | None:
        """Why a session that is not the same any more does not replace it."""
        if self.found.change is Change.REWRITTEN:
            return f"its files were rewritten: {self.found.reason}"
        if self.found.elsewhere is not None:
            return f"it has grown, and {self.found.elsewhere} is at another path than what was imported"
        if self.found.change is Change.GROWN and (why := _evidence(self.record)) is not None:
            return f"it has grown, and its import {why}"
        return None


class NotImported(NamedTuple):
    """Why there is nothing to import: an earlier import is up to date, or is kept."""

    action: Literal["unchanged", "kept"]
    stored: StoredImport
    message: str | None = None  # why it is kept


class EarlierImports:
    """The earlier imports of one session, and those of them that a new one replaces."""

    def __init__(
        self,
        index: SessionIndex,
        session_id: str,
        tool: str,
        sources: Sequence[TranscriptSource],
        *,
        again: bool = False,
        runs: frozenset[str] = frozenset(),
    ) -> None:
        self._index, self._id, self._tool = index, session_id, tool
        self._sources, self._again = sources, again
        self._runs = runs  # those that metered the session
        self.replaced: list[StoredImport] = []

    def decide(self) -> NotImported | None:
        """Whether the session is to be imported, as its files are now: None if it is. Changes nothing."""
        imports = list(self._imports(self._index.find(self._id)))
        self.replaced = [*filter(self._is_replaced, imports)]
        if self._again:
            return None
        current = next(filter(self._is_current, imports), None)
        if current is not None:
            return NotImported("unchanged", current)
        kept = next(((each, reason) for each in imports if (reason := each.reason_to_keep)), None)
        is_damaged = any(each.found.change in _UP_TO_DATE for each in imports)
        if kept is None or self.replaced or is_damaged:
            return None
        stored, reason = kept
        path = printable(stored.record.path)
        return NotImported("kept", stored, f"not imported: {reason}. {path} is kept; {_ADVICE}")

    def first_free(self, moment: datetime) -> datetime:
        """The time for the name of a new import: later than all that the session had, because names are not used again."""
        if not self.replaced:
            return moment
        starts = (start_in(entry.path) for entry in entries_about(self._index.store, self._id))
        # A time in the far future is no time of an import: clocks differ by less.
        taken = [start[0] + _SECOND for start in starts if start is not None and start[0] < moment + _DAY]
        return max([moment, *taken])

    @property
    def recorded_by(self) -> list[str]:
        """Who made the imports that a new one replaces."""
        documents = [each.document.to_dict() for each in self.replaced]
        return [name for document in documents for name in document.get("recorded_by") or ["import"]]

    def check(self) -> None:
        """Raise SameContentError if another process has imported the session meanwhile; only under the ledger's lock."""
        for each in self._imports(self._index.find_new(self._id)):
            if self._is_replaced(each):
                self.replaced.append(each)
            elif not self._again and self._is_current(each):
                raise SameContentError(each.record, each.document)

    def replace(self, new: Record, document: Team) -> Iterator[str]:
        """Delete the imports that a new one replaces; yields a message for each that is not deleted.

        The new one has its final name. The ledger says first what it replaces. Afterwards, `replaced` has those that are gone.
        """
        for each in list(self.replaced):
            try:
                reason = self._loss(each, new, document) or self._replace(each, new.name, document)
            except RuncardError as error:
                reason = error.message
            if reason is not None:
                self.replaced.remove(each)
                path = printable(each.record.path)
                yield f"{path}, an earlier import, was not deleted: {reason}"

    def _imports(self, records: Iterable[Record]) -> Iterator[StoredImport]:
        """Those of some records that are imports of this session; others may have the same id."""
        for record in records:
            with contextlib.suppress(RuncardError, OSError):
                document = record.document()
                if isinstance(document, Team) and (stored := _sources_of(record, document, self._tool)):
                    copies = partial(_open_copy, record)
                    found = compare_sources(stored, self._sources, self._id, copies)
                    if found.change is Change.SAME and self._lacks_runs(document):
                        found = SourceChange(Change.GROWN)
                    yield StoredImport(record, document, found)

    def _lacks_runs(self, document: Team) -> bool:
        """Whether runs have metered the session that an import does not know; version 1.0.0 has no room for them."""
        data = document.to_dict()
        known = {run.get("run_id") for run in data.get("metered_runs") or ()}
        return data["version"] == TEAM.latest and not self._runs <= known

    def _loss(self, old: StoredImport, new: Record, document: Team) -> str | None:
        """What the earlier import has and the new one has not, by the options of the two."""
        if not os.path.lexists(old.record.path):
            return None  # an archive that a killed process has deleted in part
        copies = {name for source in _sources_of(new, document, self._tool) for name in _copy_names(source)}
        for source in _sources_of(old.record, old.document, self._tool):
            if source.get("path") and copies.isdisjoint(_copy_names(source)):
                return f"only it has a copy of {printable(os.path.basename(source['source']))}"
        if _keeps_secrets(old.record) and not _keeps_secrets(new):
            return "only it was imported with --keep-secrets"
        return "only it has a workspace" if _has_workspace(old.record) and not _has_workspace(new) else None

    def _is_current(self, each: StoredImport) -> bool:
        """Whether an import has all that the files have now; one that is damaged has not."""
        return each.found.change in _UP_TO_DATE and self._index.is_whole(each.record)

    def _is_replaced(self, each: StoredImport) -> bool:
        folder = (
            layout.folder_of_archive(os.path.abspath(each.record.path)) if each.record.is_archived else None
        )
        is_here = folder is None or folder == layout.archive_folder(self._index.store)
        return each.found.change is Change.GROWN and each.reason_to_keep is None and is_here

    def _replace(self, old: StoredImport, name: str, document: Team) -> str | None:
        """Delete an import, its directory and its archive; returns why they were not deleted."""
        copies = copies_of(self._index.store, old.record.name)
        for copy in copies:
            reason = reason_to_keep(copy)
            if reason is not None and (copy.entry is not None or os.path.lexists(copy.path)):
                return reason
        self._enter(old, name, document)
        for copy in copies:
            delete(copy, why=f"it was imported again as {name}", is_wanted=partial(_is_unamended, copy))
        return "it was amended meanwhile" if any(os.path.lexists(copy.path) for copy in copies) else None

    def _enter(self, replaced: StoredImport, name: str, document: Team) -> None:
        """Add the entry to the ledger, unless a process that was killed has done so."""
        old, now = replaced.record.name, Clock().timestamp()
        payload = entry_payload(
            "session",
            self._id,
            name,
            sha256_bytes(document.to_bytes()).hex,
            now,
            replaces={"path": old, "sha256": sha256_bytes(replaced.document.to_bytes()).hex},
        )
        with Ledger(self._index.store) as ledger:
            entries = entries_about(self._index.store, self._id)
            if not any(entry.event == REIMPORTED and entry.replaces == old for entry in entries):
                ledger.append(REIMPORTED, now, payload)


def _sources_of(record: Record, document: Team, tool: str) -> Sequence[StoredSource]:
    """The files that a session was imported from; none if it is not an import of this tool.

    A document of version 1.0.0 has no room for them: they are in the journal.
    """
    data = document.to_dict()
    if data["version"] == TEAM.latest:
        is_import = _object(data.get("origin_session")).get("tool") == tool
        lists = [data.get("sources")]
    else:
        payloads = list(_payloads(record))
        is_import = any(_object(payload.get("spec")).get("tool") == tool for payload in payloads)
        lists = [payload.get("sources") for payload in payloads]
    every = (source for each in lists if isinstance(each, list) for source in each)
    return [source for source in every if _is_comparable(source)] if is_import else []


def _open_copy(record: Record, source: StoredSource) -> BinaryIO | None:
    """The copy of a file that an import has."""
    path = source.get("path")
    return record.open(path) if isinstance(path, str) else None


def _copy_names(source: StoredSource) -> set[str]:
    """The names of a file that was stored, and of its copy; none if it was not stored."""
    path = source.get("path")
    return {file_name(source), os.path.basename(path)} if isinstance(path, str) else set()


def _is_comparable(source: object) -> bool:
    """Whether an entry of `sources` has what it is compared by; one of another program may not."""
    match source:
        case {"source": str(), "bytes": int(), "sha256": str()}:
            return isinstance(_object(source).get("messages"), int | None)
    return False


def _payloads(record: Record) -> Iterator[JsonObject]:
    """What the journal of a session says."""
    journal = record.read(layout.AUDIT) or b""
    payloads = (line.get("payload") for line in JournalStream(lambda: [journal]).lines)
    return (payload for payload in payloads if isinstance(payload, dict))


def _keeps_secrets(record: Record) -> bool:
    return any(_object(payload.get("options")).get("keep_secrets") for payload in _payloads(record))


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _has_workspace(record: Record) -> bool:
    paths = (f"{layout.INSTANCES}/{path}" for path, _ in record.sizes(layout.INSTANCES))
    return any(layout.workspace_of(path) is not None for path in paths)


def _evidence(record: Record) -> str | None:
    """Why a record is not deleted, whatever replaces it."""
    try:
        if record.amendments().entries:
            return "has amendments"
        if record.has_file(layout.SIGNATURE):
            return "is signed"
        return "is time-stamped" if record.has_file(layout.TIMESTAMPS) else None
    except (
        RuncardError
    ) as error:  # an archive that a killed process has deleted in part is not there any more
        return f"cannot be read: {error.message}" if os.path.lexists(record.path) else None


def _is_unamended(copy: Candidate) -> bool:
    """Whether a record has no amendments, now that it is locked."""
    if copy.entry is None:
        return not read_amendments(copy.path).entries
    return not os.path.lexists(copy.path) or not ArchivedRecord(copy.path, copy.entry).amendments().entries
