"""Merkle trees, compared with the definition in RFC 6962 and with its published roots."""

from collections.abc import Iterable
from hashlib import sha256

import pytest

from runcard.documents.merkle import TreeHash, leaf_hash, root_by_path

# The leaves and roots of the reference implementation of Certificate Transparency.
LEAVES = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")]  # fmt: skip
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def tree_root(leaves: Iterable[bytes]) -> bytes:
    tree = TreeHash()
    for data in leaves:
        tree.add(leaf_hash(data))
    return tree.finish()[0]


def definition(leaves: list[bytes]) -> bytes:
    """The root, as RFC 6962 defines it."""
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return sha256(b"\x01" + definition(leaves[:split]) + definition(leaves[split:])).digest()


@pytest.mark.parametrize("size", ROOTS)
def test_the_published_roots(size: int) -> None:
    assert tree_root(LEAVES[:size]).hex() == ROOTS[size]


def test_every_leaf_of_every_small_tree_has_a_path_to_the_root_and_to_no_other_place() -> None:
    for size in range(1, 70):
        leaves = [str(number).encode() for number in range(size)]
        root = definition(leaves)
        assert tree_root(leaves) == root
        for index in range(size):
            tree = TreeHash(index)
            for leaf in leaves:
                tree.add(leaf_hash(leaf))
            found, path = tree.finish()
            own = leaf_hash(leaves[index])
            assert (found, root_by_path(own, index, size, path)) == (root, root)
            assert len(path) <= size.bit_length()
            assert root_by_path(leaf_hash(b"other"), index, size, path) != root
            assert root_by_path(own, index, size, path[:-1]) != root or size == 1
            assert root_by_path(own, index, size, (*path, root)) is None
            others = {place for place in range(size) if root_by_path(own, place, size, path) == root}
            assert others == {index}


def test_a_node_is_not_a_leaf_and_places_outside_are_refused() -> None:
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert tree_root([left + right]) != tree_root([b"a", b"b"])
    assert root_by_path(left, 2, 2, [right]) is None
    assert root_by_path(left, -1, 2, [right]) is None
    assert root_by_path(left, 0, 0, []) is None
    assert root_by_path(left, 0, 1 << 70, [right] * 70) is None
