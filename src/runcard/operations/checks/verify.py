"""Verifying records: one run or session, many, or a whole store."""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from runcard.documents.findings import ERROR, NOTE, WARNING, Finding, Severity
from runcard.documents.run.input_state import EQUAL
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import printable
from runcard.operations.checks.judgement import Judgement, judge
from runcard.operations.checks.verify_directories import (
    CheckedDirectory,
    is_record,
    verify_directories,
    verify_directory,
)
from runcard.operations.checks.verify_result import Verified, guarded
from runcard.store import layout
from runcard.store.ledger import in_order
from runcard.store.ledger_search import TAIL, search_ledgers
from runcard.store.record import Progress, Record
from runcard.store.remote.urls import is_url
from runcard.store.verification import (
    Verdict,
    is_removed_record,
    missing_record,
    unreadable,
    verify_chain,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.operations.checks.pin import PinCheck
    from runcard.store.ledger_index import LedgerIndex
    from runcard.store.verification.anchors import AnchorIndex

# What can be the matter with a record, in the order of a tally. One that is removed is known by the ledger only.
_TALLY = (
    "good",
    "changed after signing",
    "changed",
    "incomplete",
    "not signed as required",
    "not time-stamped as required",
    "open",
    "removed",
)

_DIRECTORY, _ARCHIVE, _OTHER = "directory", "archive", "other"  # what a path is
_FEW = 8  # records of one store that are looked up by searching its ledgers, instead of reading them


def verify(
    *paths: str | os.PathLike[str],
    progress: Progress | None = None,
    limits: Limits | None = None,
    whole_ledgers: bool = False,
    inputs: bool = False,
    ledgers: bool = False,
) -> Iterator[Verified]:
    """Hash everything at these paths and compare it with the recorded digests.

    A path is a run or a session, its metadata document, its archive, or a folder with records at any depth; one that is
    none of these is a finding as well. `progress` is called with the files and bytes so far of the record that is being looked at.
    For a store, the chains of its ledgers are checked as a whole. For records that are named, they are checked where they
    mention the record, and at their ends; with `whole_ledgers`, as a whole. With `inputs`, the inputs of runs are compared,
    too: they are no part of a record, so they do not change its verdict. With `ledgers`, there is a result for each store also if
    nothing is wrong with its ledgers.
    """
    results = _verify(paths, progress, limits, whole_ledgers=whole_ledgers)
    if not ledgers:
        results = (result for result in results if not result.is_only_ledger)
    if not inputs:
        return results
    from runcard.operations.checks.verify_inputs import with_inputs  # noqa: PLC0415 - few ask for it

    return (with_inputs(result, limits) for result in results)


def _verify(
    paths: "Sequence[str | os.PathLike[str]]",
    progress: Progress | None,
    limits: Limits | None,
    *,
    whole_ledgers: bool,
) -> Iterator[Verified]:
    chains, anchors = _NamedChains(whole_ledgers=whole_ledgers), _NamedAnchors()
    for form, names in groupby(map(_record_path, paths), _form):
        if form == _DIRECTORY:
            results = _directories(list(names), chains, progress, limits)
        elif form == _ARCHIVE:
            results = _archives(list(names), progress, limits)
        else:
            results = (result for name in names for result in _at(name, progress, limits))
        for result in results:
            if not result.is_named or result.store is None:
                yield result
                continue
            yield from anchors.applied(result, result.store)
            yield from chains.findings(result)


def damage_of(
    path: str | os.PathLike[str], *, except_for: Callable[[Finding], bool] = lambda _: False
) -> str | None:
    """Why a record fails verification; None if it does not."""
    return next(filter(None, (first_damage(result, except_for=except_for) for result in verify(path))), None)


def first_damage(result: Verified, *, except_for: Callable[[Finding], bool] = lambda _: False) -> str | None:
    """The first finding that breaks a record or a store, in words."""
    for found in result.verdict.findings:
        if found.breaks and not except_for(found):
            return f"{printable(found.path)}: {found.message}" if found.path else found.message
    return None


def _record_path(path: str | os.PathLike[str]) -> str:
    """The path of a record whose metadata document was named; else the path itself."""
    name = os.fspath(path)
    if is_url(name):
        return name
    is_document = os.path.basename(name) == layout.METADATA and os.path.isfile(name)
    return (os.path.dirname(name) or ".") if is_document else name


def _form(name: str) -> str:
    """Whether this is an archive, the directory of a record or of a session that is being collected, or anything else."""
    if is_url(name):  # a folder called `s3:` is not what is meant
        return _OTHER
    if layout.is_archive(name) and os.path.lexists(name) and not os.path.isdir(name):
        return _ARCHIVE
    return _DIRECTORY if layout.is_collection(name) or is_record(name) else _OTHER


def _at(name: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    if is_url(name):
        from runcard.operations.checks.verify_remote import verify_remote  # noqa: PLC0415 - only for URLs

        yield from verify_remote(name, progress, limits)
    elif os.path.lexists(name):
        from runcard.operations.checks.verify_store import verify_archive_folder, verify_folder  # noqa: PLC0415 - long to load

        is_archive_folder = layout.is_archive_folder(name)
        yield from (verify_archive_folder if is_archive_folder else verify_folder)(name, progress, limits)
    else:
        yield from _named(name, progress, limits)


def _directories(
    names: list[str], chains: "_NamedChains", progress: Progress | None, limits: Limits | None
) -> Iterator[Verified]:
    """Records that were named by their paths."""
    with contextlib.ExitStack() as stack:
        indexes = {}
        for store, count in Counter(map(layout.store_of, names)).items():
            with contextlib.suppress(RuncardError):  # one that cannot be read is reported with the record
                if count > _FEW:
                    indexes[store] = stack.enter_context(_index_of(store))
        chains.indexes = indexes
        for checked in verify_directories(names, indexes, progress, limits):
            yield _as_named(checked)
        chains.indexes = {}


def _index_of(store: str) -> "LedgerIndex":
    from runcard.store.ledger_index import LedgerIndex  # noqa: PLC0415 - few records are searched for without it

    return LedgerIndex(store)


def _as_named(checked: CheckedDirectory) -> Verified:
    return checked.result._replace(is_named=True)


def _named(word: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """The record with this name or id, which is not a path; a finding if there is none."""
    from runcard.store.find_record import open_record  # noqa: PLC0415 - most records are named by their paths

    try:
        record = open_record(word, limits)
    except StoreError as error:
        yield Verified(word, unreadable(word, error)._replace(records=0), hint=error.full_hint)
        return
    if is_url(record.path):
        yield from _at(record.path, progress, limits)
        return
    if not record.is_archived:
        yield _as_named(verify_directory(record.path, {}, progress, limits))
        return
    yield from _archives([record.path], progress, limits)
    yield from _missing_directory(record)


class _NamedChains:
    """Findings about the ledgers that records which were named were compared with, each finding once."""

    def __init__(self, *, whole_ledgers: bool) -> None:
        self._whole_ledgers = whole_ledgers
        self._checked: set[str] = set()  # stores whose ledgers were checked as a whole
        self._reported: set[tuple[str, Finding]] = set()  # by store
        self.indexes: dict[str, LedgerIndex] = {}  # of stores with many such records

    def findings(self, named: Verified) -> Iterator[Verified]:
        store = named.store
        if store is None or store in self._checked:
            return
        with contextlib.suppress(RuncardError):  # one that cannot be read is reported with the record
            found = dict.fromkeys(self._chain_findings(store, named))
            new = tuple(finding for finding in found if (store, finding) not in self._reported)
            self._reported.update((store, finding) for finding in new)
            if new:
                yield Verified(store, Verdict(new, records=0), store)

    def _chain_findings(self, store: str, named: Verified) -> Iterator[Finding]:
        index = self.indexes.get(store)
        if index is None and not self._whole_ledgers:
            if named.chain is not None:
                yield from named.chain
                return
            for ledger in search_ledgers(store, *named.mentions, tail=TAIL):
                yield from verify_chain(ledger, store)
            return
        self._checked.add(store)
        with contextlib.nullcontext(index) if index else _index_of(store) as whole:
            for indexed in whole.ledgers:
                yield from verify_chain(indexed, store)


class _NamedAnchors:
    """What the anchors of stores prove about records that were named; each finding about an anchor once.

    For a few records of a store, its anchors are searched for each; for more, they are read as a whole, once.
    """

    def __init__(self) -> None:
        self._searches: Counter[str] = Counter()  # by store
        self._indexes: dict[str, AnchorIndex] = {}  # by store
        self._reported: set[tuple[str, Finding]] = set()  # by store

    def applied(self, named: Verified, store: str) -> Iterator[Verified]:
        """The result with the time-stamps of its anchors, after what is wrong with these."""
        index = None
        with contextlib.suppress(RuncardError, OSError):  # what cannot be listed is reported with the store
            if (identity := named.verdict.identity) and layout.anchor_names(store):
                index = self._index_for(store, identity.id)
        if index is None:
            yield named
            return
        new = tuple(finding for finding in index.findings if (store, finding) not in self._reported)
        self._reported.update((store, finding) for finding in new)
        if new:
            yield Verified(store, Verdict(new, records=0), store)
        yield named._replace(verdict=index.applied(named.verdict))

    def _index_for(self, store: str, record_id: str) -> "AnchorIndex":
        from runcard.store.verification.anchors import AnchorIndex  # noqa: PLC0415 - most stores have none

        if store in self._indexes:
            return self._indexes[store]
        self._searches[store] += 1
        if self._searches[store] <= _FEW:
            return AnchorIndex(store, record_id)
        return self._indexes.setdefault(store, AnchorIndex(store))


def _missing_directory(record: Record) -> Iterator[Verified]:
    """The finding about a record that was restored from its archive, by the ledger, and is not there any more."""
    store = record.store
    if store is None or os.path.lexists(record.directory):
        return
    archived, name = record.ledger_key, record.name

    def check() -> Verdict:
        mentioned = [
            entry for ledger in search_ledgers(store, archived.name, name) for entry in ledger.entries
        ]
        keys = dict.fromkeys(entry.key for entry in mentioned if entry.path == name)
        searched = search_ledgers(store, *(key.name for key in keys))
        histories = [in_order(ledger.view(key, None).entries for ledger in searched) for key in keys]
        missing = [missing_record(store, history, {archived}) for history in histories]
        return Verdict(tuple(found for found in missing if found and found.record == printable(name)))

    result = guarded(store, check, store)
    if result.verdict.findings:
        yield result._replace(verdict=result.verdict._replace(records=0))


def _archives(paths: list[str], progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """Archives that were named by their paths."""
    from runcard.operations.checks.verify_archives import verify_named_archives  # noqa: PLC0415 - few archives are named

    for result in verify_named_archives(paths, progress, limits):
        yield result._replace(is_named=True, mentions=(layout.archived_name(result.path),))


class VerifySummary:
    """The verdict on everything. Without `lists_records`, it keeps nothing of a record without findings."""

    def __init__(self, *, lists_records: bool = True) -> None:
        self.stores: set[str] = set()  # whose ledgers have the records
        self.severity: Severity = NOTE  # of the worst finding
        self.tally: Counter[str] = Counter(
            dict.fromkeys(_TALLY, 0)
        )  # records by what is the matter with them
        self._intact = self._complete = True
        self._signed: set[bool | None] = set()
        self._timestamped: set[bool | None] = set()
        self._lists_records = lists_records
        self._records: list[JsonObject] = []
        self._ledgers: list[JsonObject] = []  # of stores that were verified as a whole
        self._findings: list[Finding] = []

    def add(self, judgement: Judgement) -> None:
        """Add a result that was judged."""
        result, verdict = judgement.result, judgement.result.verdict
        self._intact &= verdict.intact
        self._complete &= verdict.complete
        if verdict.records:
            self._signed.add(judgement.signature.signed)
            self._timestamped.add(verdict.timestamped)
            if self._lists_records:
                self._records.append(_record_entry(judgement))
        self.tally.update(_tally_words(verdict))
        self._findings += verdict.findings
        self.severity = max(
            self.severity, verdict.severity, _input_severity(result), key=list(reversed(Severity)).index
        )
        if result.store is not None:
            self.stores.add(result.store)
        if result.store is not None and result.ledger is not None:
            from runcard.operations.checks.store_summary import store_summary  # noqa: PLC0415 - only for whole stores

            self._ledgers.append(store_summary(result.store, result.ledger, judgement.signature))

    @property
    def signed(self) -> bool | None:
        """The weakest of all records: false if a signature is wrong, None if one is not signed."""
        return _weakest(self._signed)

    def to_dict(self, pin: "PinCheck | None" = None) -> JsonObject:
        pinned = {} if pin is None else {"pin": pin.to_dict()}
        return {
            "intact": self._intact,
            "complete": self._complete,
            "signed": self.signed,
            "timestamped": _weakest(self._timestamped),
            "tally": {word.replace(" ", "_").replace("-", ""): count for word, count in self.tally.items()},
            "records": self._records,
            "stores": self._ledgers,
            "findings": [finding.to_dict() for finding in self._findings],
            **pinned,
        }


def _input_severity(result: Verified) -> Severity:
    return WARNING if any(each.state != EQUAL for each in result.inputs or ()) else NOTE


def _weakest(verdicts: set[bool | None]) -> bool | None:
    return next((value for value in (False, None, True) if value in verdicts), None)


def _tally_words(verdict: Verdict) -> Iterator[str]:
    """What is the matter with a record, or with those that are gone from a store; one word for each record."""
    if not verdict.records:
        gone = {finding.record for finding in verdict.findings if is_removed_record(finding)}
        yield from ("removed" for _ in gone)
    elif any(finding.kind == "open" for finding in verdict.findings):
        yield "open"
    elif not verdict.intact:
        yield "changed"
    elif not verdict.complete:
        yield "incomplete"
    else:
        yield _good_word(verdict)


def is_unsigned_change(verdict: Verdict) -> bool:
    """Whether a warning says that the record was changed after its signature."""
    return any(finding.kind == "signer" and finding.severity is WARNING for finding in verdict.findings)


def _good_word(verdict: Verdict) -> str:
    """The word for a record that is intact and complete."""
    if verdict.severity is not ERROR:
        return "changed after signing" if is_unsigned_change(verdict) else "good"
    is_signed = not any(finding.kind == "signer" for finding in verdict.findings)
    return "not time-stamped as required" if is_signed else "not signed as required"


def _record_entry(judgement: Judgement) -> JsonObject:
    result, verdict = judgement.result, judgement.result.verdict
    identity = verdict.identity
    inputs = {} if result.inputs is None else {"inputs": [each.to_dict() for each in result.inputs]}
    return {
        "path": printable(result.path if is_url(result.path) else os.path.abspath(result.path)),
        "id": identity and identity.id,
        "kind": identity and identity.kind,
        "intact": verdict.intact,
        "complete": verdict.complete,
        "signed": judgement.signature.signed,
        "signature": judgement.signature.to_dict(),
        "timestamped": verdict.timestamped,
        "fingerprint": (identity and identity.fingerprint) or None,
        "signers": [each.to_dict() for each in judgement.signers],
        "timestamps": [each.to_dict() for each in judgement.times],
        **inputs,
    }


def summary(results: Iterable[Verified], pin: "PinCheck | None" = None) -> JsonObject:
    """The verdict on everything as data."""
    total = VerifySummary()
    for result in results:
        total.add(judge(result))
    return total.to_dict(pin)
