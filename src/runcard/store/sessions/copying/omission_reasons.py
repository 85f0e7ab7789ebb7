"""Why something in a workspace was not copied, in words that fit behind its name and a colon."""

import errno
import os
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISLNK

from runcard.files import failure

HOLDS_KEY = "contains a secret"  # and which rule found it
CHANGED = "changed while it was copied: what was read is kept"
_SWAPPED = {errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.ENODEV}
# With these the store takes no other file either. EEXIST: only something that this collection wrote can be in the way.
_ENDS_IT = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EEXIST}


class NotCopiedError(Exception):
    """One file is not copied, and the rest goes on; the text says why."""


def refusal(error: OSError) -> str:
    """What the system said when a file or directory was opened or read that had just been there."""
    if error.errno == errno.ENOENT:
        return "vanished before it was copied"
    if error.errno in _SWAPPED:
        return "was swapped for something else before it was copied: not followed"
    return f"cannot be read: {os.strerror(error.errno or 0)}"


def not_stored(error: OSError, path: str) -> str:
    """What the system said when the copy of `path` was written; raises the error that ends the whole collection."""
    if error.errno in _ENDS_IT:
        raise failure(error, path, "write the copy of") from error
    return f"cannot be written to the store: {os.strerror(error.errno or 0)}"


def incomplete(error: OSError, what: str) -> str:
    """What is missing of something that is stored: its times, its permissions."""
    return f"is stored without its {what}: {os.strerror(error.errno or 0)}"


def special_kind(mode: int) -> str:
    """What something is that is no regular file."""
    if S_ISDIR(mode):
        return "directory"
    if S_ISLNK(mode):
        return "symbolic link"
    if S_ISFIFO(mode):
        return "FIFO"
    return "device" if S_ISCHR(mode) or S_ISBLK(mode) else "socket"
