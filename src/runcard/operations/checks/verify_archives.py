"""Verifying the archives of a store: all that are there, and all that the index or the ledger names.

The index is checked against both, and never believed: an archive is read whatever the index says about it. The paths in
ledgers and indexes can be hostile. One that leads out of the store, or through a link, is not opened.
"""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.findings import INTACT, Finding, ledger_finding, record_finding
from runcard.documents.kinds import GENERATION, TEAM, detect
from runcard.encoding import Limits
from runcard.errors import DocumentError, RuncardError, StoreError
from runcard.files import FileKind, check_relative, printable
from runcard.operations.checks.verify_result import Verified, guarded
from runcard.store import layout
from runcard.store.amendments.read import REDACTION, FileChange
from runcard.store.archives.bundles.manifest import MANIFEST, bundled_proof
from runcard.store.archives.index import ArchiveEntry, ArchiveFolder, index_fields
from runcard.store.archives.record import ArchivedRecord
from runcard.store.ledger import ARCHIVED, LedgerEntry, LedgerKey
from runcard.store.ledger_index import RecordKeys
from runcard.store.record import RUN, SESSION, DirectoryRecord, Progress
from runcard.store.verification import Verdict, verify_record

if TYPE_CHECKING:
    from runcard.parallel.shard import ItemPlace

_NAMES = {"session": "team_session_id", "run": "run_id"}


class _LedgerArchive(NamedTuple):
    """An archive according to the ledger."""

    record: LedgerKey
    sha256: str | None
    is_there: bool  # whether it should be there; not so when it was deleted on purpose


class StoreArchive(NamedTuple):
    """An archive of a store, with its entry in the index."""

    path: str
    entry: ArchiveEntry | None
    store: str | None


class ArchiveIdentity(NamedTuple):
    """Which archive was read: its record according to its document, and its digest."""

    key: LedgerKey
    sha256: str | None


class CheckedArchive(NamedTuple):
    """The verdict on an archive, and what the check of its folder needs to know about it."""

    result: Verified
    identity: ArchiveIdentity | None  # None: it could not be read


