"""Checking the signatures of a store: whether its ledgers begin with the entries that were signed."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.chain import parse_line
from runcard.documents.ledger_statement import LEDGER_PREDICATE, SignedLedger, compare_ledgers, signed_ends
from runcard.documents.signed_statement import SignedStatement, StatementFault
from runcard.encoding import Limits
from runcard.files import printable
from runcard.store import layout
from runcard.store.ledger import DELETED, MIGRATED, REDACTED, REIMPORTED, entry_in
from runcard.store.verification.signature_check import LedgerClaim, RecordSignature, SignatureCheck

if TYPE_CHECKING:
    from hashlib import _Hash as Hasher

    from runcard.signing.public_keys import PublicKey
    from runcard.store.ledger_index import IndexedLedger, LedgerIndex


_CLAIMS = {
    DELETED: True,
    REIMPORTED: True,
    REDACTED: False,
    MIGRATED: False,
}  # by event: whether a record is gone
_CLAIMING = [event.encode() for event in _CLAIMS]


class _PlacedClaim(NamedTuple):
    """A claim, and where it stands."""

    ledger: str
    number: int  # of its line
    claim: LedgerClaim


class LedgerSignatureCheck(SignatureCheck):
    """The check of the signatures of the ledgers of one store."""

    file = layout.LEDGER_SIGNATURES
    predicate = LEDGER_PREDICATE

    def __init__(
        self, index: "LedgerIndex", limits: Limits, only: Sequence[SignedLedger] | None = None
    ) -> None:
        """With `only`, signatures of other ends than these are wrong."""
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
        claims = tuple(
            placed.claim for placed in self._claims if placed.number > signed.get(placed.ledger, 0)
        )
        return RecordSignature(
            key, statement.signed_at, number, len(claims), entries_since=added, claims=claims
        )

    @cached_property
    def _claims(self) -> list[_PlacedClaim]:
        """The entries of all ledgers that delete or change a record."""
        return [claim for ledger in self._index.ledgers for claim in _claims_in(ledger)]


def _claims_in(ledger: "IndexedLedger") -> Iterator[_PlacedClaim]:
    with open(os.dup(ledger.descriptor), "rb") as file:
        file.seek(0)
        for number, raw in enumerate(file, 1):
            if not any(event in raw for event in _CLAIMING):
                continue
            line = parse_line(raw.rstrip(b"\n"))
            entry = None if line is None else entry_in(line)
            if entry is not None and entry.event in _CLAIMS:
                claim = LedgerClaim(entry.path, entry.sha256, _CLAIMS[entry.event])
                yield _PlacedClaim(ledger.name, number, claim)


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
