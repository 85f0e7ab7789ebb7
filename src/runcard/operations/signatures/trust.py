"""Whom the signatures of records are by: the reader's file of signers decides, never the record."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.findings import WARNING, Finding, record_finding
from runcard.documents.times import parse_time
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files import printable, read_file
from runcard.operations.checks.signature_state import BAD, BEFORE_CHANGES, SignatureState, signature_state
from runcard.signing.check import SigningTimes, Trust, missing_signers, revocation_fault, trust_in
from runcard.signing.signers_file import RevokedKeys, SignersFile, parse_revoked, parse_signers
from runcard.store import layout
from runcard.store.verification import Verdict
from runcard.store.verification.signature_check import RecordSignature

if TYPE_CHECKING:
    from runcard.operations.signatures.time_authority import JudgedTimestamp

_LARGEST_FILE = 1 << 24  # bytes
_ABSENT = {BAD: "its signature is wrong", None: "its signature could not be checked"}


class JudgedSignature(NamedTuple):
    """A signature that is right, and whose it is."""

    signature: RecordSignature
    trust: Trust
    is_trusted: bool | None  # None without a file of signers

    @property
    def names(self) -> tuple[str, ...]:
        """Of the signer, by the file of signers."""
        return self.trust.names

    @property
    def fault(self) -> str | None:
        """Why it is not trusted."""
        return self.trust.fault

    def to_dict(self) -> JsonObject:
        return {
            "fingerprint": self.signature.key.fingerprint,
            "names": list(self.names),
            "trusted": self.is_trusted,
            "reason": self.fault,
            "signed_at": self.signature.signed_at,
            "amended_since": self.signature.changes_since + self.signature.remarks_since,
            "changed_since": self.signature.changes_since,
        }

    def describe(self) -> str:
        """Who signed, in words."""
        return f"{self._signer}{self._later()}{self._untrusted}"

    def describe_earlier(self, since: str) -> str:
        """Who signed before something happened to the record, in words."""
        later = "" if self.signature.entries_since else self._later().removeprefix(",")
        return f"{self._signer} signed it{later}{' and' if later else ''} before {since}{self._untrusted}"

    @property
    def _signer(self) -> str:
        name = ", ".join(map(printable, self.names)) or "an unknown key"
        return f"{name} ({self.signature.key.fingerprint})"

    @property
    def _untrusted(self) -> str:
        return f", not trusted: {self.fault}" if self.fault else ""

    def _later(self) -> str:
        """What the signature does not cover, in words."""
        if added := self.signature.entries_since:
            return f", without the last {'entry' if added == 1 else f'{added:,} entries'}"
        counts = ((self.signature.changes_since, "change"), (self.signature.remarks_since, "remark"))
        later = [f"{count:,} {word}{'' if count == 1 else 's'}" for count, word in counts if count]
        return f", before {' and '.join(later)}" if later else ""


class TrustPolicy:
    """The signers that a reader trusts, and those whose signatures a record must have."""

    def __init__(
        self,
        signers: SignersFile | None = None,
        revoked: RevokedKeys | None = None,
        required: Sequence[str] | None = None,
        *,
        allows_unsigned_changes: bool = False,
    ) -> None:
        if required is not None and signers is None:
            raise UsageError("--require needs a file of signers", hint="pass it with --signers FILE")
        if required is not None and not all(required):
            raise UsageError("--require has an empty name", hint="name people or roles: --require NAME,NAME")
        self.signers = signers
        self._revoked = revoked or {}
        self._required = tuple(required or ())
        self._allows_unsigned_changes = allows_unsigned_changes or signers is None

    def judge(self, verdict: Verdict, times: "Sequence[JudgedTimestamp]" = ()) -> list[JudgedSignature]:
        """The signatures of a record, with their signers; `times` are its time-stamps, which prove how old they are."""
        return [self._judgement(signature, times) for signature in verdict.signatures]

    def _judgement(self, signature: RecordSignature, times: "Sequence[JudgedTimestamp]") -> JudgedSignature:
        claimed = parse_time(signature.signed_at) if signature.signed_at else None
        when = SigningTimes(claimed, _proven_time(times, signature), datetime.now(UTC))
        if self.signers is not None:
            trust = trust_in(signature.key, self.signers, self._revoked, when)
            return JudgedSignature(signature, trust, trust.is_trusted)
        fault = revocation_fault(signature.key, self._revoked, when)
        return JudgedSignature(signature, Trust(signature.key, (), fault), None if fault is None else False)

    def state(self, verdict: Verdict, judged: Sequence[JudgedSignature]) -> SignatureState:
        """Whether the record is signed as it is now."""
        return signature_state(verdict, judged, only_trusted=self.signers is not None)

    def findings(
        self,
        record: str,
        judged: Sequence[JudgedSignature],
        state: SignatureState,
    ) -> list[Finding]:
        """What a record lacks: a trusted signature, one of those that are required, or one of its changes."""
        missing = self._missing(record, judged, _ABSENT.get(state.state, "it is not signed"))
        if state.state != BEFORE_CHANGES:  # else that nobody signed the changes is said of all
            missing += self._outdated(record, judged)
        return [
            *missing,
            *self._uncovered(record, judged),
            *state.findings(record, is_allowed=self._allows_unsigned_changes),
        ]

    def _uncovered(self, record: str, judged: Sequence[JudgedSignature]) -> Iterator[Finding]:
        """The warning about a record whose files none of its signatures covers."""
        counted = [
            each
            for each in judged
            if (each.is_trusted is not False if self.signers is None else each.is_trusted)
        ]
        if counted and not any(each.signature.covers_files for each in counted):
            message = "it was signed by an earlier version, which covers the number of its files only: sign it again"
            yield record_finding("limits", record, layout.SIGNATURE, message)._replace(severity=WARNING)

    def _missing(self, record: str, judged: Sequence[JudgedSignature], absence: str) -> list[Finding]:
        if self.signers is None:
            are_revoked = bool(judged) and all(each.is_trusted is False for each in judged)
            return [_finding(record, "it is signed with revoked keys only")] if are_revoked else []
        trusted = [each.trust for each in judged if each.is_trusted]
        if self._required:
            missing = missing_signers(self._required, trusted)
            return [_finding(record, f"it is not signed by {printable(name)}") for name in missing]
        if trusted:
            return []
        return [_finding(record, "no signature is by a trusted signer" if judged else absence)]

    def _outdated(self, record: str, judged: Sequence[JudgedSignature]) -> Iterator[Finding]:
        """The required signers who signed before changes that others signed: each has to stand for the record as it is."""
        if self._allows_unsigned_changes:
            return
        trusted = [each for each in judged if each.is_trusted]
        # What a ledger says after its signature is told entry by entry.
        current = [
            each.trust for each in trusted if not each.signature.changes_since or each.signature.claims
        ]
        absent = missing_signers(self._required, [each.trust for each in trusted])
        for name in missing_signers(self._required, current):
            own = [each for each in trusted if not missing_signers([name], [each.trust])]
            if name not in absent and own:
                count = min(each.signature.changes_since for each in own)
                changes = "1 change" if count == 1 else f"{count:,} changes"
                yield _finding(record, f"{printable(name)} signed it before {changes}, and not since")


def _proven_time(times: "Sequence[JudgedTimestamp]", signature: RecordSignature) -> datetime | None:
    """The time by which a signature existed; None if no trusted time-stamp covers it."""
    if not times:
        return None
    from runcard.operations.signatures.time_authority import proven_time  # noqa: PLC0415 - few records have one

    return proven_time(times, signature.line)


def _finding(record: str, message: str) -> Finding:
    return record_finding("signer", record, layout.SIGNATURE, message)


def open_policy(
    signers: str | os.PathLike[str] | None = None,
    revoked: str | os.PathLike[str] | None = None,
    required: Sequence[str] | None = None,
    *,
    allows_unsigned_changes: bool = False,
) -> TrustPolicy:
    """The policy by the reader's files; raises an error for one that cannot be read as a whole."""
    return TrustPolicy(
        None if signers is None else parse_signers(_text(signers), printable(os.fspath(signers))),
        None if revoked is None else parse_revoked(_text(revoked), printable(os.fspath(revoked))),
        required,
        allows_unsigned_changes=allows_unsigned_changes,
    )


def _text(path: str | os.PathLike[str]) -> str:
    data = read_file(os.fspath(path), _LARGEST_FILE)
    return data.decode("utf-8", "surrogateescape")
