"""Copy one transcript, masked unless the user says otherwise, in constant memory.

A link to the transcript is followed, since the user named it; only a regular file is ever opened. Lines are counted in the
stored text: newlines, and one more for a last line without one.

Invariant: a transcript is stored with every byte that was read, or an omission has the reason.
"""

import errno
import os
from collections.abc import Iterable
from stat import S_ISREG

from runcard.files import failure, type_name
from runcard.masking import Masker
from runcard.parallel.worker import close_reader
from runcard.store.sessions.copying.copy_rules import CopyRules, SizeLimits
from runcard.store.sessions.copying.file_transfer import FileTransfer, NewCopy
from runcard.store.sessions.copying.omission_reasons import NotCopiedError, read_failure, write_failure
from runcard.store.sessions.copying.results import CopiedLog, Omission

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def copy_log(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    rules: CopyRules,
    mode: int = 0o600,
    mask: bool = True,
    follow: bool = True,
) -> CopiedLog:
    """Copy a transcript with its secrets masked to `target`, which is created; of the rules, only the limits apply.

    Without `follow`, a link is not followed.
    """
    path = os.path.basename(os.fspath(target))
    try:
        # Its type is checked first, because opening a FIFO wakes the process at its other end.
        status = os.stat(source, follow_symlinks=follow)
        flags = _READ if follow else _READ | os.O_NOFOLLOW
        descriptor = os.open(source, flags) if S_ISREG(status.st_mode) else None
    except OSError as error:
        return _not_stored(
            path, "the file does not exist" if error.errno == errno.ENOENT else read_failure(error)
        )
    if descriptor is None:
        return _not_stored(path, f"a {type_name(status.st_mode)}, not a file: not read")
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            return _not_stored(path, f"a {type_name(status.st_mode)}, not a file: not read")
        if reason := SizeLimits(rules).reserve_file(status.st_size):
            return _not_stored(path, reason)
        return _copy(descriptor, status, os.fspath(target), path, mode, Masker() if mask else _Unmasked())
    except NotCopiedError as error:
        return _not_stored(path, str(error))
    except OSError as error:
        return _not_stored(path, read_failure(error))
    finally:
        close_reader(descriptor)


def copy_blocks(blocks: Iterable[bytes], target: str, *, mode: int = 0o600, mask: bool = True) -> CopiedLog:
    """Write a transcript that the caller reads to `target`, which is created. An error of `blocks` is raised."""
    path, masker = os.path.basename(target), Masker() if mask else _Unmasked()
    try:
        out = os.open(target, _NEW, mode)
    except OSError as error:
        raise failure(error, target, "create") from error
    try:
        with NewCopy(out, target, None, path):
            transfer = FileTransfer(-1, out, path, lambda _: None)
            file, redactions = transfer.write_masked(blocks, masker)
    except NotCopiedError as error:
        return _not_stored(path, str(error))
    return CopiedLog(file, transfer.lines, (), redactions)


class _Unmasked(Masker):
    """A masker that masks nothing."""

    def feed(self, data: bytes) -> bytes:
        return data


def _copy(
    descriptor: int, status: os.stat_result, target: str, path: str, mode: int, masker: Masker
) -> CopiedLog:
    try:
        out = os.open(target, _NEW, mode)
    except OSError as error:
        raise NotCopiedError(write_failure(error, target)) from error
    with NewCopy(out, target, None, path):
        transfer = FileTransfer(descriptor, out, path, lambda _: None)
        file, redactions = transfer.copy_masked(status.st_size, masker)
        change = transfer.change(status)
    return CopiedLog(
        file, transfer.lines, (Omission(path, change, is_stored=True),) if change else (), redactions
    )


def _not_stored(path: str, reason: str) -> CopiedLog:
    return CopiedLog(None, 0, (Omission(path, reason),), ())
