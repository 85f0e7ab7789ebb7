"""Finding the record that a user names.

A word names a record by its path, its id, the name of its directory, a prefix of an id that only one record has, or as
`@latest` or `@latest~N`. A path that exists wins, except a plain directory whose name a record has, too. Everything else is
looked for in the stores at hand: the current directory, the configured ones and those of experiments; a word such as
`outputs/NAME`, only in that store, and in full.

A word is only ever compared with the names that a store has, never made into a path. Names, indexes of archives and
ledgers can be wrong or come from a stranger: a record has an id only if its own document says so.

A record that is both in its directory and in an archive is one match. Copies have the id of their original: a record
that its store knows is preferred to its copies, and `@latest~N` counts them as one.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.kinds import GENERATION, TEAM, detect
from runcard.documents.session.team import Team, work_end, work_start
from runcard.encoding import Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import printable
from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings
from runcard.store import directory_names, layout
from runcard.store.ledger import LedgerEntry, entries_about, history_of, ledgers
from runcard.store.record import (
    HINT,
    DirectoryRecord,
    Record,
    experiment_hint,
    id_of,
    not_a_record,
    recorded_at,
)

if TYPE_CHECKING:  # it takes long to load, and most commands need no archive
    from runcard.store.archives.index import ArchiveEntry
    from runcard.store.archives.record import ArchivedRecord

_LATEST_WORD = "@latest"
_LATEST = r"@latest(?:~([0-9]{1,9}))?"
_SHORTEST_PREFIX = 4  # characters
_MOST_LISTED = 5  # similar names in a hint
_MOST_CANDIDATES = 10  # records that match a word
_NEVER = datetime.min.replace(tzinfo=UTC)


class AmbiguousRecordError(StoreError):
    """A word names more than one record; the details list them, each with its times."""

    def __init__(self, word: str, candidates: list[str], more: int) -> None:
        super().__init__(
            f"{len(candidates) + more:,} records match {printable(word)}", hint="name one by its path"
        )
        self.details = (*candidates, *([f"… and {more:,} more"] if more else []))


def open_record(word: str | os.PathLike[str], limits: Limits | None = None) -> Record:
    """The record that a word names; raises StoreError, which lists candidates, when there is none or more than one."""
    path = _without_document(os.fspath(word))
    if is_other_directory(path):
        try:
            return _find(path, is_exact=True).open(limits)
        except AmbiguousRecordError:
            raise
        except RuncardError:
            pass  # then the directory is what is wrong
    if os.path.lexists(path):
        return _record_at(path, limits)
    return _find(path).open(limits)


def is_other_directory(word: str) -> bool:
    """Whether a word is the name of a directory, in the current one, that is not a record: it may be a record's name, too."""
    return (
        os.path.basename(word) == word
        and word not in {os.curdir, os.pardir}
        and os.path.isdir(word)
        and not layout.may_be_file(os.path.join(word, layout.METADATA), follow=True)
        and not layout.is_record(word)
    )


def open_archive(word: str | os.PathLike[str], advice: str = "its files are in") -> "ArchivedRecord":
    """The archive of the record that a word names, whether or not the record has a directory as well.

    `advice` is the hint for a record that is not archived; the path of its directory is appended.
    """
    from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415 - see above

    path = os.fspath(word)
    if (record := ArchivedRecord.at(path)) is not None:
        return record
    path = _without_document(path)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise not_a_record(path)
    is_there = os.path.lexists(path)
    is_path = is_there and not is_other_directory(path)
    match = _find(os.path.abspath(path) if is_path else path, is_exact=is_there)
    if match.archive is None:
        match = next(_Store(match.store).archives_elsewhere(match.name), match)
    if match.archive is None:
        raise StoreError(
            f"{printable(match.path)} is not archived: it is a directory",
            hint=f"{advice} {printable(match.path)}",
        )
    return match.open_archive()


def sessions_with_id(store: str, session_id: str) -> Iterator[Record]:
    """The sessions of a store with this id, archived or not, newest first; those that cannot be read are left out."""
    matches: dict[str, _Match] = {}
    for match in _Store(store).sessions(session_id):
        matches[match.name] = matches[match.name].merged(match) if match.name in matches else match
    for _, match in sorted(matches.items(), reverse=True):
        with contextlib.suppress(RuncardError):
            yield match.open(None)


def stores_at_hand() -> list[str]:
    """The stores that are searched: the current directory, the configured ones, and those of experiments."""
    settings = read_settings()
    stores = [os.curdir, settings[OUTPUTS], settings[ARTIFACTS_DIR], *layout.experiment_outputs()]
    return list({os.path.realpath(store): store for store in reversed(stores)}.values())[::-1]


def records_of(store: str) -> Iterator[Record]:
    """All records of a store, in directories and archives; those that cannot be opened are left out."""
    for _, _, match in _Store(store).starts():
        with contextlib.suppress(RuncardError):
            yield match.open(None)


