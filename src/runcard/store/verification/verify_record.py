"""Checking one record of either kind."""

from runcard.encoding import Limits
from runcard.store.ledger_index import LedgerIndex
from runcard.store.record import SESSION, Progress, Record
from runcard.store.verification.run import RunCheck
from runcard.store.verification.session import SessionCheck
from runcard.store.verification.verdict import Verdict


def verify_record(
    record: Record,
    *,
    progress: Progress | None = None,
    limits: Limits | None = None,
    index: LedgerIndex | None = None,
) -> Verdict:
    """Check a run or a session, in its directory or in an archive, against all recorded digests, chains and ledger entries.

    `index` is that of the ledgers of its store; without it they are searched for this record.
    """
    problems = record.problems(progress)  # an archive is read here; only then its kind is certain
    check = SessionCheck if record.kind == SESSION else RunCheck
    return Verdict(tuple(check(record, limits or Limits(), index).findings(problems, progress)))
