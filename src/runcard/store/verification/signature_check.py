"""Checking the signatures of a record: each is right or wrong, and covers this record or another one.

Whether the keys are trusted is not decided here: that needs a file of signers, which is the reader's.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from runcard.documents.findings import WARNING, Finding, record_finding
from runcard.documents.signed_statement import (
    PREDICATE,
    SignedState,
    SignedStatement,
    StatementError,
    StatementFault,
    compare_statement,
    covers_files,
    read_statement,
)
from runcard.encoding import Limits
from runcard.errors import MachineError
from runcard.files import printable
from runcard.signing.check import CheckedSignature, check_signatures
from runcard.signing.envelope import CUT, STATEMENT_TYPE, Envelope, EnvelopeError, parse_lines
from runcard.signing.public_keys import PublicKey, parse_key_text
from runcard.signing.wire_format import WireFormatError
from runcard.store import layout
from runcard.store.signatures import MOST_LINES


class LedgerClaim(NamedTuple):
    """An entry of a ledger that deletes or changes a record: a claim, until somebody signs the ledger with it."""

    path: str  # of the record, relative to the store
    sha256: str  # of its metadata document
    done: str  # what the entry says was done to it, in words
    is_removal: bool


class RecordSignature(NamedTuple):
    """A signature that is right, and covers the record."""

    key: PublicKey
    signed_at: str | None  # by the clock of the signer
    line: int  # in the file of signatures
    changes_since: int = 0  # how many amendments changed the record after it
    remarks_since: int = 0  # how many amendments added a remark after it
    entries_since: int = 0  # how many entries a ledger got after it
    claims: "tuple[LedgerClaim, ...]" = ()  # those of them that delete or change records
    covers_files: bool = True  # False: only their number


class SignatureCheck:
    """The check of the signatures of one record; `good` has those that are right when the findings have been read."""

    file = layout.SIGNATURE
    predicate = PREDICATE

    def __init__(self, state: SignedState, limits: Limits, changes: Sequence[bool]) -> None:
        """`changes` says of each amendment whether it changed the record."""
        self._state = state
        self._changes = changes
        self._name = printable(state.name)
        self._limits = limits
        self.good: list[RecordSignature] = []

    def findings(self, data: bytes) -> Iterator[Finding]:
        """Findings about a file of signatures, with the number of the signature."""
        for number, envelope in enumerate(parse_lines(data, self._limits), 1):
            if number > MOST_LINES:
                yield self._finding("signature", f"there are more than {MOST_LINES:,} signatures")
                return
            try:
                yield from self._envelope(envelope, number)
            except MachineError as error:  # the package is not installed
                unchecked = self._finding("limits", f"{error.message}; {error.hint}")
                yield unchecked._replace(severity=WARNING)
                return

    def _envelope(self, envelope: Envelope | EnvelopeError, number: int) -> Iterator[Finding]:
        if isinstance(envelope, EnvelopeError):
            yield self._finding("signature", f"signature {number}: {envelope.message}")
            return
        if envelope.payload_type != STATEMENT_TYPE:
            message = f"signature {number}: the type of what was signed is {printable(envelope.payload_type[:80])!r}"
            yield self._finding("signature", message)
            return
        try:
            statement = read_statement(envelope.payload, self._limits, self.predicate)
            key = _stated_key(statement)
        except (StatementError, WireFormatError) as error:
            yield self._finding("signature", f"signature {number}: {error.message}")
            return
        if key is None:
            yield self._finding(
                "signature", f"signature {number}: the statement does not name the key of its signer"
            )
            return
        try:
            checked = list(check_signatures(envelope, key))
        except (
            MachineError
        ):  # the package is not installed; what is about another record is wrong all the same
            yield from self._faults(statement, number)
            raise
        for signature in checked:
            if signature.fault is not None:
                kind = "signature" if signature.is_checked else "limits"
                yield self._finding(kind, f"signature {number}: {_about(signature)}{signature.fault}")
        if any(signature.fault is None for signature in checked):
            yield from self._covered(statement, checked, number)

    def _covered(
        self, statement: SignedStatement, checked: list[CheckedSignature], number: int
    ) -> Iterator[Finding]:
        """The signature is right: whether it is about this record, as it is now."""
        faults = list(self._faults(statement, number))
        if faults:
            yield from faults
            return
        for signature in checked:
            if signature.fault is None and signature.key is not None:
                self.good.append(self._signature(signature.key, statement, number))

    def _faults(self, statement: SignedStatement, number: int) -> Iterator[Finding]:
        for fault in self._compare(statement):
            kind = "tail" if fault.is_tail else "signature"
            facts = {"expected": fault.expected, "found": fault.found}
            yield record_finding(
                kind, self._name, fault.path, f"signature {number}: {fault.message}", **facts
            )

    def _compare(self, statement: SignedStatement) -> Iterator[StatementFault]:
        return compare_statement(statement, self._state, layout.METADATA)

    def _signature(self, key: PublicKey, statement: SignedStatement, number: int) -> RecordSignature:
        later = self._changes[statement.amendments :]
        is_whole = covers_files(statement, self._state)
        remarks = len(later) - sum(later)
        return RecordSignature(key, statement.signed_at, number, sum(later), remarks, covers_files=is_whole)

    def _finding(self, kind: str, message: str) -> Finding:
        return record_finding(kind, self._name, self.file, message)


def is_cut_line(finding: Finding) -> bool:
    """Whether a finding is about a truncated last line, as signing leaves it behind when it is killed."""
    return finding.kind == "signature" and CUT in finding.message


def _stated_key(statement: SignedStatement) -> PublicKey | None:
    """The key that the statement names; a plain signature does not hold its key."""
    words = (statement.public_key or "").split()
    return parse_key_text(words[0], words[1]) if len(words) >= 2 else None


def _about(signature: CheckedSignature) -> str:
    return f"{signature.key.fingerprint}: " if signature.key is not None else ""
