"""Finding the record that a user names.

A word names a record by its path, its id, the name of its directory, a prefix of an id that only one record has, or as
`@latest` or `@latest~N`. A path that exists wins, except a plain directory whose name a record has, too. Everything else is
looked for in the stores at hand: the current directory, the configured ones and those of experiments; a word such as
`outputs/NAME`, only in that store, and in full.

A word is only ever compared with the names that a store has, never made into a path. Copies have the id of their original:
a record that its store knows is preferred to its copies, and `@latest~N` counts them as one.
"""

import contextlib
import os
import re
from bisect import insort
from collections.abc import Callable, Iterator
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING

from runcard.documents.session.team import Team, work_end, work_start
from runcard.encoding import Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import printable
from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings
from runcard.store import directory_names, layout
from runcard.store.ledger import REIMPORTED
from runcard.store.record import HINT, DirectoryRecord, Record, experiment_hint, not_a_record
from runcard.store.store_search import RecordMatch, StoreSearch

if TYPE_CHECKING:  # it takes long to load, and most commands need no archive
    from runcard.store.archives.record import ArchivedRecord

_LATEST_WORD = "@latest"
_LATEST = r"@latest(?:~([0-9]{1,9}))?"
_SHORTEST_PREFIX = 4  # characters
_MOST_LISTED = 5  # similar names in a hint
_MOST_CANDIDATES = 10  # records that match a word

_Order = tuple[datetime, int, datetime, str]


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
        match = next(StoreSearch(match.store).archives_elsewhere(match.name), match)
    if match.archive is None:
        raise StoreError(
            f"{printable(match.path)} is not archived: it is a directory",
            hint=f"{advice} {printable(match.path)}",
        )
    return match.open_archive()


def sessions_with_id(store: str, session_id: str) -> Iterator[Record]:
    """The sessions of a store with this id, archived or not, newest first; those that cannot be read are left out."""
    matches: dict[str, RecordMatch] = {}
    for match in StoreSearch(store).sessions(session_id):
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
    for _, _, match in StoreSearch(store).starts():
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


def _find(word: str, *, is_exact: bool = False) -> RecordMatch:
    """The only record that a word names, which is not the path of one."""
    if not word:
        raise not_a_record(word)
    above, name = os.path.split(os.path.normpath(word))
    is_path = os.sep in word
    stores = [StoreSearch(store) for store in ([above or os.curdir] if is_path else stores_at_hand())]
    if (latest := re.fullmatch(_LATEST, name)) is not None:
        return _latest(word, stores, int(latest[1] or 0))
    matches = _matches(stores, name, is_exact=is_exact or is_path)
    if not matches:
        _check_indexes(stores)
        raise _no_match(word, name, stores)
    return _only(word, matches)


def _check_indexes(stores: list[StoreSearch]) -> None:
    """Raise the error of a store whose archives could not be searched: there may be more records than were seen."""
    if (problem := next((store.problem for store in stores if store.problem), None)) is not None:
        raise problem


def _only(word: str, matches: list[RecordMatch]) -> RecordMatch:
    if len(matches) > 1:
        shown = sorted(matches, key=lambda match: match.path)[:_MOST_CANDIDATES]
        raise AmbiguousRecordError(word, [*map(_candidate, shown)], len(matches) - len(shown))
    return matches[0]


def _matches(stores: list[StoreSearch], word: str, *, is_exact: bool) -> list[RecordMatch]:
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


def _search(
    stores: list[StoreSearch], search: Callable[[StoreSearch], Iterator[RecordMatch]]
) -> list[RecordMatch]:
    matches: dict[tuple[str, str], tuple[RecordMatch, StoreSearch]] = {}
    for store in stores:
        for match in search(store):
            key = (os.path.abspath(store.path), match.name)
            merged = matches[key][0].merged(match) if key in matches else match
            matches[key] = merged, store
    return _without_copies(list(matches.values()))


def _without_copies(matches: list[tuple[RecordMatch, StoreSearch]]) -> list[RecordMatch]:
    """The matches, but of those with the same id only the ones that a store knows best."""
    if len(matches) == 1:
        return [matches[0][0]]
    ranks = [(store.id_of(match), store.rank(match), match) for match, store in matches]
    best: dict[str | None, int] = {}
    for record_id, rank, _ in ranks:
        best[record_id] = max(rank, best.get(record_id, rank))
    return [match for record_id, rank, match in ranks if record_id is None or rank == best[record_id]]


def _newest(stores: list[StoreSearch]) -> Iterator[tuple[RecordMatch, str]]:
    """The records of stores, newest first, with the name or id that tells them from all others but their copies."""
    counted = set()
    for match, store in _by_time(stores):
        if (record_id := store.id_of(match)) is None:
            continue
        # A session can be collected again under its id, so its name counts.
        key = record_id if directory_names.session_id_in(match.name) is None else match.name
        if key not in counted:
            counted |= {key, record_id}
            yield match, key


def _by_time(stores: list[StoreSearch]) -> Iterator[tuple[RecordMatch, StoreSearch]]:
    """The records of stores, newest first: runs by their start, sessions by the end of their work.

    At first only names are known, and a document is read when no other record can be newer.
    """
    named = [
        (_order(moment, number, match), match, store)
        for store in stores
        for moment, number, match in store.starts()
    ]
    named.sort(key=itemgetter(0))
    settled: list[tuple[_Order, RecordMatch, StoreSearch]] = []
    while named or settled:
        if named and (not settled or named[-1][0] >= settled[-1][0]):
            (_, number, moment, _), match, store = named.pop()
            order = _order(store.settled(moment, match), number, match)
            insort(settled, (order, match, store), key=itemgetter(0))
        else:
            _, match, store = settled.pop()
            yield match, store


def _order(moment: datetime, number: int, match: RecordMatch) -> _Order:
    """What records are sorted by: those of one second by their number."""
    return moment.replace(microsecond=0), number, moment, match.name


def _latest(word: str, stores: list[StoreSearch], before: int) -> RecordMatch:
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


def _no_match(word: str, name: str, stores: list[StoreSearch]) -> StoreError:
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
    elif (other := experiment_hint(word) or _replacement_hint(name, stores)) is not None:
        hint = other
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


def _replacement_hint(name: str, stores: list[StoreSearch]) -> str | None:
    """The hint for the name of a session that was imported again, and replaced by that."""
    for store in stores:
        newer = {
            past.replaces: past.path for past in store.history if past.event == REIMPORTED and past.replaces
        }
        last = newer.pop(name, None)
        while last in newer:  # that one may have been replaced, too
            last = newer.pop(last)
        if last is not None and (match := next(store.exact(last), None)) is not None:
            return f"it was imported again: {printable(match.path)}"
    return None


def _candidate(match: RecordMatch) -> str:
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
