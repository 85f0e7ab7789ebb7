"""The directory of a run: create it, keep it on the store's list of open runs, find open and lost runs.

A run appears under its name complete: it is created under a temporary name, with its journal and its start document, and
then renamed. So every run that can be found is a record, whenever its owner was killed. It is put on the list of open runs
before it gets its name, so that none is forgotten.

The list holds an open mark for each run: a second name (hard link) of its journal. The user's program may do anything to the
journal in the run's directory; the open mark keeps the events, and the lock that says that the owner lives (see `owner`).
"""

import contextlib
import os
from collections.abc import Collection
from datetime import datetime
from itertools import chain
from stat import S_ISDIR, S_ISLNK, S_ISREG

from runcard.errors import StoreError
from runcard.files import failure, fsync_directory, printable, write_all
from runcard.files.opening import list_directory
from runcard.files.rename_noreplace import rename_noreplace
from runcard.files.temporary_files import is_temporary_file, remove_temporary_files_in
from runcard.store import directory_names, layout
from runcard.store.journal import EVENT_LIMIT, ClosedJournalError, JournalWriter, new_writer, try_lock
from runcard.store.locks import lock_folder
from runcard.store.own_directories import list_own, open_own, own_entry
from runcard.store.runs.heartbeat import remove_heartbeat
from runcard.store.runs.owner import is_abandoned

_NEW = "new-"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

_Inode = tuple[int, int]  # device and inode


class NewRun:
    """A run that is being created: write its first events, then `place` it under its name."""

    def __init__(self, store: str, run_id: str, writer: str, limit: int = EVENT_LIMIT) -> None:
        self._store = store
        self._temporary = os.path.join(layout.own_folder(store), f"{_NEW}{run_id}")
        self._path: str | None = None
        try:
            with open_own(store, layout.open_folder(store), create=True):
                pass
            with lock_folder(layout.open_folder(store), shared=True) as has_locks:  # see _remove_unnamed
                os.mkdir(self._temporary)
                journal = os.path.join(self._temporary, layout.JOURNAL)
                self.journal = JournalWriter(journal, run_id, writer, lock=True, limit=limit)
            self.has_locks = has_locks and self.journal.has_lock
        except OSError as error:
            raise failure(error, store, "create a run in") from error

    def place(self, start: datetime, document: bytes) -> str:
        """Write the start document and give the run its name; returns its path."""
        try:
            self._write_document(document)
            directory = os.open(self._store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._path = self._take_free_name(start, directory)
                self.journal.path = os.path.join(self._path, layout.JOURNAL)
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError as error:
            raise failure(error, self._store, "create a run in") from error
        return self._path

    def _write_document(self, document: bytes) -> None:
        """Write directly: no other process reads a run that has no name yet."""
        descriptor = os.open(os.path.join(self._temporary, layout.METADATA), _CREATE, 0o666)
        try:
            write_all(descriptor, document)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        fsync_directory(self._temporary)

    def _take_free_name(self, start: datetime, directory: int) -> str:
        store, names = os.path.abspath(self._store), directory_names.RunNames(start)
        first = names.first_free(lambda name: layout.is_taken(store, name, start))
        later = (name for name in names.numbered_from(first + 1) if not layout.is_taken(store, name, start))
        paths = (os.path.join(store, name) for name in chain([names.name(first)], later))
        return next(path for path in paths if self._take_name(path, directory))

    def _take_name(self, path: str, directory: int) -> bool:
        """Add an open mark and rename the directory; False when another run has the name."""
        if not self._link_open_mark(path):
            return False
        try:
            rename_noreplace(os.path.relpath(self._temporary, self._store), os.path.basename(path), directory)
        except FileExistsError:
            remove_open_mark(path)
            return False
        except BaseException:
            remove_open_mark(path)
            raise
        # Without hard links the mark is an empty file, and a process that cleans up may have removed it before the rename.
        if not os.path.lexists(layout.open_mark(path)):
            _create_open_mark(path)
        return True

    def _link_open_mark(self, path: str) -> bool:
        """Put the run on the list of open runs; False when another run has this name there."""
        try:
            os.link(os.path.join(self._temporary, layout.JOURNAL), layout.open_mark(path))
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links; a full one fails again below
            return _create_open_mark(path)
        return True

    def discard(self) -> None:
        """Remove the run again, under its temporary name or under its own."""
        self.journal.close()
        _remove_files(self._store, self._temporary)
        if self._path is not None:
            discard_run(self._path)


def discard_run(run: str) -> None:
    """Remove an open run that holds only runcard's own files: no trace of it is left."""
    _remove_files(layout.store_of(run), run)
    remove_open_mark(run)


def _remove_files(store: str, run: str) -> None:
    """Remove a run that holds only runcard's own files, as far as possible."""
    with contextlib.suppress(OSError, StoreError):
        with open_own(store, run) as folder:
            for name in os.listdir(folder):
                os.unlink(name, dir_fd=folder)
        with own_entry(store, run) as (parent, name):
            os.rmdir(name, dir_fd=parent)


def _create_open_mark(run: str) -> bool:
    """Put a run on the list of open runs with an empty file; False when it is there already."""
    try:
        os.close(os.open(layout.open_mark(run), _CREATE, 0o666))
    except FileExistsError:
        return False
    return True


def join_run(run: str, run_id: str, limit: int = EVENT_LIMIT) -> JournalWriter:
    """Start another journal in a run; raises StoreError when the run is closed or being closed."""
    writer = new_writer()
    closed = ClosedJournalError(f"the run in {printable(run)} is closed", hint="record before the run ends")
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock_folder(run, shared=True, timeout=0))
        except StoreError as error:
            if error.__cause__ is not None:
                raise
            raise closed from error  # the process that closes a run holds its lock
        if is_sealed(run):
            raise closed
        return JournalWriter(os.path.join(run, layout.other_journal(writer)), run_id, writer, limit=limit)


