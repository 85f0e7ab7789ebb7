"""Finding the record that a user names.

A word names a record by its path, its id, the name of its directory, a prefix of an id that only one record has, or as
`@latest` or `@latest~N`. A path that exists wins, except a plain directory whose name a record has, too. Everything else is
looked for in the stores at hand: the current directory, the configured ones and those of experiments; a word such as
`outputs/NAME`, only in that store, and in full.

A word is only ever compared with the names that a store has, never made into a path. Copies have the id of their original:
a record that its store knows is preferred to its copies, and `@latest~N` counts them as one. The id of an open session names
that one, not earlier ones with the same id.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from runcard.encoding import Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import printable, shell_word
from runcard.store import layout
from runcard.store.record import DirectoryRecord, Record, not_a_record
from runcard.store.remote.urls import is_url

if TYPE_CHECKING:  # these take long to load, and most commands need no archive and no search
    from runcard.store.archives.record import ArchivedRecord
    from runcard.store.store_search import RecordMatch


class AmbiguousRecordError(StoreError):
    """A word names more than one record; the details list them, each with its times."""

    def __init__(self, word: str, candidates: list[str], more: int) -> None:
        super().__init__(
            f"{len(candidates) + more:,} records match {printable(word)}", hint="name one by its path"
        )
        self.details = (*candidates, *([f"… and {more:,} more"] if more else []))


class NoRecordError(StoreError):
    """No record here has the name."""


def open_record(word: str | os.PathLike[str], limits: Limits | None = None) -> Record:
    """The record that a word names; raises StoreError, which lists candidates, when there is none or more than one."""
    record = _named(word, limits)
    if is_url(record.path):
        from runcard.store.remote.source import check_archive  # noqa: PLC0415 - see above

        check_archive(record.path)
    return record


def _named(word: str | os.PathLike[str], limits: Limits | None) -> Record:
    if is_url(word):
        return _remote(os.fspath(word))
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
    if is_url(path):
        return _remote(path)
    if (record := ArchivedRecord.at(path)) is not None:
        return record
    path = _without_document(path)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise not_a_record(path)
    is_there = os.path.lexists(path)
    is_path = is_there and not is_other_directory(path)
    match = _find(os.path.abspath(path) if is_path else path, is_exact=is_there)
    if match.archive is None:
        from runcard.store.store_search import StoreSearch  # noqa: PLC0415 - see above

        match = next(StoreSearch(match.store).archives_elsewhere(match.name), match)
    if match.archive is None:
        raise StoreError(
            f"{printable(match.path)} is not archived: it is a directory",
            hint=f"{advice} {printable(match.path)}",
        )
    return match.open_archive()


def _remote(url: str) -> "ArchivedRecord":
    """The record in the archive at a URL; whether it is there shows when it is read."""
    from runcard.store.remote.record import RemoteRecord  # noqa: PLC0415 - see above

    record = RemoteRecord(url)
    if not record.url.is_archive:
        raise StoreError(
            f"{printable(url)} is not the URL of an archive",
            hint=f"name one: it ends in .tar.gz. `runcard index {shell_word(url)}` lists those of a folder",
        )
    return record


def sessions_with_id(store: str, session_id: str) -> Iterator[Record]:
    """The sessions of a store with this id, archived or not, newest first; those that cannot be read are left out."""
    from runcard.store.store_search import StoreSearch  # noqa: PLC0415 - see above

    matches: dict[str, RecordMatch] = {}
    for match in StoreSearch(store).sessions(session_id):
        matches[match.name] = matches[match.name].merged(match) if match.name in matches else match
    for _, match in sorted(matches.items(), reverse=True):
        with contextlib.suppress(RuncardError):
            yield match.open(None)


def records_of(store: str) -> Iterator[Record]:
    """All records of a store, in directories and archives; those that cannot be opened are left out.

    So are archives in object storage: looking at all records must not need the network.
    """
    from runcard.store.store_search import StoreSearch  # noqa: PLC0415 - see above

    for _, _, match in StoreSearch(store).starts():
        if is_url(match.path):
            continue
        with contextlib.suppress(RuncardError):
            yield match.open(None)


def _without_document(path: str) -> str:
    """The record's directory, when its metadata document was named."""
    return os.path.dirname(path) or os.curdir if os.path.basename(path) == layout.METADATA else path


def _record_at(path: str, limits: Limits | None) -> Record:
    if os.path.isdir(path):
        if layout.is_live_session(path):
            from runcard.store.sessions.live_record import OpenSession  # noqa: PLC0415 - see above

            return OpenSession(path, limits)
        if layout.may_be_file(os.path.join(path, layout.METADATA), follow=True):
            return DirectoryRecord(path, limits)
    elif layout.is_archive(path):
        from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415 - see above

        if (record := ArchivedRecord.at(path)) is not None:
            return record
    raise not_a_record(path)


def _find(word: str, *, is_exact: bool = False) -> "RecordMatch":
    from runcard.store.name_search import find_by_name  # noqa: PLC0415 - see above

    return find_by_name(word, is_exact=is_exact)
