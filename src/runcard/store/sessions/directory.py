"""The life of a session's directory while it is collected: a place of its own, then its final name, in one step.

A collection works in `.open/<id>.<second>/`, where the second is that of its final name: so two collections of one session
never want the same name. It holds the lock of its journal as long as it lives; a place whose lock is free was left behind
by one that was killed, and the next collection removes it. Between the final name and the entry in the ledger a mark
stands in `.open/`, so that an entry that was not made can be made later.

Invariant: what has the final name is complete, and nobody else's directory is ever replaced or removed.
"""

import contextlib
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple, Self

from runcard.documents.session.events import COLLECTION_STARTED
from runcard.errors import MachineError, RuncardError, StoreError
from runcard.files import Sync, failure, fsync_directory, printable, write_atomic
from runcard.files.locks import NO_LOCKS
from runcard.files.rename_noreplace import rename_noreplace
from runcard.store import layout
from runcard.store.journal import JournalWriter, is_orphaned, new_writer, try_lock
from runcard.store.own_directories import check_own, list_own, open_own, own_entry
from runcard.store.remove_tree import remove_tree
from runcard.store.runs.directory import alone

_MARK = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_SECOND = timedelta(seconds=1)
_FIRST_LINE = 1 << 20  # bytes; it has the warnings about a SPEC
_LONGEST_LINE = 32 << 20  # bytes; half of what is read by default. The first one has the SPEC


class Modes(NamedTuple):
    """The permissions of what is made."""

    folder: int = 0o700
    file: int = 0o600


class Collection:
    """A session that is being put together."""

    def __init__(self, store: str, session_id: str, moment: datetime, modes: Modes) -> None:
        self.store = os.path.abspath(store)
        self.modes = modes
        _make_store(self.store, modes.folder)
        with alone(layout.own_folder(self.store)):  # see abandoned
            self.path, self.created = self._take(session_id, moment)
            self.name = layout.session_name(self.created, session_id)
            try:
                journal = os.path.join(self.path, layout.AUDIT)
                self.journal = JournalWriter(
                    journal, self.name, new_writer(), lock=True, mode=modes.file, limit=_LONGEST_LINE
                )
            except BaseException:
                with contextlib.suppress(OSError):  # what cannot go now, the next collection removes
                    os.rmdir(self.path)
                raise
        self.final = os.path.join(self.store, self.name)
        self._placed = False

    def _take(self, session_id: str, moment: datetime) -> tuple[str, datetime]:
        """The first second from this moment on that no other collection of this session has."""
        while True:
            path = layout.collection(self.store, session_id, moment)
            try:
                if not os.path.lexists(layout.closing_mark(path)) and self._mkdir(path):
                    if not layout.is_taken(self.store, layout.session_name(moment, session_id), moment):
                        return path, moment
                    os.rmdir(path)
            except OSError as error:
                raise failure(error, path, "create") from error
            moment = moment.replace(microsecond=0) + _SECOND

    def _mkdir(self, path: str) -> bool:
        try:
            os.mkdir(path, self.modes.folder)
        except FileExistsError:
            return False
        os.chmod(path, self.modes.folder)  # what the umask took away
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove what is not complete; when that fails, the next collection does it."""
        if not self._placed:
            with contextlib.suppress(OSError, StoreError):
                _remove(self.path)
        self.journal.close()

    def at(self, relative: str) -> str:
        """The path of something in the session; the directories above it are made."""
        folder, name = os.path.split(relative)
        place = self.path
        for part in folder.split("/") if folder else ():
            place = os.path.join(place, part)
            try:
                self._mkdir(place)
            except OSError as error:
                raise failure(error, place, "create") from error
        return os.path.join(place, name)

    def write(self, relative: str, data: bytes, *, sync: Sync = Sync.LATER) -> None:
        path = self.at(relative)
        try:
            write_atomic(path, data, mode=self.modes.file, sync=sync)
        except OSError as error:
            raise failure(error, path, "write") from error

    def place(self) -> None:
        """Give the session its name; it is complete."""
        mark = layout.closing_mark(self.path)
        directory = os.open(self.store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _set_mark(mark)
            try:
                rename_noreplace(os.path.relpath(self.path, self.store), self.name, directory)
            except OSError:
                clear_mark(mark)
                raise
            self._placed = True
            fsync_directory(self.store)
        except FileExistsError:
            raise StoreError(
                f"{printable(self.final)} was made by somebody else meanwhile", hint="collect again"
            ) from None
        except OSError as error:
            raise failure(error, self.final, "give its name to") from error
        finally:
            os.close(directory)

    def conclude(self) -> None:
        """Say that the session stands in the ledger."""
        clear_mark(layout.closing_mark(self.path))


def _make_store(store: str, mode: int) -> None:
    try:
        os.makedirs(store, mode, exist_ok=True)
        for folder in (layout.collections(store), layout.own_folder(store)):
            with open_own(store, folder, create=True, mode=mode):
                pass
        if not os.access(store, os.W_OK | os.X_OK):
            raise PermissionError
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "Permission denied"
        raise MachineError(
            f"Failed to create artifacts directory: {reason}",
            hint=f"look at {printable(store)}, or name another directory with --artifacts",
        ) from error


class Abandoned(NamedTuple):
    """What a collection left behind that was killed; whoever holds it here removes it."""

    path: str  # of the place, or of the session itself when only its entry in the ledger is missing
    name: str  # of the session
    mark: str | None = None  # of a session that has its name already


@contextlib.contextmanager
def abandoned(store: str) -> Iterator[list[Abandoned]]:
    """What lies in a store that no living collection holds; nobody else takes it up meanwhile.

    A collection makes its place and its lock while the store is locked: what has no lock here has no owner.
    """
    found, held = [], []
    try:
        check_own(store, layout.collections(store), layout.own_folder(store))
        if os.path.isdir(layout.collections(store)) and os.path.isdir(layout.own_folder(store)):
            with alone(layout.own_folder(store)):
                for path in _entries(store):
                    one = _abandoned(store, path)
                    descriptor = one and _lock_of(one.path)
                    if one is not None and descriptor is not None:
                        found.append(one)
                        held.append(descriptor)
        yield found
    finally:
        for descriptor in held:
            if descriptor >= 0:
                os.close(descriptor)


def _entries(store: str) -> list[str]:
    folder = layout.collections(store)
    return [os.path.join(folder, name) for name in sorted(list_own(store, folder))]


def _abandoned(store: str, path: str) -> Abandoned | None:
    """What an entry of `.open/` stands for, if it is a collection's."""
    place = layout.closing_of(path) or path
    name = layout.collected_name(place)
    if name is None:
        return None
    if place == path:
        is_place = os.path.isdir(path) and not os.path.islink(path)  # a link may lead to a session
        return Abandoned(path, name) if is_place else None
    if os.path.isdir(place):
        return None  # it did not get its name: that place is dealt with
    session = os.path.join(store, name)
    if os.path.isdir(session):
        return Abandoned(session, name, path)
    clear_mark(path)
    return None


