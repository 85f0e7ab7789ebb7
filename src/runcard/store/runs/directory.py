"""The life of a run's directory: how it comes to be, whether its owner still lives, and which runs of a store are open.

A run appears under its name whole: it is made aside, with its journal and its first document, and then moved into place.
So whoever finds a run finds a record, whenever its owner was killed. Before it has its name it is on the list of open
runs, so that none is forgotten.

The list holds a second name of each journal. Whatever happens to the one in the run's directory, where the user's program
is at home, this one keeps the lines, and the lock that says that the owner lives.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from datetime import datetime
from stat import S_ISDIR, S_ISLNK, S_ISREG

from runcard.errors import StoreError
from runcard.files import failure, fsync_directory, locked, printable, write_all
from runcard.files.locks import NO_LOCKS
from runcard.files.opening import list_directory
from runcard.files.rename_noreplace import rename_noreplace
from runcard.files.temporary_files import is_temporary_file, remove_temporary_files_in
from runcard.store import layout
from runcard.store.journal import EVENT_LIMIT, JournalWriter, is_orphaned, new_writer, try_lock
from runcard.store.own_directories import list_own, open_own, own_entry

PATIENCE = 30.0  # seconds: a user's program does not wait for ever because another one was stopped

_NEW = "new-"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_PAUSE = 0.005  # seconds between two tries to have a lock alone
_READERS = 2.0  # seconds that those who only ask may take


def alone(
    folder: str, *, shared: bool = False, timeout: float = PATIENCE
) -> contextlib.AbstractContextManager[bool]:
    """Hold the lock of a folder, a store's own or a run's; the value is False where a lock file is used instead."""
    return locked(folder, shared=shared, timeout=timeout)


class NewRun:
    """A run that is being made: fill it, then give it its place."""

    def __init__(self, store: str, run_id: str, writer: str, limit: int = EVENT_LIMIT) -> None:
        self._store = store
        self._aside = os.path.join(layout.own_folder(store), f"{_NEW}{run_id}")
        self._path: str | None = None
        try:
            with open_own(store, layout.open_folder(store), create=True):
                pass
            with alone(layout.own_folder(store)) as has_locks:  # see _remove_unplaced
                os.mkdir(self._aside)
                journal = os.path.join(self._aside, layout.JOURNAL)
                self.journal = JournalWriter(journal, run_id, writer, lock=True, limit=limit)
            self.has_locks = has_locks and self.journal.has_lock
        except OSError as error:
            raise failure(error, store, "create a run in") from error

    def place(self, moment: datetime, document: bytes) -> str:
        """Give the run its first document and its name; returns its path."""
        try:
            self._write_first(document)
            directory = os.open(self._store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._path = self._name(moment, directory)
                self.journal.path = os.path.join(self._path, layout.JOURNAL)
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError as error:
            raise failure(error, self._store, "create a run in") from error
        return self._path

    def _write_first(self, document: bytes) -> None:
        """Nobody looks here yet: there is no need for a temporary name."""
        descriptor = os.open(os.path.join(self._aside, layout.METADATA), _CREATE, 0o666)
        try:
            write_all(descriptor, document)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        fsync_directory(self._aside)

    def _name(self, moment: datetime, directory: int) -> str:
        store = os.path.abspath(self._store)
        names = (name for name in layout.run_names(moment) if not layout.is_taken(store, name, moment))
        paths = (os.path.join(store, name) for name in names)
        return next(path for path in paths if self._takes(path, directory))

    def _takes(self, path: str, directory: int) -> bool:
        """Take a name, and its place on the list of open runs; False when another run has one of the two."""
        if not self._mark_open(path):
            return False
        try:
            rename_noreplace(os.path.relpath(self._aside, self._store), os.path.basename(path), directory)
        except FileExistsError:
            mark_closed(path)
            return False
        except BaseException:
            mark_closed(path)
            raise
        _mark(path)  # again, in case somebody took it off who could not see whose it was
        return True

    def _mark_open(self, path: str) -> bool:
        """Put a run on the list of open ones; False when another one is there under this name."""
        try:
            os.link(os.path.join(self._aside, layout.JOURNAL), layout.open_mark(path))
        except FileExistsError:
            return False
        except OSError:  # a file system without second names; a full one says so again
            return _mark(path)
        return True

    def discard(self) -> None:
        """Remove it again, wherever it is by now."""
        self.journal.close()
        _remove(self._store, self._aside)
        if self._path is not None:
            _remove(layout.store_of(self._path), self._path)
            mark_closed(self._path)


def _remove(store: str, run: str) -> None:
    """Remove a run that never had its place, as far as that goes: there are only files of ours in it."""
    with contextlib.suppress(OSError, StoreError):
        with open_own(store, run) as folder:
            for name in os.listdir(folder):
                os.unlink(name, dir_fd=folder)
        with own_entry(store, run) as (above, name):
            os.rmdir(name, dir_fd=above)


def _mark(run: str) -> bool:
    """Put a run on the list of open ones by its name alone; False when it is there already."""
    try:
        os.close(os.open(layout.open_mark(run), _CREATE, 0o666))
    except FileExistsError:
        return False
    return True


def join(run: str, run_id: str, limit: int = EVENT_LIMIT) -> JournalWriter:
    """Begin a journal beside the owner's; raises StoreError when the run is closed, or is being closed."""
    writer = new_writer()
    closed = StoreError(f"the run in {printable(run)} is closed", hint="record before the end of the run")
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(alone(run, shared=True, timeout=0))
        except StoreError as error:
            if error.__cause__ is not None:
                raise
            raise closed from error  # who closes a run holds its lock
        if is_sealed(run):
            raise closed
        return JournalWriter(os.path.join(run, layout.other_journal(writer)), run_id, writer, limit=limit)


