"""Hash large files in threads, and find out what is wrong with files that could not be hashed at once.

Invariants: a file that is truncated, grows, is rewritten, disappears or is replaced by something else is an error that
names it; an interrupt stops the threads at their next block.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from stat import S_ISREG

from runcard.checksums.file_errors import NotRegularError, UnsteadyError, VanishedError
from runcard.digests import Digest, sha256_descriptor
from runcard.errors import RuncardError
from runcard.files import FileKind, encode_name, failure
from runcard.parallel.progress import ProgressCounter
from runcard.parallel.threads import JobThreads
from runcard.parallel.worker import DirectoryCursor

_GONE = {errno.ENOENT, errno.ENOTDIR}
_KIND_BY_ERRNO = {
    errno.ELOOP: FileKind.SYMLINK,  # because of O_NOFOLLOW
    errno.ENXIO: FileKind.OTHER,  # a socket, or a device without a driver
    errno.ENODEV: FileKind.OTHER,
}


class LargeFileHasher:
    """Hashes files in threads; each path is in `digests` or `errors` afterwards.

    With `stop_at_error`, the threads stop after the first error.
    """

    def __init__(
        self, root: int, paths: list[str], progress: ProgressCounter, *, stop_at_error: bool
    ) -> None:
        self.digests: dict[str, Digest] = {}
        self.errors: dict[str, RuncardError] = {}
        self._root, self._progress, self._stop_at_error = root, progress, stop_at_error
        self._threads = JobThreads(sorted(paths, key=self._size, reverse=True), self._open_worker, progress)

    def run(self, cores: int) -> None:
        self._threads.run(cores)

    def _size(self, path: str) -> int:
        try:
            status = os.stat(encode_name(path), dir_fd=self._root, follow_symlinks=False)
        except OSError:
            return sys.maxsize
        return status.st_size if S_ISREG(status.st_mode) else sys.maxsize

    @contextmanager
    def _open_worker(self) -> Iterator[Callable[[str], None]]:
        cursor = DirectoryCursor(self._root)
        try:
            yield partial(self._hash, cursor)
        finally:
            cursor.close()

    def _hash(self, cursor: DirectoryCursor, path: str) -> None:
        try:
            self.digests[path] = _hash_file(cursor, path, self._threads.count_block)
            self._progress.add(1, 0)
        except RuncardError as error:
            self.errors[path] = error
            if self._stop_at_error:
                self._threads.stop()


def _hash_file(cursor: DirectoryCursor, path: str, on_block: Callable[[int], object]) -> Digest:
    try:
        descriptor = cursor.open(encode_name(path))
    except OSError as error:
        raise _open_error(error, path) from error
    try:
        return _hash_open(descriptor, path, on_block)
    except OSError as error:
        raise failure(error, path, "read the file") from error
    finally:
        os.close(descriptor)


def _hash_open(descriptor: int, path: str, on_block: Callable[[int], object]) -> Digest:
    before = os.fstat(descriptor)
    if not S_ISREG(before.st_mode):
        raise NotRegularError(path, FileKind.of_mode(before.st_mode))
    digest = sha256_descriptor(descriptor, on_block=on_block)
    after = os.fstat(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise UnsteadyError(path)
    return digest


def _open_error(error: OSError, path: str) -> RuncardError:
    if error.errno in _GONE:
        return VanishedError(path)
    if error.errno in _KIND_BY_ERRNO:
        return NotRegularError(path, _KIND_BY_ERRNO[error.errno])
    return failure(error, path, "read the file")