def _lock_of(place: str) -> int | None:
    """The lock of a journal that nobody holds, -1 where there is none to hold; None when it is somebody's."""
    journal = os.path.join(place, layout.AUDIT)
    try:
        descriptor = try_lock(journal)
    except FileNotFoundError:
        return -1 if _is_empty(place) else None
    except OSError as error:
        return -1 if error.errno in NO_LOCKS and is_orphaned(journal) else None
    if descriptor is not None and not _is_collections(descriptor):
        os.close(descriptor)
        return None
    return descriptor


def _is_empty(place: str) -> bool:
    """Whether nothing is in a place that is still there: its owner may just be removing it."""
    try:
        return not os.listdir(place)
    except OSError:
        return False


def _is_collections(journal: int) -> bool:
    """Whether a journal is that of a collection: by its first line, of which a killed one may have written none."""
    line, newline, _ = os.pread(journal, _FIRST_LINE, 0).partition(b"\n")
    return not newline or COLLECTION_STARTED.encode() in line


def is_at_work(place: str) -> bool | None:
    """Whether a collection still works in its place; None where nobody can tell. Nothing is changed by asking."""
    store = os.path.dirname(os.path.dirname(os.path.abspath(place)))
    journal = os.path.join(place, layout.AUDIT)
    try:
        with alone(layout.own_folder(store), shared=True):  # see abandoned
            descriptor = try_lock(journal, shared=True)
    except OSError as error:
        return False if error.errno in NO_LOCKS and is_orphaned(journal) else None
    except RuncardError:
        return None
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


def remove(one: Abandoned) -> None:
    """Remove a place that was left behind."""
    try:
        with contextlib.suppress(FileNotFoundError):  # somebody else was quicker
            _remove(one.path)
        with contextlib.suppress(
            OSError
        ):  # an empty directory held the place, where names cannot be taken in one step
            os.rmdir(os.path.join(os.path.dirname(os.path.dirname(one.path)), one.name))
        clear_mark(layout.closing_mark(one.path))
    except OSError as error:
        raise failure(error, one.path, "remove") from error


def _remove(path: str) -> None:
    """The journal goes last: as long as it is there, whoever comes next knows whose place this is."""
    store = _store_of(path)
    with open_own(store, path) as folder:
        for name in os.listdir(folder):
            if name != layout.AUDIT:
                remove_tree(name, dir_fd=folder)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(layout.AUDIT, dir_fd=folder)
    with own_entry(store, path) as (above, name):
        os.rmdir(name, dir_fd=above)


def _store_of(place: str) -> str:
    """The store of a session that is not complete, or of its mark."""
    return os.path.dirname(os.path.dirname(place))


def _set_mark(mark: str) -> None:
    with own_entry(_store_of(mark), mark) as (folder, name):
        os.close(os.open(name, _MARK, 0o600, dir_fd=folder))
        os.fsync(folder)


def clear_mark(mark: str) -> None:
    with contextlib.suppress(FileNotFoundError), own_entry(_store_of(mark), mark) as (folder, name):
        os.unlink(name, dir_fd=folder)