def is_sealed(run: str) -> bool:
    """Whether a run was closed, as far as its files tell: it has checksums, and is not on the list of open ones."""
    checksums, mark = os.path.join(run, layout.CHECKSUMS), layout.open_mark(run)
    return os.path.isfile(checksums) and not os.path.lexists(mark)


def mark_closed(run: str) -> None:
    """Take a run off the list of those that are open."""
    with (
        contextlib.suppress(FileNotFoundError),
        own_entry(layout.store_of(run), layout.open_mark(run)) as (folder, name),
    ):
        os.unlink(name, dir_fd=folder)


def open_runs(store: str) -> list[str]:
    """The runs of a store that were open when they were last seen; what never became a run is removed."""
    try:
        with open_own(store, layout.own_folder(store)) as own:
            names, marks = os.listdir(own), layout.open_folder(store)
            listed = sorted(list_directory(own, marks)) if os.path.basename(marks) in names else []
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise failure(error, layout.own_folder(store), "look for open runs in") from error
    if listed or any(name.startswith(_NEW) or is_temporary_file(name) for name in names):
        _remove_unplaced(store)
    paths = (os.path.join(store, name) for name in listed)
    return [path for path in paths if os.path.isdir(path) and not os.path.islink(path)]


def reclaim(run: str, made: os.stat_result) -> str | None:
    """Make sure that a run has its directory again, as it was `made`; returns in words what had become of it.

    A program may remove its directory, or put something else in its place. What that is stays its own: it is kept in the
    new directory, and where a link leads to nothing is touched.
    """
    try:
        now = os.lstat(run)
    except FileNotFoundError:
        os.mkdir(run)
        return "the directory of the run was removed: it was made again, without the files that were in it"
    if S_ISDIR(now.st_mode):
        return None if os.path.samestat(now, made) else "the directory of the run was replaced by another one"
    kept = os.path.join(layout.USER, os.path.basename(run))
    aside, store = f"{layout.USER}-{os.urandom(4).hex()}", layout.store_of(run)
    with open_own(store, layout.own_folder(store)) as own:
        os.rename(run, aside, dst_dir_fd=own)
        os.makedirs(os.path.join(run, layout.USER))
        os.rename(aside, os.path.join(run, kept), src_dir_fd=own)
    what = "a link" if S_ISLNK(now.st_mode) else "a file"
    return f"the directory of the run was replaced by {what}, which is kept as {kept}"


