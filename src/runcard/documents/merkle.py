"""Merkle trees as in RFC 6962: one hash for many leaves, and short proofs that a leaf is one of them.

Leaves and inner nodes are hashed with different prefixes, so that neither can be taken for the other. A tree is built while
its leaves are read: only a hash for each level is kept.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

_LEAF, _NODE = b"\x00", b"\x01"
LONGEST_PATH = 63  # hashes, for any number of leaves that exists


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf."""
    return sha256(_LEAF + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of a node with two children."""
    return sha256(_NODE + left + right).digest()


class _Subtree(NamedTuple):
    size: int  # leaves; a power of two
    hash: bytes
    has_target: bool  # whether the leaf that the path is for is in it


class TreeHash:
    """The hash of a tree whose leaves are added one by one, and perhaps the path of one of them."""

    def __init__(self, target: int | None = None) -> None:
        self.size = 0
        self._target = target
        self._subtrees: list[_Subtree] = []  # from left to right, each smaller than the one before
        self._path: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Add the hash of a leaf."""
        new = _Subtree(1, leaf, self.size == self._target)
        self.size += 1
        while self._subtrees and self._subtrees[-1].size == new.size:
            new = self._joined(self._subtrees.pop(), new, self._path)
        self._subtrees.append(new)

    @staticmethod
    def _joined(left: _Subtree, right: _Subtree, path: list[bytes]) -> _Subtree:
        if left.has_target:
            path.append(right.hash)
        elif right.has_target:
            path.append(left.hash)
        has_target = left.has_target or right.has_target
        return _Subtree(left.size + right.size, node_hash(left.hash, right.hash), has_target)

    def finish(self) -> tuple[bytes, tuple[bytes, ...]]:
        """The root, and the path of the chosen leaf: the hashes beside the way to the root, from below."""
        if not self._subtrees:
            return sha256().digest(), ()
        path, whole = list(self._path), self._subtrees[-1]
        for left in reversed(self._subtrees[:-1]):
            whole = self._joined(left, whole, path)
        return whole.hash, tuple(path)


def root_by_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that a path leads to from a leaf's hash; None if the path is too long or too short for its place."""
    if not 0 <= index < size or len(path) > LONGEST_PATH:
        return None
    node, last, current = index, size - 1, leaf
    for beside in path:
        if last == 0:
            return None
        if node & 1 or node == last:
            current = node_hash(beside, current)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            current = node_hash(current, beside)
        node, last = node >> 1, last >> 1
    return current if last == 0 else None