class ArchivesCheck:
    """The check of a folder of archives, and of the other archives that the ledger of its store has."""

    def __init__(
        self,
        folder: str,
        store: str | None,
        history: Sequence[LedgerEntry],
        present: RecordKeys,
        *,
        is_alone: bool = False,
    ) -> None:
        self.folder = folder
        self.store = store
        self._history = history  # of the store, by its ledgers
        self._is_alone = is_alone  # whether only this folder is looked at, and not the rest of the store
        self._present = present  # records that are in the store as directories
        self._is_damaged = False  # the index
        self.records: set[LedgerKey] = set()  # that have an archive which could be read
        self.findings: list[Finding] = []  # about the folder, its index and the ledger

    def verified(self, progress: Progress | None, limits: Limits | None) -> Iterator[Verified]:
        """The verdict on each archive; afterwards, `findings` has those about the folder."""
        paths = list(
            filter(self._is_readable, sorted({*self._archive_paths(), *self._indexed, *self._in_ledger}))
        )
        archives = [StoreArchive(path, self._indexed.get(path), self.store) for path in paths]
        for path, checked in zip(paths, verify_archives(archives, progress, limits), strict=True):
            yield self._located(path, checked)
        if not self._has_index and any(self._is_expected(path) for path in self._in_ledger):
            self.findings.append(
                record_finding("missing", self._name(self._index), "", "the index of archives is missing")
            )

    @cached_property
    def _index(self) -> str:
        return os.path.join(self.folder, layout.ARCHIVE_INDEX)

    @cached_property
    def _has_index(self) -> bool:
        return os.path.lexists(self._index)

    @cached_property
    def _indexed(self) -> dict[str, ArchiveEntry]:
        """The entries of the index, by path; none if it cannot be read."""
        if not self._has_index:
            return {}
        try:
            return {
                os.path.join(self.folder, entry.fields["archive_file"]): entry
                for entry in ArchiveFolder(self.folder)
            }
        except RuncardError as error:
            self._is_damaged = True
            self.findings.append(record_finding("document", self._name(self._index), "", error.message))
            return {}

    @cached_property
    def _in_ledger(self) -> dict[str, _LedgerArchive]:
        """The archives inside the store that the ledger has, by path."""
        latest: dict[str, _LedgerArchive] = {}
        for entry in self._history:
            path = self._path(entry.archive)
            if path is not None:
                before = latest.get(path)
                digest = entry.archive_sha256 or (before.sha256 if before else None)
                latest[path] = _LedgerArchive(entry.key, digest, entry.event == ARCHIVED)
        return latest

    def _path(self, archive: str | None) -> str | None:
        """The path of an archive that the ledger names; None if it is not to be read."""
        if archive is None or self.store is None or check_relative(archive) is not None:
            return None
        top, _, rest = archive.partition("/")
        if top == layout.ARCHIVE and rest:
            return os.path.join(self.folder, rest)
        return None if self._is_alone else os.path.join(self.store, archive)

    def _is_expected(self, path: str) -> bool:
        archive = self._in_ledger.get(path)
        return archive is not None and archive.is_there and self._is_here(path)

    def _is_here(self, path: str) -> bool:
        """Whether an archive is in this folder, whose index should have it."""
        return path.startswith(os.path.join(self.folder, ""))

    def _archive_paths(self) -> Iterator[str]:
        """Every archive in the folder and in the folders directly in it."""
        inner = [
            entry.path for entry in _directory_entries(self.folder) if entry.is_dir(follow_symlinks=False)
        ]
        for folder in (self.folder, *inner):
            for entry in _directory_entries(folder):
                if layout.is_archive(entry.name) and not entry.name.startswith("."):
                    yield entry.path

    def _is_plain(self, path: str) -> bool:
        """Whether this is a regular file, reached through no link."""
        top = self.store if self.store is not None else self.folder
        above = os.path.dirname(path)
        while len(above) > len(top):
            if os.path.islink(above):
                return False
            above = os.path.dirname(above)
        return layout.may_be_file(path)

    def _missing(self, path: str) -> Iterator[Finding]:
        """The index names an archive that is missing; archives that the ledger has are reported with the ledger."""
        archive = self._in_ledger.get(path)
        is_reported = archive is not None and (not archive.is_there or archive.record not in self._present)
        if path in self._indexed and not is_reported:
            yield self._finding("missing", path, "the index has this archive, and it is not there")

    def _is_readable(self, path: str) -> bool:
        """Whether there is an archive to read; what else may be there is noted in `findings`."""
        if not os.path.lexists(path):
            self.findings += self._missing(path)
            return False
        if not self._is_plain(path):
            self.findings.append(self._finding("link", path, "not a regular file, or behind a symbolic link"))
            return False
        return True

    def _located(self, path: str, checked: "CheckedArchive") -> Verified:
        """A result with whether the index and the ledger know the archive."""
        if checked.identity is None:
            if (archive := self._in_ledger.get(path)) is not None:
                self.records.add(archive.record)  # it is damaged, which is said of the archive
            return checked.result
        verdict = checked.result.verdict
        more = self._location_findings(path, checked.identity)
        return checked.result._replace(verdict=verdict._replace(findings=(*verdict.findings, *more)))

    def _location_findings(self, path: str, archive: "ArchiveIdentity") -> Iterator[Finding]:
        """Whether the index and the ledger know an archive that was read, as it is."""
        entry = self._in_ledger.get(path)
        record = archive.key
        if not record.name and entry is not None:
            record = entry.record  # its document is lost, which is said of the archive
        self.records.add(record)
        is_unfinished = record in self._present  # archiving it again finishes the work
        if entry is not None and entry.sha256 is not None and entry.sha256 != archive.sha256:
            message = "the ledger knows this archive with another digest"
            yield self._ledger(path, message, entry.sha256, archive.sha256, is_warning=is_unfinished)
        if path in self._indexed or self._is_damaged or not self._is_here(path):
            return
        if entry is not None and entry.is_there:
            if self._has_index:
                name = os.path.relpath(path, self.folder)
                message = f"the index lacks the archive {printable(name)}, which the ledger has"
                yield self._finding("document", self._index, message)
        elif is_unfinished:
            message = (
                "neither the index nor the ledger has this archive: archive the record again to finish it"
            )
            yield self._ledger(path, message, is_warning=True)
        elif self._has_index or self._in_ledger:
            yield self._finding("unexpected", path, "neither the index nor the ledger has this archive")

    def outside_archives(self) -> Iterator[Finding]:
        """The archives that the ledger has outside of the store: they are not opened because a ledger says so."""
        latest = {entry.key: entry for entry in self._history}
        for entry in latest.values():
            if (
                entry.event == ARCHIVED
                and entry.archive is not None
                and check_relative(entry.archive) is not None
            ):
                message = f"its archive {printable(entry.archive)} is outside of the store, and was not read: name it to verify it"
                yield record_finding("limits", printable(entry.path), "", message)

    def _ledger(
        self,
        path: str,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        *,
        is_warning: bool,
    ) -> Finding:
        breaks = None if is_warning else INTACT
        return ledger_finding(self._name(path), "", message, breaks=breaks, expected=expected, found=found)

    def _finding(self, kind: str, path: str, message: str) -> Finding:
        return record_finding(kind, self._name(path), "", message)

    def _name(self, path: str) -> str:
        return printable(os.path.relpath(path, self.store or self.folder))