def is_sealed(run: str) -> bool:
    """Whether a run is closed, by its files: it has checksums and is not on the list of open runs."""
    checksums, mark = os.path.join(run, layout.CHECKSUMS), layout.open_mark(run)
    return os.path.isfile(checksums) and not os.path.lexists(mark)


def remove_open_mark(run: str) -> None:
    """Take a run off the list of open runs; its heartbeat is not needed any more."""
    remove_heartbeat(run)
    with (
        contextlib.suppress(FileNotFoundError),
        own_entry(layout.store_of(run), layout.open_mark(run)) as (folder, name),
    ):
        os.unlink(name, dir_fd=folder)


def open_runs(store: str, *, besides: Collection[str] = ()) -> list[str]:
    """The runs on a store's list of open runs; removes what a killed recorder left before its run had a name.

    `besides` are runs that are known to be open: they are left out, and cost no time.
    """
    try:
        with open_own(store, layout.own_folder(store)) as own:
            names, marks = os.listdir(own), layout.open_folder(store)
            runs = sorted(list_directory(own, marks)) if os.path.basename(marks) in names else []
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise failure(error, layout.own_folder(store), "look for open runs in") from error
    paths = [path for name in runs if (path := os.path.join(store, name)) not in besides]
    if any(map(is_temporary_file, names)) or _has_leftovers(store, names, paths):
        _remove_unnamed(store)
    return [path for path in paths if os.path.isdir(path) and not os.path.islink(path)]


def may_be_dead(run: str) -> bool:
    """Whether a run on the list of open runs may have no owner any more; quick, for many runs.

    False if its owner holds its lock, or has closed it since it was listed.
    """
    try:
        descriptor = try_lock(layout.open_mark(run), shared=True)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # locks do not work here
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def _has_leftovers(store: str, names: Collection[str], runs: Collection[str]) -> bool:
    """Whether there may be parts of runs that never had a name; asked without the lock that removing them needs."""
    folder = layout.own_folder(store)
    unnamed = (os.path.join(folder, name, layout.JOURNAL) for name in names if name.startswith(_NEW))
    return any(map(is_abandoned, unnamed)) or not all(map(os.path.lexists, runs))


