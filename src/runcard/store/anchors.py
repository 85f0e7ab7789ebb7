"""The anchors of a store: writing one, and reading those that are there.

An anchor has three files in the store's own folder: its document, the leaves of its tree, and the replies of authorities.
The document is written last, so that an anchor that has one is whole. Leaves are read and written one by one.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO

from runcard.documents.anchor import (
    LONGEST_LEAF,
    AnchorError,
    Leaf,
    make_anchor,
    parse_anchor,
    parse_leaf,
)
from runcard.documents.merkle import TreeHash, leaf_hash
from runcard.documents.times import format_time
from runcard.errors import StoreError
from runcard.files import NotRegularFileError, failure, open_regular, printable, write_atomic
from runcard.files.temporary_files import HOUR, remove_abandoned_file, remove_temporary_files_in
from runcard.store import layout
from runcard.store.own_directories import open_own
from runcard.store.verification.record_timestamps import LARGEST_FILE

if TYPE_CHECKING:
    from runcard.documents.anchor import (
        Anchor,
    )

_LARGEST_DOCUMENT = 1 << 16  # bytes


class StoredAnchor:
    """An anchor of a store. Raises AnchorError or StoreError if it cannot be read."""

    def __init__(self, store: str, name: str) -> None:
        self.store, self.name = store, name
        self.path = layout.anchor_document(store, name)
        self.anchor: Anchor = parse_anchor(_read(self.path, _LARGEST_DOCUMENT))

    def leaves(self) -> Iterator[bytes]:
        """The leaves in their order, as they are hashed."""
        path = layout.anchor_leaves(self.store, self.name)
        with _opened(path) as file:
            while line := file.readline(LONGEST_LEAF):
                if not line.endswith(b"\n"):
                    raise AnchorError("a leaf is cut, or too long")
                yield line[:-1]

    def checked_leaves(self, needle: bytes = b"") -> Iterator[Leaf]:
        """The leaves as data, with a `needle` those that have it; raises AnchorError at the end if the document has others."""
        tree = TreeHash()
        for data in self.leaves():
            tree.add(leaf_hash(data))
            if needle in data:
                yield parse_leaf(data)
        self._check(tree)

    def path_of(self, index: int) -> tuple[bytes, ...]:
        """The hashes beside the way from a leaf to the root, from below."""
        tree = TreeHash(index)
        for data in self.leaves():
            tree.add(leaf_hash(data))
        self._check(tree)
        return tree.finish()[1]

    def _check(self, tree: TreeHash) -> None:
        if tree.size != self.anchor.size or tree.finish()[0] != self.anchor.root:
            raise AnchorError("the leaves are not those that the anchor was made of")

    def replies(self) -> bytes | None:
        """The replies of authorities, one after the other; None if there is none."""
        path = layout.anchor_timestamps(self.store, self.name)
        return _read(path, LARGEST_FILE) if os.path.lexists(path) else None

    def add_reply(self, reply: bytes) -> None:
        """Keep the reply of an authority, unless it is there."""
        path = layout.anchor_timestamps(self.store, self.name)
        known = self.replies() or b""
        if reply not in known:
            try:
                write_atomic(path, known + reply, follow=False)
            except OSError as error:
                raise failure(error, path, "write") from error


class AnchorDraft:
    """An anchor that nobody sees yet: `publish` gives it its name. So one whose time-stamp fails is named by no other."""

    def __init__(self, store: str, leaves: str, moment: str, tree: TreeHash, document: bytes) -> None:
        self._store, self._leaves = store, leaves
        self._name = f"{moment}-{tree.finish()[0].hex()[:8]}"
        self._document = document
        self.imprint = parse_anchor(document).imprint

    def publish(self, reply: bytes | None = None) -> StoredAnchor:
        """Put the anchor in its place, with the reply of an authority if there is one."""
        store, name = self._store, self._name
        folder = layout.anchors(store)
        try:
            with open_own(store, folder):
                os.rename(self._leaves, layout.anchor_leaves(store, name))
                if reply is not None:
                    write_atomic(layout.anchor_timestamps(store, name), reply)
                write_atomic(layout.anchor_document(store, name), self._document)
        except OSError as error:
            raise failure(error, str(error.filename or folder), "write") from error
        return StoredAnchor(store, name)

    def discard(self) -> None:
        """Remove what was written, unless it was published."""
        with contextlib.suppress(OSError):
            os.unlink(self._leaves)


def draft_anchor(store: str, leaves: Iterable[Leaf], now: datetime) -> AnchorDraft:
    """Write the leaves of a new anchor, and make its document."""
    folder = layout.anchors(store)
    tree = TreeHash()
    moment = now.strftime("%Y-%m-%d_%H%M%S")

    def lines() -> Iterator[bytes]:
        for leaf in leaves:
            data = leaf.to_bytes()
            tree.add(leaf_hash(data))
            yield data + b"\n"

    unnamed = os.path.join(folder, f".{moment}.{os.urandom(4).hex()}.tmp")  # in the form of temporary files
    try:
        with open_own(store, folder, create=True) as directory:
            remove_temporary_files_in(directory)
            for left in layout.unpublished_leaves(set(os.listdir(directory))):
                with contextlib.suppress(OSError):
                    remove_abandoned_file(left, directory, HOUR)
            write_atomic(unnamed, lines())
    except OSError as error:
        raise failure(error, str(error.filename or folder), "write") from error
    document = make_anchor(format_time(now), tree.size, tree.finish()[0])
    return AnchorDraft(store, unnamed, moment, tree, document)


def anchors_of(store: str) -> Iterator["StoredAnchor | tuple[str, str]"]:
    """The anchors of a store, oldest first; the name and the reason in place of one that cannot be read."""
    for name in layout.anchor_names(store):
        try:
            yield StoredAnchor(store, name)
        except (AnchorError, StoreError) as error:
            yield name, error.message


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    try:
        descriptor = open_regular(path)
    except NotRegularFileError as error:
        raise StoreError(
            f"{printable(path)} is not a regular file", hint="restore it from a backup"
        ) from error
    except OSError as error:
        raise failure(error, path, "read") from error
    with open(descriptor, "rb") as file:
        yield file


def _read(path: str, most: int) -> bytes:
    with _opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise AnchorError(f"{printable(os.path.basename(path))} is too large")
    return data
