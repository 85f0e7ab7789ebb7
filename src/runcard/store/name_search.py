"""Finding the record that a word names and that is not the path of one: in the stores at hand, or in one store.

Apart from `find_record`, because most records are named by their paths: a command that opens one does not load this.
"""

import os
import re
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter

from runcard.documents.session.team import Team, work_end, work_start
from runcard.errors import RuncardError, StoreError
from runcard.files import printable
from runcard.store import directory_names, layout
from runcard.store.find_record import AmbiguousRecordError, NoRecordError
from runcard.store.ledger import REIMPORTED
from runcard.store.record import HINT, experiment_hint, not_a_record
from runcard.store.store_search import RecordMatch, StoreSearch

_LATEST_WORD = "@latest"
_LATEST = r"@latest(?:~([0-9]{1,9}))?"
_SHORTEST_PREFIX = 4  # characters
_MOST_LISTED = 5  # similar names in a hint
_MOST_CANDIDATES = 10  # records that match a word
_LIST = "to list those of all folders: runcard ls"

_Order = tuple[datetime, int, datetime, str]


def find_by_name(word: str, *, is_exact: bool = False, only: Sequence[str] | None = None) -> RecordMatch:
    """The only record that a word names, which is not the path of one. With `only`, it is looked for in these stores alone."""
    if not word:
        raise not_a_record(word)
    above, name = os.path.split(os.path.normpath(word))
    is_path = os.sep in word
    if only is not None and is_path:
        raise StoreError(
            f"{printable(word)} is a path", hint="name a record by its id or the name of its directory"
        )
    at_hand = _stores_at_hand() if only is None else only
    stores = [StoreSearch(store) for store in ([above or os.curdir] if is_path else at_hand)]
    if (latest := re.fullmatch(_LATEST, name)) is not None:
        if only is None and not is_path and next(_newest(stores), None) is None:
            stores = _elsewhere(stores) or stores
        return _latest(word, stores, int(latest[1] or 0))
    matches = _matches(stores, name, is_exact=is_exact or is_path)
    if not matches:
        _check_indexes(stores)
        if only is None and not is_path and not _had(stores, name):
            matches = _matches(_elsewhere(stores), name, is_exact=is_exact) or _remote(
                name, is_exact=is_exact
            )
    if not matches:
        raise _no_match(word, name, stores)
    return _only(word, matches)


def _had(stores: list[StoreSearch], word: str) -> bool:
    """Whether a record of these stores, which may be gone, has or had this name or id: then no other one is meant."""
    return any(word in {entry.id, entry.path} for store in stores for entry in store.history)


def _elsewhere(at_hand: list[StoreSearch]) -> list[StoreSearch]:
    """The other stores of this user that can be reached."""
    from runcard.store.known_stores import known_stores  # noqa: PLC0415 - most records are at hand

    searched = {os.path.realpath(store.path) for store in at_hand}
    return [StoreSearch(store) for store in known_stores() if store not in searched and os.path.isdir(store)]


def _remote(word: str, *, is_exact: bool) -> list[RecordMatch]:
    """The archives in object storage that were indexed here and have this name or id; else those whose id begins with it."""
    from runcard.store.remote.known_archives import known_archives  # noqa: PLC0415 - most records are at hand

    known = list(known_archives())
    found = [archive for archive in known if word in {archive.id, archive.name}]
    if not found and not is_exact and len(word) >= _SHORTEST_PREFIX:
        found = [archive for archive in known if archive.id.startswith(word)]
    return [RecordMatch("", archive.name, archive=archive.url) for archive in found]


def _check_indexes(stores: list[StoreSearch]) -> None:
    """Raise the error of a store whose archives could not be searched: there may be more records than were seen."""
    if (problem := next((store.problem for store in stores if store.problem), None)) is not None:
        raise problem


def _check_seen(word: str, stores: list[StoreSearch]) -> None:
    """Raise the error of a store that may have a newer record.

    What another user's ledgers have of archives elsewhere does not count: only archives that this user made do.
    """
    for store in stores:
        if store.problem is not None and not store.is_of_others:
            message = f"which record is {printable(word)} is unknown: {store.problem.message}"
            hint = f"{store.problem.hint}; or name a record, or a store: {printable(os.path.join('outputs', word))}"
            raise StoreError(message, hint=hint) from store.problem


def _only(word: str, matches: list[RecordMatch]) -> RecordMatch:
    if len(matches) > 1:
        is_open = [match for match in matches if _is_open_session(match, word)]
        if len(is_open) == 1:
            return is_open[0]
        shown = sorted(matches, key=lambda match: match.path)[:_MOST_CANDIDATES]
        raise AmbiguousRecordError(word, [*map(_candidate, shown)], len(matches) - len(shown))
    return matches[0]


def _is_open_session(match: RecordMatch, session_id: str) -> bool:
    directory = match.directory or ""
    return os.path.basename(directory) == session_id and layout.is_live_session(directory)


def _matches(stores: list[StoreSearch], word: str, *, is_exact: bool) -> list[RecordMatch]:
    """The records that have this name or id; if there are none, those whose id begins with it.

    The name or id of a record that was deleted is never taken for the beginning of another id.
    """
    matches = _search(stores, lambda store: store.exact(word))
    if matches or is_exact or len(word) < _SHORTEST_PREFIX:
        return matches
    if _had(stores, word):
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
        _check_seen(word, stores)
        if count > before:
            return _only(word, _matches(stores, key, is_exact=True) or [match])
    _check_seen(word, stores)
    places = ", ".join(printable(store.path) for store in stores)
    if not count:
        raise StoreError(
            f"{printable(word)}: there are no records in {places}",
            hint=f"change to the folder of the records, or name one by its path; {_LIST}",
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
        hint = f"{HINT}; the newest {verb} {_path_list(newest)}" if newest else f"{HINT}; {_LIST}"
    return NoRecordError(f"{printable(word)} does not exist", hint=hint)


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
        stored = "imported" if data.get("origin_session") else "collected"
        stored_at = (data.get("audit") or {}).get("collected_at") or data["created_at"]
        times = f"worked {work_start(data)} to {work_end(data)}, {stored} {stored_at}"
    else:
        times = f"started {document.timestamp_start}, {document.status}"
    return f"{printable(match.path)}: {times}"


def _path_list(paths: list[str], most: int = _MOST_LISTED) -> str:
    more = f" and {len(paths) - most:,} more" if len(paths) > most else ""
    return ", ".join(map(printable, paths[:most])) + more


def _stores_at_hand() -> list[str]:
    from runcard.store.stores_at_hand import stores_at_hand  # noqa: PLC0415 - a path needs none

    return stores_at_hand()
