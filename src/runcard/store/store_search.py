"""The records of one store: by name, by id, by the time of their start, in directories and in archives.

Names, indexes of archives and ledgers can be wrong or come from a stranger: a record has an id only if its own document
says so. A record that is both in its directory and in an archive is one match.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.kinds import GENERATION, TEAM, detect
from runcard.documents.session.team import Team
from runcard.encoding import Limits
from runcard.errors import RuncardError
from runcard.files.user_folders import is_own
from runcard.store import directory_names, layout
from runcard.store.ledger import LedgerEntry, entries_about, history_of
from runcard.store.record import DirectoryRecord, Record, id_of, not_a_record, recorded_at, work_ended_at
from runcard.store.remote.urls import is_url

if TYPE_CHECKING:  # it takes long to load, and most commands need no archive
    from runcard.store.archives.index import ArchiveEntry
    from runcard.store.archives.record import ArchivedRecord

_NEVER = datetime.min.replace(tzinfo=UTC)


class RecordMatch(NamedTuple):
    """A record that was found: in its directory, in an archive, or in both."""

    store: str
    name: str
    directory: str | None = None
    archive: "ArchiveEntry | str | None" = None  # an entry of an index, or a path that a ledger names

    @property
    def path(self) -> str:
        return self.archive_path if self.directory is None else self.directory

    @property
    def archive_path(self) -> str:
        return self.archive if isinstance(self.archive, str) else self.archive.path if self.archive else ""

    def merged(self, other: "RecordMatch") -> "RecordMatch":
        return self._replace(
            directory=self.directory or other.directory, archive=self.archive or other.archive
        )

    def open(self, limits: Limits | None) -> Record:
        if self.directory is None:
            return self.open_archive()
        if not layout.is_live_session(self.directory):
            return DirectoryRecord(self.directory, limits)
        from runcard.store.sessions.live_record import OpenSession  # noqa: PLC0415 - few sessions are open

        return OpenSession(self.directory, limits)

    def open_archive(self) -> "ArchivedRecord":
        from runcard.store.archives.owner import check_place  # noqa: PLC0415 - see above
        from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415

        if is_url(self.archive):
            from runcard.store.remote.record import RemoteRecord  # noqa: PLC0415 - see above

            return RemoteRecord(self.archive_path, listed_by=self.store)
        if not isinstance(self.archive, str):
            check_place(self.archive)
            return ArchivedRecord(self.archive_path, self.archive)
        record = ArchivedRecord.at(self.archive)
        if record is None:
            raise not_a_record(self.archive)
        return ArchivedRecord(record.path, record.entry, listed_by=self.store)


class StoreSearch:
    """The names and ids of the records in one store, read as far as they are needed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problem: RuncardError | None = None  # why the archives could not be searched
        self.is_of_others = False  # the problem is that only another user can read the ledgers
        self._ids: dict[str, str | None] = {}

    @cached_property
    def names(self) -> list[str]:
        """The names of the directories that may be records."""
        return layout.possible_records(self.path)

    @cached_property
    def open_sessions(self) -> dict[str, RecordMatch]:
        """The sessions that are being recorded, by their names while they are open."""
        try:
            folders = layout.live_sessions(self.path)
        except (OSError, RuncardError):
            return {}
        matches = {}
        for folder in folders:
            from runcard.store.sessions.live_start import read_live_start  # noqa: PLC0415 - few sessions are open

            with contextlib.suppress(RuncardError):
                start = read_live_start(folder)
                matches[start.name] = RecordMatch(self.path, start.name, folder)
                self._ids[start.name] = start.session_id
        return matches

    @cached_property
    def entries(self) -> "list[ArchiveEntry]":
        """What the index of archives lists: of this store, or of this folder of archives."""
        folders = [layout.archive_folder(self.path), self.path]
        if not any(os.path.lexists(folder) for folder in folders[:1]) and not layout.has_archives(self.path):
            return []
        from runcard.store.archives.index import ArchiveFolder  # noqa: PLC0415 - see above

        try:
            return [*ArchiveFolder.of_store(self.path), *ArchiveFolder(self.path)]
        except RuncardError as error:
            self.problem = error
            return []

    @cached_property
    def history(self) -> list[LedgerEntry]:
        """What the ledgers say; nothing where the archives cannot be searched."""
        if self.problem is not None:
            return []
        try:
            return history_of(self.path)
        except RuncardError as error:
            self.problem = error
            self.is_of_others = isinstance(error.__cause__, PermissionError) and self._has_ledgers_of_others()
            return []

    def _has_ledgers_of_others(self) -> bool:
        """Whether the folder of the ledgers belongs to another user; False if the store itself cannot be looked into."""
        try:
            return not is_own(os.stat(layout.own_folder(self.path)))
        except OSError:
            return False

    def exact(self, word: str) -> Iterator[RecordMatch]:
        """The records that have this name or this id."""
        if word in self.open_sessions:
            yield self.open_sessions[word]
        if word in self.names and self._is_record(word):
            yield self.match(word)
        for entry in self.entries:
            if entry.name == word:
                yield self._with_directory(entry)
        for past in reversed(self.history):
            if past.path == word:
                yield from self._by_ledger(past)
        yield from self.by_id(lambda record_id: record_id == word)

    def by_id(self, is_meant: Callable[[str], bool]) -> Iterator[RecordMatch]:
        """By ids: in the names of sessions, in indexes, in ledgers, and in documents that no ledger knows.

        Names, indexes and ledgers can be wrong or forged: the record's own document must have the id, if it can be read.
        """
        yield from self._open_by_id(is_meant)
        for name in self.names:
            session_id = directory_names.session_id_in(name)
            if not session_id or not is_meant(session_id) or not self._is_record(name):
                continue
            if self._id(name) in {session_id, None}:
                yield self.match(name)
        for entry in self.entries:
            if (
                is_meant(entry.id)
                and _archived_id(RecordMatch(self.path, entry.name, archive=entry)) == entry.id
            ):
                yield self._with_directory(entry)
        for past in reversed(self.history):
            if is_meant(past.id):
                yield from self._by_ledger(past)
        known = {entry.path for entry in self.history}
        for name in self.names:
            if name not in known and is_meant(self._id(name) or ""):
                yield self.match(name)

    def _open_by_id(self, is_meant: Callable[[str], bool]) -> Iterator[RecordMatch]:
        return (match for name, match in self.open_sessions.items() if is_meant(self._ids[name] or ""))

    def sessions(self, session_id: str) -> Iterator[RecordMatch]:
        """The sessions with this id; a large ledger is not read for them as a whole."""
        for name in self.names:
            if directory_names.session_id_in(name) == session_id == self._id(name):
                yield self.match(name)
        for entry in self.entries:
            if entry.id == session_id:
                yield self._with_directory(entry)
        for past in entries_about(self.path, session_id):
            yield from self._by_ledger(past)

    def _with_directory(self, entry: "ArchiveEntry") -> RecordMatch:
        """An archive, with the directory of the same record if that was restored."""
        is_there = entry.name in self.names and self._id(entry.name) == entry.id
        directory = os.path.join(self.path, entry.name) if is_there else None
        return RecordMatch(self.path, entry.name, directory, entry)

    def _by_ledger(self, entry: LedgerEntry) -> Iterator[RecordMatch]:
        """The record of a ledger entry: its directory, and its archive in another folder, as far as they are there."""
        if entry.path in self.names and self._id(entry.path) == entry.id:
            yield self.match(entry.path)
        match = self.archive_elsewhere(entry)
        if match is not None and (is_url(match.archive) or _archived_id(match) == entry.id):
            yield match

    def archive_elsewhere(self, entry: LedgerEntry) -> RecordMatch | None:
        """The archive that a ledger names, if it is there."""
        if is_url(
            entry.archive
        ):  # whether it is there is not asked: that would take a request for each entry
            return RecordMatch(self.path, entry.path, archive=entry.archive)
        archive = entry.archive and os.path.normpath(os.path.join(self.path, entry.archive))
        if not archive or not layout.is_archive(archive) or not os.path.isfile(archive):
            return None
        return RecordMatch(self.path, entry.path, archive=archive)

    def archives_elsewhere(self, record_name: str) -> Iterator[RecordMatch]:
        """The archives of the record that had this name, in folders that only the ledgers know."""
        for entry in reversed(self.history):
            if entry.path == record_name and (match := self.archive_elsewhere(entry)) is not None:
                yield match

    def match(self, name: str) -> RecordMatch:
        """The directory with this name."""
        return RecordMatch(self.path, name, os.path.join(self.path, name))

    def _is_record(self, name: str) -> bool:
        return layout.may_be_file(os.path.join(self.path, name, layout.METADATA))

    def _id(self, name: str) -> str | None:
        """The id in the document of a directory; None when it is not that of a record."""
        if name not in self._ids:
            record = DirectoryRecord(os.path.join(self.path, name))
            self._ids[name] = record.id if detect(record.raw_document) in {GENERATION, TEAM} else None
        return self._ids[name]

    def id_of(self, match: RecordMatch) -> str | None:
        """The id of a match; None for a directory of another program."""
        if match.directory is not None:
            return self._id(match.name)
        if not isinstance(match.archive, str):
            return match.archive and match.archive.id
        return next((entry.id for entry in self.history if entry.path == match.name), None)

    def rank(self, match: RecordMatch) -> int:
        """How well the store knows a match: 2 by its ledger, index or marks, 1 by its directory, 0 as a loose copy."""
        if match.name in self.open_sessions or match.archive is not None:
            return 2
        if os.path.lexists(layout.open_mark(match.path)):
            return 2
        key = (match.name, self._id(match.name))
        if any((entry.path, entry.id) == key for entry in self.history):
            return 2
        return 0 if self.path == os.curdir else 1

    def starts(self) -> Iterator[tuple[datetime, int, RecordMatch]]:
        """The records with the time in their names, or that of their documents where a name has none.

        It is the start of a run, and the collection of a session: see `settled`.
        """
        matches = {entry.name: RecordMatch(self.path, entry.name, archive=entry) for entry in self.entries}
        for entry in self.history:
            if self._is_own_archive(entry) and (match := self.archive_elsewhere(entry)) is not None:
                matches.setdefault(entry.path, match)
        matches |= {name: self.match(name) for name in self.names} | self.open_sessions
        for name, match in matches.items():
            start = directory_names.start_in(name)
            yield *(start or (_stated_time(match), 0)), match

    def settled(self, moment: datetime, match: RecordMatch) -> datetime:
        """The time that a record of `starts` counts from: of a session, the end of its work.

        That is never after the collection, which is in its name: later ones need not be read to find the newest.
        """
        if directory_names.session_id_in(match.name) is None:
            return moment
        stated = _NEVER if match.name in self.open_sessions else _stated_time(match)
        return moment if stated is _NEVER else min(moment, stated)

    def _is_own_archive(self, entry: LedgerEntry) -> bool:
        """Whether this user made the archive that an entry names: a forged entry could name an archive of another store."""
        from runcard.store.ownership import is_own_archive  # noqa: PLC0415 - only for archives

        digest = entry.archive and entry.archive_sha256
        return bool(digest) and is_own_archive(self.path, entry.id, str(digest), entry.mac)


def _archived_id(match: RecordMatch) -> str | None:
    """The id that the document of an archived record states; that of the index when the document cannot be read."""
    try:
        record = match.open_archive()
        try:
            return id_of(record.document())
        except RuncardError:
            return record.id
    except RuncardError:
        return None if isinstance(match.archive, str) or match.archive is None else match.archive.id


def _stated_time(match: RecordMatch) -> datetime:
    """The time that the document of a record states, as `settled` has it; long ago when it cannot be read."""
    with contextlib.suppress(RuncardError):
        is_live = match.directory is not None
        document = (DirectoryRecord(match.path) if is_live else match.open_archive()).document()
        moment = work_ended_at(document) if isinstance(document, Team) else recorded_at(document)
        return moment or _NEVER
    return _NEVER
