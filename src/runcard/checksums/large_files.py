"""Hashing large files in threads, and looking closely at everything that could not be hashed in passing.

One file is one job of one thread. While a large block is hashed the interpreter is free, so threads use all cores.

Invariants: a file that is cut, grows, is rewritten, vanishes or is swapped for something else is an error that names
it; an interrupt ends the threads within a block.
"""

import contextlib
import errno
import os
import sys
from collections import deque
from collections.abc import Callable
from stat import S_ISREG
from threading import Thread

from runcard.checksums.file_errors import NotRegularError, UnsteadyError, VanishedError
from runcard.checksums.progress import PERIOD, Tally
from runcard.checksums.worker import Folder
from runcard.digests import Digest, sha256_descriptor
from runcard.errors import RuncardError
from runcard.files import FileKind, encode_name, failure

_GONE = {errno.ENOENT, errno.ENOTDIR}
_NEVER_OPENED = {
    errno.ELOOP: FileKind.SYMLINK,  # O_NOFOLLOW says so
    errno.ENXIO: FileKind.OTHER,  # a socket, or a device without a driver
    errno.ENODEV: FileKind.OTHER,
}


class _StoppedError(Exception):
    """Another file has failed, or the user has had enough."""


class Thorough:
    """A number of files to be hashed; `digests` and `errors` have the outcome of each."""

    def __init__(self, root: int, paths: list[str], tally: Tally, *, stop_at_error: bool) -> None:
        self.digests: dict[str, Digest] = {}
        self.errors: dict[str, RuncardError] = {}
        self._root, self._tally = root, tally
        self._paths = sorted(
            paths, key=self._size, reverse=True
        )  # so that no thread begins the largest one last
        self._stop_at_error = stop_at_error
        self._stopped = False

    def run(self, cores: int) -> None:
        """Hash all of them; after an error, if it shall stop there, only as far as the threads got."""
        threads = self._start(min(cores, len(self._paths)))
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(PERIOD)
                    self._tally.tell()
            self._work(self._left())  # all of it, when no thread could be started
        finally:
            self._stopped = True
            for thread in threads:
                thread.join()

    def _size(self, path: str) -> int:
        try:
            status = os.stat(encode_name(path), dir_fd=self._root, follow_symlinks=False)
        except OSError:
            return sys.maxsize
        return status.st_size if S_ISREG(status.st_mode) else sys.maxsize

    def _start(self, count: int) -> list[Thread]:
        waiting = deque(self._paths)
        threads: list[Thread] = []
        with contextlib.suppress(RuntimeError):  # while the interpreter ends, there are no new threads
            for _ in range(count):
                thread = Thread(target=self._work, args=(waiting,), daemon=True)
                thread.start()
                threads.append(thread)
        return threads

    def _left(self) -> deque[str]:
        return deque(path for path in self._paths if path not in self.digests and path not in self.errors)

    def _work(self, waiting: deque[str]) -> None:
        folder = Folder(self._root)
        try:
            while not self._stopped:
                self._hash_next(folder, waiting.popleft())
        except (IndexError, _StoppedError):
            pass
        finally:
            folder.close()

    def _hash_next(self, folder: Folder, path: str) -> None:
        try:
            self.digests[path] = _hash_file(folder, path, self._on_block)
            self._tally.add(1, 0)
        except RuncardError as error:
            self.errors[path] = error
            self._stopped = self._stopped or self._stop_at_error

    def _on_block(self, size: int) -> None:
        if self._stopped:
            raise _StoppedError
        self._tally.add(0, size)


def _hash_file(folder: Folder, path: str, on_block: Callable[[int], object]) -> Digest:
    try:
        descriptor = folder.open(encode_name(path))
    except OSError as error:
        raise _refused(error, path) from error
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


def _refused(error: OSError, path: str) -> RuncardError:
    if error.errno in _GONE:
        return VanishedError(path)
    if error.errno in _NEVER_OPENED:
        return NotRegularError(path, _NEVER_OPENED[error.errno])
    return failure(error, path, "read the file")
