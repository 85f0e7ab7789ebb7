"""Listing a directory in which something may still be at work: a process that a run has left behind.

Files that come and go are listed as far as they stay. A file that changes whenever it is read gets the digest of what
was read at last, so that a later check says that it was changed, which is true.

Invariants: it ends, after a fixed number of tries; what the system refuses for another reason is an error.
"""

import errno
import hashlib
import os
import time
from collections.abc import Collection, Mapping
from stat import S_ISREG
from typing import NamedTuple

from runcard.checksums.listing import Listing
from runcard.checksums.make_listing import Contents, make
from runcard.checksums.problems import NotRegularError, UnsteadyError, VanishedError
from runcard.checksums.worker import Folder
from runcard.errors import RuncardError
from runcard.files import FileEntry, FileKind, encode_name, failure, short_path, walk

# What the system says of a name that is gone, or stands for something else by now.
MOVED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL, errno.EISDIR})

_PAUSES = (0.02, 0.1)  # seconds before each further try
_LARGE = 64 << 20  # bytes; a file like this is read no more than twice
_BLOCK = 1 << 20

_Problems = Mapping[str, RuncardError]


class Snapshot(NamedTuple):
    """What was found below a directory, and which of the files did not stop changing."""

    contents: Contents
    changing: tuple[str, ...]


def is_moved(problem: BaseException) -> bool:
    """Whether a problem is that something was changed, moved or removed meanwhile."""
    if isinstance(problem, VanishedError | UnsteadyError | NotRegularError):
        return True
    return isinstance(problem.__cause__, OSError) and problem.__cause__.errno in MOVED


def look(root: str) -> dict[str, FileKind]:
    """The kind of everything below a directory; directories that vanish meanwhile are passed over."""

    def pass_over(_: str, problem: RuncardError) -> None:
        if not is_moved(problem):
            raise problem

    return dict(walk(root, on_error=pass_over))


def snapshot(root: str, kinds: Mapping[str, FileKind], exclude: Collection[str]) -> Snapshot:
    """List the regular files below `root`, as `make` does, whatever happens to them meanwhile."""
    problems: dict[str, RuncardError] = {}
    entries = map(FileEntry._make, kinds.items())
    contents = make(root, entries=entries, exclude=exclude, on_error=problems.__setitem__)
    return _retry(root, contents, problems) if problems else Snapshot(contents, ())


def _retry(root: str, contents: Contents, problems: _Problems) -> Snapshot:
    for pause in _PAUSES:
        _check(problems)
        time.sleep(pause)
        large = {path: problems[path] for path in problems if _size(root, path) > _LARGE}
        contents, problems = _list_again(root, contents, problems.keys() - large.keys())
        problems = problems | large
    _check(problems)
    last = {path: _hash_once(root, path) for path in problems}
    hexes = {path: digest for path, digest in last.items() if digest is not None}
    return Snapshot(_joined(contents, Contents(Listing.from_hex(hexes), (), ())), tuple(sorted(hexes)))


def _list_again(
    root: str, contents: Contents, paths: Collection[str]
) -> tuple[Contents, dict[str, RuncardError]]:
    problems: dict[str, RuncardError] = {}
    kinds = {path: _kind(root, path) for path in sorted(paths)}
    entries = [FileEntry(path, kind) for path, kind in kinds.items() if kind is not None]
    return _joined(contents, make(root, entries=entries, on_error=problems.__setitem__)), problems


def _check(problems: _Problems) -> None:
    for problem in problems.values():
        if not is_moved(problem):
            raise problem


def _joined(one: Contents, other: Contents) -> Contents:
    hexes = {path: digest.hex for listing in (one.listing, other.listing) for path, digest in listing.items()}
    symlinks = {link.path: link for link in (*one.symlinks, *other.symlinks)}
    return Contents(
        Listing.from_hex(hexes),
        tuple(symlinks[path] for path in sorted(symlinks, key=encode_name)),
        (*one.others, *other.others),
    )


def _status(root: str, path: str) -> os.stat_result | None:
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with short_path(top, path) as (place, rest):
                return os.lstat(rest, dir_fd=place)
        finally:
            os.close(top)
    except OSError as error:
        if error.errno in MOVED:
            return None
        raise failure(error, path, "look at") from error


def _kind(root: str, path: str) -> FileKind | None:
    status = _status(root, path)
    return None if status is None else FileKind.of_mode(status.st_mode)


def _size(root: str, path: str) -> int:
    status = _status(root, path)
    return 0 if status is None else status.st_size


def _hash_once(root: str, path: str) -> str | None:
    """The digest of a file as long as it is now, in whatever state it is read; None when it is gone."""
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    folder = Folder(top)
    try:
        descriptor = folder.open(encode_name(path))
        try:
            status = os.fstat(descriptor)
            return _hash_prefix(descriptor, status.st_size) if S_ISREG(status.st_mode) else None
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in MOVED | {errno.ENXIO, errno.ENODEV}:
            return None
        raise failure(error, path, "read the file") from error
    finally:
        folder.close()
        os.close(top)


def _hash_prefix(descriptor: int, size: int) -> str:
    digest = hashlib.sha256()
    while size > 0 and (block := os.read(descriptor, min(size, _BLOCK))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()
