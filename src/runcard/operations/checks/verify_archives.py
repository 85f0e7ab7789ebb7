"""Verifying the archives of a store: every one that lies there, and every one that the index or the ledger names.

The index is checked against both, and never believed: an archive is read whatever the index says about it. The paths in
ledgers and indexes are a stranger's. One that leads out of the store, or through a link, is not opened.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from runcard.documents.kinds import GENERATION, TEAM, detect
from runcard.encoding import JsonObject, Limits, decode_json
from runcard.errors import EncodingError, ExitCode, RuncardError, StoreError
from runcard.files import check_relative, printable
from runcard.operations.archives.find import FoundArchive, find_archive, look_into
from runcard.operations.checks.verify_result import Verified, guarded
from runcard.store import layout
from runcard.store.archives.index import Shelf, Shelved, entry
from runcard.store.archives.scan import Contents
from runcard.store.ledger import ARCHIVED, LedgerEntry
from runcard.store.verification import INTACT, Discrepancy, Record, Verdict, known_by, said

Progress = Callable[[int, int], object]

_NAMES = {"session": "team_session_id", "run": "run_id"}


@dataclass(frozen=True, slots=True)
class _ArchiveInStore(FoundArchive):
    """An archive whose store is known by where it lies, whatever the index says."""

    within: str | None = None

    def store(self, digest: str | None = None) -> str | None:  # noqa: ARG002 - it is known without reading
        return self.within


class _Filed(NamedTuple):
    """An archive as the ledger knows it."""

    record: Record
    sha256: str | None
    is_there: bool  # whether it should be there; not so when it was deleted on purpose


class Archives:
    """A folder of archives, and what else the ledger of its store knows as archived."""

    def __init__(
        self,
        folder: str,
        store: str | None,
        history: Sequence[LedgerEntry],
        present: Collection[Record],
        *,
        is_alone: bool = False,
    ) -> None:
        self.folder = folder
        self.store = store
        self._history = history  # of the store, by its ledgers
        self._is_alone = is_alone  # whether only this folder is looked at, and not the rest of the store
        self._present = present  # records that lie in the store as directories
        self._is_damaged = False  # the index
        self.records: set[Record] = set()  # that have an archive which could be read
        self.found: list[Discrepancy] = []  # about the folder, its index and the ledger

    def verified(self, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
        """The verdict on each archive; what there is to say about the folder stands in `found` afterwards."""
        for path in sorted({*self._lying_here(), *self._indexed, *self._filed}):
            if not os.path.lexists(path):
                self.found += self._gone(path)
            elif not self._is_plain(path):
                self.found.append(self._said("link", path, "this is no regular file, or lies behind a link"))
            else:
                yield self._archive(path, progress, limits)
        if not self._has_index and any(self._is_filed(path) for path in self._filed):
            self.found.append(said("missing", self._name(self._index), "", "the index of archives is gone"))

    @cached_property
    def _index(self) -> str:
        return os.path.join(self.folder, layout.ARCHIVE_INDEX)

    @cached_property
    def _has_index(self) -> bool:
        return os.path.lexists(self._index)

    @cached_property
    def _indexed(self) -> dict[str, Shelved]:
        """What the index says, by path; nothing when it cannot be read."""
        if not self._has_index:
            return {}
        try:
            return {os.path.join(self.folder, one.fields["archive_file"]): one for one in Shelf(self.folder)}
        except RuncardError as error:
            self._is_damaged = True
            self.found.append(said("document", self._name(self._index), "", error.message))
            return {}

    @cached_property
    def _filed(self) -> dict[str, _Filed]:
        """What the ledger says of archives inside the store, by path."""
        latest: dict[str, _Filed] = {}
        for one in self._history:
            path = self._path(one.archive)
            if path is not None:
                before = latest.get(path)
                digest = one.archive_sha256 or (before.sha256 if before else None)
                latest[path] = _Filed(known_by(one), digest, one.event == ARCHIVED)
        return latest

    def _path(self, archive: str | None) -> str | None:
        """Where an archive lies that the ledger names; None where nobody looks."""
        if archive is None or self.store is None or check_relative(archive) is not None:
            return None
        top, _, rest = archive.partition("/")
        if top == layout.ARCHIVE and rest:
            return os.path.join(self.folder, rest)
        return None if self._is_alone else os.path.join(self.store, archive)

    def _is_filed(self, path: str) -> bool:
        filed = self._filed.get(path)
        return filed is not None and filed.is_there and self._is_here(path)

    def _is_here(self, path: str) -> bool:
        """Whether an archive lies in this folder, whose index should have it."""
        return path.startswith(os.path.join(self.folder, ""))

    def _lying_here(self) -> Iterator[str]:
        """Every archive in the folder and in the folders directly in it."""
        inner = [entry.path for entry in _listed(self.folder) if entry.is_dir(follow_symlinks=False)]
        for folder in (self.folder, *inner):
            for one in _listed(folder):
                if layout.is_archive(one.name) and not one.name.startswith("."):
                    yield one.path

    def _is_plain(self, path: str) -> bool:
        """Whether a regular file lies there, reached through no link."""
        top = self.store if self.store is not None else self.folder
        above = os.path.dirname(path)
        while len(above) > len(top):
            if os.path.islink(above):
                return False
            above = os.path.dirname(above)
        return layout.may_be_file(path)

    def _gone(self, path: str) -> Iterator[Discrepancy]:
        """The index names an archive that is not there; what the ledger misses is told with the ledger."""
        filed = self._filed.get(path)
        is_told = filed is not None and (not filed.is_there or filed.record not in self._present)
        if path in self._indexed and not is_told:
            yield self._said("missing", path, "the index has this archive, and it is not there")

    def _archive(self, path: str, progress: Progress | None, limits: Limits | None) -> Verified:
        shelved = self._indexed.get(path)
        found = _ArchiveInStore(path, shelved, within=self.store)

        def check() -> Verdict:
            contents, verdict = look_into(found, limits=limits, progress=progress)
            more = [*index_findings(contents, shelved), *self._placed(path, contents)]
            return replace(verdict, findings=(*verdict.findings, *more))

        return guarded(path, check, self.store)

    def _placed(self, path: str, contents: Contents) -> Iterator[Discrepancy]:
        """Whether the index and the ledger know an archive that was read, as it is."""
        record = _identity(contents)
        self.records.add(record)
        is_unfinished = record in self._present  # archiving it again finishes the work
        filed = self._filed.get(path)
        if filed is not None and filed.sha256 is not None and filed.sha256 != contents.sha256:
            message = "the ledger knows this archive with another digest"
            yield self._ledger(path, message, filed.sha256, contents.sha256, is_warning=is_unfinished)
        if path in self._indexed or self._is_damaged or not self._is_here(path):
            return
        if filed is not None and filed.is_there:
            if self._has_index:
                name = os.path.relpath(path, self.folder)
                message = f"the index lacks the archive {printable(name)}, which the ledger has"
                yield self._said("document", self._index, message)
        elif is_unfinished:
            message = (
                "neither the index nor the ledger has this archive: archive the record again to finish it"
            )
            yield self._ledger(path, message, is_warning=True)
        elif self._has_index or self._filed:
            yield self._said("unexpected", path, "neither the index nor the ledger has this archive")

    def beyond(self) -> Iterator[Discrepancy]:
        """The archives that the ledger has outside of the store: nobody opens them because a ledger says so."""
        latest = {known_by(one): one for one in self._history}
        for one in latest.values():
            if one.event == ARCHIVED and one.archive is not None and check_relative(one.archive) is not None:
                message = f"its archive {printable(one.archive)} lies outside of the store, and was not read: name it"
                yield said("limits", printable(one.path), "", message)

    def _ledger(
        self,
        path: str,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        *,
        is_warning: bool,
    ) -> Discrepancy:
        code = ExitCode.WARNINGS if is_warning else ExitCode.FAILED
        breaks = None if is_warning else INTACT
        return Discrepancy("ledger", self._name(path), "", message, expected, found, breaks, code)

    def _said(self, kind: str, path: str, message: str) -> Discrepancy:
        return said(kind, self._name(path), "", message)

    def _name(self, path: str) -> str:
        return printable(os.path.relpath(path, self.store or self.folder))


def verify_archive(path: str, progress: Progress | None, limits: Limits | None) -> Verified:
    """The verdict on an archive that somebody named."""
    damaged: list[Discrepancy] = []
    try:
        found = find_archive(path)
    except StoreError as error:
        found = FoundArchive(path, None)
        name = printable(layout.archived_name(path))
        damaged.append(said("document", name, layout.ARCHIVE_INDEX, error.message))

    def check() -> Verdict:
        contents, verdict = look_into(found, limits=limits, progress=progress)
        more = [*damaged, *index_findings(contents, found.shelved)]
        return replace(verdict, findings=(*verdict.findings, *more))

    return guarded(path, check, _store_of(found))


def _store_of(found: FoundArchive) -> str | None:
    """The store whose ledger is believed; None where a link is in the way, which `check` reports."""
    try:
        return found.store()
    except RuncardError:
        return None


def index_findings(contents: Contents, shelved: Shelved | None) -> Iterator[Discrepancy]:
    """What the index says of an archive, and the archive does not."""
    document = _document(contents)
    if shelved is None or not document:
        return
    try:
        expected = entry(shelved.kind, contents, document, {})
    except (KeyError, TypeError, AttributeError):
        return  # no document of ours, which the verdict on the archive tells
    digest = shelved.fields.get("sha256")
    if digest not in {None, contents.sha256}:
        return  # another archive than the index speaks of, which the verdict tells
    # Other programs write no digests, and what they say beside the id is their own.
    names = expected if digest is not None else [*_NAMES.values(), "run", "session"]
    for name in names:
        value = expected.get(name)
        stated = shelved.fields.get(name, value)
        if stated != value:
            facts = {"expected": str(value), "found": printable(str(stated))}
            message = f"{name} is not that of the archive"
            yield said("document", printable(contents.name), layout.ARCHIVE_INDEX, message, **facts)


def _identity(contents: Contents) -> Record:
    """What a ledger knows an archived record by."""
    document = _document(contents)
    if detect(document) is TEAM:
        return "session", contents.name
    generation = document.get("generation") if detect(document) is GENERATION else None
    run_id = generation.get("run_id") if isinstance(generation, dict) else None
    return "run", run_id if isinstance(run_id, str) else ""


def _document(contents: Contents) -> JsonObject:
    try:
        document = decode_json(contents.read(layout.METADATA) or b"")
    except EncodingError:
        return {}
    return document if isinstance(document, dict) else {}


def _listed(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as scan:
            return list(scan)
    except (FileNotFoundError, NotADirectoryError):
        return []
