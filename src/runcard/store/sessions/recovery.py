"""Finish or remove what killed collections left in a store. Each collection does so first, and `runcard close`.

A collection creates its directory and its lock while the store is locked: a directory without a lock has no owner.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.document import Document
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import TEAM
from runcard.documents.reader import load_document
from runcard.documents.session.events import COLLECTION_STARTED
from runcard.documents.session.live_events import SESSION_STARTED
from runcard.documents.session.team import Team
from runcard.encoding import Limits
from runcard.errors import RuncardError
from runcard.files import failure, printable, read_file
from runcard.files.locks import NO_LOCKS
from runcard.store import layout
from runcard.store.directory_names import session_id_in
from runcard.store.journal import is_orphaned, try_lock
from runcard.store.ledger import CLOSED, Ledger, entry_payload
from runcard.store.ledger_search import has_document
from runcard.store.locks import lock_folder
from runcard.store.own_directories import check_own, list_own, own_entry
from runcard.store.remove_tree import remove_tree
from runcard.store.sessions.directory import clear_mark, remove_session, store_of
from runcard.store.sessions.live import remove_empty

_FIRST_LINE = 1 << 20  # bytes; it has the warnings about a SPEC


def recover_sessions(store: str, timestamp: Callable[[], str]) -> Iterator[str]:
    """Finish or remove what killed collections left in a store; yields a message for each."""
    with abandoned_sessions(store) as sessions:
        for session in sessions:
            try:
                yield _finish(store, session, timestamp) if session.mark is not None else _remove(session)
            except RuncardError as error:  # it may belong to another user, and does no harm
                yield f"an interrupted collection left files behind: {error.message}"


def append_closed_entry(ledger: Ledger, name: str, document: Team, timestamp: str) -> None:
    """Add a session to the ledger, at the present time, since the second in its name may be in the future."""
    digest, created = sha256_bytes(document.to_bytes()).hex, document.to_dict()["created_at"]
    ledger.append(CLOSED, timestamp, entry_payload("session", document.session_id, name, digest, created))


def _finish(store: str, session: "AbandonedSession", timestamp: Callable[[], str]) -> str:
    """Add a session to the ledger whose collection was killed between its final name and the entry."""
    document = _read_team(os.path.join(session.path, layout.METADATA))
    digest = sha256_bytes(document.to_bytes()).hex
    with Ledger(store) as ledger:
        if isinstance(document, Team) and not has_document(store, digest):
            append_closed_entry(ledger, session.name, document, timestamp())
    clear_mark(str(session.mark))
    return f"finished an interrupted collection: {printable(session.path)}"


def _read_team(path: str) -> Document:
    try:
        return load_document(read_file(path, Limits().size), kind=TEAM.name)
    except InvalidDocument as error:
        raise InvalidDocument(error.report, printable(path)) from None


class AbandonedSession(NamedTuple):
    """A session whose collection was killed."""

    path: str  # in `.open/`, or the final one when only the entry in the ledger is missing
    name: str  # of the session
    mark: str | None = None  # when it has its final name already


@contextlib.contextmanager
def abandoned_sessions(store: str) -> Iterator[list[AbandonedSession]]:
    """The sessions in a store that no running collection holds; they are locked in the `with` block."""
    sessions, locks = [], []
    try:
        check_own(store, layout.collections(store), layout.own_folder(store))
        if os.path.isdir(layout.collections(store)) and os.path.isdir(layout.own_folder(store)):
            with lock_folder(layout.own_folder(store)):
                for path in _entries(store):
                    if layout.is_new_live_session(path):
                        _remove_unnamed(store, path)
                    elif layout.collected_name(path) is None:
                        remove_empty(store, path)
                    session = _session_of(store, path)
                    descriptor = session and _lock(session)
                    if session is not None and descriptor is not None:
                        sessions.append(session)
                        locks.append(descriptor)
        yield sessions
    finally:
        for descriptor in locks:
            if descriptor >= 0:
                os.close(descriptor)


def _entries(store: str) -> list[str]:
    folder = layout.collections(store)
    return [os.path.join(folder, name) for name in sorted(list_own(store, folder))]


def _remove_unnamed(store: str, path: str) -> None:
    """Remove the directory of a session that has no name yet, or no longer: it is made under this lock."""
    with contextlib.suppress(OSError, RuncardError), own_entry(store, path) as (folder, name):
        remove_tree(name, dir_fd=folder)


def _session_of(store: str, path: str) -> AbandonedSession | None:
    """The collection that left an entry of `.open/`, if one did. A session that is recorded is none, whatever its id."""
    if layout.is_live_session(path):
        return None
    directory = layout.closing_of(path) or path
    name = layout.collected_name(directory)
    if name is None:
        return None
    if directory == path:
        is_directory = os.path.isdir(path) and not os.path.islink(path)  # a link may lead to a session
        return AbandonedSession(path, name) if is_directory else None
    if os.path.isdir(path) or (os.path.isdir(directory) and not layout.is_live_session(directory)):
        return None  # it has no final name yet: the entry of the directory itself counts
    session = os.path.join(store, name)
    if os.path.isdir(session):
        return AbandonedSession(session, name, path)
    clear_mark(path)
    return None


def _lock(session: AbandonedSession, *, is_closing: bool = False) -> int | None:
    """Lock the journal of a session; None when a collection holds the lock, -1 when there is no journal to lock.

    With `is_closing`, also that of a session which was recorded: for who closes it.
    """
    directory = session.path
    journal = os.path.join(directory, layout.AUDIT)
    try:
        descriptor = try_lock(journal)
    except FileNotFoundError:
        return -1 if _is_empty(directory) else None
    except OSError as error:
        return -1 if error.errno in NO_LOCKS and is_orphaned(journal) else None
    was_recorded = is_closing or session.mark is not None
    if descriptor is not None and not _is_session_journal(descriptor, was_recorded=was_recorded):
        os.close(descriptor)
        return None
    return descriptor


def _is_empty(directory: str) -> bool:
    """Whether a directory exists and is empty: its owner may just be removing it."""
    try:
        return not os.listdir(directory)
    except OSError:
        return False


def _is_session_journal(journal: int, *, was_recorded: bool) -> bool:
    """Whether a journal is that of a session, by its first line, which may be missing after a kill.

    The journal of a session that was recorded begins with the lines of the open one. While that is there, it decides.
    """
    line, newline, _ = os.pread(journal, _FIRST_LINE, 0).partition(b"\n")
    names = (COLLECTION_STARTED, SESSION_STARTED) if was_recorded else (COLLECTION_STARTED,)
    return not newline or any(name.encode() in line for name in names)


def remove_unfinished(store: str, session_id: str) -> Iterator[str]:
    """Remove what killed processes left that were closing an open session, whose lock is held; yields a message for each."""
    for path in _entries(store):
        name = layout.collected_name(path)
        if name is None or session_id_in(name) != session_id or layout.is_live_session(path):
            continue
        session = AbandonedSession(path, name)
        if (
            not os.path.isdir(path)
            or os.path.islink(path)
            or (journal := _lock(session, is_closing=True)) is None
        ):
            continue
        try:
            yield _remove(session)
        finally:
            if journal >= 0:
                os.close(journal)


def _remove(session: AbandonedSession) -> str:
    """Remove the directory of a session that is not complete."""
    try:
        with contextlib.suppress(FileNotFoundError):  # another program was faster
            remove_session(session.path)
        with contextlib.suppress(OSError):  # an empty directory reserved the name, where renaming cannot
            os.rmdir(os.path.join(store_of(session.path), session.name))
        clear_mark(layout.closing_mark(session.path))
    except OSError as error:
        raise failure(error, session.path, "remove") from error
    return f"removed an interrupted collection: {printable(session.path)}"
