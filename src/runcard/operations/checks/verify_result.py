"""One result of `verify`: the verdict on a record, on the ledgers of a store, or on a store without records."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.findings import Finding
from runcard.documents.run.input_state import InputState
from runcard.errors import RuncardError
from runcard.files import failure
from runcard.operations.checks.signature_state import SignatureState
from runcard.store.verification import Verdict, unreadable

if TYPE_CHECKING:
    from runcard.operations.signatures.time_authority import JudgedTimestamp
    from runcard.operations.signatures.trust import JudgedSignature


class Verified(NamedTuple):
    """One record, or the ledgers of a store, with its verdict."""

    path: str
    verdict: Verdict
    store: str | None = None  # whose ledgers have it
    is_named: bool = False  # whether this very record was named, and not its store
    hint: str | None = None  # for a record that was not found
    chain: tuple[Finding, ...] | None = None  # about the ledgers where they mention it; None if not checked
    mentions: tuple[
        str, ...
    ] = ()  # what to look for in the ledgers, to check this for a record that was named
    inputs: tuple[InputState, ...] | None = None  # as they are today; None if nobody asked
    ledger: Counter[str] | None = (
        None  # for a store that was verified as a whole: how many entries of each kind
    )
    signature: SignatureState = SignatureState()  # when it is judged
    signers: "tuple[JudgedSignature, ...]" = ()  # the signatures that are right, and whose they are
    timestamps: "tuple[JudgedTimestamp, ...]" = ()  # those that are right, and whether they are trusted
    deleted: int = 0  # for a store without records: how many were deleted on purpose

    @property
    def is_only_ledger(self) -> bool:
        """Whether it only says how many entries the ledger has, and nothing is wrong."""
        verdict = self.verdict
        return self.ledger is not None and not (verdict.records or verdict.findings or verdict.signatures)


def guarded(path: str, check: Callable[[], Verdict], store: str | None = None) -> Verified:
    """The result of a check; an error that stops it is a finding."""
    try:
        return Verified(path, check(), store)
    except RuncardError as error:
        return Verified(path, unreadable(path, error), store)
    except OSError as error:
        return Verified(path, unreadable(path, failure(error, str(error.filename or path), "read")), store)
