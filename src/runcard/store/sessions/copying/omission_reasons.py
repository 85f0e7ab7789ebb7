"""The reasons why a file of a workspace was not stored, or not completely, for `audit.omissions`.

A reason reads well after the file's name and a colon.
"""

import errno
import os

from runcard.files import failure

HAS_KEY = "contains a secret"  # a private key or a vendor's key; followed by the rule
CHANGED = "changed while it was copied: stored as read"
_REPLACED = {errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.ENODEV}
# Then the store can take no other file either. EEXIST: only a file of this collection can have the name already.
_FATAL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EEXIST}


class NotCopiedError(Exception):
    """One file is not copied, and the others are; the text is the reason."""


def read_failure(error: OSError) -> str:
    """The reason when a file or directory of the source cannot be opened or read."""
    if error.errno == errno.ENOENT:
        return "vanished before it was copied"
    if error.errno in _REPLACED:
        return "was replaced by something else before it was copied: not followed"
    return f"cannot be read: {os.strerror(error.errno or 0)}"


def write_failure(error: OSError, path: str) -> str:
    """The reason when the copy of `path` cannot be written; raises an error that ends the collection, if need be."""
    if error.errno in _FATAL:
        raise failure(error, path, "write the copy of") from error
    return f"cannot be written to the store: {os.strerror(error.errno or 0)}"


def attribute_failure(error: OSError, attributes: str) -> str:
    """The reason when the times or the permissions of a copy cannot be set."""
    return f"is stored without its {attributes}: {os.strerror(error.errno or 0)}"
