"""What the signatures of a record say about it as it is now."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from runcard.documents.findings import WARNING, Finding, ledger_finding, record_finding
from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.store import layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.operations.signatures.trust import JudgedSignature
    from runcard.store.verification import Verdict
    from runcard.store.verification.signature_check import LedgerClaim

CURRENT: Final = "current"
BEFORE_CHANGES: Final = "before-changes"
BEFORE_TAMPERING: Final = "before-tampering"
UNTRUSTED: Final = "untrusted"
BAD: Final = "bad"
NONE: Final = "none"

_SIGNED = {CURRENT: True, NONE: None, None: None}


class SignatureState(NamedTuple):
    """Whether a record is signed as it is now, by whom, and what nobody signed."""

    state: str | None = NONE  # None: there is a signature that could not be checked, and no other
    by: tuple[str, ...] = ()  # names, or fingerprints of keys without a name
    unsigned_changes: int = 0
    unsigned_additions: int = 0
    claims: "tuple[LedgerClaim, ...]" = ()  # of a ledger: entries after the signature that delete or change records
    reason: str | None = None  # why it could not be checked

    @property
    def signed(self) -> bool | None:
        """True for the record as it is now, additions aside; None without a signature."""
        return _SIGNED.get(self.state, False)

    def to_dict(self) -> JsonObject:
        if self.state is None:
            return {"state": None, "by": [], "unsigned_additions": None, "reason": self.reason}
        return {"state": self.state, "by": list(self.by), "unsigned_additions": self.unsigned_additions}

    def describe(self) -> str:
        """The state as a part of the verdict."""
        if self.state is None:
            return "signature not checked"
        if self.state != BEFORE_CHANGES:
            return "signed" if self.signed else "not signed"
        changes = "1 change" if self.unsigned_changes == 1 else f"{self.unsigned_changes:,} changes"
        return f"signed before {changes} that nobody signed"

    def findings(self, record: str, *, is_allowed: bool) -> Iterator[Finding]:
        """The finding about changes after the signature: an error where a signature is required, unless they are allowed.

        What a ledger says after its signature is a warning, for each record.
        """
        for claim in self.claims:
            message = f"the record {printable(claim.done)}, says an entry of the ledger that nobody signed"
            expected = claim.sha256 if claim.is_removal else None
            yield ledger_finding(printable(claim.path), "", message, expected=expected)
        if self.state != BEFORE_CHANGES or self.claims:
            return
        found = record_finding(
            "signer", record, layout.SIGNATURE, f"{' and '.join(self.by)}: {self.describe()}"
        )
        yield found._replace(severity=WARNING) if is_allowed else found


def signature_state(
    verdict: "Verdict", signatures: "Sequence[JudgedSignature]", *, only_trusted: bool
) -> SignatureState:
    """The state of a record by its signatures that are right; `only_trusted` if a file of signers says whom to trust."""
    if any(finding.kind == "signature" for finding in verdict.findings):
        return SignatureState(BAD)
    if not signatures:
        reason = verdict.unchecked_signature
        return SignatureState() if reason is None else SignatureState(None, reason=reason)
    counted = [
        each for each in signatures if (each.is_trusted if only_trusted else each.is_trusted is not False)
    ]
    if not counted:
        return SignatureState(UNTRUSTED, _names(signatures))
    fewest = min(each.signature.changes_since for each in counted)
    last = [each for each in counted if each.signature.changes_since == fewest]
    additions = min(each.signature.remarks_since for each in last)
    if not (verdict.intact and verdict.complete):
        state = BEFORE_TAMPERING
    else:
        state = BEFORE_CHANGES if fewest else CURRENT
    return SignatureState(state, _names(last), fewest, additions, last[-1].signature.claims)


def _names(signatures: "Sequence[JudgedSignature]") -> tuple[str, ...]:
    names = (", ".join(map(printable, each.names)) or each.signature.key.fingerprint for each in signatures)
    return tuple(dict.fromkeys(names))
