"""Turn an `OSError` into an error that names the file and says what to do.

Only this module decides who must act: the owner of the store if something is missing or in the way, the administrator of
the machine for everything else.
"""

import errno
import os

from runcard.errors import MachineError, RuncardError, StoreError
from runcard.files.names import printable
from runcard.files.opening import NotRegularFileError

_OWNER_HINTS = {
    errno.ENOENT: "put it back, or run the command again",
    errno.ENOTDIR: "put the directory back, or run the command again",
    errno.ELOOP: "replace the symbolic link with the file itself",
    errno.EEXIST: "move the existing file away, then run the command again",
    errno.ENAMETOOLONG: "move it to a shorter path",
}
_MACHINE_HINTS = {
    errno.EACCES: "change its permissions, or run the command as its owner",
    errno.EPERM: "change its permissions, or run the command as its owner",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENOSPC: "free some disk space, then run the command again",
    errno.EDQUOT: "free some space: your disk quota is used up",
    errno.EROFS: "choose a writable location",
    errno.EIO: "the disk may be failing: back up your data, then restore the file from a copy",
}


def failure(error: OSError, path: str, doing: str) -> RuncardError:
    """The error to raise `from` an OSError that stopped `doing` something (`"read the file"`) to `path`."""
    number = error.errno or 0
    reason = error.strerror if isinstance(error, NotRegularFileError) else os.strerror(number)
    message = f"cannot {doing} {printable(path)}: {reason}"
    if isinstance(error, NotRegularFileError):
        return StoreError(message, hint=f"replace the {error.type} with a regular file")
    if number in _OWNER_HINTS:
        return StoreError(message, hint=_OWNER_HINTS[number])
    return MachineError(
        message, hint=_MACHINE_HINTS.get(number, "check the system log for errors of this disk")
    )
