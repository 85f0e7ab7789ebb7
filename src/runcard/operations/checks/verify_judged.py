"""Verifying records for a reader who says whom to trust and what each record needs: what `runcard verify` does."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from runcard.encoding import Limits
from runcard.errors import UsageError
from runcard.operations.checks.judgement import Judgement, judge, trusted_from_within
from runcard.operations.checks.verify import verify as verify_files
from runcard.operations.checks.verify_directories import is_record
from runcard.operations.checks.verify_result import Verified
from runcard.settings import TIMESTAMP_CERTIFICATES, read_settings
from runcard.store.record import Progress

if TYPE_CHECKING:
    from runcard.operations.signatures.time_authority import TimePolicy
    from runcard.operations.signatures.trust import TrustPolicy

StrPath = str | os.PathLike[str]


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


def verify(  # noqa: PLR0913 - one for each option
    *paths: StrPath,
    signers: StrPath | None = None,
    revoked: StrPath | None = None,
    require: Sequence[str] | None = None,
    allow_unsigned_changes: bool = False,
    require_signed_ledger: bool = False,
    tsa_certs: StrPath | None = None,
    require_timestamp: bool = False,
    proof: StrPath | None = None,
    pin: StrPath | None = None,
    inputs: bool = False,
    ledgers: bool = False,
    whole_ledgers: bool = False,
    progress: Progress | None = None,
    limits: Limits | None = None,
) -> Iterator[Verified]:
    """Hash everything at these paths, compare it with the recorded digests, and check the signatures and time-stamps.

    A path is a run or a session, its metadata document, its archive, a bundle, or a folder with records at any depth; one that is
    none of these is a finding as well. The options are those of `runcard verify`: `signers`, `revoked` and `tsa_certs` are files that
    say whom to trust, `require` names people or roles, `proof` is about one record. With `ledgers`, there is a result for each store
    also if nothing is wrong with it; with `whole_ledgers`, the ledgers of records that are named are checked as a whole. `progress` is
    called with the files and bytes so far of the record that is being looked at. Wrong options raise UsageError at once.
    """
    names = None if require is None else tuple(require)
    requirements = Requirements(
        _text(signers),
        _text(revoked),
        names,
        allow_unsigned_changes,
        require_signed_ledger,
        _text(tsa_certs),
        require_timestamp,
        _text(proof),
    )
    if pin is not None:
        from runcard.operations.checks.pin import read_pins  # noqa: PLC0415 - few pass it

        read_pins(os.fspath(pin))
    check_whole = whole_ledgers or pin is not None
    results = verify_files(
        *paths, progress=progress, limits=limits, whole_ledgers=check_whole, inputs=inputs, ledgers=ledgers
    )
    judged = (judgement.result for judgement in judge_all(paths, results, requirements))
    return judged if pin is None else _pinned(os.fspath(pin), paths, judged)


def judge_all(
    paths: Sequence[StrPath], results: Iterable[Verified], requirements: Requirements
) -> Iterator[Judgement]:
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


def _pinned(pin: str, paths: Sequence[StrPath], results: Iterator[Verified]) -> Iterator[Verified]:
    """The results, and then those of comparing the ledgers with the pinned ones, which are updated."""
    from runcard.operations.checks.pin import check_pins  # noqa: PLC0415 - few pass it

    stores = set[str]()
    for result in results:
        if result.store is not None:
            stores.add(result.store)
        yield result
    yield from check_pins(pin, tuple(os.fspath(path) for path in paths), stores).results


def _text(path: StrPath | None) -> str | None:
    return None if path is None else os.fspath(path)


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


def _check_proof(paths: Sequence[StrPath]) -> None:
    """A proof is about one record; raises UsageError if a folder of them, or several, were named."""
    if len(paths) != 1 or (os.path.isdir(paths[0]) and not is_record(os.fspath(paths[0]))):
        raise UsageError("--proof is about one record", hint="name that record")
