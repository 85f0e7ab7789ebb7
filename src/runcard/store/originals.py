"""The bytes of documents that a migration replaced: without them, nobody can repeat it, and see that it only converted.

A store keeps them in a folder of its own. An archive takes along those of its record, and a restored record leaves them in its store.
"""

import contextlib

from runcard.digests import sha256_bytes
from runcard.files import read_regular, write_atomic
from runcard.files.temporary_files import remove_temporary_files_in
from runcard.store import layout
from runcard.store.amendments.read import read_amendments
from runcard.store.own_directories import open_own


def keep_original(store: str, data: bytes, mode: int) -> str:
    """Keep bytes that an amendment replaces in the store; returns their path."""
    path = layout.original(store, sha256_bytes(data).hex)
    with open_own(store, layout.originals(store), create=True) as folder:
        remove_temporary_files_in(folder)
    with contextlib.suppress(FileExistsError):
        write_atomic(path, data, mode=mode, replace=False)
    return path


def read_original(store: str, digest: str) -> bytes | None:
    """The bytes with this digest that a store keeps; None if they are not there, or not these."""
    try:
        data = read_regular(layout.original(store, digest))
    except OSError:
        return None
    return data if data is not None and sha256_bytes(data).hex == digest else None


def originals_to_pack(record: str) -> dict[str, bytes]:
    """The originals that the archive of a record takes along, by their paths in it."""
    digests = sorted(read_amendments(record).migrated)
    kept = {digest: read_original(layout.store_of(record), digest) for digest in digests}
    return {layout.archived_original(digest): data for digest, data in kept.items() if data is not None}