def _remove_unplaced(store: str) -> None:
    """Remove what a recorder left behind that was killed before its run had a name.

    A run is made, with its lock, while the store is locked: what has no lock here has no owner.
    """
    folder = layout.own_folder(store)
    with alone(folder), open_own(store, folder) as own:
        remove_temporary_files_in(own, age=0)  # all of them are written under this lock
        unplaced = _unplaced(store)
        for name in _listed(store):  # first: what is left of the run says that it never had its place
            run = os.path.join(store, name)
            mark = layout.open_mark(run)
            is_left = not os.path.lexists(run) and not _had_its_place(mark, unplaced)
            if is_left and _is_abandoned(mark):
                with contextlib.suppress(OSError):
                    mark_closed(run)
        for name in os.listdir(own):
            path = os.path.join(folder, name)
            if name.startswith(_NEW) and _is_abandoned(os.path.join(path, layout.JOURNAL)):
                _remove(store, path)


def lost_runs(store: str) -> list[tuple[str, bool]]:
    """The open runs of a store whose directory is gone, by name, and whether their owner still lives.

    The list of open runs has a second name of each journal, so the events are not lost with the directory.
    """
    listed = _listed(store)  # before those without a name: a run that is being made is one of the two
    unplaced = _unplaced(store)
    marks = {name: layout.open_mark(os.path.join(store, name)) for name in listed}
    return [
        (name, not _is_abandoned(mark))
        for name, mark in marks.items()
        if _had_its_place(mark, unplaced) and not os.path.lexists(os.path.join(store, name))
    ]


def _unplaced(store: str) -> set[tuple[int, int]]:
    """The journals of runs that have no name yet, by device and inode."""
    folder, found = layout.own_folder(store), set()
    for name in os.listdir(folder):
        if name.startswith(_NEW):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                status = os.lstat(os.path.join(folder, name, layout.JOURNAL))
                found.add((status.st_dev, status.st_ino))
    return found


def _had_its_place(mark: str, unplaced: set[tuple[int, int]]) -> bool:
    """Whether an open mark is the journal of a run that had its name; on some file systems nobody can tell."""
    try:
        status = os.lstat(mark)
    except FileNotFoundError:
        return False
    return S_ISREG(status.st_mode) and status.st_size > 0 and (status.st_dev, status.st_ino) not in unplaced


def _listed(store: str) -> list[str]:
    return sorted(list_own(store, layout.open_folder(store)))


def _is_abandoned(journal: str) -> bool:
    """Whether the owner of a journal is gone, by its lock or else by its process; False where nobody can tell."""
    try:
        descriptor = try_lock(journal, shared=True)
    except FileNotFoundError:
        return True
    except OSError as error:
        return error.errno in NO_LOCKS and is_orphaned(journal)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


@contextlib.contextmanager
def claimed(run: str, *, exclusive: bool = False, patience: float = 0) -> Iterator[bool | None]:
    """Hold the lock of a run's journal: True when its owner is gone, False when it lives, None when nobody can tell.

    Those who only ask hold it together; who wants to close the run holds it alone. `patience` is for a lock that may be
    free in a moment: how many seconds to wait for it.
    """
    descriptor = None
    try:
        journal = _locked_journal(run)
        descriptor = _try(journal, exclusive=exclusive, patience=patience) if journal else None
        verdict = None if journal is None else descriptor is not None
    except FileNotFoundError:
        verdict = None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise failure(error, run, "look after") from error
        verdict = None
    try:
        yield verdict
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _try(journal: str, *, exclusive: bool, patience: float) -> int | None:
    """The lock of a journal, unless its owner holds it; those who only ask are waited for."""
    begun = time.monotonic()
    while (descriptor := try_lock(journal, shared=not exclusive)) is None:
        waited = time.monotonic() - begun
        if waited >= patience and not (exclusive and waited < _READERS and _is_abandoned(journal)):
            break
        time.sleep(_PAUSE)
    return descriptor


def _locked_journal(run: str) -> str | None:
    """The file that the owner of a run holds locked; None when it is lost, or is a user's by now."""
    for path in (layout.open_mark(run), os.path.join(run, layout.JOURNAL)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            status = os.lstat(path)
            if S_ISREG(status.st_mode) and status.st_size > 0:
                return path
    return None
