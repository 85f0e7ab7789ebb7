"""Checking the signatures of a store: whether its ledgers begin with the entries that were signed."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.chain import Line, parse_line
from runcard.documents.ledger_statement import LEDGER_PREDICATE, SignedLedger, compare_ledgers, signed_ends
from runcard.documents.signed_statement import SignedStatement, StatementFault
from runcard.encoding import Limits
from runcard.errors import RuncardError
from runcard.files import check_relative, printable
from runcard.store import layout
from runcard.store.amendments.read import changes_record, read_amendments
from runcard.store.ledger import (
    ARCHIVED,
    DELETED,
    MIGRATED,
    REDACTED,
    REIMPORTED,
    RESTORED,
    LedgerEntry,
    LedgerKey,
    entry_in,
)
from runcard.store.verification.signature_check import LedgerClaim, RecordSignature, SignatureCheck

if TYPE_CHECKING:
    from hashlib import _Hash as Hasher

    from runcard.signing.public_keys import PublicKey
    from runcard.store.ledger_index import IndexedLedger, LedgerIndex, RecordKeys


_DONE = {
    DELETED: ("was deleted", True),
    REIMPORTED: ("was deleted", True),
    REDACTED: ("was changed", False),
    MIGRATED: ("was changed", False),
}  # by event: in words, and whether a record is gone
# A backslash: what escapes can spell.
_MARKS = (*(event.encode() for event in (*_DONE, ARCHIVED, RESTORED)), b'"amendments"', b"\\")


class _MarkedEntry(NamedTuple):
    """An entry that may be a claim, and where it stands."""

    ledger: str
    number: int  # of its line
    entry: LedgerEntry


class LedgerSignatureCheck(SignatureCheck):
    """The check of the signatures of the ledgers of one store."""

    file = layout.LEDGER_SIGNATURES
    predicate = LEDGER_PREDICATE

    def __init__(
        self,
        index: "LedgerIndex",
        limits: Limits,
        present: "RecordKeys | frozenset[LedgerKey]" = frozenset(),
        archived: Collection[LedgerKey] = (),
        only: Sequence[SignedLedger] | None = None,
    ) -> None:
        """`present` and `archived` are the records that were found. With `only`, signatures of other ends are wrong."""
        self._present, self._archived = present, archived
        self._only = only
        self._name = printable(layout.LEDGER_SIGNATURES)
        self._limits = limits
        self._index = index
        self._prefixes = LedgerPrefixes(index)
        self.good: list[RecordSignature] = []

    def _compare(self, statement: SignedStatement) -> Iterator[StatementFault]:
        ends = signed_ends(statement)
        if ends is None:
            yield StatementFault(self.file, "the statement does not name the ends of ledgers")
            return
        if self._only is not None and sorted(ends) != sorted(self._only):
            yield StatementFault(self.file, "the signature is about fewer or other entries")
            return
        counts = {end.file: end.entries for end in ends}
        ledgers = {ledger.name: ledger for ledger in self._index.ledgers if ledger.name in counts}
        found = {name: self._prefixes.end(ledger, counts[name]) for name, ledger in ledgers.items()}
        yield from compare_ledgers(ends, found)

    def _signature(self, key: "PublicKey", statement: SignedStatement, number: int) -> RecordSignature:
        """A ledger grows, which is no change. What was added is not signed."""
        signed = {end.file: end.entries for end in signed_ends(statement) or ()}
        added = sum(map(self._index.count, self._index.ledgers)) - sum(signed.values())
        claims = tuple(dict.fromkeys(self._claims_after(signed)))
        return RecordSignature(
            key, statement.signed_at, number, len(claims), entries_since=added, claims=claims
        )

    def _claims_after(self, signed: Mapping[str, int]) -> Iterator[LedgerClaim]:
        """What the entries that are not signed say about records."""
        for ledger, number, entry in self._entries:
            is_signed = number <= signed.get(ledger, 0)
            if not is_signed and (claim := self._claim(entry, signed)) is not None:
                yield claim
            elif is_signed and entry.event == DELETED and self._is_put_back(entry, signed):
                yield LedgerClaim(entry.path, entry.sha256, "was put back", is_removal=False)

    def _claim(self, entry: LedgerEntry, signed: Mapping[str, int]) -> LedgerClaim | None:
        if entry.event in _DONE:
            done, is_removal = _DONE[entry.event]
        elif entry.event == ARCHIVED and entry.key not in self._present and entry.key not in self._archived:
            done, is_removal = f"was archived as {entry.archive}, where it was not found", True
        elif entry.event == RESTORED and self._is_renamed(entry, signed):
            done, is_removal = "was put back under another name", False
        elif entry.amendments is not None and self._is_changed(entry, signed):
            done, is_removal = _DONE[REDACTED]
        else:
            return None
        return LedgerClaim(entry.path, entry.sha256, done, is_removal)

    def _signed_entries(self, key: LedgerKey, signed: Mapping[str, int]) -> list[LedgerEntry]:
        """The entries about a record that are signed, in the order of time."""
        numbered = self._index.numbered(key)
        return [entry for ledger, number, entry in numbered if number <= signed.get(ledger, 0)]

    def _is_put_back(self, deleted: LedgerEntry, signed: Mapping[str, int]) -> bool:
        """Whether a record that a signed entry deleted is there again, by an entry that nobody signed."""
        if deleted.key not in self._present:
            return False
        known = self._signed_entries(deleted.key, signed)
        return known[-1].event == DELETED and len(self._index.numbered(deleted.key)) > len(known)

    def _is_renamed(self, entry: LedgerEntry, signed: Mapping[str, int]) -> bool:
        """Whether an entry gives a record a place that no signed entry about it has: it may be there twice."""
        places = {known.path for known in self._signed_entries(entry.key, signed)}
        return bool(places) and entry.path not in places

    def _is_changed(self, entry: LedgerEntry, signed: Mapping[str, int]) -> bool:
        """Whether amendments after those that a signed entry knows changed the record; if they cannot be read, they did.

        A record that no signed entry has is new.
        """
        known = self._signed_entries(entry.key, signed)
        if not known or entry.amendments is None:
            return False
        first = max((end.count for each in known if (end := each.amendments) is not None), default=0)
        if entry.amendments.count <= first:
            return False
        lines = self._amendments(entry)
        added = lines[first : entry.amendments.count]
        return len(added) < entry.amendments.count - first or any(map(changes_record, added))

    def _amendments(self, entry: LedgerEntry) -> list[Line]:
        """The amendments of a record, in its directory or its archive; none if they cannot be read."""
        numbered = self._index.numbered(entry.key)
        archives = [each.archive for _, _, each in numbered if each.event == ARCHIVED and each.archive]
        with suppress(RuncardError, OSError):
            if entry.key in self._present and check_relative(entry.path) is None:
                amendments = read_amendments(os.path.join(self._index.store, entry.path))
            elif archives and check_relative(archives[-1]) is None:
                from runcard.store.archives.record import ArchivedRecord  # noqa: PLC0415 - few are archived

                amendments = ArchivedRecord(os.path.join(self._index.store, archives[-1])).amendments()
            else:
                return []
            return [each.line for each in amendments.journal.entries] if amendments.journal else []
        return []

    @cached_property
    def _entries(self) -> list[_MarkedEntry]:
        """The entries of all ledgers that may be claims."""
        return [
            placed
            for ledger in self._index.ledgers
            for placed in _marked_entries(ledger)
            if placed.entry.event != ARCHIVED
            or (placed.entry.key not in self._present and placed.entry.key not in self._archived)
        ]


def _marked_entries(ledger: "IndexedLedger") -> Iterator[_MarkedEntry]:
    """The entries that delete, change, archive or restore a record; in a ledger with many others, only these are parsed."""
    with open(os.dup(ledger.descriptor), "rb") as file:
        file.seek(0)
        for number, raw in enumerate(file, 1):
            if any(mark in raw for mark in _MARKS):
                line = parse_line(raw.rstrip(b"\n"))
                entry = None if line is None else entry_in(line)
                if entry is not None:
                    yield _MarkedEntry(ledger.name, number, entry)


class LedgerPrefixes:
    """The beginnings of ledgers, by the number of their entries.

    Signatures name ever longer ones, so each is hashed from the end of the last: many signatures read a ledger once.
    """

    def __init__(self, index: "LedgerIndex") -> None:
        self._index = index
        self._last: dict[str, tuple[int, int, Hasher]] = {}  # by name: lines, bytes, and the digest of these

    def end(self, ledger: "IndexedLedger", count: int) -> SignedLedger | None:
        """A ledger up to one of its entries; None if it is shorter."""
        head = self._index.hash_at(ledger, count)
        if head is None:
            return None
        lines, size, digest = self._last.get(ledger.name, (0, 0, sha256()))
        if lines > count:
            lines, size, digest = 0, 0, sha256()
        with open(os.dup(ledger.descriptor), "rb") as file:
            file.seek(size)
            for line in islice(file, count - lines):
                digest.update(line)
                size += len(line)
        self._last[ledger.name] = count, size, digest
        return SignedLedger(ledger.name, count, head, digest.hexdigest())
