"""Hash, copy and search many small files: functions for this process and, as a script, for helper processes.

A helper is started without site-packages, so this file imports the standard library only. Its arguments are the name of
a job and the arguments of that job. It reads questions from stdin (eight bytes of length, then the question) and writes
a reply to each to stdout, until stdin ends:

    hash ROOT                                  names separated by NUL -> number of files, bytes, and a SHA-256 for each name
    copy SOURCE TARGET KEPT_MODE [PATTERN...]  names separated by NUL -> size and SHA-256 for each name
    search PATTERN...                          a text -> 1 when it matches one of the patterns, else 0

ROOT, SOURCE and TARGET are open descriptors of directories. A file that is large, sparse, unreadable, changing or not a
regular file is not done here, nor is a text that may contain a secret: the reply says so, and the caller examines the
file and reports what is wrong with it.

Invariants: no symbolic link is followed at any level, nothing is read that could block, and a file that is not copied
leaves nothing in the target.
"""

import os
import struct
import sys
from hashlib import sha256
from stat import S_ISREG

TYPE_CHECKING = False  # as in typing, whose import takes as long as all of this
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

SMALL_FILE = 128 * 1024  # bytes; with larger files, threads are as fast as processes
TEXT_SAMPLE = 8 * 1024  # bytes at the beginning of a file that decide whether it is text

QUESTION = struct.Struct("=Q")
HASH_TOTALS = struct.Struct("=QQ")
COPY_RESULT = struct.Struct("=Q32s")
NOT_HASHED = bytes(32)  # in place of a digest
NOT_COPIED = bytes(COPY_RESULT.size)  # in place of a result
MATCH, NO_MATCH = b"\1", b"\0"

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NO_ATIME = getattr(os, "O_NOATIME", 0)  # allowed to the owner of the file only
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PAGE = 4096
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class DirectoryCursor:
    """A current directory below a root, entered name by name, so that no link is followed and no path is too long."""

    def __init__(self, root: int) -> None:
        self._root = self._descriptor = root
        self._path = b""

    def enter(self, path: bytes) -> int:
        """Go to a directory by its path from the root; its descriptor is valid until the next call."""
        if path == self._path:
            return self._descriptor
        if not self._path or not path.startswith(self._path + b"/"):
            self.close()
        rest = path[len(self._path) :].lstrip(b"/")
        try:
            for name in rest.split(b"/") if rest else ():
                inner = os.open(name, _DIRECTORY, dir_fd=self._descriptor)
                self._leave()
                self._descriptor = inner
        except OSError:
            self.close()
            raise
        self._path = path
        return self._descriptor

    def open(self, path: bytes) -> int:
        """Open a file for reading by its path from the root; a FIFO does not block, and a device keeps its state."""
        parent, _, name = path.rpartition(b"/")
        return os.open(name, _READ, dir_fd=self.enter(parent))

    def close(self) -> None:
        """Go back to the root, which belongs to the caller."""
        self._leave()
        self._descriptor, self._path = self._root, b""

    def _leave(self) -> None:
        if self._descriptor != self._root:
            close_reader(self._descriptor)


def close_reader(descriptor: int) -> None:
    """Close a descriptor that was only read from: an error loses nothing, and it is closed all the same."""
    try:  # noqa: SIM105 - contextlib would double the time that a helper takes to start
        os.close(descriptor)
    except OSError:
        pass


def open_source(name: bytes, directory: int, flags: int = 0) -> int:
    """Open a file for reading; a FIFO does not block, and the access time is kept where the system allows it."""
    try:
        return os.open(name, _READ | _NO_ATIME | flags, dir_fd=directory)
    except PermissionError:
        return os.open(name, _READ | flags, dir_fd=directory)


def create_file(name: bytes, directory: int, mode: int) -> int:
    """Create a file with exactly these permission bits, whatever the umask says about group and others."""
    descriptor = os.open(name, _NEW, mode & 0o700, dir_fd=directory)
    if mode & 0o077:
        try:
            os.fchmod(descriptor, mode)
        except OSError:
            close_reader(descriptor)
            os.unlink(name, dir_fd=directory)
            raise
    return descriptor


