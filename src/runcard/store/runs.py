"""The life of a run's directory: how it comes to be, whether its owner still lives, and which runs of a store are open.

A run appears under its name whole: it is made aside, with its journal and its first document, and then moved into place.
So whoever finds a run finds a record, whenever its owner was killed.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from datetime import datetime

from runcard.files import failure, fsync_directory, write_atomic
from runcard.files.noreplace import rename_noreplace
from runcard.store import layout
from runcard.store.journal import JournalWriter, try_lock

_NEW = "new-"


class NewRun:
    """A run that is being made: fill it, then give it its place."""

    def __init__(self, store: str, run_id: str, writer: str) -> None:
        self._store = store
        self._aside = os.path.join(layout.own_folder(store), f"{_NEW}{run_id}")
        try:
            os.makedirs(layout.open_folder(store), exist_ok=True)
            os.mkdir(self._aside)
        except OSError as error:
            raise failure(error, store, "create a run in") from error
        self.journal = JournalWriter(os.path.join(self._aside, layout.JOURNAL), run_id, writer, lock=True)

    def place(self, moment: datetime, document: bytes) -> str:
        """Give the run its first document and its name; returns its path."""
        try:
            write_atomic(os.path.join(self._aside, layout.METADATA), document)
            path = self._name(moment)
            self.journal.path = os.path.join(path, layout.JOURNAL)
            _mark_open(self._store, os.path.basename(path))
            fsync_directory(self._store)
        except OSError as error:
            self.discard()
            raise failure(error, self._store, "create a run in") from error
        return path

    def _name(self, moment: datetime) -> str:
        directory = os.open(self._store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            attempt = 1
            while True:
                name = layout.run_name(moment, attempt)
                try:
                    rename_noreplace(os.path.relpath(self._aside, self._store), name, directory)
                except FileExistsError:
                    attempt += 1
                else:
                    return os.path.join(os.path.abspath(self._store), name)
        finally:
            os.close(directory)

    def discard(self) -> None:
        self.journal.close()
        shutil.rmtree(self._aside, ignore_errors=True)


def _mark_open(store: str, name: str) -> None:
    os.close(
        os.open(os.path.join(layout.open_folder(store), name), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    )


def mark_closed(run: str) -> None:
    """Take a run off the list of those that are open."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(layout.open_folder(layout.store_of(run)), os.path.basename(run)))


def open_runs(store: str) -> list[str]:
    """The runs of a store that were open when they were last seen."""
    try:
        names = sorted(os.listdir(layout.open_folder(store)))
    except FileNotFoundError:
        return []
    return [os.path.join(store, name) for name in names]


def remove_unplaced(store: str) -> None:
    """Remove what a recorder left behind that was killed before its run had a name."""
    folder = layout.own_folder(store)
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.startswith(_NEW):
            path = os.path.join(folder, name)
            with claimed(path) as dead:
                if dead:
                    shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def claimed(run: str) -> Iterator[bool | None]:
    """Hold the lock of a run's journal: True when its owner is gone, False when it lives, None when nobody can tell."""
    descriptor = None
    try:
        descriptor = try_lock(os.path.join(run, layout.JOURNAL))
        verdict: bool | None = descriptor is not None
    except FileNotFoundError:
        verdict = True  # no journal, so nobody can be writing one
    except OSError as error:
        if error.errno not in {errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS}:
            raise failure(error, run, "look after") from error
        verdict = None
    try:
        yield verdict
    finally:
        if descriptor is not None:
            os.close(descriptor)