def verify_archives(
    archives: Sequence[StoreArchive], progress: Progress | None, limits: Limits | None
) -> Iterator[CheckedArchive]:
    """The verdicts on archives of a store, in their order: on all cores, or on a cluster."""
    from runcard.parallel.forks import work_in_order  # noqa: PLC0415 - it loads pickle

    return work_in_order(archives, partial(_check_archive, limits=limits), progress, place=_place)


def verify_named_archives(
    paths: Sequence[str], progress: Progress | None, limits: Limits | None
) -> Iterator[Verified]:
    """The verdicts on archives that were named, in their order: on all cores, or on a cluster."""
    if len(paths) == 1:
        return (verify_archive(path, progress, limits) for path in paths)
    from runcard.parallel.forks import work_in_order  # noqa: PLC0415 - it loads pickle

    return work_in_order(paths, partial(verify_archive, limits=limits), progress, place=_place_of_file)


def _place(archive: StoreArchive) -> "ItemPlace":
    return _place_of_file(archive.path)


def _place_of_file(path: str) -> "ItemPlace":
    from runcard.parallel.shard import ItemPlace  # noqa: PLC0415 - only with a cluster

    try:
        return ItemPlace(path, os.stat(path).st_size)
    except OSError:
        return ItemPlace(path, 0)


def _check_archive(archive: StoreArchive, progress: Progress | None, limits: Limits | None) -> CheckedArchive:
    """The verdict on an archive; what the ledger and the index of its store say is for the caller to compare."""
    record = ArchivedRecord(archive.path, archive.entry).in_store(archive.store)
    identity: ArchiveIdentity | None = None

    def check() -> Verdict:
        nonlocal identity
        if record.scan(progress).kind(MANIFEST) is FileKind.FILE:
            return _verify_bundle(archive.path, progress, limits)
        verdict = verify_record(record, limits=limits, progress=progress)
        more = (*index_findings(record), *stale_findings(record))
        verdict = verdict._replace(findings=(*verdict.findings, *more))
        identity = ArchiveIdentity(_ledger_key(record), record.scan().sha256)
        return verdict

    store = archive.store and os.path.abspath(archive.store)
    return CheckedArchive(guarded(archive.path, check, store), identity)


def verify_archive(path: str, progress: Progress | None, limits: Limits | None) -> Verified:
    """The verdict on an archive that was named."""
    damaged: list[Finding] = []
    try:
        record = ArchivedRecord.at(path) or ArchivedRecord(path)
    except StoreError as error:
        record = ArchivedRecord(path)
        name = printable(layout.archived_name(path))
        damaged.append(record_finding("document", name, layout.ARCHIVE_INDEX, error.message))

    def check() -> Verdict:
        if record.scan(progress).kind(MANIFEST) is FileKind.FILE:
            return _verify_bundle(path, progress, limits)
        verdict = verify_record(record, limits=limits, progress=progress)
        more = [*damaged, *index_findings(record), *stale_findings(record)]
        return verdict._replace(findings=(*verdict.findings, *more))

    return guarded(path, check, _trusted_store(record))


