"""The proof that one record is in an anchor: a file to send beside the record, which is checked without the store."""

import os
from dataclasses import dataclass

from runcard.documents.anchor import LARGEST_PROOF, Leaf, make_proof, parse_leaf, parse_proof
from runcard.documents.findings import record_finding
from runcard.encoding import JsonObject
from runcard.errors import DocumentError, MachineError, StoreError
from runcard.files import failure, printable, read_file, shell_word, write_atomic
from runcard.operations.checks.verify_result import Verified
from runcard.operations.signatures.anchor import record_leaf
from runcard.signing.timestamp_token import split_replies
from runcard.store import layout
from runcard.store.anchors import StoredAnchor, anchors_of
from runcard.store.find_record import open_record
from runcard.store.record import Record
from runcard.store.verification.anchors import stamps_about
from runcard.store.verification.record_timestamps import RecordTimestamp
from runcard.store.verification.verdict import RecordIdentity, Verdict


@dataclass(frozen=True, slots=True)
class ProofResult:
    """A proof that was written."""

    record: str
    path: str
    anchor: str  # its name
    size: int  # bytes

    def to_dict(self) -> JsonObject:
        return {
            "record": printable(self.record),
            "path": printable(self.path),
            "anchor": self.anchor,
            "size": self.size,
        }


def write_proof(store: str | os.PathLike[str], word: str, output: str | None = None) -> ProofResult:
    """Write the proof that a record is in a time-stamped anchor: the oldest one that has all of its signatures."""
    folder = os.fspath(store)
    inside = os.path.join(folder, word)
    record = open_record(inside if os.path.isdir(inside) else word)
    found = make_record_proof(folder, record)
    if found is None:
        raise StoreError(
            f"no time-stamped anchor of {printable(folder)} has {printable(record.path)}",
            hint=f"anchor the store first: runcard anchor {shell_word(folder)}; its time-stamp needs --tsa, or the setting timestamp.authority",
        )
    anchor, proof = found
    path = output or f"{record.name}{layout.PROOF}"
    try:
        write_atomic(path, proof)
    except OSError as error:
        raise failure(error, path, "write") from error
    return ProofResult(record.path, path, anchor, len(proof))


def make_record_proof(folder: str, record: Record) -> tuple[str, bytes] | None:
    """The proof that a record is in a time-stamped anchor of a store, and the name of the anchor; None without one."""
    best: tuple[int, StoredAnchor, int, bytes] | None = None
    wanted = record_leaf(record)
    for stored in anchors_of(folder):
        if isinstance(stored, StoredAnchor) and stored.replies() and wanted is not None:
            found = _find(stored, wanted)
            if found is not None and (best is None or found[1].entries > best[0]):
                best = (found[1].entries, stored, found[0], found[2])
    if best is None:
        return None
    _, stored, index, data = best
    replies = list(split_replies(stored.replies() or b""))
    return stored.name, make_proof(stored.name, stored.anchor, data, index, stored.path_of(index), replies)


def _find(stored: StoredAnchor, wanted: Leaf) -> tuple[int, Leaf, bytes] | None:
    """The place of a record in an anchor, and its leaf."""
    needle = wanted.sha256.encode()
    for index, data in enumerate(stored.leaves()):
        if needle in data:
            leaf = parse_leaf(data)
            if (leaf.kind, leaf.id, leaf.sha256) == (wanted.kind, wanted.id, wanted.sha256):
                return index, leaf, data
    return None


def apply_proof(result: Verified, path: str) -> Verified:
    """A result with the time-stamps of the proof in a file."""
    data: bytes | StoreError
    try:
        data = read_file(path, LARGEST_PROOF)
    except StoreError as error:
        data = error
    return result._replace(verdict=apply_proof_data(result.verdict, data, path))


def apply_proof_data(verdict: Verdict, data: bytes | StoreError, name: str) -> Verdict:
    """A verdict with the time-stamps of a proof; a finding if the proof is wrong, about another record, or cannot be read."""
    identity = verdict.identity
    if identity is None:
        return verdict
    try:
        if isinstance(data, StoreError):
            raise data
        stamps = _stamps(data, identity)
    except MachineError as error:  # the package is not installed
        return _with_finding(verdict, identity, "limits", f"{error.message}; {error.hint}")
    except (DocumentError, StoreError) as error:
        message = f"the proof {printable(name)} is wrong: {printable(error.message)}"
        return _with_finding(verdict, identity, "timestamp", message)
    known = {(stamp.reply, stamp.anchor) for stamp in verdict.timestamps}
    added = tuple(stamp for stamp in stamps if (stamp.reply, stamp.anchor) not in known)
    return verdict._replace(timestamps=(*verdict.timestamps, *added))


def _with_finding(verdict: Verdict, identity: RecordIdentity, kind: str, message: str) -> Verdict:
    finding = record_finding(kind, printable(identity.name), "", message)
    return verdict._replace(findings=(*verdict.findings, finding))


def _stamps(data: bytes, identity: RecordIdentity) -> list[RecordTimestamp]:
    """The time-stamps of a proof about this record; raises an error for any other proof."""
    proof = parse_proof(data)
    leaf = proof.leaf
    if (leaf.kind, leaf.id, f"sha256:{leaf.sha256}") != (identity.kind, identity.id, identity.fingerprint):
        raise StoreError("it is about another record, or another metadata document")
    heads = dict(enumerate(identity.heads, 1))
    if leaf.entries and heads.get(leaf.entries) != leaf.signatures_sha256:
        raise StoreError("signatures that the record had then were removed or changed")
    stamps = list(stamps_about(proof.anchor, proof.name, iter(proof.replies)))
    if not stamps:
        raise StoreError("it has no time-stamp")
    return [stamp._replace(signatures=leaf.entries) for stamp in stamps]
