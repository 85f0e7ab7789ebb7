"""Hashing many small files: the same code here and, as a script, in helper processes.

A helper is started without site-packages, so this file imports the standard library only. It is asked on stdin (eight
bytes of length, then names separated by NUL) and answers on stdout (how many files and bytes it hashed, then 32 bytes
for each name) until stdin ends.

What is large, unreadable or not a regular file is not done here: the answer says so, and the one who asked looks
closely and explains what is wrong. The test is whether it has a size and can be read at a position, which takes a
fraction of the time of `fstat`; of what seems to be empty, that is asked. FIFOs, sockets, terminals, directories and devices without a size fail it; a device
with one (of a few bytes) passes, and only root could have put that in the place of a file.

Invariant: no symbolic link is followed at any level, and nothing is read that could block.
"""

import os
import struct
import sys
from hashlib import sha256
from stat import S_ISREG

LARGE = 128 * 1024  # from here on threads are as fast as processes, since hashing leaves the interpreter free
ELSEWHERE = bytes(32)  # in the place of a digest: not hashed here
QUESTION = struct.Struct("=Q")
ANSWER = struct.Struct("=QQ")

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


def hash_small(folder: Folder, names: bytes) -> bytes:
    """The answer about files whose names are separated by NUL.

    What is not a small file that can be read is left ELSEWHERE.
    """
    digests, total = [], 0
    for path in names.split(b"\0"):
        digest = ELSEWHERE
        try:
            descriptor = folder.open(path)
            try:
                size = os.lseek(descriptor, 0, os.SEEK_END)
                if size <= LARGE:
                    data = os.pread(
                        descriptor, size + 1, 0
                    )  # one more than there should be: it may be growing
                    if len(data) == size and (data or S_ISREG(os.fstat(descriptor).st_mode)):
                        digest = sha256(data).digest()
                        total += size
            finally:
                os.close(descriptor)
        except OSError:
            pass  # who asked finds out what is wrong
        digests.append(digest)
    return ANSWER.pack(len(digests) - digests.count(ELSEWHERE), total) + b"".join(digests)


def main() -> None:
    """Be a helper: the argument is the descriptor of the directory that names are relative to."""
    folder = Folder(int(sys.argv[1]))
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := questions.read(QUESTION.size):
        (length,) = QUESTION.unpack(header)
        answers.write(hash_small(folder, questions.read(length)))
        answers.flush()


if __name__ == "__main__":
    main()
