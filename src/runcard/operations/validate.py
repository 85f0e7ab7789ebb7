"""Checking documents: files, whole folders, standard input.

A file that is named must be a document. In a folder the documents are found by content: a run or a session is asked only
for its own documents, never for the JSON files in its workspaces and outputs; foreign files are passed over, damaged
documents are not.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from runcard.documents import codec
from runcard.documents.findings import Finding, Report, finding
from runcard.documents.kinds import GENERATION, INSTANCE, KINDS, TEAM
from runcard.encoding import Limits
from runcard.errors import RuncardError, UsageError
from runcard.files import failure, printable
from runcard.operations.load import STDIN, read_document
from runcard.store import layout

_FOREIGN = {"document.unknown-kind", "document.not-an-object"}
_TELLING = re.compile(
    rb'"(%s)"\s*:' % b"|".join(k.encode() for kind in KINDS.values() for k in sorted(kind.sure))
)


@dataclass(frozen=True, slots=True)
class Checked:
    """One document and everything that was found about it."""

    path: str
    report: Report

    def to_dict(self) -> dict[str, Any]:
        report = self.report
        return {
            "path": printable(self.path),
            "kind": report.kind,
            "version": report.version,
            "valid": report.valid,
            "errors": [found.to_dict() for found in report.errors],
            "warnings": [found.to_dict() for found in report.warnings],
        }


def validate(
    *paths: str | os.PathLike[str],
    kind: str | None = None,
    strict: bool = False,
    limits: Limits | None = None,
) -> Iterator[Checked]:
    """Check every document at these paths, one after the other; with `strict` a warning is an error."""
    if kind is not None and kind not in KINDS:
        raise UsageError(f"no such kind: {kind}", hint=f"one of {', '.join(sorted(KINDS))}")
    check = _Check(kind, limits or Limits())
    for path in paths:
        name = os.fspath(path)
        for checked in check.folder(name) if _is_folder(name) else (check.file(name),):
            yield Checked(checked.path, checked.report.strict()) if strict else checked


def _is_folder(path: str) -> bool:
    return path != STDIN and os.path.isdir(path)


@dataclass(frozen=True, slots=True)
class _Check:
    kind: str | None
    limits: Limits

    def file(self, path: str) -> Checked:
        try:
            data = read_document(path, self.limits)
        except RuncardError as error:
            return Checked(path, Report((_unreadable(error),), self.kind))
        return Checked(path, codec.examine(data, kind=self.kind, limits=self.limits).report)

    def folder(self, root: str) -> Iterator[Checked]:
        count = 0
        for checked in self._below(root):
            count += 1
            yield checked
        if not count:
            nothing = finding(
                "file.nothing-found",
                "",
                "the folder holds no document",
                hint=f"documents are of these kinds: {', '.join(sorted(KINDS))}; name a file to see why it is none",
            )
            yield Checked(root, Report((nothing,)))

    def _below(self, root: str) -> Iterator[Checked]:
        folders = [root]
        while folders:
            folder = folders.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
            except OSError as error:
                yield Checked(folder, Report((_unreadable(failure(error, folder, "read the folder")),)))
                continue
            own = list(self._record(folder))
            if own:
                yield from own
                continue
            for entry in entries:
                if entry.name.endswith(".json") and entry.is_file(follow_symlinks=False):
                    yield from self._candidate(entry.path)
            inner = [e.path for e in entries if e.is_dir(follow_symlinks=False) and e.name[0] != "."]
            folders += reversed(inner)

    def _record(self, folder: str) -> Iterator[Checked]:
        """The own documents of a folder that is a run, a session or an instance; nothing for any other folder."""
        path = os.path.join(folder, layout.METADATA)
        if not os.path.isfile(path) or os.path.islink(path):
            return
        checked = self.file(path)
        kind = checked.report.kind
        damaged = kind is None and not _rules(checked) & _FOREIGN and layout.is_record(folder)
        if damaged or kind in {GENERATION.name, TEAM.name, INSTANCE.name}:
            yield checked
        if damaged or kind == TEAM.name:
            yield from (self.file(document) for document in layout.session_documents(folder))

    def _candidate(self, path: str) -> Iterator[Checked]:
        checked = self.file(path)
        if checked.report.kind is not None or self._is_damaged(path, checked):
            yield checked

    def _is_damaged(self, path: str, checked: Checked) -> bool:
        """Whether a file that could not be read as a document is one nevertheless."""
        if _rules(checked) & _FOREIGN:
            return False
        if os.path.basename(path) in {layout.METADATA, layout.MANIFEST}:
            return True
        try:
            return bool(_TELLING.search(read_document(path, Limits(size=65_536))))
        except RuncardError:
            return False


def _rules(checked: Checked) -> set[str]:
    return {found.rule for found in checked.report.findings}


def _unreadable(error: RuncardError) -> Finding:
    missing = isinstance(error.__cause__, FileNotFoundError)
    return finding("file.missing" if missing else "file.unreadable", "", error.message, hint=error.hint)


def summary(results: Iterable[Checked]) -> dict[str, Any]:
    """The report of many documents as data."""
    documents = [checked.to_dict() for checked in results]
    return {"valid": bool(documents) and all(d["valid"] for d in documents), "documents": documents}
