"""Hashing many small files: the same code here and, as a script, in helper processes.

A helper is started without site-packages, so this file imports the standard library only. It is asked on stdin (eight
bytes of length, then names separated by NUL) and answers on stdout with a record for each name, until stdin ends.

What is large, unreadable or not a regular file is not done here: the answer says so, and the one who asked looks into
it and explains what is wrong.

Invariant: no symbolic link is followed at any level, and nothing that could block is read.
"""

import os
import struct
import sys
from collections.abc import Iterable
from hashlib import sha256
from stat import S_ISREG

LARGE = (
    128 * 1024
)  # from here on threads hash as fast as processes, because the interpreter is free meanwhile
ELSEWHERE = bytes(32)  # in the place of a digest: not hashed here
RECORD = struct.Struct("=32sq")
LENGTH = struct.Struct("=Q")

Answer = tuple[bytes, int]  # the digest and the size

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """Opens files below a directory, passing through no link; it remembers the folder that it was in last."""

    def __init__(self, root: int) -> None:
        self._root = self._descriptor = root
        self._path = b""

    def open(self, path: bytes) -> int:
        """Open a file by its plain relative path; a FIFO does not block, and a device stays what it is."""
        parent, _, name = path.rpartition(b"/")
        if parent != self._path:
            self._enter(parent)
        return os.open(name, _FILE, dir_fd=self._descriptor)

    def close(self) -> None:
        """Go back to the root, which belongs to the caller."""
        if self._descriptor != self._root:
            os.close(self._descriptor)
        self._descriptor, self._path = self._root, b""

    def _enter(self, path: bytes) -> None:
        self.close()
        for part in path.split(b"/") if path else ():
            try:
                inner = os.open(part, _FOLDER, dir_fd=self._descriptor)
            finally:
                self.close()
            self._descriptor = inner
        self._path = path


def hash_small(folder: Folder, paths: Iterable[bytes]) -> list[Answer]:
    """The digest and size of each file; ELSEWHERE in place of the digest when it is not a small one that can be read."""
    answers = []
    for path in paths:
        try:
            descriptor = folder.open(path)
            try:
                status = os.fstat(descriptor)
                size = status.st_size
                if size > LARGE or not S_ISREG(status.st_mode):
                    answers.append((ELSEWHERE, size))
                    continue
                data = os.read(
                    descriptor, size + 1
                )  # one more than there should be, to see a file that grows
            finally:
                os.close(descriptor)
        except OSError:
            answers.append((ELSEWHERE, -1))
        else:
            answers.append((sha256(data).digest() if len(data) == size else ELSEWHERE, size))
    return answers


def main() -> None:
    """Be a helper: the argument is the descriptor of the directory that names are relative to."""
    folder = Folder(int(sys.argv[1]))
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := questions.read(LENGTH.size):
        (length,) = LENGTH.unpack(header)
        paths = questions.read(length).split(b"\0")
        answers.write(b"".join([RECORD.pack(*record) for record in hash_small(folder, paths)]))
        answers.flush()


if __name__ == "__main__":
    main()
