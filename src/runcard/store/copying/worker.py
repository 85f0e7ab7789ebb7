"""Copying many small files: the same code here and, as a script, in helper processes.

A helper is started without site-packages, so this file imports the standard library only. It is asked on stdin (eight
bytes of length, then names separated by NUL) and answers on stdout (for each name its size and SHA-256) until stdin
ends.

What is large, sparse, unreadable, changing or not a regular file is not done here: the answer says so, and the one who
asked looks closely and explains what is wrong.

Invariants: no symbolic link is followed at any level, nothing is read that could block, and of what is not copied
nothing is left in the target.
"""

import os
import struct
import sys
from hashlib import sha256
from stat import S_ISREG

SMALL = 128 * 1024  # from here on threads are as fast as processes
QUESTION = struct.Struct("=Q")
RECORD = struct.Struct("=Q32s")
ELSEWHERE = bytes(RECORD.size)  # in the place of a record: not copied here

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_UNSEEN = getattr(os, "O_NOATIME", 0)  # only the owner of a file may read it without a trace
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PAGE = 4096


class Folder:
    """A place below a directory, entered name by name, so that no link is followed and no path is too long."""

    def __init__(self, root: int) -> None:
        self._root = self.descriptor = root
        self.path = b""

    def enter(self, path: bytes) -> int:
        """Go to a directory by its path from the root; its descriptor stays good until the next call."""
        if path == self.path:
            return self.descriptor
        if not self.path or not path.startswith(self.path + b"/"):
            self.close()
        rest = path[len(self.path) :].lstrip(b"/")
        try:
            for name in rest.split(b"/") if rest else ():
                inner = os.open(name, _FOLDER, dir_fd=self.descriptor)
                if self.descriptor != self._root:
                    os.close(self.descriptor)
                self.descriptor = inner
        except OSError:
            self.close()
            raise
        self.path = path
        return self.descriptor

    def close(self) -> None:
        """Go back to the root, which belongs to the caller."""
        if self.descriptor != self._root:
            os.close(self.descriptor)
        self.descriptor, self.path = self._root, b""


def open_source(name: bytes, folder: int, flags: int = 0) -> int:
    """Open a file for reading; a FIFO does not block, and the time of the last access stays where that is allowed."""
    try:
        return os.open(name, _READ | _UNSEEN | flags, dir_fd=folder)
    except PermissionError:
        return os.open(name, _READ | flags, dir_fd=folder)


def create(name: bytes, folder: int, mode: int) -> int:
    """Make a new file with exactly these permission bits, whatever the umask says of those for others."""
    descriptor = os.open(name, _NEW, mode & 0o700, dir_fd=folder)
    if mode & 0o077:
        os.fchmod(descriptor, mode)
    return descriptor


def is_same(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether nobody has written to a file between two looks at it."""
    return (
        before.st_mtime_ns == after.st_mtime_ns
        and before.st_ctime_ns == after.st_ctime_ns
        and before.st_size == after.st_size
    )


def is_sparse(status: os.stat_result) -> bool:
    """Whether a file seems to have holes."""
    return status.st_size > _PAGE and status.st_blocks * 512 < status.st_size


def copy_small(source: Folder, target: Folder, names: bytes, kept_mode: int) -> bytes:
    """The answer about files whose names are separated by NUL: what is no small file is left ELSEWHERE."""
    records = []
    for path in names.split(b"\0"):
        parent, _, name = path.rpartition(b"/")
        try:
            records.append(_copy(name, source.enter(parent), target.enter(parent), kept_mode))
        except OSError:  # who asked finds out what is wrong
            records.append(ELSEWHERE)
    return b"".join(records)


def _copy(name: bytes, source: int, target: int, kept_mode: int) -> bytes:
    descriptor = open_source(name, source)
    try:
        status = os.fstat(descriptor)
        size = status.st_size
        if size > SMALL or not S_ISREG(status.st_mode) or is_sparse(status):
            return ELSEWHERE
        data = os.read(descriptor, size + 1)  # one more than there should be: it may be growing
        if len(data) != size or not is_same(status, os.fstat(descriptor)):
            return ELSEWHERE
    finally:
        os.close(descriptor)
    _store(name, target, data, status, kept_mode)
    return RECORD.pack(size, sha256(data).digest())


def _store(name: bytes, target: int, data: bytes, status: os.stat_result, kept_mode: int) -> None:
    descriptor = create(name, target, status.st_mode & kept_mode)
    try:
        while data:  # once, but for the last bytes of a disk
            data = data[os.write(descriptor, data) :]
        os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
    except OSError:
        os.unlink(name, dir_fd=target)
        raise
    finally:
        os.close(descriptor)


def main() -> None:
    """Be a helper: the arguments are the descriptors of both directories, and the permission bits that are kept."""
    source, target, kept_mode = map(int, sys.argv[1:])
    folders = Folder(source), Folder(target)
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := questions.read(QUESTION.size):
        (length,) = QUESTION.unpack(header)
        answers.write(copy_small(*folders, questions.read(length), kept_mode))
        answers.flush()


if __name__ == "__main__":
    main()