def _verify_bundle(path: str, progress: Progress | None, limits: Limits | None) -> Verdict:
    """The verdict on the run in a bundle; a bundle that must not be opened is a finding."""
    from runcard.documents.reader import load_document  # noqa: PLC0415 - few archives are bundles
    from runcard.store.archives.bundles.check import read_bundle  # noqa: PLC0415 - few archives are bundles
    from runcard.store.archives.bundles.named_files import manifest_problems  # noqa: PLC0415
    from runcard.store.archives.bundles.result import MAX_FILES, MAX_SIZE  # noqa: PLC0415

    name = printable(os.path.basename(path))
    try:
        contents, manifest = read_bundle(path, max_size=MAX_SIZE, max_files=MAX_FILES)
    except DocumentError as error:
        return Verdict((record_finding("document", name, MANIFEST, error.message),))
    run = ArchivedRecord(path, kind=RUN, contents=contents.below(manifest["run"])).in_store(None)
    verdict = verify_record(run, limits=limits, progress=progress)
    if (proof := contents.read(bundled_proof(manifest["run"]))) is not None:
        from runcard.operations.signatures.anchor_proof import apply_proof_data  # noqa: PLC0415 - few bundles have one

        verdict = apply_proof_data(verdict, proof, bundled_proof(manifest["run"]))
    metadata = run.read(layout.METADATA) or b""
    try:
        problems = list(manifest_problems(manifest, metadata, load_document(metadata).to_dict()))
    except RuncardError:
        return verdict  # which reports the document
    more = (record_finding("document", name, MANIFEST, problem) for problem in problems)
    return verdict._replace(findings=(*verdict.findings, *more))


def _trusted_store(record: ArchivedRecord) -> str | None:
    """The store whose ledger is trusted; None where a link is in the way, which `check` reports."""
    try:
        return record.store
    except RuncardError:
        return None


def index_findings(record: ArchivedRecord) -> Iterator[Finding]:
    """Where the index does not agree with the archive."""
    entry, contents, document = record.entry, record.scan(), record.raw_document
    if entry is None or not document:
        return
    try:
        expected = index_fields(entry.kind, contents, document, {})
    except (KeyError, TypeError, AttributeError):
        return  # not one of our documents, which the verdict on the archive reports
    digest = entry.fields.get("sha256")
    if digest not in {None, contents.sha256}:
        return  # the index is about another archive, which the verdict reports
    # Other programs write no digests, and only the id that they state is compared.
    names = expected if digest is not None else [*_NAMES.values(), "run", "session"]
    for name in names:
        value = expected.get(name)
        stated = entry.fields.get(name, value)
        if stated != value:
            facts = {"expected": str(value), "found": printable(str(stated))}
            message = f"{name} is not that of the archive"
            yield record_finding("document", printable(record.name), layout.ARCHIVE_INDEX, message, **facts)


def stale_findings(record: ArchivedRecord) -> Iterator[Finding]:
    """What was removed from the directory of a record that was restored, and is still in its archive."""
    directory = os.path.join(record.store or "", record.name)
    if record.store is None or not layout.may_be_file(os.path.join(directory, layout.AMENDMENTS)):
        return
    try:
        restored = DirectoryRecord(directory)
        if restored.ledger_key != _ledger_key(record):
            return
        later = restored.amendments().entries[len(record.amendments().entries) :]
    except RuncardError:  # reported with the record
        return
    for change in later:
        if isinstance(change, FileChange) and change.kind == REDACTION:
            why = printable(change.by("withheld"))
            message = (
                f"this archive still has it; in the restored record it was {why}: archive the record again"
            )
            yield record_finding("withheld", printable(record.name), printable(change.path), message)


def _ledger_key(record: ArchivedRecord) -> LedgerKey:
    """The key of an archived record in a ledger, according to its document."""
    document = record.raw_document
    if detect(document) is TEAM:
        return LedgerKey(SESSION, record.name)
    generation = document.get("generation") if detect(document) is GENERATION else None
    run_id = generation.get("run_id") if isinstance(generation, dict) else None
    return LedgerKey(RUN, run_id if isinstance(run_id, str) else "")


def _directory_entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as scan:
            return list(scan)
    except (FileNotFoundError, NotADirectoryError):
        return []
