"""The directory of a session while it is collected: first in `.open/`, then under its final name, in one step.

The final name is `directory_names.session_name`. A collection works in `.open/<id>.<second>/`, where the second is that of the
final name, so that two collections of one session never want the same name. It holds the lock of its journal while it
runs; a directory whose lock is free was left behind by a killed collection, see `recovery`. Between the final name and the
entry in the ledger there is a mark in `.open/`, so that a missing entry can be added later.

Invariant: a session with its final name is complete, and a directory of another program is never replaced or removed.
"""

import contextlib
import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple, Self

from runcard.errors import MachineError, RuncardError, StoreError
from runcard.files import Sync, failure, fsync_directory, printable, write_atomic
from runcard.files.locks import NO_LOCKS
from runcard.files.rename_noreplace import rename_noreplace
from runcard.store import directory_names, layout
from runcard.store.journal import JournalWriter, is_orphaned, new_writer, try_lock
from runcard.store.locks import lock_folder
from runcard.store.own_directories import open_own, own_entry
from runcard.store.remove_tree import remove_tree

_MARK = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_SECOND = timedelta(seconds=1)
_LONGEST_LINE = 32 << 20  # bytes; half of the default limit for reading. The first line has the SPEC


class Modes(NamedTuple):
    """The permissions of new directories and files."""

    folder: int = 0o700
    file: int = 0o600


class SessionDirectory:
    """The directory of a session that is being collected."""

    def __init__(
        self,
        store: str,
        session_id: str,
        moment: datetime,
        modes: Modes,
        *,
        is_closing: bool = False,
        first_lines: Iterable[bytes] = (),
    ) -> None:
        """`is_closing` the open session with this id, which may keep its name; `first_lines` begin the journal."""
        self.store = os.path.abspath(store)
        self._is_closing = is_closing
        self.modes = modes
        create_store(self.store, modes.folder)
        with lock_folder(layout.own_folder(self.store)):  # see recovery
            self.path, self.created = self._create(session_id, moment)
            self.name = directory_names.session_name(self.created, session_id)
            try:
                journal = os.path.join(self.path, layout.AUDIT)
                self.journal = JournalWriter(
                    journal, self.name, new_writer(), lock=True, mode=modes.file, limit=_LONGEST_LINE
                )
            except BaseException:
                with contextlib.suppress(OSError):  # if that fails, the next collection removes it
                    os.rmdir(self.path)
                raise
        self.final = os.path.join(self.store, self.name)
        self._is_published = False
        try:
            self.journal.copy_lines(first_lines)
        except BaseException:
            self.__exit__()
            raise

    def _create(self, session_id: str, moment: datetime) -> tuple[str, datetime]:
        """Create the directory, in the first second from this moment on that no other collection of this session has."""
        from runcard.store.sessions.live_start import reserved_name  # noqa: PLC0415 - readers of sessions need none

        reserved = None if self._is_closing else reserved_name(self.store, session_id)
        while True:
            path = layout.collection(self.store, session_id, moment)
            name = directory_names.session_name(moment, session_id)
            try:
                if name != reserved and not os.path.lexists(layout.closing_mark(path)) and self._mkdir(path):
                    if not layout.is_taken(self.store, name, moment):
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
        os.chmod(path, self.modes.folder)  # the umask may have removed some
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove a session that is not complete; if that fails, the next collection does it."""
        if not self._is_published:
            with contextlib.suppress(OSError, StoreError):
                remove_session(self.path)
        self.journal.close()

    def path_of(self, relative: str) -> str:
        """The path of a file in the session; its parent directories are created."""
        folder, name = os.path.split(relative)
        parent = self.path
        for part in folder.split("/") if folder else ():
            parent = os.path.join(parent, part)
            try:
                self._mkdir(parent)
            except OSError as error:
                raise failure(error, parent, "create") from error
        return os.path.join(parent, name)

    def write(self, relative: str, data: bytes | Iterable[bytes], *, sync: Sync = Sync.LATER) -> None:
        """Write a file, as a whole or in blocks."""
        path = self.path_of(relative)
        try:
            write_atomic(path, data, mode=self.modes.file, sync=sync)
        except OSError as error:
            raise failure(error, path, "write") from error

    def publish(self) -> None:
        """Give the complete session its final name."""
        mark = layout.closing_mark(self.path)
        directory = os.open(self.store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _set_mark(mark)
            try:
                rename_noreplace(os.path.relpath(self.path, self.store), self.name, directory)
            except OSError:
                clear_mark(mark)
                raise
            self._is_published = True
            fsync_directory(self.store)
        except FileExistsError:
            raise StoreError(
                f"{printable(self.final)} was created by another program meanwhile", hint="collect again"
            ) from None
        except OSError as error:
            raise failure(error, self.final, "create") from error
        finally:
            os.close(directory)

    def clear_closing_mark(self) -> None:
        """Remove the mark, now that the session is in the ledger."""
        clear_mark(layout.closing_mark(self.path))


def create_store(store: str, mode: int) -> None:
    """Create a store of sessions, unless it is there; raises MachineError if it cannot be written."""
    try:
        os.makedirs(store, mode, exist_ok=True)
        for folder in (layout.collections(store), layout.own_folder(store)):
            with open_own(store, folder, create=True, mode=mode):
                pass
        if not os.access(store, os.W_OK | os.X_OK):
            raise PermissionError
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "Permission denied"
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = "Not a directory"
        raise MachineError(
            f"Failed to create artifacts directory: {reason}",
            hint=f"check {printable(store)}, or pass another directory with --artifacts",
        ) from error


def is_being_collected(path: str) -> bool | None:
    """Whether a collection still works in a directory of `.open/`; None when that is unknown. Changes nothing."""
    store = store_of(os.path.abspath(path))
    journal = os.path.join(path, layout.AUDIT)
    try:
        with lock_folder(layout.own_folder(store), shared=True):  # see recovery
            descriptor = try_lock(journal, shared=True)
    except OSError as error:
        return False if error.errno in NO_LOCKS and is_orphaned(journal) else None
    except RuncardError:
        return None
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


def remove_session(path: str) -> None:
    """Remove the directory of a session; its journal last, because it says what the directory is."""
    store = store_of(path)
    with open_own(store, path) as folder:
        for name in os.listdir(folder):
            if name != layout.AUDIT:
                remove_tree(name, dir_fd=folder)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(layout.AUDIT, dir_fd=folder)
    with own_entry(store, path) as (parent, name):
        os.rmdir(name, dir_fd=parent)


def store_of(path: str) -> str:
    """The store of an entry of `.open/`."""
    return os.path.dirname(os.path.dirname(path))


def _set_mark(mark: str) -> None:
    with own_entry(store_of(mark), mark) as (folder, name):
        os.close(os.open(name, _MARK, 0o600, dir_fd=folder))
        os.fsync(folder)


def clear_mark(mark: str) -> None:
    """Remove a closing mark, if it exists."""
    with contextlib.suppress(FileNotFoundError), own_entry(store_of(mark), mark) as (folder, name):
        os.unlink(name, dir_fd=folder)
