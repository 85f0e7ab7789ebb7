"""Which experiment a run belongs to: by name, or the store's own."""

import contextlib
import os
from base64 import b32encode

from runcard.digests import sha256_bytes
from runcard.files import write_atomic
from runcard.store import layout


def id_of_name(name: str) -> str:
    """The id of an experiment that has nothing but a name: the same everywhere."""
    digest = bytes.fromhex(sha256_bytes(f"runcard-experiment-1:{name}".encode()).hex)
    return f"exp-{b32encode(digest).decode().lower()[:20]}"


def id_of_store(store: str, fresh: str) -> str:
    """The id of a store's own experiment: made once, by whoever comes first, and kept in the store."""
    path = os.path.join(layout.own_folder(store), "experiment")
    os.makedirs(layout.own_folder(store), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        if not os.path.exists(path):
            write_atomic(path, f"{fresh}\n".encode(), replace=False)
    with open(path, encoding="ascii") as file:
        return file.read().strip()
