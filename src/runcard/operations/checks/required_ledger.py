"""What `--require-signed-ledger` asks for: that somebody the reader trusts signed the ledger that has each record.

Of a store, the ledger is judged with it. Of a record that was named, the ledger beside it is looked up; a record without a ledger,
such as a copy, an archive that was sent, or a bundle, does not have what is required.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from runcard.documents.findings import record_finding
from runcard.encoding import Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import failure, printable
from runcard.operations.checks.judgement import Judgement, judge
from runcard.operations.checks.verify_result import Verified
from runcard.store import layout
from runcard.store.ledger import LedgerKey
from runcard.store.ledger_index import LedgerIndex, RecordKeys
from runcard.store.record import SESSION
from runcard.store.signatures import read_ledger_signatures
from runcard.store.verification import Verdict, unreadable
from runcard.store.verification.ledger_signatures import LedgerSignatureCheck

if TYPE_CHECKING:
    from runcard.operations.signatures.trust import TrustPolicy
    from runcard.store.verification.verdict import RecordIdentity

_NOT_SIGNED = "the ledger is not signed by a trusted signer"
_NO_LEDGER = "there is no ledger here that could be signed: whether other records were removed cannot be told"


def with_signed_ledgers(judgements: Iterable[Judgement], policy: "TrustPolicy | None") -> Iterator[Judgement]:
    """The same, and a finding for each store, and each record outside of one, whose ledger has no trusted signature."""
    stores: dict[str, bool] = {}
    paths: dict[str, str] = {}  # of the stores, as they were named
    records: dict[str, list[RecordIdentity]] = {}  # by their stores
    for judgement in judgements:
        result = judgement.result
        if result.verdict.records and not _has_ledger(result.store):
            yield _with_finding(judgement, _NO_LEDGER)
            continue
        if result.store is not None and result.verdict.records:
            identity = result.verdict.identity
            records.setdefault(result.store, []).extend([] if identity is None else [identity])
            paths.setdefault(result.store, _shown_store(result.path, result.store))
        elif result.store is not None:
            is_signed = any(each.is_trusted for each in judgement.signers)
            stores[result.store] = stores.get(result.store, False) or is_signed
            paths[result.store] = result.path
        yield judgement
    for store in (store for store in records if store not in stores):
        ledger = judge(_ledger_of(store, paths[store], records[store]), policy)
        stores[store] = any(each.is_trusted for each in ledger.signers)
        if stores[store] or ledger.result.verdict.findings:
            yield ledger
    for store in (store for store, is_signed in stores.items() if not is_signed):
        found = record_finding("signer", printable(paths[store]), layout.LEDGER_SIGNATURES, _NOT_SIGNED)
        yield Judgement(Verified(paths[store], Verdict((found,), records=0), store))


def _shown_store(record: str, store: str) -> str:
    """The path of the store of a record, as it was named; an archive lies deeper in it, or elsewhere."""
    parent = os.path.dirname(record) or os.curdir
    return parent if os.path.realpath(parent) == os.path.realpath(store) else store


def _has_ledger(store: str | None) -> bool:
    with suppress(OSError):
        return store is not None and bool(layout.ledger_paths(store))
    return False


def _with_finding(judgement: Judgement, message: str) -> Judgement:
    result = judgement.result
    name = printable(os.path.basename(os.path.abspath(result.path)))
    found = record_finding("signer", name, "", message)
    verdict = result.verdict._replace(findings=(*result.verdict.findings, found))
    return judgement._replace(result=result._replace(verdict=verdict))


def _ledger_of(store: str, path: str, records: list["RecordIdentity"]) -> Verified:
    """The signatures of the ledgers of a store; of their claims, those about these records of it."""
    present, names = RecordKeys(), {identity.name for identity in records}
    for identity in records:
        present.add(LedgerKey(identity.kind, identity.name if identity.kind == SESSION else identity.id))
    try:
        data = read_ledger_signatures(store)
        with LedgerIndex(store) as index:
            check = LedgerSignatureCheck(index, Limits(), present)
            findings = () if data is None else tuple(check.findings(data))
    except OSError as error:
        return Verified(path, unreadable(path, failure(error, path, "read"))._replace(records=0), store)
    except RuncardError as error:
        unread = StoreError(error.message, hint=error.hint)
        return Verified(path, unreadable(path, unread)._replace(records=0), store)
    good = []
    for signature in check.good:
        claims = tuple(claim for claim in signature.claims if os.path.basename(claim.path) in names)
        good.append(signature._replace(claims=claims, changes_since=len(claims)))
    return Verified(path, Verdict(findings, records=0, signatures=tuple(good)), store)
