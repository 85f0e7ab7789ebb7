"""What a reader may conclude from a result of `verify`: who signed the record, by when it existed, and what it lacks.

The reader's own files decide whom to trust, never the record.
"""

import os
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.findings import WARNING, record_finding
from runcard.errors import UsageError
from runcard.files import printable
from runcard.operations.checks.signature_state import SignatureState, signature_state
from runcard.operations.checks.verify_directories import is_record
from runcard.operations.checks.verify_result import Verified
from runcard.settings import TIMESTAMP_CERTIFICATES, read_settings
from runcard.store import layout
from runcard.store.remote.urls import is_url
from runcard.store.verification import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runcard.documents.findings import Finding
    from runcard.operations.signatures.time_authority import JudgedTimestamp, TimePolicy
    from runcard.operations.signatures.trust import JudgedSignature, TrustPolicy


StrPath = str | os.PathLike[str]


class Judgement(NamedTuple):
    """A result with findings about what the reader requires, and the signatures and time-stamps that are right."""

    result: Verified
    signers: "Sequence[JudgedSignature]" = ()
    times: "Sequence[JudgedTimestamp]" = ()
    signature: SignatureState = SignatureState()


class Requirements(NamedTuple):
    """Whom a reader trusts, by the reader's own files, and what each record needs."""

    signers: str | None = None
    revoked: str | None = None
    require: tuple[str, ...] | None = None
    allow_unsigned_changes: bool = False
    require_signed_ledger: bool = False
    tsa_certs: str | None = None
    require_timestamp: bool = False
    proof: str | None = None


def judge(
    result: Verified,
    trust: "TrustPolicy | None" = None,
    authorities: "TimePolicy | None" = None,
    proof: str | None = None,
) -> Judgement:
    """Judge a result: without `trust`, nobody says whose keys signed it; without `authorities`, none is trusted.

    `proof` is the file that proves that the record is in an anchor; by default the one beside a record that was named.
    """
    proven = _with_proof(result, proof)
    times = _timestamps(proven, authorities)
    signers, state, findings = _signatures(proven, trust, times)
    if authorities is not None and proven.verdict.records:
        findings += authorities.findings(_name(proven), times)
    verdict = proven.verdict._replace(findings=(*proven.verdict.findings, *findings))
    judged = proven._replace(
        verdict=verdict, signature=state, signers=tuple(signers), timestamps=tuple(times)
    )
    return Judgement(judged, signers, times, state)


def trusted_from_within(
    files: "Sequence[str | None]", paths: "Sequence[str | os.PathLike[str]]"
) -> "Iterator[Judgement]":
    """A warning for each file that says whom to trust and that lies in what is verified: whoever sent that wrote it."""
    folders = [os.path.realpath(path) for path in paths if os.path.isdir(path)]
    for file in filter(None, files):
        where = os.path.realpath(file)
        folder = next((each for each in folders if os.path.commonpath([each, where]) == each), None)
        if folder is not None:
            message = "this file says whom to trust, and lies in what is verified: use one of your own"
            found = record_finding("signer", printable(file), "", message)._replace(severity=WARNING)
            yield Judgement(Verified(file, Verdict((found,), records=0)))


def judge_all(
    paths: "Sequence[StrPath]", results: "Iterable[Verified]", requirements: Requirements
) -> "Iterator[Judgement]":
    """Judge results; raises UsageError at once for requirements that contradict each other, or files that cannot be read."""
    if requirements.proof is not None:
        _check_proof(paths)
    policy, authorities = _policy(requirements), _authorities(requirements)
    files = (requirements.signers, requirements.revoked, requirements.tsa_certs)
    judged = (judge(result, policy, authorities, requirements.proof) for result in results)
    judgements = chain(trusted_from_within(files, paths), judged)
    if not requirements.require_signed_ledger:
        return judgements
    from runcard.operations.checks.required_ledger import with_signed_ledgers  # noqa: PLC0415 - few pass it

    return with_signed_ledgers(judgements, policy)


def _policy(requirements: Requirements) -> "TrustPolicy | None":
    """What the reader trusts; None if nothing says so."""
    signers, revoked, names = requirements.signers, requirements.revoked, requirements.require
    options = {
        "--allow-unsigned-changes": requirements.allow_unsigned_changes,
        "--require-signed-ledger": requirements.require_signed_ledger,
    }
    if signers is None and (option := next((name for name, is_set in options.items() if is_set), None)):
        raise UsageError(f"{option} needs a file of signers", hint="pass it with --signers FILE")
    if signers is None and revoked is None and names is None:
        return None
    from runcard.operations.signatures.trust import open_policy  # noqa: PLC0415 - few verify signatures

    allows = requirements.allow_unsigned_changes
    return open_policy(signers, revoked, names, allows_unsigned_changes=allows)


def _authorities(requirements: Requirements) -> "TimePolicy | None":
    """The time-stamping authorities that the reader trusts; None if neither an option nor a setting names any."""
    file, is_required = requirements.tsa_certs, requirements.require_timestamp
    if not is_required and read_settings({TIMESTAMP_CERTIFICATES: file})[TIMESTAMP_CERTIFICATES] is None:
        return None
    from runcard.operations.signatures.time_authority import TimePolicy, open_authorities  # noqa: PLC0415

    return TimePolicy(open_authorities(file), is_required=is_required)


def _check_proof(paths: "Sequence[StrPath]") -> None:
    """A proof is about one record; raises UsageError if a folder of them, or several, were named."""
    if len(paths) != 1 or (os.path.isdir(paths[0]) and not is_record(os.fspath(paths[0]))):
        raise UsageError("--proof is about one record", hint="name that record")


def _with_proof(result: Verified, proof: str | None) -> Verified:
    """A result for a record that was named, with the time-stamps of a proof: the given one, or the one beside the record."""
    if not result.is_named or not result.verdict.records or (proof is None and is_url(result.path)):
        return result
    path = proof or f"{os.path.abspath(result.path).removesuffix(layout.PACKED)}{layout.PROOF}"
    if proof is None and not os.path.isfile(path):
        return result
    from runcard.operations.signatures.anchor_proof import apply_proof  # noqa: PLC0415 - few records have one

    return apply_proof(result, path)


def _timestamps(result: Verified, policy: "TimePolicy | None") -> "list[JudgedTimestamp]":
    if not result.verdict.timestamps:
        return []
    from runcard.operations.signatures.time_authority import TimePolicy  # noqa: PLC0415 - most records have none

    return (policy or TimePolicy()).judge(result.verdict.timestamps)


def _signatures(
    result: Verified, policy: "TrustPolicy | None", times: "Sequence[JudgedTimestamp]"
) -> "tuple[Sequence[JudgedSignature], SignatureState, list[Finding]]":
    """The signatures that are right, what they say about the record, and what it lacks.

    Time-stamps prove that a signature is older than the end of its key.
    """
    verdict = result.verdict
    if policy is None and not verdict.signatures:
        return (), signature_state(verdict, (), only_trusted=False), []
    from runcard.operations.signatures.trust import TrustPolicy  # noqa: PLC0415 - most records have none

    policy = policy or TrustPolicy()
    signers = policy.judge(verdict, times)
    state = policy.state(verdict, signers)
    if not (verdict.records or signers):
        return signers, state, []
    return signers, state, policy.findings(_name(result), signers, state)


def _name(result: Verified) -> str:
    return printable(os.path.basename(os.path.abspath(result.path)))
