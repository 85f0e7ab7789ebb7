"""Checking a store and its records against the anchors: nothing that was anchored may be gone, or be different.

Some 24 bytes stay in memory for each leaf of an anchor: short digests, which depend on a secret of this process.
"""

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.anchor import EARLIER, LEDGER, AnchorError, Leaf
from runcard.documents.findings import COMPLETE, INTACT, WARNING, Finding, anchor_finding
from runcard.documents.times import format_time
from runcard.encoding import COMPACT, encode_json
from runcard.errors import DocumentError, MachineError, StoreError
from runcard.files import json_name, printable
from runcard.signing.timestamp_check import check_token
from runcard.signing.timestamp_token import parse_reply, split_replies
from runcard.store.anchors import StoredAnchor, anchors_of
from runcard.store.ledger import LedgerKey, in_order
from runcard.store.ledger_index import RecordKeys
from runcard.store.verification.ledgers import missing_record
from runcard.store.verification.record_timestamps import RecordTimestamp

if TYPE_CHECKING:
    from runcard.documents.anchor import Anchor
    from runcard.store.ledger_index import LedgerIndex
    from runcard.store.verification.verdict import RecordIdentity, Verdict


_MOST_NAMES = 5  # of records that were deleted, in a message


class _RecordTable:
    """The records of an anchor: how many signatures each had, and the digest of these."""

    def __init__(self) -> None:
        self._keys, self._counts, self._digests = array("q"), array("q"), array("q")

    def add(self, leaf: Leaf) -> None:
        self._keys.append(hash((leaf.kind, leaf.id, leaf.sha256)))
        self._counts.append(leaf.entries)
        self._digests.append(hash(leaf.signatures_sha256))

    def sort(self) -> None:
        order = sorted(range(len(self._keys)), key=self._keys.__getitem__)
        tables = (self._keys, self._counts, self._digests)
        self._keys, self._counts, self._digests = (
            array("q", map(table.__getitem__, order)) for table in tables
        )

    def find(self, kind: str, own_id: str, sealed: str) -> tuple[int, int] | None:
        """The signatures of a record, and the short digest of them; None if it is not in the anchor."""
        key = hash((kind, own_id, sealed))
        row = bisect_left(self._keys, key)
        if row == len(self._keys) or self._keys[row] != key:
            return None
        return self._counts[row], self._digests[row]


class _IndexedAnchor(NamedTuple):
    stored: StoredAnchor
    records: _RecordTable
    stamps: tuple[RecordTimestamp, ...]  # about the anchor


