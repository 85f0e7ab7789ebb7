"""List a directory that another process may still be writing to, such as one that a run left behind.

Files that disappear meanwhile are not listed. A file that changes on every read gets the digest of the last read, so that
a later check reports it as changed, which is true.

Invariants: it ends after a fixed number of attempts; any other failure of the operating system is an error.
"""

import errno
import hashlib
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from stat import S_ISREG
from typing import NamedTuple

from runcard.checksums.directory_listing import DirectoryContents, make
from runcard.checksums.file_errors import NotRegularError, UnsteadyError, VanishedError
from runcard.checksums.listing import Listing
from runcard.errors import RuncardError
from runcard.files import FileKind, PathTable, WalkEntry, encode_name, failure, short_path, walk
from runcard.parallel.worker import DirectoryCursor

# Error numbers for a name that has disappeared or now stands for something else.
GONE_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL, errno.EISDIR})

_PAUSES = (0.02, 0.1)  # seconds before each retry
_LARGE = 64 << 20  # bytes; a larger file is read at most twice
_BLOCK = 1 << 20
_ENTRIES = 1024  # that a walk adds to a table at once

_KINDS = {kind.value: kind for kind in FileKind}  # looking one up is much faster than making it
_Problems = Mapping[str, RuncardError]


class Snapshot(NamedTuple):
    """The contents of a directory, and the files that did not stop changing."""

    contents: DirectoryContents
    changing: tuple[str, ...]


def is_concurrent_change(problem: BaseException) -> bool:
    """Whether an error means that something was changed, moved or removed meanwhile."""
    if isinstance(problem, VanishedError | UnsteadyError | NotRegularError):
        return True
    return isinstance(problem.__cause__, OSError) and problem.__cause__.errno in GONE_ERRNOS


def walk_unstable(root: str) -> PathTable[FileKind]:
    """The kind of every path below a directory; directories that disappear meanwhile are skipped."""

    def skip(_: str, problem: RuncardError) -> None:
        if not is_concurrent_change(problem):
            raise problem

    kinds: PathTable[FileKind] = PathTable()
    entries = walk(root, on_error=skip)
    while some := dict(islice(entries, _ENTRIES)):
        kinds.update(some)
    return kinds


def walked_entries(kinds: PathTable[FileKind]) -> Iterator[WalkEntry]:
    """The result of an earlier walk, in order."""
    return (WalkEntry(path, _KINDS[kind]) for path, kind in kinds)


def snapshot(root: str, entries: Iterable[WalkEntry], exclude: Collection[str]) -> Snapshot:
    """List the regular files below `root`, as `make` does, even while they change; the entries are those of a walk."""
    problems: dict[str, RuncardError] = {}
    contents = make(root, entries=entries, exclude=exclude, on_error=problems.__setitem__)
    return _retry(root, contents, problems) if problems else Snapshot(contents, ())


def _retry(root: str, contents: DirectoryContents, problems: _Problems) -> Snapshot:
    for pause in _PAUSES:
        _raise_others(problems)
        time.sleep(pause)
        large = {path: problems[path] for path in problems if _size(root, path) > _LARGE}
        contents, problems = _list_again(root, contents, problems.keys() - large.keys())
        problems = problems | large
    _raise_others(problems)
    digests = {path: _hash_once(root, path) for path in problems}
    hexes = {path: digest for path, digest in digests.items() if digest is not None}
    return Snapshot(
        _merge(contents, DirectoryContents(Listing.from_hex(hexes), (), ())), tuple(sorted(hexes))
    )


def _list_again(
    root: str, contents: DirectoryContents, paths: Collection[str]
) -> tuple[DirectoryContents, dict[str, RuncardError]]:
    problems: dict[str, RuncardError] = {}
    kinds = {path: _kind(root, path) for path in sorted(paths)}
    entries = [WalkEntry(path, kind) for path, kind in kinds.items() if kind is not None]
    return _merge(contents, make(root, entries=entries, on_error=problems.__setitem__)), problems


def _raise_others(problems: _Problems) -> None:
    for problem in problems.values():
        if not is_concurrent_change(problem):
            raise problem


def _merge(first: DirectoryContents, second: DirectoryContents) -> DirectoryContents:
    symlinks = {link.path: link for link in (*first.symlinks, *second.symlinks)}
    return DirectoryContents(
        first.listing.with_digests(second.listing),
        tuple(symlinks[path] for path in sorted(symlinks, key=encode_name)),
        (*first.others, *second.others),
    )


def _status(root: str, path: str) -> os.stat_result | None:
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with short_path(top, path) as (directory, name):
                return os.lstat(name, dir_fd=directory)
        finally:
            os.close(top)
    except OSError as error:
        if error.errno in GONE_ERRNOS:
            return None
        raise failure(error, path, "look at") from error


def _kind(root: str, path: str) -> FileKind | None:
    status = _status(root, path)
    return None if status is None else FileKind.of_mode(status.st_mode)


def _size(root: str, path: str) -> int:
    status = _status(root, path)
    return 0 if status is None else status.st_size


def _hash_once(root: str, path: str) -> str | None:
    """The digest of a file up to its present size, whatever is read; None when the file is gone."""
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    cursor = DirectoryCursor(top)
    try:
        descriptor = cursor.open(encode_name(path))
        try:
            status = os.fstat(descriptor)
            return _hash_prefix(descriptor, status.st_size) if S_ISREG(status.st_mode) else None
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in GONE_ERRNOS | {errno.ENXIO, errno.ENODEV}:
            return None
        raise failure(error, path, "read the file") from error
    finally:
        cursor.close()
        os.close(top)


def _hash_prefix(descriptor: int, size: int) -> str:
    digest = hashlib.sha256()
    while size > 0 and (block := os.read(descriptor, min(size, _BLOCK))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()
