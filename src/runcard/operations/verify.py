"""Verifying records: one run or session, many, or a whole store."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from runcard.documents.kinds import GENERATION, INSTANCE, TEAM, detect
from runcard.encoding import Limits, decode_json
from runcard.errors import ExitCode, RuncardError, StoreError
from runcard.files import failure, printable, read_file
from runcard.operations.show import state_now
from runcard.store import layout
from runcard.store.ledger import entries, ledgers
from runcard.store.verification import (
    INTACT,
    Discrepancy,
    Record,
    Verdict,
    run_id_of_journal,
    unreadable,
    verify_collection,
    verify_ledgers,
    verify_run,
    verify_session,
)

if TYPE_CHECKING:
    from runcard.operations.archives import FoundArchive
    from runcard.store.archive.shelf import Shelved

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Verified:
    """One record, or the ledgers of a store, and what was found."""

    path: str
    verdict: Verdict


def verify(
    *paths: str | os.PathLike[str], progress: Progress | None = None, limits: Limits | None = None
) -> Iterator[Verified]:
    """Hash everything at these paths and compare it with what was written down.

    A path is a run or a session, its metadata document, its archive, or a folder with records at any depth; one that is
    none of these is a finding as well. `progress` is called with the files and bytes so far of the record that is being looked at.
    """
    for path in paths:
        name = os.fspath(path)
        if os.path.basename(name) == layout.METADATA and os.path.isfile(name):
            name = os.path.dirname(name) or "."
        if layout.is_archive(name) and os.path.lexists(name) and not os.path.isdir(name):
            yield _archive(name, progress, limits)
        elif layout.is_collection(name) or _is_record(name):
            yield _Record(name, limits).verified(progress, limits)
        elif not os.path.lexists(name) and (found := _archived(name)) is not None:
            yield _archive(found.path, progress, limits)
            yield from _gone(found)
        elif layout.is_archive_folder(name):
            yield from (_archive(one, progress, limits) for one in _shelved(name))
        else:
            yield from _folder(name, progress, limits)


def _archived(name: str) -> "FoundArchive | None":
    """The archive of a record that is called so, and is not there any more."""
    from runcard.operations.archives import find_archive  # noqa: PLC0415 - it takes long to load

    try:
        return find_archive(name)
    except StoreError:
        return None


def _gone(found: "FoundArchive") -> Iterator[Verified]:
    """That a record was restored from its archive and is not where it was put, as far as the ledger of its store knows."""
    store = found.store()
    if store is None or os.path.lexists(os.path.join(store, found.name)):
        return
    archived = {_known_by(found.shelved)} if found.shelved else set()
    name = printable(found.name)
    known = partial(verify_ledgers, store, (), archived)
    result = _guarded(store, lambda: Verdict(tuple(one for one in known() if one.record == name)))
    if result.verdict.findings:
        yield replace(result, verdict=replace(result.verdict, records=0))


def _known_by(shelved: "Shelved") -> Record:
    return shelved.kind, shelved.name if shelved.kind == "session" else shelved.id


def _archive(path: str, progress: Progress | None, limits: Limits | None) -> Verified:
    from runcard.operations.archives import find_archive, look_into  # noqa: PLC0415 - as above

    return _guarded(path, lambda: look_into(find_archive(path), limits=limits, progress=progress)[1])


def _shelved(folder: str) -> list[str]:
    """The archives in a folder of them: those that its index knows, and the rest."""
    from runcard.store.archive.shelf import Shelf  # noqa: PLC0415 - as above

    known = [one.path for one in Shelf(folder)]
    return list(dict.fromkeys([*known, *(os.path.join(folder, file) for file in layout.archives_in(folder))]))


def _archives_of(store: str) -> list[tuple[Record, str]]:
    """The archives of a store, by what a ledger knows their records by; of one that is gone, the ledger knows why."""
    if not os.path.isdir(layout.archive_folder(store)):
        return []
    from runcard.store.archive.shelf import Shelf  # noqa: PLC0415 - as above

    has_ledger = any(True for _ in ledgers(store))
    return [
        (_known_by(one), one.path)
        for one in Shelf.of_store(store)
        if os.path.lexists(one.path) or not has_ledger
    ]


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
    def document(self) -> dict[str, Any]:
        path = os.path.join(self.path, layout.METADATA)
        if not layout.may_be_file(path):  # a link is not followed, and nobody waits for a FIFO
            return {}
        try:
            document = decode_json(read_file(path, self._limits.size), self._limits)
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
        path = self.path
        if layout.is_collection(path):
            return _guarded(path, partial(verify_collection, path))
        if self.kind == INSTANCE.name:
            problem = StoreError(f"{printable(path)} is an instance, which is a part of a session")
            return Verified(path, replace(unreadable(path, problem), records=0))
        if self.kind == TEAM.name:
            return _guarded(path, lambda: verify_session(path, progress=progress, limits=limits))
        result = _guarded(path, lambda: verify_run(path, progress=progress, limits=limits))
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


def _guarded(path: str, check: Callable[[], Verdict]) -> Verified:
    try:
        return Verified(path, check())
    except RuncardError as error:
        return Verified(path, unreadable(path, error))
    except OSError as error:
        return Verified(path, unreadable(path, failure(error, str(error.filename or path), "read")))


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
    archived: set[Record] = set()
    try:
        for record in (_Record(path, limits) for path in records):
            present.add(record.known_by())
            yield record.verified(progress, limits)
        for place in layout.open_collections(store):
            yield _Record(place).verified(progress, limits)
        for known, path in _archives_of(store):
            archived.add(known)
            yield _archive(path, progress, limits)
        found = tuple(verify_ledgers(store, present, archived))
    except RuncardError as error:
        found = unreadable(store, error).findings
    except OSError as error:
        found = unreadable(store, failure(error, str(error.filename or store), "read")).findings
    if found:
        yield Verified(store, Verdict(found, records=0))


def summary(results: list[Verified]) -> dict[str, Any]:
    """The verdict on everything as data."""
    return {
        "intact": all(result.verdict.intact for result in results),
        "complete": all(result.verdict.complete for result in results),
        "signed": None,
        "records": sum(result.verdict.records for result in results),
        "findings": [found.to_dict() for result in results for found in result.verdict.findings],
    }


def worst(results: list[Verified]) -> ExitCode:
    codes = {result.verdict.exit_code for result in results}
    return next((code for code in (ExitCode.FAILED, ExitCode.WARNINGS) if code in codes), ExitCode.OK)
