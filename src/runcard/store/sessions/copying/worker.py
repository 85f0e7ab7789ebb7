"""Copying many small files: the same code here and, as a script, in helper processes.

A helper is started without site-packages, so this file imports the standard library only. It is asked on stdin (eight
bytes of length, then names separated by NUL) and answers on stdout (for each name its size and SHA-256) until stdin
ends.

What is large, sparse, unreadable, changing or not a regular file is not done here, nor is a text in which a secret may
be: the answer says so, and the one who asked looks closely and explains what is wrong.

Invariants: no symbolic link is followed at any level, nothing is read that could block, and of what is not copied
nothing is left in the target.
"""

import os
import re
import struct
import sys
from contextlib import suppress
from hashlib import sha256
from stat import S_ISREG

TYPE_CHECKING = False  # as in typing, whose import takes as long as all of this
if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL = 128 * 1024  # from here on threads are as fast as processes
QUESTION = struct.Struct("=Q")
RECORD = struct.Struct("=Q32s")
ELSEWHERE = bytes(RECORD.size)  # in the place of a record: not copied here

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_UNSEEN = getattr(os, "O_NOATIME", 0)  # only the owner of a file may read it without a trace
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PAGE = 4096

HEAD = 8 * 1024  # so much of its beginning says whether a file is text
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


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
                self._leave()
                self.descriptor = inner
        except OSError:
            self.close()
            raise
        self.path = path
        return self.descriptor

    def close(self) -> None:
        """Go back to the root, which belongs to the caller."""
        self._leave()
        self.descriptor, self.path = self._root, b""

    def _leave(self) -> None:
        if self.descriptor != self._root:
            close_reader(self.descriptor)


def close_reader(descriptor: int) -> None:
    """Close what was only read from: it is closed even when the system reports an error, and nothing is lost by it."""
    with suppress(OSError):
        os.close(descriptor)


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
        try:
            os.fchmod(descriptor, mode)
        except OSError:
            close_reader(descriptor)
            os.unlink(name, dir_fd=folder)
            raise
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


def searchable(head: bytes, data: bytes) -> bytes | None:
    """The part of `data` to search for ASCII text, in a file that begins with `head`; None when it is not text.

    Text has no NUL byte, or is UTF-16: there every second byte of a Latin letter is NUL, and is left out here.
    """
    if 0 not in head:
        return data
    return data.replace(b"\0", b"") if _is_utf16(head) else None


def _is_utf16(head: bytes) -> bool:
    if head.startswith(_UTF16_MARKS):
        return True
    first, second = head[::2].count(0), head[1::2].count(0)
    return not (first and second) and 3 * (first + second) > len(head)


def copy_small(
    source: Folder, target: Folder, names: bytes, kept_mode: int, clues: "Sequence[re.Pattern[bytes]]" = ()
) -> bytes:
    """The answer about files whose names are separated by NUL: what is no small file is left ELSEWHERE.

    So is a text in which one of the `clues` to a secret is found.
    """
    records = []
    for path in names.split(b"\0"):
        parent, _, name = path.rpartition(b"/")
        try:
            records.append(_copy(name, source.enter(parent), target.enter(parent), kept_mode, clues))
        except OSError:  # who asked finds out what is wrong
            records.append(ELSEWHERE)
    return b"".join(records)


def _copy(
    name: bytes, source: int, target: int, kept_mode: int, clues: "Sequence[re.Pattern[bytes]]"
) -> bytes:
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
        close_reader(descriptor)
    if clues and _is_suspect(data, clues):
        return ELSEWHERE
    _store(name, target, data, status, kept_mode)
    return RECORD.pack(size, sha256(data).digest())


def _is_suspect(data: bytes, clues: "Sequence[re.Pattern[bytes]]") -> bool:
    text = searchable(data[:HEAD], data)
    if not text:
        return False
    for clue in clues:  # noqa: SIM110 - `any` takes longer, and this is done for every file
        if clue.search(text):
            return True
    return False


def _store(name: bytes, target: int, data: bytes, status: os.stat_result, kept_mode: int) -> None:
    descriptor = create(name, target, status.st_mode & kept_mode)
    try:
        try:
            while data:  # once, but for the last bytes of a disk
                data = data[os.write(descriptor, data) :]
            os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(descriptor)  # an error here means that the data may not have reached the disk
    except OSError:
        os.unlink(name, dir_fd=target)
        raise


def main() -> None:
    """Be a helper.

    The arguments are the descriptors of both directories, the permission bits that are kept, and patterns that are clues
    to secrets.
    """
    source, target, kept_mode = map(int, sys.argv[1:4])
    clues = [re.compile(pattern.encode("ascii")) for pattern in sys.argv[4:]]
    folders = Folder(source), Folder(target)
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := questions.read(QUESTION.size):
        (length,) = QUESTION.unpack(header)
        answers.write(copy_small(*folders, questions.read(length), kept_mode, clues))
        answers.flush()


if __name__ == "__main__":
    main()
