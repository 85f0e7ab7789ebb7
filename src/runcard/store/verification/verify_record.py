"""Checking one record of either kind."""

from typing import TYPE_CHECKING

from runcard.encoding import Limits
from runcard.files import json_name
from runcard.store.record import SESSION, Progress, Record
from runcard.store.verification.record_check import RecordCheck
from runcard.store.verification.run import RunCheck
from runcard.store.verification.verdict import RecordIdentity, Verdict

if TYPE_CHECKING:
    from runcard.store.ledger_index import LedgerIndex
    from runcard.store.ledger_search import LedgerSearch


def verify_record(
    record: Record,
    *,
    progress: Progress | None = None,
    limits: Limits | None = None,
    index: "LedgerIndex | LedgerSearch | None" = None,
) -> Verdict:
    """Check a run or a session, in its directory or in an archive, against all recorded digests, chains and ledger entries.

    `index` is that of the ledgers of its store; without it they are searched for this record.
    """
    problems = record.problems(progress)  # an archive is read here; only then its kind is certain
    check = _check_of(record)(record, limits or Limits(), index)
    findings = tuple(check.findings(problems, progress))
    identity = RecordIdentity(
        record.kind, record.id, check.fingerprint, json_name(record.name).text, check.signature_heads
    )
    return Verdict(
        findings,
        signatures=tuple(check.signatures),
        timestamps=tuple(check.timestamps),
        identity=identity,
    )


def _check_of(record: Record) -> type[RecordCheck]:
    if record.kind != SESSION:
        return RunCheck
    from runcard.store.verification.session import SessionCheck  # noqa: PLC0415 - it imports all documents of a session

    return SessionCheck
