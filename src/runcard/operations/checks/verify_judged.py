"""Verifying records for a reader who says whom to trust and what each record needs: what `runcard verify` does."""

import os
from collections.abc import Iterator, Sequence

from runcard.encoding import Limits
from runcard.operations.checks.judgement import Requirements, StrPath, judge_all
from runcard.operations.checks.verify import verify as verify_files
from runcard.operations.checks.verify_result import Verified
from runcard.store.record import Progress


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
