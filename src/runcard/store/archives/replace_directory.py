"""Replacing a record's directory by an archive, so that at every moment it is whole in one of the two.

The archive is made aside, read back, and only then takes its name; the index and the ledger follow; then the directory leaves
its place in one step, and is removed. After a kill, the record is in its directory or in the archive; archiving it again
finishes the work.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from typing import Self

from runcard.errors import RuncardError, StoreError
from runcard.files import (
    Sync,
    failure,
    fsync_directory,
    locked,
    open_directory,
    printable,
    walk_files,
    write_atomic,
)
from runcard.files.temporary_files import remove_temporary_files_in
from runcard.parallel.progress import Progress
from runcard.store import layout
from runcard.store.archives.member_index import encode_offsets
from runcard.store.archives.pack import pack
from runcard.store.archives.scan import ArchiveContents, scan
from runcard.store.locks import LOCK_TIMEOUT, lock_folder
from runcard.store.own_directories import check_own, list_own, open_own, own_entry
from runcard.store.remove_tree import remove_tree

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


@contextlib.contextmanager
def held(record: str) -> Iterator[bool]:
    """Lock a record; False when another process archived it while we waited."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(record, timeout=LOCK_TIMEOUT))
        except RuncardError:
            if os.path.isdir(record):
                raise
            yield False
            return
        yield True


class NewArchive:
    """An archive that has not taken its name yet."""

    def __init__(self, record: str, target: str, mode: int, progress: Progress | None) -> None:
        self._record, self._target, self._progress = record, target, progress
        readers = mode | (mode & 0o444) >> 2  # folders are readable for those who may read the record
        try:
            with _open_month(layout.store_of(record), target, readers) as month:
                files = (target, layout.metadata_copy(target), layout.member_index(target))
                remove_temporary_files_in(
                    month, of=[*map(os.path.basename, files)], age=0
                )  # the record is ours alone
                remove_temporary_files_in(month)
                self._descriptor, name = _create(month, os.path.basename(target), mode)
            self._path = os.path.join(os.path.dirname(target), name)
        except OSError as error:
            raise failure(error, target, "create the archive") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)

    def fill(self) -> ArchiveContents:
        """Pack the record, and read the archive back; returns its contents."""
        packed = pack(self._record, os.path.basename(self._record), self._descriptor, progress=self._progress)
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise failure(error, self._target, "write the archive") from error
        contents = scan(self._path, progress=self._progress)
        if (contents.sha256, contents.tar_sha256) != (packed.sha256, packed.tar_sha256) or contents.problems:
            raise StoreError(
                f"the archive of {printable(self._record)} cannot be read back as it was written",
                hint="check the disk, then try again; the record was left alone",
            )
        contents.others = packed.others
        return contents

    def place(self, contents: ArchiveContents, metadata: bytes, mode: int, *, replace: bool) -> bytes:
        """Give the archive its name and put beside it what belongs there; the index of places.

        An archive of the same bytes stays; another one, of an earlier state of the record, is replaced where the caller
        knows that it is one.
        """
        places = encode_offsets(contents)
        try:
            if not _is_same(self._target, contents.sha256):
                if not replace and os.path.lexists(self._target):
                    raise other_archive(self._target)
                os.replace(self._path, self._target)
            for path, data in (
                (layout.metadata_copy(self._target), metadata),
                (layout.member_index(self._target), places),
            ):
                write_atomic(path, data, mode=mode, follow=False, sync=Sync.CONTENTS)
            fsync_directory(os.path.dirname(self._target))  # all three names
            fsync_directory(layout.folder_of_archive(self._target))
        except OSError as error:
            place = (
                str(error.filename) if error.errno == errno.ELOOP else self._target
            )  # which file is a link
            raise failure(error, place, "write the archive") from error
        return places


def other_archive(archive: str) -> StoreError:
    """The error to raise about an archive of another record in the place of a new one."""
    return StoreError(
        f"{printable(archive)} exists already, as the archive of another record",
        hint="nothing was changed; --to names another folder of archives",
    )


@contextlib.contextmanager
def _open_month(store: str, archive: str, mode: int) -> Iterator[int]:
    """The folder of a month that an archive goes to, which is made where it is missing.

    No link is followed below the store, or below another folder of archives, which is the user's.
    """
    folder = layout.folder_of_archive(archive)
    names = [os.path.basename(os.path.dirname(archive))]
    if folder == layout.archive_folder(store):
        names.insert(0, os.path.basename(folder))
        folder = store
    os.makedirs(folder, mode, exist_ok=True)
    with open_directory(folder, *names, create=True, mode=mode) as month:
        yield month


def _create(folder: int, target: str, mode: int) -> tuple[int, str]:
    """A new temporary file, locked while it is written, and its name."""
    while True:
        name = f".{target}.{os.urandom(4).hex()}.tmp"
        descriptor = os.open(name, _CREATE, mode, dir_fd=folder)
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, name
        os.close(descriptor)  # another process removed it before it was locked


def _is_same(archive: str, digest: str) -> bool:
    return layout.may_be_file(archive) and scan(archive).sha256 == digest


def take_away(record: str, aside: str) -> None:
    """Remove a record that is archived or to be deleted: it leaves its place in one step."""
    store, name = layout.store_of(record), os.path.basename(aside)
    try:
        with open_own(store, layout.own_folder(store), create=True) as own:
            with contextlib.suppress(FileNotFoundError):
                remove_tree(name, dir_fd=own)
            os.rename(record, name, dst_dir_fd=own)
            fsync_directory(store)
            remove_tree(name, dir_fd=own)
    except OSError as error:
        raise failure(error, record, "remove") from error


def finish_removals(store: str, *, dry_run: bool = False) -> list[tuple[str, int]]:
    """Remove what killed processes left while removing or restoring; what cannot be removed does no harm.

    A process that is still working holds the lock of the record. Returns what was removed, with its bytes.
    """
    own, removed = layout.own_folder(store), []
    check_own(store, own)
    with contextlib.suppress(OSError):
        for name in filter(layout.is_aside, sorted(list_own(store, own))):
            aside = os.path.join(own, name)
            with contextlib.suppress(RuncardError):
                size = _size(aside)
                _finish_removal(store, aside, dry_run=dry_run)
                removed.append((aside, size))
    return removed


def _size(aside: str) -> int:
    """The bytes of a record that is on its way out, as far as they can be seen."""
    with contextlib.suppress(RuncardError):
        return 0 if os.path.islink(aside) else sum(size for _, size in walk_files(aside))
    return 0


def _finish_removal(store: str, aside: str, *, dry_run: bool) -> None:
    with contextlib.ExitStack() as stack:
        with lock_folder(layout.own_folder(store)):  # under which a restorer makes and locks its folder
            stack.enter_context(locked(aside, timeout=0))
        folder, name = stack.enter_context(own_entry(store, aside))
        if not dry_run:
            remove_tree(name, dir_fd=folder)


def tidy_archives(store: str) -> None:
    """Remove the temporary files that killed processes left in a store's folder of archives."""
    folder = layout.archive_folder(store)
    check_own(store, folder)
    with contextlib.suppress(OSError):
        for name in filter(layout.is_month, list_own(store, folder)):
            with contextlib.suppress(StoreError), open_own(store, os.path.join(folder, name)) as month:
                remove_temporary_files_in(month)
