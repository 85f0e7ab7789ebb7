"""Checking documents: files, whole folders, standard input.

A file that is named must be a document. In a folder the documents are found by content: a run or a session is asked only
for its own documents, never for the JSON files in its workspaces and outputs; foreign files are passed over, damaged
documents are not.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from runcard.documents import reader
from runcard.documents.findings import Finding, Report, finding
from runcard.documents.kinds import GENERATION, INSTANCE, KINDS, TEAM, TESTPLAN
from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import json_name, unreadable
from runcard.operations.checks.load import STDIN, check_kind, is_yaml_name, read_document
from runcard.store import layout
from runcard.store.find_record import AmbiguousRecordError, open_record
from runcard.store.record import DirectoryRecord, Record

_FOREIGN = {"document.unknown-kind", "document.not-an-object"}
_SUFFIXES = (".json", ".yml", ".yaml")
_TELLING = re.compile(
    rb'(?:^|")(%s)"?\s*:' % b"|".join(k.encode() for kind in KINDS.values() for k in sorted(kind.sure)),
    re.MULTILINE,
)


class CheckedDocument(NamedTuple):
    """One document and everything that was found about it."""

    path: str
    report: Report

    def to_dict(self) -> JsonObject:
        report = self.report
        return {
            "path": json_name(self.path).text,
            "kind": report.kind,
            "version": report.version,
            "valid": report.valid,
            "errors": [finding.to_dict() for finding in report.errors],
            "warnings": [finding.to_dict() for finding in report.warnings],
        }


def validate(
    *paths: str | os.PathLike[str],
    kind: str | None = None,
    strict: bool = False,
    limits: Limits | None = None,
    root: str | os.PathLike[str] | None = None,
) -> Iterator[CheckedDocument]:
    """Check every document at these paths, one after the other; with `strict` a warning is an error.

    `root` is the project in which the targets of test plans are looked for. Without it they are looked for where the
    plan is, and one that is not found there is a warning.
    """
    check_kind(kind)
    project = None if root is None else os.fspath(root)
    results = _checked([os.fspath(path) for path in paths], _Check(kind, limits or Limits(), project))
    return (
        (CheckedDocument(checked.path, checked.report.strict()) for checked in results) if strict else results
    )


def validate_bytes(
    data: bytes, *, kind: str | None = None, strict: bool = False, limits: Limits | None = None
) -> CheckedDocument:
    """Check a document that is not in a file. What a plan says about files is not checked."""
    check_kind(kind)
    is_yaml = not data.lstrip().startswith(b"{")
    report = reader.parse_document(data, kind=kind, limits=limits, is_yaml=is_yaml).report
    return CheckedDocument(STDIN, report.strict() if strict else report)


def _checked(paths: list[str], check: "_Check") -> Iterator[CheckedDocument]:
    for path in paths:
        if path != STDIN and os.path.isdir(path):
            yield from check.folder(path)
            continue
        try:
            record = _named_record(path)
        except StoreError as error:
            yield CheckedDocument(path, Report((unread(error),), check.kind))
            continue
        if record is None:
            yield check.file(path)
        elif record.is_archived:
            yield from check.archived(record)
        else:
            yield from check.folder(record.path)


def _named_record(word: str) -> Record | None:
    """The record that a word names, if it is not the path of a file; None when there is none."""
    if word == STDIN or (os.path.lexists(word) and not layout.is_archive(word)):
        return None
    try:
        return open_record(word)
    except StoreError as error:
        if isinstance(error, AmbiguousRecordError) or os.path.lexists(word):
            raise
        return None


class ReadDocument(NamedTuple):
    """A document that was read, with the findings about it alone."""

    path: str
    data: bytes
    examined: reader.ParsedDocument


class _Check(NamedTuple):
    kind: str | None
    limits: Limits
    root: str | None = None

    def file(self, path: str) -> CheckedDocument:
        read = self.read(path)
        return (
            read
            if isinstance(read, CheckedDocument)
            else CheckedDocument(path, _as_of_now(path, read.examined))
        )

    def read(self, path: str) -> "ReadDocument | CheckedDocument":
        """Read a document; a report if it cannot be read."""
        return self._parse(path, lambda: read_document(path, self.limits))

    def _read_in(self, record: Record, name: str) -> "ReadDocument | CheckedDocument":
        """A document of a record."""
        return self._parse(
            os.path.join(record.path, name), lambda: record.read_limited(name, self.limits.size)
        )

    def _parse(self, path: str, load: Callable[[], bytes]) -> "ReadDocument | CheckedDocument":
        try:
            data = load()
        except RuncardError as error:
            return CheckedDocument(path, Report((unread(error),), self.kind))
        examined = reader.parse_document(
            data,
            kind=self.kind,
            limits=self.limits,
            is_yaml=is_yaml_name(path),
            check_files=lambda plan: self._target(path, plan),
        )
        return ReadDocument(path, data, examined)

    def _target(self, path: str, plan: JsonObject) -> Iterator[Finding]:
        """Findings about a plan's target in the project."""
        from runcard.plans.project import given_project, project_at  # noqa: PLC0415 - few documents are plans
        from runcard.plans.target_check import check_target  # noqa: PLC0415

        if self.root is not None:
            yield from check_target(plan, given_project(self.root).root, is_known=True)
            return
        folder = os.path.dirname(path) or "."
        project = project_at(folder)
        yield from check_target(plan, project.root if project else os.path.realpath(folder), is_known=False)

    def archived(self, record: Record) -> Iterator[CheckedDocument]:
        """The documents of an archived record."""
        read = self._read_in(record, layout.METADATA)
        if isinstance(read, CheckedDocument):
            yield read
        elif read.examined.report.kind == TEAM.name:
            yield from self._replace(kind=None)._session(record, read)  # noqa: SLF001 - its own
        else:
            yield CheckedDocument(read.path, read.examined.report)

    def folder(self, root: str) -> Iterator[CheckedDocument]:
        """Documents in a folder are found by content, also when a kind is named; then they are checked as that kind."""
        count = 0
        for checked in self._replace(kind=None).below(root):
            count += 1
            is_other = self.kind is not None and checked.report.kind not in {None, self.kind}
            yield self.file(checked.path) if is_other else checked
        if not count:
            nothing = finding(
                "file.nothing-found",
                "",
                "the folder holds no document",
                hint=f"documents are of these kinds: {', '.join(sorted(KINDS))}; name a file to see its errors",
            )
            yield CheckedDocument(root, Report((nothing,)))

    def below(self, root: str) -> Iterator[CheckedDocument]:
        folders = [root]
        while folders:
            folder = folders.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
            except OSError as error:
                yield _unread_folder(error, folder)
                continue
            own = list(self._record(folder))
            if own:
                yield from own
                continue
            for entry in entries:
                if entry.name.endswith(_SUFFIXES) and entry.is_file(follow_symlinks=False):
                    yield from self._candidate(entry.path)
            inner = [e.path for e in entries if e.is_dir(follow_symlinks=False) and e.name[0] != "."]
            folders += reversed(inner)

    def _record(self, folder: str) -> Iterator[CheckedDocument]:
        """The own documents of a folder that is a run, a session or an instance; nothing for any other folder."""
        path = os.path.join(folder, layout.METADATA)
        if not os.path.isfile(path) or os.path.islink(path):
            if layout.has_lost_its_document(folder):
                yield from self._session(
                    DirectoryRecord(folder), CheckedDocument(path, Report((_missing_document(path),)))
                )
            return
        read = self.read(path)
        checked = (
            read
            if isinstance(read, CheckedDocument)
            else CheckedDocument(path, _as_of_now(path, read.examined))
        )
        kind = checked.report.kind
        damaged = kind is None and not _rules(checked) & _FOREIGN and layout.is_record(folder)
        if damaged or kind == TEAM.name:
            yield from self._session(DirectoryRecord(folder), read)
        elif kind in {GENERATION.name, INSTANCE.name}:
            yield checked

    def _session(self, record: Record, team: "ReadDocument | CheckedDocument") -> Iterator[CheckedDocument]:
        """All documents of a session, each with what does not agree with the others and with the files."""
        from runcard.operations.checks.session_documents import SessionDocuments  # noqa: PLC0415 - few folders are sessions

        try:
            names = record.document_names()
        except (OSError, RuncardError) as error:
            yield (
                team
                if isinstance(team, CheckedDocument)
                else CheckedDocument(team.path, team.examined.report)
            )
            if isinstance(error, OSError):
                yield _unread_folder(error, str(error.filename))
            else:
                yield CheckedDocument(record.path, Report((unread(error),)))
            return
        session = SessionDocuments(record, team, names)
        yield session.team()
        for name in names:
            read = self._read_in(record, name)
            yield read if isinstance(read, CheckedDocument) else session.other(read, name)

    def _candidate(self, path: str) -> Iterator[CheckedDocument]:
        checked = self.file(path)
        kind = checked.report.kind
        is_document = kind == TESTPLAN.name if is_yaml_name(path) else kind is not None
        if is_document or (kind is None and self._is_damaged(path, checked)):
            yield checked

    def _is_damaged(self, path: str, checked: CheckedDocument) -> bool:
        """Whether a file that could not be read as a document is one nevertheless, or may be."""
        rules = _rules(checked)
        if rules & _FOREIGN:
            return False
        if "file.unreadable" in rules:
            return True
        if os.path.basename(path) in {layout.METADATA, layout.MANIFEST}:
            return True
        try:
            return bool(_TELLING.search(read_document(path, Limits(size=65_536))))
        except RuncardError:
            return False


