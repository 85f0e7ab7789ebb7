"""A shard: the items that a worker of a cluster is given at once, and what it does with them.

A worker must see the same files under the same paths. It compares the inodes of the folders of all items before it begins:
otherwise a record that is only elsewhere would be reported as missing. An item that it sees otherwise than its caller did, such
as one that was replaced meanwhile, is left to the caller.

The call is a pickle that makes it when it is loaded, so that Dask needs nothing of runcard to pass it on: a worker without
runcard says so, instead of being ended by a message that it cannot read. A process works on one shard at a time, in the folder
of the caller, so relative paths mean the same. Its memory is that of one item, or of the few objects of a server that it reads
at a time, which otherwise would wait for each other's answers.
"""

import os
import pickle
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

from runcard.errors import ClusterError
from runcard.parallel.calls import CallThreads
from runcard.version import __version__

_PICKLE = 5  # its protocol
_VERSION = f"runcard {__version__} on Python {sys.version_info[0]}.{sys.version_info[1]}"
_URL = "://"
_AT_ONCE = 8  # objects of a server, as without a cluster
_one_at_a_time = Lock()

Amount = tuple[int, int]  # files and bytes
Inodes = list[tuple[str, int | None]]  # of paths; None where there is no file


class ItemPlace(NamedTuple):
    """Where the files of an item are, and about how many bytes of them are read."""

    path: str
    size: int


class ShardItems(NamedTuple):
    """The items of a shard, and the work on each of them."""

    work: Callable[..., object]
    items: list[Any]
    places: list[ItemPlace]
    folder: str  # the current one of the caller

    def to_bytes(self) -> bytes:
        """A call of `run_shard`: who loads this pickle makes the call, and has its reply."""
        inner = pickle.dumps((self.work, self.items), _PICKLE)
        paths = [place.path for place in self.places]
        seen = _inodes(paths), _inodes({os.path.dirname(path) or os.curdir for path in paths})
        return pickle.dumps(_ShardCall(_VERSION, self.folder, *seen, inner), _PICKLE)


class _ShardCall:
    """A call of `run_shard`, instead of its reply."""

    def __init__(self, *arguments: object) -> None:
        self._arguments = arguments

    def __reduce__(self) -> tuple[Callable[..., bytes], tuple[object, ...]]:
        return run_shard, self._arguments


def run_shard(version: str, folder: str, of_items: Inodes, of_folders: Inodes, inner: bytes) -> bytes:
    """On a worker: do the work, and reply with a result and the amount of files for each item.

    The reply is None for an item whose work raised, and for one that is not what the caller saw.
    """
    if version != _VERSION:
        raise ClusterError(
            f"the worker on {socket.gethostname()} has {_VERSION}, and this is {version}",
            hint="install the same versions on all workers",
        )
    with _one_at_a_time:
        before = os.getcwd()
        try:
            _enter(folder)
            for path, inode in of_folders:
                if inode is not None and _inode(path) != inode:
                    raise _other_files(path)
            work, items = pickle.loads(inner)  # noqa: S301 - of the process that has this cluster
            return pickle.dumps(_replies(work, items, of_items), _PICKLE)
        finally:
            os.chdir(before)


def _replies(work: Callable[..., object], items: list[Any], places: Inodes) -> list[object]:
    """What the work says about each item: one after the other, or several objects of a server at a time."""
    at_once = _AT_ONCE if all(_URL in path for path, _ in places) else 0
    with closing(CallThreads(at_once)) as threads:
        calls = [
            threads.submit(partial(_reply, work, item)) if inode in {None, _inode(path)} else None
            for item, (path, inode) in zip(items, places, strict=True)
        ]
        return [None if call is None else call.result() for call in calls]


def _reply(work: Callable[..., object], item: object) -> tuple[object, Amount] | None:
    amount: Amount = (0, 0)

    def progress(files: int, size: int) -> None:
        nonlocal amount
        amount = (files, size)

    try:
        return work(item, progress), amount
    except Exception:  # noqa: BLE001 - the caller does it again, and sees the error
        return None


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise _other_files(folder) from error


def _inodes(paths: Iterable[str]) -> Inodes:
    return [(path, _inode(path)) for path in paths]


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _other_files(path: str) -> ClusterError:
    return ClusterError(
        f"the worker on {socket.gethostname()} does not have the same {path}",
        hint="workers need the same files under the same paths: use a shared file system",
    )
