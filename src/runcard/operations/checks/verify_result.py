"""One result of `verify`: a record, or what is said about a whole store."""

from collections.abc import Callable
from dataclasses import dataclass

from runcard.errors import RuncardError
from runcard.files import failure
from runcard.store.verification import Verdict, unreadable


@dataclass(frozen=True, slots=True)
class Verified:
    """One record, or the ledgers of a store, and what was found."""

    path: str
    verdict: Verdict
    store: str | None = None  # whose ledgers know it
    is_named: bool = False  # whether this very record was named, and not its store
    hint: str | None = None  # what to do about a record that was not found


def guarded(path: str, check: Callable[[], Verdict], store: str | None = None) -> Verified:
    """The result of a check; what stops it is a finding."""
    try:
        return Verified(path, check(), store)
    except RuncardError as error:
        return Verified(path, unreadable(path, error), store)
    except OSError as error:
        return Verified(path, unreadable(path, failure(error, str(error.filename or path), "read")), store)
