"""Sign the ledgers of a store: `runcard sign STORE`."""

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runcard.documents.ledger_statement import make_ledger_statement
from runcard.encoding import JsonObject, Limits
from runcard.errors import StoreError
from runcard.files import failure, printable, shell_word, write_atomic
from runcard.files.temporary_files import remove_temporary_files_in
from runcard.observe.clock import Clock
from runcard.operations.checks.verify import first_damage, verify
from runcard.signing.envelope import sign_statement
from runcard.signing.private_keys import Signer
from runcard.store import layout
from runcard.store.ledger import Ledger
from runcard.store.ledger_index import LedgerIndex
from runcard.store.own_directories import own_entry
from runcard.store.signatures import read_ledger_signatures, with_signature
from runcard.store.verification.ledger_signatures import LedgerPrefixes, LedgerSignatureCheck
from runcard.store.verification.signature_check import is_cut_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.store.verification.signature_check import LedgerClaim


@dataclass(frozen=True, slots=True)
class SignedStoreResult:
    """A store whose ledgers were signed."""

    path: str
    entries: int
    fingerprint: str
    signed_at: str
    is_new: bool = True  # False: the same key has signed the same entries before
    covers: tuple[str, ...] = ()  # what the entries since the last signature say was deleted or changed

    def to_dict(self) -> JsonObject:
        return {
            "path": printable(self.path),
            "entries": self.entries,
            "fingerprint": self.fingerprint,
            "signed_at": self.signed_at,
            "already_signed": not self.is_new,
            "covers": list(self.covers),
        }


def is_store(path: str) -> bool:
    """Whether a path is a store with a ledger, and not a record."""
    try:
        return os.path.isdir(path) and bool(layout.ledger_paths(path))
    except OSError:
        return False


def sign_store(store: str | os.PathLike[str], signer: Signer) -> SignedStoreResult:
    """Sign the entries that the ledgers of a store have now; raises StoreError if the store fails verification."""
    path = os.fspath(store)
    claims = _claims(path)
    with Ledger(path), LedgerIndex(path) as index:
        signed = _signed(path, index, signer)
    return replace(signed, covers=claims) if signed.is_new else signed


def _claims(path: str) -> tuple[str, ...]:
    """What the entries after the last signature say was deleted or changed; raises StoreError for a damaged store."""
    claims: list[Sequence[LedgerClaim]] = []
    for result in verify(path, ledgers=True):
        if (damage := first_damage(result, except_for=is_cut_line)) is not None:
            raise StoreError(
                f"{printable(path)} was not signed, because it fails verification: {damage}",
                hint=f"see all of it: runcard verify {shell_word(path)}",
            )
        if not result.verdict.records:
            claims += [signature.claims for signature in result.verdict.signatures]
    return tuple(f"{printable(claim.path)} {claim.done}" for claim in min(claims, key=len, default=()))


def _signed(path: str, index: LedgerIndex, signer: Signer) -> SignedStoreResult:
    prefixes = LedgerPrefixes(index)
    found = [prefixes.end(ledger, index.count(ledger)) for ledger in index.ledgers]
    ends = [end for end in found if end is not None]
    if not ends:
        raise StoreError(f"the ledgers of {printable(path)} have no entries", hint="close a record first")
    result = SignedStoreResult(
        path, sum(end.entries for end in ends), signer.public_key.fingerprint, Clock().timestamp()
    )
    signatures = read_ledger_signatures(path) or b""
    check = LedgerSignatureCheck(index, Limits(), only=ends)
    list(check.findings(signatures))
    for known in check.good:
        if known.key == signer.public_key and known.signed_at is not None:
            return replace(result, signed_at=known.signed_at, is_new=False)
    payload = make_ledger_statement(ends, str(signer.public_key), result.signed_at)
    file, line = layout.ledger_signatures(path), sign_statement(payload, signer).to_line()
    try:
        with own_entry(path, file) as (own, name):  # locked, with the ledger
            remove_temporary_files_in(own, of={name}, age=0)  # of a command that was killed
            write_atomic(file, with_signature(signatures, line), follow=False)
    except OSError as error:
        raise failure(error, file, "write") from error
    return result
