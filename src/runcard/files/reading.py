"""Reading a small file that may be anything by now: what is no regular file is told, never waited for."""

import os
from stat import S_ISREG

_MORE = 1 << 20  # bytes, of a file that grows meanwhile
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_regular(path: str) -> bytes | None:
    """The bytes of a regular file; None for a FIFO or a device. A link raises OSError (ELOOP)."""
    descriptor = os.open(path, _READ)
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            return None
        parts, size = (
            [],
            status.st_size + 1,
        )  # one more: so a file is read in one step, and its end in another
        while part := os.read(descriptor, size):
            parts.append(part)
            size = _MORE
        return b"".join(parts)
    finally:
        os.close(descriptor)
