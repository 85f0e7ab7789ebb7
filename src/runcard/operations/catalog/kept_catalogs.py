"""Catalogs that stay open between two questions, for a server: to open one takes longer than most questions.

Off unless a server turns it on. A catalog is used by one question at a time, in any thread. It is closed instead if the
question failed, if its file was deleted or replaced meanwhile, or if it does not see what others write.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple
from weakref import WeakKeyDictionary

from runcard.catalog.database import CatalogDatabase

_MOST_IDLE = 2  # each may have some megabytes of its file in memory


class _CatalogFile(NamedTuple):
    """A file as it was before a catalog in it was opened."""

    path: str
    device: int
    inode: int


class _CatalogPool:
    """The open catalogs that nothing uses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._idle: list[tuple[_CatalogFile, CatalogDatabase]] = []
        self._opened: WeakKeyDictionary[CatalogDatabase, _CatalogFile] = WeakKeyDictionary()

    @contextmanager
    def turned_on(self) -> Iterator[None]:
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
            self._close_idle(0 if not self._users else _MOST_IDLE)

    def take(self, path: str) -> CatalogDatabase:
        """An open catalog: one that is idle, or a new one."""
        now = _file_at(path)  # before it is opened: one that is replaced meanwhile differs from this
        while (idle := self._take_idle(path)) is not None:
            file, database = idle
            if file == now:
                return database
            database.__exit__()
        database = CatalogDatabase(path)
        with self._lock:
            if now is not None and self._users and not database.engine.is_frozen:
                self._opened[database] = now
        return database

    def _take_idle(self, path: str) -> tuple[_CatalogFile, CatalogDatabase] | None:
        with self._lock:
            for number, (file, _) in enumerate(self._idle):
                if file.path == path:
                    return self._idle.pop(number)
        return None

    def keep(self, database: CatalogDatabase) -> bool:
        """Keep a catalog for the next question; False if it is to be closed."""
        database.warning = None
        with self._lock:
            file = self._opened.get(database)
            if file is None or not self._users:
                return False
            self._idle.insert(0, (file, database))
        self._close_idle(_MOST_IDLE)
        return True

    def _close_idle(self, most: int) -> None:
        with self._lock:
            self._idle, left = self._idle[:most], self._idle[most:]
        for _, database in left:
            database.__exit__()


_POOL = _CatalogPool()
keep_catalogs_open = _POOL.turned_on
take_catalog = _POOL.take


@contextmanager
def use_catalog(database: CatalogDatabase) -> Iterator[CatalogDatabase]:
    """Use a catalog for one question; then it is kept or closed."""
    with ExitStack() as stack:
        stack.push(database)
        yield database
        if _POOL.keep(database):
            stack.pop_all()


def _file_at(path: str) -> _CatalogFile | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _CatalogFile(path, status.st_dev, status.st_ino)
