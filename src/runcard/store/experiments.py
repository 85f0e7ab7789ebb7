"""Which experiment a run belongs to: by name, or the store's own."""

import contextlib
import os
from collections.abc import Callable

from runcard.digests import sha256_bytes
from runcard.errors import StoreError
from runcard.files import failure, is_safe_id, printable, read_regular, write_atomic
from runcard.store import layout
from runcard.store.own import open_own
from runcard.store.runs import alone


def id_of_name(name: str) -> str:
    """The id of an experiment that has nothing but a name: the same everywhere."""
    from base64 import b32encode  # noqa: PLC0415 - most runs are the store's own

    digest = bytes.fromhex(sha256_bytes(f"runcard-experiment-1:{name}".encode()).hex)
    return f"exp-{b32encode(digest).decode().lower()[:20]}"


def id_of_store(store: str, fresh: Callable[[], str]) -> str:
    """The id of a store's own experiment: made once, by whoever comes first, and kept in the store."""
    folder = layout.own_folder(store)
    path = os.path.join(folder, "experiment")
    try:
        try:
            kept = _read(path)
        except FileNotFoundError:
            with open_own(store, folder, create=True):
                pass
            with alone(folder), contextlib.suppress(FileExistsError):
                write_atomic(path, f"{fresh()}\n".encode(), replace=False)
            kept = _read(path)
    except OSError as error:
        raise failure(error, path, "keep the id of the experiment in") from error
    if not is_safe_id(kept):
        raise StoreError(f"{printable(path)} holds no id", hint="remove it: the next run makes another")
    return kept


def _read(path: str) -> str:
    return (read_regular(path) or b"").decode("ascii", "replace").strip()
