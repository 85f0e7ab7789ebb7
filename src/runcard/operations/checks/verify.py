"""Verifying records: one run or session, many, or a whole store."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from runcard.documents.kinds import GENERATION, INSTANCE, TEAM, detect
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import ExitCode, RuncardError, StoreError
from runcard.files import failure, printable, read_file
from runcard.operations.checks.show import state_now
from runcard.operations.checks.verify_result import Verified, guarded
from runcard.store import layout
from runcard.store.ledger import LedgerEntry, entries, history_of, ledgers
from runcard.store.verification import (
    INTACT,
    Book,
    Discrepancy,
    Record,
    Verdict,
    is_store,
    run_id_of_journal,
    unreadable,
    verify_chains,
    verify_collection,
    verify_ledgers,
    verify_open_marks,
    verify_run,
    verify_session,
)

if TYPE_CHECKING:
    from runcard.operations.archives.find import FoundArchive
    from runcard.operations.checks.pin import PinCheck
    from runcard.operations.checks.verify_archives import Archives

Progress = Callable[[int, int], object]


def verify(
    *paths: str | os.PathLike[str], progress: Progress | None = None, limits: Limits | None = None
) -> Iterator[Verified]:
    """Hash everything at these paths and compare it with what was written down.

    A path is a run or a session, its metadata document, its archive, or a folder with records at any depth; one that is
    none of these is a finding as well. `progress` is called with the files and bytes so far of the record that is being looked at.
    """
    named: set[str] = set()  # stores whose ledgers were checked for the sake of one record
    for path in paths:
        for result in _at(os.fspath(path), progress, limits):
            yield result
            if result.is_named and result.store is not None and result.store not in named:
                named.add(result.store)
                yield from _believed(result.store)


def _at(name: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    if os.path.basename(name) == layout.METADATA and os.path.isfile(name):
        name = os.path.dirname(name) or "."
    if layout.is_archive(name) and os.path.lexists(name) and not os.path.isdir(name):
        yield replace(_archive(name, progress, limits), is_named=True)
    elif layout.is_collection(name) or _is_record(name):
        yield replace(_Record(name, limits).verified(progress, limits), is_named=True)
    elif not os.path.lexists(name) and (found := _archived(name)) is not None:
        yield replace(_archive(found.path, progress, limits), is_named=True)
        yield from _gone(found)
    elif layout.is_archive_folder(name):
        yield from _archive_folder(name, progress, limits)
    else:
        yield from _folder(name, progress, limits)


def _believed(store: str) -> Iterator[Verified]:
    """What is wrong with the ledgers that a single record was held to."""
    with contextlib.suppress(RuncardError):  # one that cannot be read is told with the record
        if found := tuple(verify_chains(ledgers(store), store)):
            yield Verified(store, Verdict(found, records=0), store)


def _archived(name: str) -> "FoundArchive | None":
    """The archive of a record that is called so, and is not there any more."""
    from runcard.operations.archives.find import find_archive  # noqa: PLC0415 - it takes long to load

    try:
        return find_archive(name)
    except StoreError:
        return None


def _gone(found: "FoundArchive") -> Iterator[Verified]:
    """That a record was restored from its archive and is not where it was put, as far as the ledger of its store knows."""
    store = found.store()
    if store is None or os.path.lexists(os.path.join(store, found.name)):
        return
    archived = {_known_by(found)} if found.shelved else set()
    name = printable(found.name)

    def check() -> Verdict:
        missed = verify_ledgers(store, list(ledgers(store)), (), archived)
        return Verdict(tuple(one for one in missed if one.record == name))

    result = guarded(store, check, store)
    if result.verdict.findings:
        yield replace(result, verdict=replace(result.verdict, records=0))


def _known_by(found: "FoundArchive") -> Record:
    shelved = found.shelved
    if shelved is None or shelved.kind == "session":
        return "session", found.name
    return shelved.kind, shelved.id


def _archive(path: str, progress: Progress | None, limits: Limits | None) -> Verified:
    from runcard.operations.checks.verify_archives import verify_archive  # noqa: PLC0415 - as above

    return verify_archive(path, progress, limits)


def _archive_folder(folder: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """All archives in a folder of them."""
    from runcard.operations.checks.verify_archives import Archives  # noqa: PLC0415 - as above

    path = os.path.abspath(folder)
    store = os.path.dirname(path) if layout.is_own_archive_folder(path) else None
    found: list[Discrepancy] = []
    history: list[LedgerEntry] = []
    present: set[Record] = set()
    if store is not None:
        history = history_of(_books(store, found))
        present = {_Record(one).known_by() for one in _folders_in(store) if _is_surely_record(one)}
    archives = Archives(folder, store, history, present, is_alone=True)
    yield from archives.verified(progress, limits)
    if found := [*found, *archives.found]:
        yield Verified(folder, Verdict(tuple(found), records=0), store)


def _archives_of(store: str, present: set[Record], history: list[LedgerEntry]) -> "Archives | None":
    """The archives of a store; None where neither a folder nor a ledger speaks of any."""
    has_archived = any(entry.archive is not None for entry in history)
    if not has_archived and not os.path.isdir(layout.archive_folder(store)):
        return None
    from runcard.operations.checks.verify_archives import Archives  # noqa: PLC0415 - as above

    return Archives(layout.archive_folder(store), store, history, present)


def _is_record(path: str) -> bool:
    """Whether a record lies there; also where nobody may look, so that verifying it tells why."""
    return any(
        layout.may_be_file(os.path.join(path, name), follow=True)
        for name in (layout.METADATA, layout.JOURNAL, layout.AUDIT, layout.CHECKSUMS)
    )


class _Record:
    """A record that was found, with its document as far as it can be read: what is wrong with it is said elsewhere."""

    def __init__(self, path: str, limits: Limits | None = None) -> None:
        self.path = path
        self._limits = limits or Limits()

    @cached_property
    def document(self) -> JsonObject:
        path = os.path.join(self.path, layout.METADATA)
        if not layout.may_be_file(path):  # a link is not followed, and nobody waits for a FIFO
            return {}
        try:
            document = decode_json(read_file(path, self._limits.size, only_regular=True), self._limits)
        except RuncardError:
            return {}
        return document if isinstance(document, dict) else {}

    @cached_property
    def kind(self) -> str:
        """By its document, and where that does not tell, by what else lies there."""
        kind = detect(self.document)
        if kind in {GENERATION, TEAM, INSTANCE}:
            return kind.name
        return TEAM.name if layout.is_session(self.path) else GENERATION.name

    @property
    def run_id(self) -> str | None:
        generation = self.document.get("generation")
        run_id = generation.get("run_id") if isinstance(generation, dict) else None
        return run_id if isinstance(run_id, str) else None

    def known_by(self) -> Record:
        """What a ledger knows it by; a run that lost its document by what its journal says."""
        if self.kind == TEAM.name:
            return "session", os.path.basename(self.path)
        return "run", self.run_id or run_id_of_journal(self.path) or ""

    def verified(self, progress: Progress | None, limits: Limits | None) -> Verified:
        path, store = self.path, layout.store_of(self.path)
        if layout.is_collection(path):
            return guarded(path, partial(verify_collection, path))
        if self.kind == INSTANCE.name:
            problem = StoreError(f"{printable(path)} is an instance, which is a part of a session")
            return Verified(path, replace(unreadable(path, problem), records=0))
        if self.kind == TEAM.name:
            return guarded(path, lambda: verify_session(path, progress=progress, limits=limits), store)
        result = guarded(path, lambda: verify_run(path, progress=progress, limits=limits), store)
        is_open = any(found.kind == "open" for found in result.verdict.findings)
        return replace(result, verdict=self._as_of_now(result.verdict)) if is_open else result

    def _as_of_now(self, verdict: Verdict) -> Verdict:
        """The verdict on a run that is not closed, with what is known now about its process, and by the ledger."""
        findings = [
            replace(found, message=self._state()) if found.kind == "open" else found
            for found in verdict.findings
        ]
        books = ledgers(layout.store_of(self.path))
        if self.run_id in {entry.id for _, book, _ in books for entry in entries(book)}:
            message = "it says that it is not closed, and the ledger has it as closed"
            found = ("ledger", findings[0].record, layout.METADATA, message)
            findings.append(Discrepancy(*found, breaks=INTACT, exit_code=ExitCode.FAILED))
        return replace(verdict, findings=tuple(findings))

    def _state(self) -> str:
        """What is to be said about a run that is not closed."""
        status, remark = state_now(self.path, self.document)
        if status == "interrupted":
            return f"the run was interrupted and is not closed: {remark}"
        return f"the run is not closed: {remark or 'it is still at work'}"


def _folder(root: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    """Every store at a path or below it, such as the outputs of an experiment; what is no folder is told."""
    found = False
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            inner = _folders_in(folder)
        except RuncardError as error:
            found = True
            yield Verified(folder, replace(unreadable(folder, error), records=0))
            continue
        is_record = _is_record if folder == root else _is_surely_record
        records = [path for path in inner if is_record(path)]
        if records or _is_store(folder, is_named=folder == root):
            found = True
            yield from _store(folder, records, progress, limits)
        passed_over = set(records)
        folders += [path for path in reversed(inner) if path not in passed_over and not _is_hidden(path)]
    if not found:
        nothing = StoreError(f"{printable(root)} holds no records")
        yield Verified(root, replace(unreadable(root, nothing), records=0))


def _folders_in(folder: str) -> list[str]:
    if not os.path.isdir(folder):
        what = "is no record" if os.path.lexists(folder) else "does not exist"
        raise StoreError(f"{printable(folder) or chr(39) * 2} {what}")
    own = {layout.own_folder(folder), layout.collections(folder)}
    try:
        with os.scandir(folder) as scan:
            return sorted(
                entry.path for entry in scan if entry.is_dir(follow_symlinks=False) and entry.path not in own
            )
    except OSError as error:
        raise failure(error, folder, "read the directory") from error


def _is_surely_record(path: str) -> bool:
    """Whether a folder that nobody named is a record: others have lists of checksums and metadata of their own."""
    journals = (layout.JOURNAL, layout.AUDIT)
    return any(layout.may_be_file(os.path.join(path, name)) for name in journals) or (
        detect(_Record(path).document) in {GENERATION, TEAM}
    )


def _is_store(folder: str, *, is_named: bool) -> bool:
    """Whether a folder is a store although no record lies there now."""
    archive = layout.archive_folder(folder)
    marks = [layout.own_folder(folder), layout.collections(folder)]
    is_shelf = os.path.isfile(os.path.join(archive, layout.ARCHIVE_INDEX))
    return any(map(os.path.isdir, marks)) or is_shelf or (is_named and bool(layout.archives_in(archive)))


def _is_hidden(path: str) -> bool:
    return os.path.basename(path).startswith(".")


def _store(
    store: str, records: list[str], progress: Progress | None, limits: Limits | None
) -> Iterator[Verified]:
    present: set[Record] = set()
    closed = heads = (
        0  # records with chains, which a closing enters in a ledger; those of them that name its head
    )
    found: list[Discrepancy] = []
    try:
        for record in (_Record(path, limits) for path in records):
            present.add(record.known_by())
            closed += bool(record.document.get("event_chains"))
            heads += record.document.get("ledger_head") is not None
            yield record.verified(progress, limits)
        for place in layout.open_collections(store):
            yield _Record(place).verified(progress, limits)
        books = _books(store, found)
        archives = _archives_of(store, present, history_of(books))
        if archives is not None:
            yield from archives.verified(progress, limits)
            found += archives.found
        found += verify_ledgers(store, books, present, archives.records if archives else ())
        found += verify_open_marks(store)
        found += _ledger_gone(store, closed, heads)
        found += archives.beyond() if archives else ()
    except RuncardError as error:
        found += unreadable(store, error).findings
    except OSError as error:
        found += unreadable(store, failure(error, str(error.filename or store), "read")).findings
    if found:
        yield Verified(store, Verdict(tuple(found), records=0), os.path.abspath(store))


def _books(store: str, found: list[Discrepancy]) -> list[Book]:
    """The ledgers of a store; what cannot be read is added to what was found."""
    try:
        return list(ledgers(store))
    except RuncardError as error:
        found += unreadable(store, error).findings
        return []


def _ledger_gone(store: str, closed: int, heads: int) -> Iterator[Discrepancy]:
    """Several closed records lay in a store once, which had a ledger; one alone may have been copied.

    In a folder that is surely a store, each record that names a head has a finding of its own.
    """
    if layout.ledger_paths(store) or (is_store(store) and heads):
        return
    if closed > 1 or (closed and is_store(store)):
        message = "there are closed records, and no ledger: it was removed, or these are copies"
        yield Discrepancy("ledger", printable(store), "", message, exit_code=ExitCode.WARNINGS)


def summary(results: list[Verified], pin: "PinCheck | None" = None) -> JsonObject:
    """The verdict on everything as data."""
    pinned = {} if pin is None else {"pin": pin.to_dict()}
    return {
        "intact": all(result.verdict.intact for result in results),
        "complete": all(result.verdict.complete for result in results),
        "signed": None,
        "records": sum(result.verdict.records for result in results),
        "findings": [found.to_dict() for result in results for found in result.verdict.findings],
        **pinned,
    }


def worst(results: list[Verified]) -> ExitCode:
    codes = {result.verdict.exit_code for result in results}
    return next((code for code in (ExitCode.FAILED, ExitCode.WARNINGS) if code in codes), ExitCode.OK)
