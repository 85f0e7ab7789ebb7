"""What the operating system refused, as an error that names the file and says what to do next.

It is the one place that decides who must act on an `OSError`: the owner of the store when something is in the way or
gone, whoever looks after the machine for everything else.
"""

import errno
import os

from runcard.errors import MachineError, RuncardError, StoreError
from runcard.files.names import printable
from runcard.files.opening import NotRegularFileError

_OWNER_HINTS = {
    errno.ENOENT: "put it back, or run the command again when nothing moves files there",
    errno.ENOTDIR: "put the directory back, or run the command again when nothing moves files there",
    errno.ELOOP: "put the file itself in the place of the symbolic link",
    errno.EEXIST: "move what is there out of the way, then run the command again",
    errno.ENAMETOOLONG: "move it to a place with a shorter path",
}
_MACHINE_HINTS = {
    errno.EACCES: "give yourself permission to it, or run the command as its owner",
    errno.EPERM: "give yourself permission to it, or run the command as its owner",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENOSPC: "free some space on the disk, then run the command again",
    errno.EDQUOT: "free some space: your quota of the disk is used up, then run the command again",
    errno.EROFS: "choose a place that can be written to",
    errno.EIO: "the disk is failing: save what you can, then restore the file from a copy",
}


def failure(error: OSError, path: str, doing: str) -> RuncardError:
    """The error to raise `from` an OSError that stopped `doing` something (`"read the file"`) to `path`."""
    number = error.errno or 0
    reason = error.strerror if isinstance(error, NotRegularFileError) else os.strerror(number)
    message = f"cannot {doing} {printable(path)}: {reason}"
    if isinstance(error, NotRegularFileError):
        return StoreError(message, hint=f"put a regular file in the place of the {error.type}")
    if number in _OWNER_HINTS:
        return StoreError(message, hint=_OWNER_HINTS[number])
    return MachineError(message, hint=_MACHINE_HINTS.get(number, "see what the system says about this disk"))
