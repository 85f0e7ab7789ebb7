"""Which experiment a run belongs to: by name, or the store's own.

The id of a store is kept in a file that is written once. A crash can leave that file empty, and anybody can put
something else in its place. That stops no run: the file is made again, under the lock of the store, so that all
processes get the same id; where it cannot be replaced the id is unknown.
"""

import errno
import os
from collections.abc import Callable
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.files import failure, is_safe_id, printable, read_regular, write_atomic
from runcard.store import layout
from runcard.store.own_directories import open_own
from runcard.store.runs.directory import alone


def id_of_name(name: str) -> str:
    """The id of an experiment that has nothing but a name: the same everywhere."""
    from base64 import b32encode  # noqa: PLC0415 - most runs are the store's own

    digest = bytes.fromhex(sha256_bytes(f"runcard-experiment-1:{name}".encode()).hex)
    return f"exp-{b32encode(digest).decode().lower()[:20]}"


class StoreId(NamedTuple):
    """The id of a store's own experiment, and what was wrong with the file that keeps it."""

    id: str | None
    warning: str | None = None


def id_of_store(store: str, fresh: Callable[[], str]) -> StoreId:
    """The id of a store's own experiment: made once, by whoever comes first, and kept in the store."""
    folder = layout.own_folder(store)
    path = os.path.join(folder, "experiment")
    try:
        kept = _read(path)
        if kept is not None and is_safe_id(kept):
            return StoreId(kept)
        with open_own(store, folder, create=True):
            pass
        with alone(folder):
            return _make(path, fresh)
    except OSError as error:
        raise failure(error, path, "keep the id of the experiment in") from error


def _make(path: str, fresh: Callable[[], str]) -> StoreId:
    """Write an id, unless another process did before this one had the lock."""
    kept = _read(path)
    if kept is None:
        return StoreId(None, f"{printable(path)} is not a regular file: the experiment of the run is unknown")
    if is_safe_id(kept):
        return StoreId(kept)
    made = fresh()
    write_atomic(path, f"{made}\n".encode(), follow=False)
    return StoreId(made, f"{printable(path)} held no id: it was replaced by {made}" if kept else None)


def _read(path: str) -> str | None:
    """The text of the file, empty where there is none; None for a link, a directory or a FIFO."""
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:
            return None
        raise
    return None if data is None else data.decode("ascii", "replace").strip(" \t\r\n\0")
