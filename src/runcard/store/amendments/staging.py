"""The files of a record that is being amended: reading them as they are, and giving them new bytes in one step.

New bytes wait in the store's own folder, on the same disk. No symbolic link is followed.
"""

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from stat import S_IMODE, S_ISREG

from runcard.digests import sha256_bytes, sha256_descriptor
from runcard.errors import StoreError
from runcard.files import (
    NotRegularFileError,
    Sync,
    encode_name,
    fsync_directory,
    open_parent_below,
    open_regular,
    printable,
    sync_filesystem,
    write_all,
    write_atomic,
)
from runcard.store import layout
from runcard.store.own_directories import open_own, own_entry

_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ANNOUNCED = "announced"  # the name of the file with the amendments that are about to be added
_LONGEST_ANNOUNCEMENT = 1 << 24  # bytes
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Staging:
    """The files of one record, and those that wait to take their places."""

    def __init__(self, record: str) -> None:
        self._record = record
        self._store = layout.store_of(record)

    def digest(self, path: str) -> str | None:
        """The digest that a file has now; None for one that is not there, or is not a regular file."""
        try:
            with self.opened(path) as descriptor:
                return sha256_descriptor(descriptor).hex
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise

    @contextlib.contextmanager
    def opened(self, path: str) -> Iterator[int]:
        """A regular file of the record, open for reading; raises OSError at anything else."""
        with self._named(path):
            with open_parent_below(self._record, path) as (place, name):
                descriptor = os.open(name, _READ, dir_fd=place)
            try:
                if not S_ISREG(os.fstat(descriptor).st_mode):
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                yield descriptor
            finally:
                os.close(descriptor)

    @contextlib.contextmanager
    def _named(self, path: str) -> Iterator[None]:
        """Make an OSError name the file, and not a part of its path."""
        try:
            yield
        except OSError as error:
            if isinstance(error.filename, str):
                raise
            raise OSError(error.errno, error.strerror, os.path.join(self._record, path)) from error

    def stage(self, path: str, blocks: Iterable[bytes]) -> str:
        """Write the new bytes of a file aside; their digest. Many are made durable together: see `sync`."""
        self._stage()
        hasher = hashlib.sha256()
        with self.opened(path) as old:
            mode = os.fstat(old).st_mode & 0o777
        descriptor = os.open(staged := self._staged(path), _CREATE, 0o600)
        try:
            for block in blocks:
                hasher.update(block)
                write_all(descriptor, block)
            os.fchmod(descriptor, mode)
        except OSError as error:
            raise OSError(error.errno, error.strerror, staged) from error
        finally:
            os.close(descriptor)
        return hasher.hexdigest()

    def create(self, name: str, data: bytes, mode: int) -> None:
        """Give the record a new file, whole."""
        first = os.path.join(self._stage(), name)
        write_atomic(first, data, mode=mode, sync=Sync.CONTENTS)  # it leaves that folder at once
        os.rename(first, os.path.join(self._record, name))
        fsync_directory(self._record)

    def sync(self) -> None:
        """Make everything durable that was staged or put in its place, in one step."""
        sync_filesystem(self._record)

    def announce(self, lines: Iterable[str]) -> None:
        """Keep what is about to be decided until the ledger has it, durably."""
        write_atomic(os.path.join(self._stage(), _ANNOUNCED), "\n".join(lines).encode(), mode=0o600)

    def announced(self) -> list[str]:
        """What was decided, and perhaps not done."""
        data = None
        with contextlib.suppress(OSError), own_entry(self._store, self._announcement()) as (folder, name):
            descriptor = open_regular(name, dir_fd=folder)
            with open(descriptor, "rb") as file:
                data = file.read(_LONGEST_ANNOUNCEMENT)
        return [] if data is None else data.decode("ascii", "replace").split("\n")

    def _announcement(self) -> str:
        return os.path.join(layout.amending(self._record), _ANNOUNCED)

    def clear(self, *, keep_announced: bool = False) -> None:
        """Remove the staged files; with `keep_announced`, not what was announced."""
        folder = layout.amending(self._record)
        with contextlib.suppress(FileNotFoundError):
            with open_own(self._store, folder) as descriptor:  # no link: that would be an error
                if keep_announced:
                    for name in set(os.listdir(descriptor)) - {_ANNOUNCED}:
                        os.unlink(name, dir_fd=descriptor)
                    return
            with own_entry(self._store, folder) as (own, name):
                shutil.rmtree(name, dir_fd=own)

    def _stage(self) -> str:
        """Where files wait, on the same disk, so that each takes its place in one step."""
        folder = layout.amending(self._record)
        with open_own(self._store, layout.own_folder(self._store), create=True):
            pass
        with open_own(self._store, folder, create=True, mode=0o700) as descriptor:
            disk = os.fstat(descriptor).st_dev
        if disk != os.stat(self._record).st_dev:
            raise StoreError(
                f"{printable(self._record)} is on another disk than {printable(folder)}",
                hint="move the record to the disk of its store, then run the command again",
            )
        return folder

    def _staged(self, path: str) -> str:
        return os.path.join(layout.amending(self._record), sha256_bytes(encode_name(path)).hex)

    def check_writable(self, path: str) -> None:
        """Before anything is entered, so that no change is decided that cannot be made."""
        with self._named(path), open_parent_below(self._record, path) as (place, _):
            if not _is_writable(place) and os.stat(".", dir_fd=place).st_uid != os.geteuid():
                folder = os.path.dirname(os.path.join(self._record, path))
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)

    def put(self, path: str, digest: str | None) -> bool:
        """Put a staged file in its place, or take it out; False when its bytes are lost."""
        with self._named(path), open_parent_below(self._record, path) as (place, name):
            if digest is None:
                with _writable(place):
                    os.unlink(name, dir_fd=place)
                return True
            try:
                with own_entry(self._store, self._staged(path)) as (folder, staged):
                    if not _has(staged, digest, folder):
                        return False
                    with _writable(place):
                        os.rename(staged, name, src_dir_fd=folder, dst_dir_fd=place)
            except FileNotFoundError:
                return False
        return True


def _is_writable(folder: int) -> bool:
    return os.access(".", os.W_OK | os.X_OK, dir_fd=folder)


@contextlib.contextmanager
def _writable(folder: int) -> Iterator[None]:
    """A copied workspace can hold folders that not even their owner may write to: for a moment, the owner may."""
    mode = S_IMODE(os.stat(".", dir_fd=folder).st_mode)
    is_locked = not _is_writable(folder)
    if is_locked:
        os.chmod(".", mode | 0o300, dir_fd=folder)
    try:
        yield
    finally:
        if is_locked:
            os.chmod(".", mode, dir_fd=folder)


def _has(name: str, digest: str, folder: int) -> bool:
    try:
        descriptor = open_regular(name, dir_fd=folder)
    except (FileNotFoundError, NotRegularFileError):
        return False
    try:
        return sha256_descriptor(descriptor).hex == digest
    finally:
        os.close(descriptor)
