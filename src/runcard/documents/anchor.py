"""Anchors: the heads of all records of a store as one Merkle tree, and proofs that one record is in it.

The anchor document names the root; its digest is what an authority stamps. The leaves are lines of a file beside it. A
proof is a file of its own, which is checked without the store.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from runcard.documents.kinds import ANCHOR, ANCHOR_PROOF, DocumentKind
from runcard.documents.merkle import leaf_hash, root_by_path
from runcard.encoding import COMPACT, Limits, decode_json, encode_json
from runcard.errors import DocumentError, EncodingError
from runcard.version import __version__

if TYPE_CHECKING:
    from runcard.encoding import JsonObject

ALGORITHM: Final = "rfc6962-sha256"
LEDGER, EARLIER = "ledger", "anchor"  # the kinds of leaves that are not records
LARGEST_PROOF: Final = 1 << 22  # bytes
LONGEST_LEAF: Final = 1 << 16  # bytes
_MOST_REPLIES: Final = 100  # time-stamps of one record or anchor
_MAJOR = "1."


class AnchorError(DocumentError):
    """An anchor or a proof that is not well formed."""


class Leaf(NamedTuple):
    """One leaf: a record, a ledger or an earlier anchor, as it was."""

    kind: str  # run, session, ledger, anchor
    id: str  # of a record; empty for the others
    name: str  # of its directory or file
    sha256: str  # of the metadata document as it was sealed; of an earlier anchor; the head of a ledger
    entries: int = 0  # of a ledger; of a record: its signatures
    signatures_sha256: str | None = None  # of the lines with these signatures

    def to_bytes(self) -> bytes:
        """The leaf as a line without its end, which is what is hashed."""
        fields: JsonObject = {"kind": self.kind, "name": self.name}
        if self.kind == LEDGER:
            fields |= {"count": self.entries, "head": self.sha256}
        elif self.kind == EARLIER:
            fields |= {"sha256": self.sha256}
        else:
            fields |= {"id": self.id, "metadata_sha256": self.sha256}
            if self.entries:
                fields |= {"signatures": {"count": self.entries, "sha256": self.signatures_sha256}}
        return encode_json(fields, COMPACT).rstrip(b"\n")


def parse_leaf(data: bytes) -> Leaf:
    """Read a leaf; raises AnchorError if it is not well formed."""
    try:
        fields = decode_json(data)
    except EncodingError as error:
        raise AnchorError(f"a leaf is not JSON: {error.message}") from None
    match fields:
        case {"kind": "ledger", "name": str(name), "count": int(count), "head": str(head)}:
            return Leaf(LEDGER, "", name, head, count)
        case {"kind": "anchor", "name": str(name), "sha256": str(digest)}:
            return Leaf(EARLIER, "", name, digest)
        case {
            "kind": "run" | "session" as kind,
            "id": str(own),
            "name": str(name),
            "metadata_sha256": str(digest),
        }:
            return _record(Leaf(kind, own, name, digest), fields.get("signatures"))
    raise AnchorError("a leaf is neither a record nor a ledger")


def _record(leaf: Leaf, signatures: object) -> Leaf:
    match signatures:
        case None:
            return leaf
        case {"count": int(count), "sha256": str(digest)} if count > 0:
            return leaf._replace(entries=count, signatures_sha256=digest)
    raise AnchorError("the signatures of a leaf are not well formed")


class Anchor(NamedTuple):
    """An anchor document."""

    data: bytes  # as it stands there
    created_at: str
    size: int  # leaves
    root: bytes

    @property
    def imprint(self) -> bytes:
        """The digest that is stamped."""
        return sha256(self.data).digest()


def make_anchor(created_at: str, size: int, root: bytes) -> bytes:
    """An anchor document."""
    return encode_json(
        {
            "anchor_version": ANCHOR.latest,
            "producer": {"name": "runcard", "version": __version__},
            "created_at": created_at,
            "tree": {"algorithm": ALGORITHM, "size": size, "root": root.hex()},
        }
    )


def parse_anchor(data: bytes) -> Anchor:
    """Read an anchor document; raises AnchorError if it is not well formed."""
    fields = _checked(data, ANCHOR, "the anchor", Limits(size=LARGEST_PROOF))
    tree = fields["tree"]
    return Anchor(data, fields["created_at"], int(tree["size"]), bytes.fromhex(tree["root"]))


class AnchorProof(NamedTuple):
    """The proof that a record is in an anchor, with the time-stamps of that."""

    name: str  # of the anchor
    anchor: Anchor
    leaf: Leaf
    replies: tuple[bytes, ...]


def make_proof(
    name: str, anchor: Anchor, leaf: bytes, index: int, path: Sequence[bytes], replies: Sequence[bytes]
) -> bytes:
    """A proof as a file."""
    return encode_json(
        {
            "anchor_proof_version": ANCHOR_PROOF.latest,
            "anchor_name": name,
            "anchor": anchor.data.decode(),
            "leaf": leaf.decode(),
            "index": index,
            "path": [base64.b64encode(node).decode() for node in path],
            "timestamps": [base64.b64encode(reply).decode() for reply in replies],
        }
    )


def parse_proof(data: bytes) -> AnchorProof:
    """Read a proof, and check that its leaf is in its anchor; raises AnchorError if it is not."""
    fields = _checked(data, ANCHOR_PROOF, "the proof", Limits(size=LARGEST_PROOF))
    anchor, leaf = parse_anchor(fields["anchor"].encode()), fields["leaf"].encode()
    path = [_decoded(node) for node in fields["path"]]
    root = root_by_path(leaf_hash(leaf), int(fields["index"]), anchor.size, path)  # 0.0 is an integer too
    if root != anchor.root:
        raise AnchorError("the proof does not lead to the root of its anchor")
    if re.fullmatch(rf"[0-9_-]{{17}}-{anchor.root.hex()[:8]}", fields["anchor_name"]) is None:
        raise AnchorError("the name in the proof is not that of its anchor")
    if len(fields["timestamps"]) > _MOST_REPLIES:
        raise AnchorError(f"the proof has more than {_MOST_REPLIES} time-stamps")
    replies = tuple(_decoded(reply) for reply in fields["timestamps"])
    return AnchorProof(fields["anchor_name"], anchor, parse_leaf(leaf), replies)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise AnchorError("a value of the proof is not Base64") from None


def _checked(data: bytes, kind: DocumentKind, what: str, limits: Limits) -> dict[str, Any]:
    from runcard.documents.schema import check  # noqa: PLC0415 - few commands need it

    try:
        fields = decode_json(data, limits)
    except EncodingError as error:
        raise AnchorError(f"{what} is not JSON: {error.message}") from None
    if not isinstance(fields, dict):
        raise AnchorError(f"{what} is not an object")
    version = fields.get(kind.version_key)
    if isinstance(version, str) and not version.startswith(_MAJOR):
        raise AnchorError(f"{what} has the version {version[:20]!r}, which this runcard does not know")
    faults, _ = check(kind, kind.latest, fields)
    if faults:
        where = f"{faults[0].path}: " if faults[0].path else ""
        raise AnchorError(f"{what} is not well formed: {where}{faults[0].message}")
    return fields
