"""Which store an archive belongs to: by its path, and by the ledgers of stores.

An archive, the index beside it and a ledger can all come from another person. The index names a store, and nothing is written
there just because it says so: either the archive is in the store, or the store's own ledger has the archive, by its path
and its digest.
"""

import os
from functools import lru_cache
from stat import S_ISLNK

from runcard.digests import sha256_descriptor
from runcard.errors import StoreError
from runcard.files import encode_name, failure, open_parent_below, open_regular, printable
from runcard.store import layout
from runcard.store.archives.index import ArchiveEntry
from runcard.store.ledger import ARCHIVED, LedgerEntry, entries_in, ledger_state
from runcard.store.own_directories import own_entry
from runcard.store.ownership import is_own_archive
from runcard.store.remote.urls import is_url


def store_around(archive: str) -> str | None:
    """The store that an archive is in, as `<store>/archive/YYYY-MM/<name>.tar.gz`; None for another path.

    Raises StoreError when one of these folders is a link.
    """
    path = os.path.abspath(archive)
    folder = layout.folder_of_archive(path)
    if not layout.is_own_archive_folder(folder):
        return None
    store = os.path.dirname(folder)
    try:
        with own_entry(store, path) as (month, name):
            is_link = S_ISLNK(os.stat(name, dir_fd=month, follow_symlinks=False).st_mode)
    except FileNotFoundError:  # an archive that was deleted
        is_link = False
    except OSError as error:
        raise failure(error, path, "look at") from error
    if is_link:
        return None
    return store if os.path.isabs(archive) else os.path.relpath(store)


def store_that_lists(store: str, archive: str, digest: str | None = None) -> str | None:
    """A store, if its ledger has an archive of this digest at this place; without a digest the file is read."""
    digests = listed_digests(store, archive)
    if not digests:
        return None
    return store if (digest or _digest(archive)) in digests else None


def listed_digests(store: str, archive: str) -> set[str | None]:
    """The digests that the archive at a place has, or had, by the ledger of a store."""
    return {entry.archive_sha256 for entry in _entries_of(store, archive)}


def is_own(store: str | None, archive: str, digest: str) -> bool:
    """Whether this user made an archive of this digest at this place; the file is not read.

    The ledger must have it with a code made with the user's key: a hostile archive can come with a ledger of its own.
    """
    return store is not None and any(
        is_own_archive(store, entry.id, digest, entry.mac)
        for entry in _entries_of(store, archive)
        if entry.archive_sha256 == digest
    )


def check_place(entry: ArchiveEntry | None) -> None:
    """Raise StoreError for an index that names an archive through a link: it may lead anywhere."""
    if entry is None:
        return
    file = entry.fields["archive_file"]
    try:
        with open_parent_below(entry.folder, file) as (folder, name):
            if not S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                return
    except FileNotFoundError:
        return
    except OSError:  # a link on the way, or something that is not a directory
        pass
    raise StoreError(
        f"the index of archives in {printable(entry.folder)} names {printable(file)}, which is behind a symbolic link",
        hint="put the archive itself in the place of the link; `archive --to` keeps archives in another folder",
    )


def _entries_of(store: str, archive: str) -> list[LedgerEntry]:
    """The entries of a store's ledgers about the archive at a path."""
    return _archived(store, ledger_state(store)).get(_real(archive), [])


@lru_cache(maxsize=4)  # many archives have the same store
def _archived(store: str, _: tuple[object, ...]) -> dict[str, list[LedgerEntry]]:
    """The archives that the ledgers of a store have, by their real paths, or their URLs."""
    entries_by_path: dict[str, list[LedgerEntry]] = {}
    for entry in entries_in(store):
        if entry.event == ARCHIVED and entry.archive and entry.archive_sha256:
            path = entry.archive if is_url(entry.archive) else os.path.join(store, entry.archive)
            entries_by_path.setdefault(_real(path), []).append(entry)
    return entries_by_path


def _real(archive: str) -> str:
    """The path of an archive without links; a URL stays as it is."""
    return archive if is_url(archive) else os.path.realpath(archive)


def _digest(path: str) -> str | None:
    try:
        descriptor = open_regular(encode_name(path), follow=True)
    except OSError as error:
        raise failure(error, path, "read") from error
    try:
        return sha256_descriptor(descriptor).hex
    finally:
        os.close(descriptor)
