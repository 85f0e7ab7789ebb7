"""Verifying records: one run or session, many, or a whole store."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from runcard.documents.kinds import GENERATION, INSTANCE, TEAM, detect
from runcard.encoding import Limits, decode_json
from runcard.errors import EncodingError, ExitCode, RuncardError, StoreError
from runcard.files import failure, printable
from runcard.operations.show import state_now
from runcard.store import layout
from runcard.store.ledger import entries, ledgers
from runcard.store.verification import (
    INTACT,
    Discrepancy,
    Record,
    Verdict,
    unreadable,
    verify_collection,
    verify_ledgers,
    verify_run,
    verify_session,
)

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

    A path is a run or a session, its metadata document, its archive, or a folder of them; one that is none of these is a
    finding as well. `progress` is called with the files and bytes so far of the record that is being looked at.
    """
    for path in paths:
        name = os.fspath(path)
        if os.path.basename(name) == layout.METADATA and os.path.isfile(name):
            name = os.path.dirname(name) or "."
        if layout.is_archive(name) and os.path.lexists(name):
            yield _archive(name, progress, limits)
        elif layout.is_collection(name) or _is_record(name):
            yield _Record(name).verified(progress, limits)
        elif not os.path.lexists(name) and (found := _archived(name)) is not None:
            yield _archive(found, progress, limits)
        else:
            yield from _store(name, progress, limits)


def _archived(name: str) -> str | None:
    """The archive of a record that is called so, and is not there any more."""
    from runcard.operations.archives import find_archive  # noqa: PLC0415 - it takes long to load

    try:
        return find_archive(name).path
    except StoreError:
        return None


def _archive(path: str, progress: Progress | None, limits: Limits | None) -> Verified:
    from runcard.operations.archives import find_archive, look_into  # noqa: PLC0415 - as above

    return _guarded(path, lambda: look_into(find_archive(path), limits=limits, progress=progress)[1])


def _archives_of(store: str) -> list[tuple[Record, str]]:
    """The archives of a store, by what a ledger knows their records by; of one that is gone, the ledger knows why."""
    if not os.path.isdir(layout.archive_folder(store)):
        return []
    from runcard.store.archive.shelf import Shelf  # noqa: PLC0415 - as above

    has_ledger = any(True for _ in ledgers(store))
    return [
        ((one.kind, one.name if one.kind == "session" else one.id), one.path)
        for one in Shelf(layout.archive_folder(store))
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

    def __init__(self, path: str) -> None:
        self.path = path

    @cached_property
    def document(self) -> dict[str, Any]:
        try:
            with open(os.path.join(self.path, layout.METADATA), "rb") as file:
                document = decode_json(file.read())
        except (OSError, EncodingError):
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
        """What a ledger knows it by."""
        return (
            ("session", os.path.basename(self.path)) if self.kind == TEAM.name else ("run", self.run_id or "")
        )

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


def _store(store: str, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
    present: set[Record] = set()
    archived: set[Record] = set()
    try:
        for record in map(_Record, _records_of(store)):
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


def _records_of(store: str) -> list[str]:
    if not os.path.isdir(store):
        what = "is no record" if os.path.lexists(store) else "does not exist"
        raise StoreError(f"{printable(store)} {what}")
    try:
        folders = [entry.path for entry in os.scandir(store) if entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        raise failure(error, store, "read the directory") from error
    own = {layout.own_folder(store), layout.collections(store)}
    records = [path for path in folders if path not in own and _is_record(path)]
    if not records and not any(map(os.path.isdir, (*own, layout.archive_folder(store)))):
        raise StoreError(f"{printable(store)} holds no records")
    return sorted(records)


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