def _as_of_now(path: str, examined: reader.ParsedDocument) -> Report:
    """The report, with the current state of a run whose document says that it is running."""
    report, document = examined.report, examined.data
    is_open = any(finding.rule == "status.running" for finding in report.findings)
    if (
        not is_open
        or document is None
        or (report.kind, os.path.basename(path)) != (GENERATION.name, layout.METADATA)
    ):
        return report
    from runcard.operations.checks.show import state_now  # noqa: PLC0415 - few documents are those of open runs

    status, remark = state_now(os.path.dirname(path) or ".", document)
    if remark is None:
        return report
    word = "is interrupted" if status == "interrupted" else "is not closed"
    findings = tuple(
        finding._replace(message=f"the run {word}: {remark}") if finding.rule == "status.running" else finding
        for finding in report.findings
    )
    return report._replace(findings=findings)


def _missing_document(path: str) -> Finding:
    """The finding for a record without its document."""
    hint = "put the document of the record back"
    if os.path.lexists(path):
        return finding("file.unreadable", "", "it is not a regular file", hint=hint)
    return finding("file.missing", "", "it does not exist, and the folder is a record", hint=hint)


def _rules(checked: CheckedDocument) -> set[str]:
    return {finding.rule for finding in checked.report.findings}


def unread(error: RuncardError) -> Finding:
    """The finding for a file that could not be read; its file is named when it is printed."""
    match error.__cause__:
        case FileNotFoundError():
            return finding("file.missing", "", "it does not exist", hint=error.hint)
        case OSError(errno=int(number)):
            message = f"it cannot be read: {os.strerror(number)}"
            return finding("file.unreadable", "", message, hint=error.hint)
    return finding("file.unreadable", "", error.message, hint=error.full_hint)


def _unread_folder(error: OSError, folder: str) -> CheckedDocument:
    problem = unreadable(error, folder)
    problem.__cause__ = error
    return CheckedDocument(folder, Report((unread(problem),)))


def summary(results: Iterable[CheckedDocument]) -> JsonObject:
    """The report of many documents as data."""
    documents = [checked.to_dict() for checked in results]
    return {"valid": bool(documents) and all(d["valid"] for d in documents), "documents": documents}
