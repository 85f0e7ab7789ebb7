"""Restoring: a record comes back from its archive, checked on the way in, whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, Limits
from runcard.errors import StoreError
from runcard.files import (
    failure,
    fsync_directory,
    locked,
    printable,
    read_regular,
    sync_filesystem,
)
from runcard.files.rename_noreplace import rename_noreplace
from runcard.observe.clock import Clock
from runcard.store import layout
from runcard.store.archives.index import ArchiveFolder
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.scan import ArchiveContents
from runcard.store.archives.temporary_copy import check_archive, check_name, no_store
from runcard.store.archives.unpack import archived_originals, unpack
from runcard.store.find_record import open_archive
from runcard.store.ledger import RESTORED, Ledger, entry_payload, ledger_paths
from runcard.store.own_directories import open_own
from runcard.store.record import Progress
from runcard.store.remote.urls import check_local, is_url
from runcard.store.remove_tree import remove_tree
from runcard.store.verification import Verdict, verify_record

if TYPE_CHECKING:
    from pathlib import Path


class Restored(NamedTuple):
    """A record that came back."""

    record_path: str
    archive_path: str  # as it was named
    files: int
    bytes: int
    verdict: Verdict

    @property
    def path(self) -> "Path":
        return _as_path(self.record_path)

    @property
    def archive(self) -> "Path":
        return _as_path(self.archive_path)

    def to_dict(self) -> JsonObject:
        return {
            "path": printable(self.record_path),
            "archive": printable(self.archive_path if is_url(self.archive_path) else str(self.archive)),
            "files": self.files,
            "bytes": self.bytes,
            "findings": [finding.to_dict() for finding in self.verdict.findings],
        }


def _as_path(path: str) -> "Path":
    from pathlib import Path  # noqa: PLC0415 - takes long to load, and the command needs none

    return Path(path)


def restore(
    archive: str | os.PathLike[str],
    *,
    to: str | os.PathLike[str] | None = None,
    force: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Put an archived record back into its store, or into the directory `to`; the archive stays.

    The store is the one that the archive is in, or the one that it came from, if the ledger there has it.
    Everything is checked before a byte is written, and again while it is. With `force` a record comes back that was
    changed before it was archived; a hostile or damaged one never does.
    """
    check_local(to)
    record = open_archive(archive, "nothing to restore: it is already in")
    if to is None and record.store is None:
        raise no_store(record)
    verdict = verify_record(record, limits=limits, progress=progress)
    store = record.store if to is None else os.path.abspath(os.fspath(to))
    if store is None:
        raise no_store(record)
    check_archive(record, verdict, force=force)
    check_name(record, is_named=to is not None)
    target, contents = os.path.join(store, record.name), record.scan()
    if not _is_restored(record, target):
        _unpack(contents, store, progress)
    _enter(record, store)
    return Restored(os.path.normpath(target), record.path, contents.files, contents.bytes, verdict)


def _is_restored(record: ArchivedRecord, target: str) -> bool:
    """Whether a process restored the record and was killed before the ledger entry; raises StoreError for another record."""
    if not os.path.lexists(target):
        return False
    metadata = os.path.join(target, layout.METADATA)
    is_ours = record.entry is not None and record.entry.fields.get("restored_at") is None
    if is_ours and layout.may_be_file(metadata) and read_regular(metadata) == record.read(layout.METADATA):
        return True
    raise _already_exists(target)


def _already_exists(target: str) -> StoreError:
    return StoreError(
        f"{printable(target)} exists already", hint="it was not touched; --to names another place"
    )


def _unpack(contents: ArchiveContents, store: str, progress: Progress | None) -> None:
    """Unpack aside, then give the record its name."""
    aside = layout.restored_aside(store, contents.name)
    own = layout.own_folder(store)
    is_new = not os.path.isdir(own)
    try:
        with _place(store, aside):
            # From here on no other process restores it: the newest archive is unpacked.
            if os.path.lexists(target := os.path.join(store, contents.name)):
                raise _already_exists(target)
            unpack(contents, aside, progress=progress)
            originals = archived_originals(contents)
            for original in originals.values():
                from runcard.store.originals import keep_original  # noqa: PLC0415 - few records were migrated

                mode = os.stat(os.path.join(aside, layout.METADATA)).st_mode & 0o666
                keep_original(store, original, mode)
            sync_filesystem(aside)
            directory = os.open(store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                rename_noreplace(os.path.relpath(aside, store), contents.name, directory)
            except FileExistsError:
                raise _already_exists(target) from None
            finally:
                os.close(directory)
            fsync_directory(store)
    except OSError as error:
        raise failure(error, os.fsdecode(error.filename or store), "restore") from error
    finally:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(own)  # which removes no link


@contextlib.contextmanager
def _place(store: str, aside: str) -> Iterator[None]:
    """A locked directory to unpack in; files of a killed process are removed first."""
    os.makedirs(store, exist_ok=True)
    folder, name = os.path.split(aside)
    with contextlib.ExitStack() as held:
        own = held.enter_context(open_own(store, folder, create=True))
        with locked(folder, timeout=60):
            if os.path.lexists(aside):
                with locked(aside, timeout=0):
                    remove_tree(name, dir_fd=own)
            os.mkdir(name, 0o700, dir_fd=own)
            held.enter_context(locked(aside, timeout=0))
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                remove_tree(name, dir_fd=own)
            raise


def _enter(record: ArchivedRecord, store: str) -> None:
    """Enter the restored record in the ledger, then in the index; after a kill in between, the next restore enters both."""
    now = Clock().timestamp()
    if ledger_paths(store):  # a directory without a ledger is not a store, and needs none
        digest = sha256_bytes(record.read(layout.METADATA) or b"").hex
        more: JsonObject = {"archive_sha256": record.scan().sha256}
        if (end := record.amendments().end) is not None:
            more["amendments"] = end.to_dict()
        payload = entry_payload(record.kind, record.id, record.name, digest, now, **more)
        with Ledger(store) as ledger:
            ledger.append(RESTORED, now, payload)
    if record.entry is not None:
        ArchiveFolder(record.entry.folder).mark(record.entry, restored_at=now)