def is_unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether a file was not written to between two calls of stat."""
    return (
        before.st_mtime_ns == after.st_mtime_ns
        and before.st_ctime_ns == after.st_ctime_ns
        and before.st_size == after.st_size
    )


def is_sparse(status: os.stat_result) -> bool:
    """Whether a file seems to have holes."""
    return status.st_size > _PAGE and status.st_blocks * 512 < status.st_size


def searchable_text(head: bytes, data: bytes) -> bytes | None:
    """The part of `data` to search for ASCII text, in a file that begins with `head`; None when it is not text.

    Text has no NUL byte, or is UTF-16: there every second byte of a Latin letter is NUL, and is removed here.
    """
    if 0 not in head:
        return data
    return data.replace(b"\0", b"") if _is_utf16(head) else None


def _is_utf16(head: bytes) -> bool:
    if head.startswith(_UTF16_MARKS):
        return True
    even, odd = head[::2].count(0), head[1::2].count(0)
    return not (even and odd) and 3 * (even + odd) > len(head)


def hash_small(root: DirectoryCursor, names: bytes) -> bytes:
    """The reply about files whose names are separated by NUL; NOT_HASHED for what is not a small readable file.

    A small file is recognized by having a size and being readable at a position, which is much faster than `fstat`;
    only a file that seems empty needs that. FIFOs, sockets, terminals, directories and devices without a size fail the
    test. A device with a size of a few bytes passes it, but only root could put one in place of a file.
    """
    digests, total = [], 0
    for path in names.split(b"\0"):
        digest = NOT_HASHED
        try:
            descriptor = root.open(path)
            try:
                size = os.lseek(descriptor, 0, os.SEEK_END)
                if size <= SMALL_FILE:
                    data = os.pread(descriptor, size + 1, 0)  # one more than expected: it may be growing
                    if len(data) == size and (data or S_ISREG(os.fstat(descriptor).st_mode)):
                        digest = sha256(data).digest()
                        total += size
            finally:
                os.close(descriptor)
        except OSError:
            pass  # the caller finds out what is wrong
        digests.append(digest)
    return HASH_TOTALS.pack(len(digests) - digests.count(NOT_HASHED), total) + b"".join(digests)


def copy_small(
    source: DirectoryCursor,
    target: DirectoryCursor,
    kept_mode: int,
    clues: "Sequence[re.Pattern[bytes]]",
    names: bytes,
) -> bytes:
    """The reply about files whose names are separated by NUL; NOT_COPIED for what is not a small readable file.

    A text that matches one of the `clues` to a secret is not copied either.
    """
    results = []
    for path in names.split(b"\0"):
        parent, _, name = path.rpartition(b"/")
        try:
            results.append(_copy(name, source.enter(parent), target.enter(parent), kept_mode, clues))
        except OSError:  # the caller finds out what is wrong
            results.append(NOT_COPIED)
    return b"".join(results)


def _copy(
    name: bytes, source: int, target: int, kept_mode: int, clues: "Sequence[re.Pattern[bytes]]"
) -> bytes:
    descriptor = open_source(name, source)
    try:
        status = os.fstat(descriptor)
        size = status.st_size
        if size > SMALL_FILE or not S_ISREG(status.st_mode) or is_sparse(status):
            return NOT_COPIED
        data = os.read(descriptor, size + 1)  # one more than expected: it may be growing
        if len(data) != size or not is_unchanged(status, os.fstat(descriptor)):
            return NOT_COPIED
    finally:
        close_reader(descriptor)
    if clues:
        text = searchable_text(data[:TEXT_SAMPLE], data)
        if text and has_match(clues, text):
            return NOT_COPIED
    _store(name, target, data, status, kept_mode)
    return COPY_RESULT.pack(size, sha256(data).digest())


def _store(name: bytes, target: int, data: bytes, status: os.stat_result, kept_mode: int) -> None:
    descriptor = create_file(name, target, status.st_mode & kept_mode)
    try:
        try:
            while data:  # once, except on a disk that is nearly full
                data = data[os.write(descriptor, data) :]
            os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(descriptor)  # an error here means that the data may not have reached the disk
    except OSError:
        os.unlink(name, dir_fd=target)
        raise


def has_match(patterns: "Sequence[re.Pattern[bytes]]", text: bytes) -> bool:
    """Whether one of the patterns matches somewhere in the text."""
    for pattern in patterns:  # noqa: SIM110 - `any` is slower, and this is done for every file
        if pattern.search(text):
            return True
    return False


def _compile(patterns: "Sequence[str]") -> "list[re.Pattern[bytes]]":
    import re  # noqa: PLC0415 - hashing does not need it

    return [re.compile(pattern.encode("ascii")) for pattern in patterns]


def _hash_job(root: str) -> "Callable[[bytes], bytes]":
    cursor = DirectoryCursor(int(root))
    return lambda names: hash_small(cursor, names)


def _copy_job(source: str, target: str, kept_mode: str, *patterns: str) -> "Callable[[bytes], bytes]":
    cursors, clues = (DirectoryCursor(int(source)), DirectoryCursor(int(target))), _compile(patterns)
    return lambda names: copy_small(*cursors, int(kept_mode), clues, names)


def _search_job(*patterns: str) -> "Callable[[bytes], bytes]":
    clues = _compile(patterns)
    return lambda text: MATCH if has_match(clues, text) else NO_MATCH


JOBS: "dict[str, Callable[..., Callable[[bytes], bytes]]]" = {
    "hash": _hash_job,
    "copy": _copy_job,
    "search": _search_job,
}


def main() -> None:
    """Run as a helper."""
    reply_to = JOBS[sys.argv[1]](*sys.argv[2:])
    questions, replies = sys.stdin.buffer, sys.stdout.buffer
    while header := questions.read(QUESTION.size):
        (length,) = QUESTION.unpack(header)
        replies.write(reply_to(questions.read(length)))
        replies.flush()


if __name__ == "__main__":
    main()
