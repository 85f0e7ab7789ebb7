"""Checking the documents of a session against each other, and against the files that are stored with them."""

import contextlib
import os
from collections.abc import Iterator

from runcard.documents import reader
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.kinds import INSTANCE, MANIFEST
from runcard.documents.session import cross_document_rules
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import check_relative
from runcard.operations.checks.validate import CheckedDocument, ReadDocument, unread
from runcard.store import layout
from runcard.store.record import Record
from runcard.store.sessions.instance_figures import stored_figures

Findings = Iterator[Finding]


class SessionDocuments:
    """A session whose documents are checked one after the other; `names` are those of all but the team's."""

    def __init__(self, record: Record, team: ReadDocument | CheckedDocument, names: list[str]) -> None:
        self._record, self._team, self._names = record, team, names
        self._roster = (
            None
            if isinstance(team, CheckedDocument)
            else cross_document_rules.Roster(reader.valid_parts(team.examined))
        )
        self._amended: set[str] = set()
        with contextlib.suppress(RuncardError):  # `verify` reports damaged amendments
            self._amended = set(record.amendments().by_path)

    def team(self) -> CheckedDocument:
        """The team document; a loose one, with nothing beside it, is not a session."""
        if isinstance(self._team, CheckedDocument):
            return self._team
        documents = [*self._names, *self._amended]  # one that was taken out is not missed
        folders = {os.path.basename(os.path.dirname(path)) for path in documents}
        is_loose = not self._names and not self._record.has(layout.INSTANCES)
        findings = (
            ()
            if is_loose or self._roster is None
            else cross_document_rules.missing_instances(self._roster, folders)
        )
        return CheckedDocument(
            self._team.path, reader.add_findings(self._team.examined, findings, self._team.data)
        )

    def other(self, read: ReadDocument, name: str) -> CheckedDocument:
        """The manifest, or the document of an instance."""
        kind, document = read.examined.report.kind, reader.valid_parts(read.examined)
        findings: list[Finding] = []
        if self._roster is not None and kind == MANIFEST.name:
            findings = [*cross_document_rules.manifest_rules(document, self._roster), *self._named(document)]
        elif self._roster is not None and kind == INSTANCE.name:
            folder = os.path.basename(os.path.dirname(name))
            findings = [
                *cross_document_rules.instance_rules(document, self._roster, folder),
                *self._stored_figures(document, folder),
            ]
        return CheckedDocument(read.path, reader.add_findings(read.examined, findings, read.data))

    def _named(self, manifest: JsonObject) -> Findings:
        """The files that the manifest names and that are not there."""
        for place, entry in enumerate(manifest.get("instances_index") or ()):
            path = ((entry or {}).get("metadata_file") or "").removeprefix("./")
            if (
                path
                and path not in self._amended
                and not check_relative(path)
                and not self._record.has_file(path)
            ):
                yield finding(
                    "session.file-missing",
                    f"/instances_index/{place}/metadata_file",
                    f"the file {display_value(path)} does not exist",
                    hint="put it back, or correct the path",
                    found=path,
                )

    def _stored_figures(self, document: JsonObject, folder: str) -> Findings:
        """Figures that do not match the files; they stay as they were when a file is amended."""
        if any(path.startswith(f"{layout.INSTANCES}/{folder}/") for path in self._amended):
            return
        try:
            figures = stored_figures(self._record, folder, document)
        except RuncardError as error:
            yield unread(error)
        else:
            yield from cross_document_rules.stored_figures_rules(document, figures)
