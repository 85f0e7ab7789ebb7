"""The verdict on a record: findings, and whether it is intact, complete, signed and time-stamped."""

from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.findings import (
    COMPLETE,
    ERROR,
    INTACT,
    NOTE,
    WARNING,
    Finding,
    Severity,
    record_finding,
)
from runcard.errors import RuncardError
from runcard.files import printable
from runcard.store import layout

if TYPE_CHECKING:
    from runcard.store.verification.record_timestamps import RecordTimestamp
    from runcard.store.verification.signature_check import RecordSignature


class RecordIdentity(NamedTuple):
    """Which record a verdict is about."""

    kind: str  # run or session
    id: str
    fingerprint: str  # the digest of its metadata document as it was closed
    name: str = ""  # of its directory
    heads: tuple[str, ...] = ()  # the digests of its signatures so far, after each of them


class Verdict(NamedTuple):
    """The findings about one record, or about a whole store."""

    findings: tuple[Finding, ...]
    records: int = 1
    signatures: "tuple[RecordSignature, ...]" = ()  # those that are right
    timestamps: "tuple[RecordTimestamp, ...]" = ()  # those that are right
    identity: RecordIdentity | None = None  # None for a store, and for a record that cannot be read

    @property
    def signed(self) -> bool | None:
        """Whether the record is signed as it is now, by whatever key, remarks aside: false if a signature is wrong, or older
        than a change or a damage, None without a signature that can be checked.
        """
        if any(finding.kind == "signature" for finding in self.findings):
            return False
        if not self.signatures:
            return None
        is_current = any(not signature.changes_since for signature in self.signatures)
        return is_current and self.intact and self.complete

    @property
    def timestamped(self) -> bool | None:
        """Whether the record is time-stamped: false if a time-stamp is wrong, None without one that can be checked."""
        if any(finding.kind == "timestamp" for finding in self.findings):
            return False
        return True if self.timestamps else None

    def leaves_unchecked(self, file: str) -> bool:
        """Whether something in this file of the record could not be checked here, such as a signature."""
        return any(finding.kind == "limits" and finding.path == file for finding in self.findings)

    @property
    def unchecked_signature(self) -> str | None:
        """Why a signature of the record, or of the ledger, could not be checked here, such as in a damaged archive; None if all were."""
        files = {layout.SIGNATURE, layout.LEDGER_SIGNATURES}
        places = {"limits": files, "missing": {"", layout.METADATA} if self.records else set()}
        found = (each.message for each in self.findings if each.path in places.get(each.kind, ()))
        return next(found, None)

    @property
    def intact(self) -> bool:
        return not any(finding.breaks == INTACT for finding in self.findings)

    @property
    def complete(self) -> bool:
        return not any(finding.breaks == COMPLETE for finding in self.findings)

    @property
    def severity(self) -> Severity:
        """That of the worst finding; a note when there is none."""
        severities = {finding.severity for finding in self.findings}
        return next((severity for severity in (ERROR, WARNING) if severity in severities), NOTE)

    @property
    def exit_code(self) -> int:
        """As `runcard verify` exits for this alone: 1 for an error, 2 for a warning."""
        return {ERROR: 1, WARNING: 2, NOTE: 0}[self.severity]


def unreadable(record: str, error: RuncardError) -> Verdict:
    """The verdict on a record that cannot be read."""
    return Verdict((record_finding("missing", printable(record), "", error.message),))
