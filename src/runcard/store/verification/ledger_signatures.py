"""Checking the signatures of a store: whether its ledgers begin with the entries that were signed."""

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from runcard.documents.ledger_statement import LEDGER_PREDICATE, SignedLedger, compare_ledgers, signed_ends
from runcard.documents.signed_statement import SignedStatement, StatementFault
from runcard.encoding import Limits
from runcard.files import printable
from runcard.store import layout
from runcard.store.verification.signature_check import RecordSignature, SignatureCheck

if TYPE_CHECKING:
    from runcard.signing.public_keys import PublicKey
    from runcard.store.ledger_index import IndexedLedger, LedgerIndex


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
        found = {name: ledger_end(self._index, ledger, counts[name]) for name, ledger in ledgers.items()}
        yield from compare_ledgers(ends, found)

    def _signature(self, key: "PublicKey", statement: SignedStatement, number: int) -> RecordSignature:
        """A ledger grows, which is no change. What was added is not signed."""
        signed = sum(end.entries for end in signed_ends(statement) or ())
        added = sum(map(self._index.count, self._index.ledgers)) - signed
        return RecordSignature(key, statement.signed_at, 0, number, added)


def ledger_end(index: "LedgerIndex", ledger: "IndexedLedger", count: int) -> SignedLedger | None:
    """A ledger up to one of its entries; None if it is shorter."""
    head = index.hash_at(ledger, count)
    if head is None:
        return None
    digest, lines = sha256(), 0
    with open(os.dup(ledger.descriptor), "rb") as file:
        file.seek(0)
        for line in file:
            digest.update(line)
            lines += 1
            if lines == count:
                break
    return SignedLedger(ledger.name, count, head, digest.hexdigest())
