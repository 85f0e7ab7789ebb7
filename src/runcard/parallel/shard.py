"""A shard: the items that a worker of a cluster is given at once, and what it does with them.

A worker must see the same files under the same paths. It compares the inode of an item before it begins: otherwise a record
that is only elsewhere would be reported as missing. A process works on one shard at a time, in the folder of the caller, so
its memory is that of one item, and relative paths mean the same.
"""

import os
import pickle
import socket
import sys
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

from runcard.errors import ClusterError
from runcard.version import __version__

_PICKLE = 5  # its protocol
_VERSION = f"runcard {__version__} on Python {sys.version_info[0]}.{sys.version_info[1]}"
_one_at_a_time = Lock()

Amount = tuple[int, int]  # files and bytes


class ItemPlace(NamedTuple):
    """Where the files of an item are, and about how many bytes of them are read."""

    path: str
    size: int


class ShardItems(NamedTuple):
    """The items of a shard, and the work on each of them."""

    work: Callable[..., object]
    items: list[Any]
    first: ItemPlace
    folder: str  # the current one of the caller

    def to_bytes(self) -> bytes:
        """The argument of `run_shard`."""
        inner = pickle.dumps((self.work, self.items), _PICKLE)
        return pickle.dumps((_VERSION, self.folder, self.first.path, _inode(self.first.path), inner), _PICKLE)


def run_shard(call: bytes) -> bytes:
    """On a worker: do the work, and reply with a result and the amount of files for each item; None where the work raised."""
    version, folder, path, inode, inner = pickle.loads(call)  # noqa: S301 - of the process that has this cluster
    if version != _VERSION:
        raise ClusterError(
            f"the worker on {socket.gethostname()} has {_VERSION}, and this is {version}",
            hint="install the same versions on all workers",
        )
    with _one_at_a_time:
        before = os.getcwd()
        try:
            _enter(folder)
            if inode is not None and _inode(path) != inode:
                raise _other_files(path)
            work, items = pickle.loads(inner)  # noqa: S301 - see above
            return pickle.dumps([_reply(work, item) for item in items], _PICKLE)
        finally:
            os.chdir(before)


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