def _without_document(path: str) -> str:
    """The record's directory, when its metadata document was named."""
    return os.path.dirname(path) or os.curdir if os.path.basename(path) == layout.METADATA else path


def _record_at(path: str, limits: Limits | None) -> Record:
    if os.path.isdir(path):
        if layout.may_be_file(os.path.join(path, layout.METADATA), follow=True):
            return DirectoryRecord(path, limits)
    elif layout.is_archive(path):
        from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415 - see above

        if (record := ArchivedRecord.at(path)) is not None:
            return record
    raise not_a_record(path)


class _Match(NamedTuple):
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

    def merged(self, other: "_Match") -> "_Match":
        return self._replace(
            directory=self.directory or other.directory, archive=self.archive or other.archive
        )

    def open(self, limits: Limits | None) -> Record:
        return self.open_archive() if self.directory is None else DirectoryRecord(self.directory, limits)

    def open_archive(self) -> "ArchivedRecord":
        from runcard.store.archives.owner import check_place  # noqa: PLC0415 - see above
        from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415

        if not isinstance(self.archive, str):
            check_place(self.archive)
            return ArchivedRecord(self.archive_path, self.archive)
        record = ArchivedRecord.at(self.archive)
        if record is None:
            raise not_a_record(self.archive)
        return ArchivedRecord(record.path, record.entry, listed_by=self.store)


def _find(word: str, *, is_exact: bool = False) -> _Match:
    """The only record that a word names, which is not the path of one."""
    if not word:
        raise not_a_record(word)
    above, name = os.path.split(os.path.normpath(word))
    is_path = os.sep in word
    stores = [_Store(store) for store in ([above or os.curdir] if is_path else stores_at_hand())]
    if (latest := re.fullmatch(_LATEST, name)) is not None:
        return _latest(word, stores, int(latest[1] or 0))
    matches = _matches(stores, name, is_exact=is_exact or is_path)
    if not matches:
        _check_indexes(stores)
        raise _no_match(word, name, stores)
    return _only(word, matches)


def _check_indexes(stores: "list[_Store]") -> None:
    """Raise the error of a store whose archives could not be searched: there may be more records than were seen."""
    if (problem := next((store.problem for store in stores if store.problem), None)) is not None:
        raise problem


def _only(word: str, matches: list[_Match]) -> _Match:
    if len(matches) > 1:
        shown = sorted(matches, key=lambda match: match.path)[:_MOST_CANDIDATES]
        raise AmbiguousRecordError(word, [*map(_candidate, shown)], len(matches) - len(shown))
    return matches[0]


def _matches(stores: "list[_Store]", word: str, *, is_exact: bool) -> list[_Match]:
    """The records that have this name or id; if there are none, those whose id begins with it.

    The name or id of a record that was deleted is never taken for the beginning of another id.
    """
    matches = _search(stores, lambda store: store.exact(word))
    if matches or is_exact or len(word) < _SHORTEST_PREFIX:
        return matches
    if any(word in {entry.id, entry.path} for store in stores for entry in store.history):
        return []
    matches = _search(stores, lambda store: store.by_id(lambda record_id: record_id.startswith(word)))
    _check_indexes(stores)
    return matches


def _search(stores: "list[_Store]", search: "Callable[[_Store], Iterator[_Match]]") -> list[_Match]:
    matches: dict[tuple[str, str], tuple[_Match, _Store]] = {}
    for store in stores:
        for match in search(store):
            key = (os.path.abspath(store.path), match.name)
            merged = matches[key][0].merged(match) if key in matches else match
            matches[key] = merged, store
    return _without_copies(list(matches.values()))


def _without_copies(matches: "list[tuple[_Match, _Store]]") -> list[_Match]:
    """The matches, but of those with the same id only the ones that a store knows best."""
    if len(matches) == 1:
        return [matches[0][0]]
    ranks = [(store.id_of(match), store.rank(match), match) for match, store in matches]
    best: dict[str | None, int] = {}
    for record_id, rank, _ in ranks:
        best[record_id] = max(rank, best.get(record_id, rank))
    return [match for record_id, rank, match in ranks if record_id is None or rank == best[record_id]]


