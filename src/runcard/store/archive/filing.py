"""Filing a record: from its directory into an archive, so that at every moment it is whole in one of the two.

The archive is made aside, read back, and only then takes its name; the index and the ledger follow; then the directory leaves
its place in one step, and is removed. Whoever is killed on the way leaves the record where it was, or in the archive:
filing it again finishes the work.
"""

import contextlib
import glob
import os
from collections.abc import Iterator
from typing import Self

from runcard.errors import RuncardError, StoreError
from runcard.files import failure, fsync_directory, locked, printable, write_atomic
from runcard.store import layout
from runcard.store.archive.contents import Contents, scan
from runcard.store.archive.pack import Progress, pack
from runcard.store.archive.places import encode_places
from runcard.store.removal import remove_tree
from runcard.store.runs import PATIENCE

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


@contextlib.contextmanager
def held(record: str) -> Iterator[bool]:
    """Hold a record, so that nobody else files it meanwhile; False when somebody did while we waited."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(record, timeout=PATIENCE))
        except RuncardError:
            if os.path.isdir(record):
                raise
            yield False
            return
        yield True


class Draft:
    """An archive that has not taken its name yet."""

    def __init__(self, record: str, target: str, mode: int, progress: Progress | None) -> None:
        self._record, self._target, self._progress = record, target, progress
        folder, name = os.path.split(target)
        try:
            for made in (os.path.dirname(folder), folder):  # readable for those who may read the record
                os.makedirs(made, mode | (mode & 0o444) >> 2, exist_ok=True)
            for path in (target, layout.metadata_copy(target), layout.places_of(target)):
                _remove_drafts(path)  # of somebody who was killed: the record is ours alone
            self._path = os.path.join(folder, f".{name}.{os.urandom(4).hex()}.tmp")
            self._descriptor = os.open(self._path, _CREATE, mode)
        except OSError as error:
            raise failure(error, target, "create the archive") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)

    def fill(self) -> Contents:
        """Pack the record, and read the archive back; what is in it."""
        packed = pack(self._record, os.path.basename(self._record), self._descriptor, progress=self._progress)
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise failure(error, self._target, "write the archive") from error
        contents = scan(self._path)
        if (contents.sha256, contents.tar_sha256) != (packed.sha256, packed.tar_sha256) or contents.faults:
            raise StoreError(
                f"the archive of {printable(self._record)} cannot be read back as it was written",
                hint="the disk may be failing: look at it, then try again. The record was left alone",
            )
        contents.others = packed.others
        return contents

    def place(self, contents: Contents, metadata: bytes, mode: int, *, replace: bool) -> bytes:
        """Give the archive its name and put beside it what belongs there; the index of places.

        An archive of the same bytes stays; another one, of an earlier state of the record, is replaced where the caller
        knows that it is one.
        """
        places = encode_places(contents)
        try:
            if not _is_same(self._target, contents.sha256):
                if not replace and os.path.lexists(self._target):
                    raise StoreError(
                        f"{printable(self._target)} is there already, and is the archive of another record",
                        hint="nothing was changed; --to names another folder of archives",
                    )
                os.replace(self._path, self._target)
            write_atomic(layout.metadata_copy(self._target), metadata, mode=mode)
            write_atomic(layout.places_of(self._target), places, mode=mode)
            fsync_directory(os.path.dirname(self._target))
            fsync_directory(layout.folder_of_archive(self._target))
        except OSError as error:
            raise failure(error, self._target, "write the archive") from error
        return places


def _remove_drafts(path: str) -> None:
    folder, name = os.path.split(path)
    for left in glob.glob(f".{glob.escape(name)}.*.tmp", root_dir=folder):
        os.unlink(os.path.join(folder, left))


def _is_same(archive: str, digest: str) -> bool:
    return os.path.isfile(archive) and scan(archive).sha256 == digest


def take_away(record: str, aside: str) -> None:
    """Remove a record that is whole elsewhere, or is to go: it leaves its place in one step."""
    store = layout.store_of(record)
    try:
        os.makedirs(layout.own_folder(store), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            remove_tree(aside)
        os.rename(record, aside)
        fsync_directory(store)
        remove_tree(aside)
    except OSError as error:
        raise failure(error, record, "remove") from error


def finish_removals(store: str) -> None:
    """Remove what somebody left who was killed while removing; where that fails, it is in nobody's way.

    Whoever is still at it holds the record, wherever it lies by now.
    """
    with contextlib.suppress(OSError):
        for aside in layout.asides(store):
            with contextlib.suppress(RuncardError), locked(aside, timeout=0):
                remove_tree(aside)