class AnchorIndex:
    """The anchors of a store, read and checked. With `only`, those that have the record with this id."""

    def __init__(self, store: str, only: str | None = None) -> None:
        self.findings: list[Finding] = []  # about the anchors themselves
        self._store = store
        self._anchors: list[_IndexedAnchor] = []
        self._imprints: dict[str, str] = {}  # of the anchors, by name
        needle = b"" if only is None else encode_json(json_name(only).text, COMPACT).strip()
        for stored in anchors_of(store):
            if isinstance(stored, tuple):
                self._fail(stored[0], stored[1], INTACT)
            else:
                self._add(stored, needle)

    def _add(self, stored: StoredAnchor, needle: bytes) -> None:
        records = _RecordTable()
        try:
            if needle and not any(needle in leaf for leaf in stored.leaves()):
                return
            for leaf in stored.checked_leaves(needle):
                if leaf.kind not in {LEDGER, EARLIER}:
                    records.add(leaf)
            stamps = tuple(self._stamps(stored))
        except (AnchorError, StoreError) as error:
            self._fail(stored.name, error.message, INTACT)
            return
        records.sort()
        self._anchors.append(_IndexedAnchor(stored, records, stamps))
        self._imprints[stored.name] = stored.anchor.imprint.hex()

    def _stamps(self, stored: StoredAnchor) -> Iterator[RecordTimestamp]:
        data = stored.replies()
        if data is None:
            self._fail(stored.name, "the anchor is not time-stamped: it proves no time", None)
            return
        try:
            yield from stamps_about(stored.anchor, stored.name, split_replies(data))
        except DocumentError as error:
            self._fail(stored.name, f"a time-stamp of the anchor: {error.message}", INTACT)
        except MachineError as error:  # the package is not installed
            self._fail(stored.name, f"{error.message}; {error.hint}", None, is_warning=True)

    def _fail(self, name: str, message: str, breaks: str | None, *, is_warning: bool = False) -> None:
        finding = anchor_finding(printable(name), printable(message), breaks=breaks)
        self.findings.append(finding._replace(severity=WARNING) if is_warning else finding)

    def __bool__(self) -> bool:
        return bool(self._anchors or self.findings)

    def applied(self, verdict: "Verdict") -> "Verdict":
        """A verdict on a record with the time-stamps of its anchors."""
        identity = verdict.identity
        if identity is None or not identity.fingerprint:
            return verdict
        stamps, findings = [*verdict.timestamps], [*verdict.findings]
        for anchor in self._anchors:
            found = anchor.records.find(
                identity.kind, identity.id, identity.fingerprint.removeprefix("sha256:")
            )
            if found is None:
                continue
            count, digest = found
            if count and (count > len(identity.heads) or hash(identity.heads[count - 1]) != digest):
                message = "signatures that it had were removed or changed"
                findings.append(_about_record(anchor, identity.name, message, INTACT))
                count = 0
            stamps += [stamp._replace(signatures=count) for stamp in anchor.stamps]
        return verdict._replace(timestamps=tuple(stamps), findings=tuple(findings))

    def missing(
        self, seen: "SeenRecords", index: "LedgerIndex | None", *, is_ledger_signed: bool
    ) -> Iterator[Finding]:
        """What was anchored and is gone, or different; each record once, by the newest anchor that has it.

        If nobody signed the ledger, anyone may have entered that a record was deleted: each is a warning.
        """
        reported: set[tuple[str, str, str]] = set()
        deleted: dict[str, Finding] = {}
        for anchor in reversed(self._anchors):
            for leaf in anchor.stored.checked_leaves():
                key = (leaf.kind, leaf.id, leaf.name)
                if key in reported or seen.has(leaf):
                    continue
                if leaf.kind not in {LEDGER, EARLIER} and _is_accounted(self._store, leaf, index):
                    message = "the record was deleted or replaced since, says the ledger, which nobody signed"
                    about = _about_record(anchor, leaf.name, message, None, expected=leaf.sha256)
                    deleted.setdefault(leaf.name, about._replace(severity=WARNING))
                elif (finding := self._missing(anchor, leaf, seen, index)) is not None:
                    reported.add(key)
                    yield finding
        if deleted and is_ledger_signed:
            yield _deleted_finding(list(deleted))
        elif deleted:
            yield from deleted.values()

    def _missing(
        self, anchor: _IndexedAnchor, leaf: Leaf, seen: "SeenRecords", index: "LedgerIndex | None"
    ) -> Finding | None:
        if leaf.kind == LEDGER:
            return None if index is None else _missing_ledger(anchor, leaf, index)
        if leaf.kind == EARLIER:
            return self._missing_anchor(anchor, leaf)
        if seen.has_name(leaf):
            message = f"another {leaf.kind}, or one with another metadata document, is in its place"
            return _about_record(anchor, leaf.name, message, INTACT, expected=leaf.sha256)
        message = f"the {leaf.kind} is gone, and the ledger does not say that it was deleted on purpose"
        return _about_record(anchor, leaf.name, message, COMPLETE, expected=leaf.sha256)

    def _missing_anchor(self, anchor: _IndexedAnchor, leaf: Leaf) -> Finding | None:
        if self._imprints.get(leaf.name) == leaf.sha256:
            return None
        message = "the anchor before it is missing, or was changed"
        return _about_file(anchor, leaf, message, COMPLETE)


