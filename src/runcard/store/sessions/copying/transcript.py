"""Copying one transcript: masked unless the user says otherwise, in memory that does not grow with it.

The user named the file, so that a link to it is followed; what is no regular file is never opened. Lines are counted in
what is stored: newlines, and one more for a last line without one.

Invariant: a transcript is stored with every byte that was read, or an omission says why it is not.
"""

import errno
import os
from stat import S_ISREG

from runcard.masking import Masker
from runcard.store.sessions.copying.large_files import Draft, Transfer
from runcard.store.sessions.copying.limits import Limits
from runcard.store.sessions.copying.omission_reasons import NotCopiedError, not_stored, refusal, special_kind
from runcard.store.sessions.copying.options import CopyRules
from runcard.store.sessions.copying.results import CopiedLog, Omission
from runcard.store.sessions.copying.worker import close_reader

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def copy_log(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    rules: CopyRules,
    mode: int = 0o600,
    mask: bool = True,
) -> CopiedLog:
    """Copy a transcript without its secrets to `target`, which is made; of the rules, the limits count."""
    path = os.path.basename(os.fspath(target))
    try:
        # Looked at first, because opening a FIFO wakes whoever waits at its other end.
        descriptor = os.open(source, _READ) if S_ISREG((status := os.stat(source)).st_mode) else None
    except OSError as error:
        return _nothing(path, "there is no such file" if error.errno == errno.ENOENT else refusal(error))
    if descriptor is None:
        return _nothing(path, f"a {special_kind(status.st_mode)}, and no file: not read")
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            return _nothing(path, f"a {special_kind(status.st_mode)}, and no file: not read")
        if reason := Limits(rules).refuse(status.st_size):
            return _nothing(path, reason)
        return _copy(descriptor, status, os.fspath(target), path, mode, Masker() if mask else _Unmasked())
    except NotCopiedError as error:
        return _nothing(path, str(error))
    except OSError as error:
        return _nothing(path, refusal(error))
    finally:
        close_reader(descriptor)


class _Unmasked(Masker):
    """A masker that lets everything pass."""

    def feed(self, data: bytes) -> bytes:
        return data


def _copy(
    descriptor: int, status: os.stat_result, target: str, path: str, mode: int, masker: Masker
) -> CopiedLog:
    try:
        out = os.open(target, _NEW, mode)
    except OSError as error:
        raise NotCopiedError(not_stored(error, target)) from error
    with Draft(out, target, None, path):
        transfer = Transfer(descriptor, out, path, lambda _: None)
        file, redactions = transfer.masked(status.st_size, masker)
        remark = transfer.remark(status)
    return CopiedLog(
        file, transfer.lines, (Omission(path, remark, is_stored=True),) if remark else (), redactions
    )


def _nothing(path: str, reason: str) -> CopiedLog:
    return CopiedLog(None, 0, (Omission(path, reason),), ())