class _Store:
    """The names and ids of the records in one store, read as far as they are needed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problem: RuncardError | None = None  # why the archives could not be searched
        self._ids: dict[str, str | None] = {}

    @cached_property
    def names(self) -> list[str]:
        """The names of the directories that may be records."""
        return layout.possible_records(self.path)

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
            return history_of(ledgers(self.path))
        except RuncardError as error:
            self.problem = error
            return []

    def exact(self, word: str) -> Iterator[_Match]:
        """The records that have this name or this id."""
        if word in self.names and self._is_record(word):
            yield self._match(word)
        for entry in self.entries:
            if entry.name == word:
                yield self._with_directory(entry)
        for past in reversed(self.history):
            if past.path == word:
                yield from self._by_ledger(past)
        yield from self.by_id(lambda record_id: record_id == word)

    def by_id(self, is_meant: Callable[[str], bool]) -> Iterator[_Match]:
        """By ids: in the names of sessions, in indexes, in ledgers, and in documents that no ledger knows.

        Names, indexes and ledgers can be wrong or forged: the record's own document must have the id, if it can be read.
        """
        for name in self.names:
            session_id = directory_names.session_id_in(name)
            if not session_id or not is_meant(session_id) or not self._is_record(name):
                continue
            if self._id(name) in {session_id, None}:
                yield self._match(name)
        for entry in self.entries:
            if is_meant(entry.id) and _archived_id(_Match(self.path, entry.name, archive=entry)) == entry.id:
                yield self._with_directory(entry)
        for past in reversed(self.history):
            if is_meant(past.id):
                yield from self._by_ledger(past)
        known = {entry.path for entry in self.history}
        for name in self.names:
            if name not in known and is_meant(self._id(name) or ""):
                yield self._match(name)

    def sessions(self, session_id: str) -> Iterator[_Match]:
        """The sessions with this id; a large ledger is not read for them as a whole."""
        for name in self.names:
            if directory_names.session_id_in(name) == session_id == self._id(name):
                yield self._match(name)
        for entry in self.entries:
            if entry.id == session_id:
                yield self._with_directory(entry)
        for past in entries_about(self.path, session_id):
            yield from self._by_ledger(past)

    def _with_directory(self, entry: "ArchiveEntry") -> _Match:
        """An archive, with the directory of the same record if that was restored."""
        is_there = entry.name in self.names and self._id(entry.name) == entry.id
        directory = os.path.join(self.path, entry.name) if is_there else None
        return _Match(self.path, entry.name, directory, entry)

    def _by_ledger(self, entry: LedgerEntry) -> Iterator[_Match]:
        """The record of a ledger entry: its directory, and its archive in another folder, as far as they are there."""
        if entry.path in self.names and self._id(entry.path) == entry.id:
            yield self._match(entry.path)
        match = self._archive_elsewhere(entry)
        if match is not None and _archived_id(match) == entry.id:
            yield match

    def _archive_elsewhere(self, entry: LedgerEntry) -> _Match | None:
        archive = entry.archive and os.path.normpath(os.path.join(self.path, entry.archive))
        if not archive or not layout.is_archive(archive) or not os.path.isfile(archive):
            return None
        return _Match(self.path, entry.path, archive=archive)

    def archives_elsewhere(self, record_name: str) -> Iterator[_Match]:
        """The archives of the record that had this name, in folders that only the ledgers know."""
        for entry in reversed(self.history):
            if entry.path == record_name and (match := self._archive_elsewhere(entry)) is not None:
                yield match

    def _match(self, name: str) -> _Match:
        return _Match(self.path, name, os.path.join(self.path, name))

    def _is_record(self, name: str) -> bool:
        return layout.may_be_file(os.path.join(self.path, name, layout.METADATA))

    def _id(self, name: str) -> str | None:
        """The id in the document of a directory; None when it is not that of a record."""
        if name not in self._ids:
            record = DirectoryRecord(os.path.join(self.path, name))
            self._ids[name] = record.id if detect(record.raw_document) in {GENERATION, TEAM} else None
        return self._ids[name]

    def id_of(self, match: _Match) -> str | None:
        """The id of a match; None for a directory of another program."""
        if match.directory is not None:
            return self._id(match.name)
        if not isinstance(match.archive, str):
            return match.archive and match.archive.id
        return next((entry.id for entry in self.history if entry.path == match.name), None)

    def rank(self, match: _Match) -> int:
        """How well the store knows a match: 2 by its ledger, index or marks, 1 by its directory, 0 as a loose copy."""
        if match.archive is not None or os.path.lexists(layout.open_mark(match.path)):
            return 2
        key = (match.name, self._id(match.name))
        if any((entry.path, entry.id) == key for entry in self.history):
            return 2
        return 0 if self.path == os.curdir else 1

    def starts(self) -> Iterator[tuple[datetime, int, _Match]]:
        """The records with the time of their start: by their names, and by their documents where a name has none."""
        matches = {entry.name: _Match(self.path, entry.name, archive=entry) for entry in self.entries}
        for entry in self.history:
            if self._is_own_archive(entry) and (match := self._archive_elsewhere(entry)) is not None:
                matches.setdefault(entry.path, match)
        matches |= {name: self._match(name) for name in self.names}
        for name, match in matches.items():
            start = directory_names.start_in(name)
            yield *(start or (_stated_start(match), 0)), match

    def _is_own_archive(self, entry: LedgerEntry) -> bool:
        """Whether this user made the archive that an entry names: a forged entry could name an archive of another store."""
        from runcard.store.ownership import is_own_archive  # noqa: PLC0415 - only for archives

        digest = entry.archive and entry.archive_sha256
        return bool(digest) and is_own_archive(self.path, entry.id, str(digest), entry.mac)


def _archived_id(match: _Match) -> str | None:
    """The id that the document of an archived record states; that of the index when the document cannot be read."""
    try:
        record = match.open_archive()
        try:
            return id_of(record.document())
        except RuncardError:
            return record.id
    except RuncardError:
        return None if isinstance(match.archive, str) or match.archive is None else match.archive.id


def _stated_start(match: _Match) -> datetime:
    """The start that the document of a record states; long ago when it cannot be read."""
    with contextlib.suppress(RuncardError):
        is_live = match.directory is not None
        record = DirectoryRecord(match.path) if is_live else match.open_archive()
        return recorded_at(record.document()) or _NEVER
    return _NEVER


def _newest(stores: "list[_Store]") -> Iterator[tuple[_Match, str]]:
    """The records of stores, newest first, with the name or id that tells them from all others but their copies."""
    every = [(start, number, match, store) for store in stores for start, number, match in store.starts()]
    every.sort(key=lambda one: (one[0].replace(microsecond=0), one[1], one[0], one[2].name), reverse=True)
    counted = set()
    for _, _, match, store in every:
        if (record_id := store.id_of(match)) is None:
            continue
        # A session can be collected again under its id, so its name counts.
        key = record_id if directory_names.session_id_in(match.name) is None else match.name
        if key not in counted:
            counted |= {key, record_id}
            yield match, key


def _latest(word: str, stores: "list[_Store]", before: int) -> _Match:
    count = 0
    for count, (match, key) in enumerate(_newest(stores), 1):
        _check_indexes(stores)
        if count > before:
            return _only(word, _matches(stores, key, is_exact=True) or [match])
    _check_indexes(stores)
    places = ", ".join(printable(store.path) for store in stores)
    if not count:
        raise StoreError(
            f"{printable(word)}: there are no records in {places}",
            hint="name a record by its path, or change to the directory of its store",
        )
    held = "is only one record" if count == 1 else f"are only {count:,} records"
    oldest = printable(word.rpartition("~")[0]) + (f"~{count - 1}" if count > 1 else "")
    raise StoreError(f"{printable(word)}: there {held} in {places}", hint=f"the oldest is {oldest}")


def _no_match(word: str, name: str, stores: "list[_Store]") -> StoreError:
    """With records that have a similar name or id, or else the newest."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for this message

    paths: dict[str, str] = {}
    for store in stores:
        for own in store.names:
            paths[own] = paths[directory_names.session_id_in(own) or own] = os.path.join(store.path, own)
        for entry in store.entries:
            paths[entry.name] = paths[entry.id] = entry.path
        for past in store.history:
            if past.path in paths:
                paths[past.id] = paths[past.path]
    near = dict.fromkeys(paths[one] for one in get_close_matches(name[:100], paths, _MOST_LISTED, 0.7))
    if get_close_matches(name[:100].lower().partition("~")[0], [_LATEST_WORD], 1, 0.8):
        hint = f"did you mean {printable(os.path.join(os.path.dirname(word), _LATEST_WORD))}?"
    elif (experiment := experiment_hint(word)) is not None:
        hint = experiment
    elif near:
        hint = f"did you mean {_path_list(list(near))}?"
    elif len(name) < _SHORTEST_PREFIX and any(
        own.startswith(name) for own in ("run-", *paths) if directory_names.start_in(own) is None
    ):
        hint = f"a prefix of an id needs at least {_SHORTEST_PREFIX} characters"
    else:
        newest = [match.path for (match, _), _ in zip(_newest(stores), range(3), strict=False)]
        verb = "is" if len(newest) == 1 else "are"
        hint = f"{HINT}; the newest {verb} {_path_list(newest)}" if newest else HINT
    return StoreError(f"{printable(word)} does not exist", hint=hint)


def _candidate(match: _Match) -> str:
    """The path of a match, and its times if they can be read."""
    try:
        document = match.open(None).document()
    except RuncardError:
        return printable(match.path)
    if isinstance(document, Team):
        data = document.to_dict()
        times = f"worked {work_start(data)} to {work_end(data)}, collected {data['created_at']}"
    else:
        times = f"started {document.timestamp_start}, {document.status}"
    return f"{printable(match.path)}: {times}"


def _path_list(paths: list[str], most: int = _MOST_LISTED) -> str:
    more = f" and {len(paths) - most:,} more" if len(paths) > most else ""
    return ", ".join(map(printable, paths[:most])) + more