class SeenRecords:
    """The records that were verified, eight bytes for each of two keys."""

    def __init__(self) -> None:
        self._sealed, self._names = RecordKeys(), RecordKeys()

    def add(self, identity: "RecordIdentity | None") -> None:
        if identity is not None:
            sealed = identity.fingerprint.removeprefix("sha256:")
            self._sealed.add(LedgerKey(identity.kind, f"{identity.id}\0{sealed}"))
            self._names.add(LedgerKey(identity.kind, identity.name))

    def has(self, leaf: Leaf) -> bool:
        return LedgerKey(leaf.kind, f"{leaf.id}\0{leaf.sha256}") in self._sealed

    def has_name(self, leaf: Leaf) -> bool:
        return LedgerKey(leaf.kind, leaf.name) in self._names


def stamps_about(anchor: "Anchor", name: str, replies: Iterator[bytes]) -> Iterator[RecordTimestamp]:
    """The time-stamps in replies; raises DocumentError for one that is wrong, or about something else."""
    for reply in replies:
        checked = check_token(parse_reply(reply))
        if checked.token.imprint != anchor.imprint:
            raise AnchorError("it is about something else than the anchor")
        yield RecordTimestamp(reply, checked.token.latest, checked.authority, 0, name)


def _is_accounted(store: str, leaf: Leaf, index: "LedgerIndex | None") -> bool:
    """Whether the ledger says that a record was deleted or replaced on purpose, or where its archive is."""
    if index is None:
        return False
    key = LedgerKey(leaf.kind, leaf.name if leaf.kind == "session" else leaf.id)
    entries = in_order(view.entries for view in index.views(key, None))
    return bool(entries) and missing_record(store, entries) is None


def _deleted_finding(names: list[str]) -> Finding:
    """The note about records that were deleted on purpose, says a ledger that its owner can add entries to."""
    shown = ", ".join(map(printable, names[:_MOST_NAMES])) + (", ..." if len(names) > _MOST_NAMES else "")
    were = "1 anchored record was" if len(names) == 1 else f"{len(names):,} anchored records were"
    message = f"{were} deleted or replaced since, says the ledger: {shown}"
    return anchor_finding("", message)


def _missing_ledger(anchor: _IndexedAnchor, leaf: Leaf, index: "LedgerIndex") -> Finding | None:
    ledger = next((each for each in index.ledgers if each.name == leaf.name), None)
    if ledger is None:
        return _about_file(anchor, leaf, "the ledger is missing", COMPLETE)
    if index.count(ledger) < leaf.entries:
        message = (
            f"the ledger was shortened: it had {leaf.entries:,} entries, and has {index.count(ledger):,}"
        )
        return _about_file(anchor, leaf, message, COMPLETE)
    if (found := index.hash_at(ledger, leaf.entries)) != leaf.sha256:
        message = f"the ledger was rewritten: entry {leaf.entries:,} is another one"
        return _about_file(anchor, leaf, message, INTACT, found=found)
    return None


def _about_file(
    anchor: _IndexedAnchor, leaf: Leaf, message: str, breaks: str, found: str | None = None
) -> Finding:
    """A finding about a ledger or an earlier anchor."""
    place = printable(os.path.basename(leaf.name))
    about = _about_record(anchor, leaf.name, message, breaks, expected=leaf.sha256, found=found)
    return about._replace(path=place)


def _about_record(
    anchor: _IndexedAnchor, name: str, message: str, breaks: str | None, **facts: str | None
) -> Finding:
    when = min(
        (stamp.latest for stamp in anchor.stamps), default=None
    )  # the clock of the store proves nothing
    text = f"anchored {'without a time-stamp' if when is None else format_time(when)}: {message}"
    return anchor_finding(printable(os.path.basename(name)), text, breaks=breaks, **facts)