def restore_directory(run: str, original: os.stat_result) -> str | None:
    """Recreate a run's directory if the user's program removed or replaced it; returns a warning that says what happened.

    `original` is the directory as it was created. A file or link in its place is kept in the new directory; a link is not
    followed.
    """
    try:
        current = os.lstat(run)
    except FileNotFoundError:
        os.mkdir(run)
        return "the directory of the run was removed: it was made again, without the files that were in it"
    if S_ISDIR(current.st_mode):
        return (
            None
            if os.path.samestat(current, original)
            else "the directory of the run was replaced by another one"
        )
    user_path = os.path.join(layout.USER, os.path.basename(run))
    temporary, store = f"{layout.USER}-{os.urandom(4).hex()}", layout.store_of(run)
    with open_own(store, layout.own_folder(store)) as own:
        os.rename(run, temporary, dst_dir_fd=own)
        os.makedirs(os.path.join(run, layout.USER))
        os.rename(temporary, os.path.join(run, user_path), src_dir_fd=own)
    what = "a link" if S_ISLNK(current.st_mode) else "a file"
    return f"the directory of the run was replaced by {what}, which is kept as {user_path}"


def _remove_unnamed(store: str) -> None:
    """Remove runs whose recorder was killed before they had a name.

    A run is created, with its lock, under a shared lock of the list: while it is locked, a run without a lock has no
    owner.
    """
    folder, marks = layout.own_folder(store), layout.open_folder(store)
    with open_own(store, marks, create=True):
        pass
    with lock_folder(folder), lock_folder(marks), open_own(store, folder) as own:
        remove_temporary_files_in(own, age=0)  # all of them are written under this lock
        unnamed = _unnamed_journals(store)
        for name in _open_marks(
            store
        ):  # first: the unnamed directory shows that the mark's run never had its name
            run = os.path.join(store, name)
            mark = layout.open_mark(run)
            is_leftover = not os.path.lexists(run) and not _had_name(mark, unnamed)
            if is_leftover and is_abandoned(mark):
                with contextlib.suppress(OSError):
                    remove_open_mark(run)
        for name in os.listdir(own):
            path = os.path.join(folder, name)
            if name.startswith(_NEW) and is_abandoned(os.path.join(path, layout.JOURNAL)):
                _remove_files(store, path)


def lost_runs(store: str) -> list[tuple[str, bool]]:
    """The open runs of a store whose directory is gone: name, and whether the owner still lives.

    The open marks are second names of the journals, so the events are not lost with the directory.
    """
    names = _open_marks(store)  # before the unnamed runs: a run that is being created is in one of the two
    unnamed = _unnamed_journals(store)
    marks = {name: layout.open_mark(os.path.join(store, name)) for name in names}
    return [
        (name, not is_abandoned(mark))
        for name, mark in marks.items()
        if _had_name(mark, unnamed) and not os.path.lexists(os.path.join(store, name))
    ]


def _unnamed_journals(store: str) -> set[_Inode]:
    """The journals of runs that have no name yet."""
    folder, inodes = layout.own_folder(store), set()
    for name in os.listdir(folder):
        if name.startswith(_NEW):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                status = os.lstat(os.path.join(folder, name, layout.JOURNAL))
                inodes.add((status.st_dev, status.st_ino))
    return inodes


def _had_name(mark: str, unnamed: set[_Inode]) -> bool:
    """Whether an open mark is the journal of a run that had its name; False for an empty mark, which does not tell."""
    try:
        status = os.lstat(mark)
    except FileNotFoundError:
        return False
    return S_ISREG(status.st_mode) and status.st_size > 0 and (status.st_dev, status.st_ino) not in unnamed


def _open_marks(store: str) -> list[str]:
    return sorted(list_own(store, layout.open_folder(store)))
