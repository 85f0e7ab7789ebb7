"""Preparing the migration of a document: its new bytes, checked, and the fields that were dropped. Nothing is written."""

from dataclasses import dataclass
from datetime import tzinfo

from runcard.documents import reader
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import KINDS
from runcard.encoding import JsonObject, Limits
from runcard.errors import DocumentError, UsageError
from runcard.files import json_name, printable
from runcard.operations.checks.load import is_yaml_name, read_document


@dataclass(frozen=True, slots=True)
class Migrated:
    """The migration of one document."""

    path: str
    kind: str
    source: str | None  # the versions
    target: str
    before: bytes
    after: bytes
    dropped: tuple[str, ...] = ()  # JSON pointers of what the target has no room for
    notes: tuple[str, ...] = ()
    written: str | None = None
    backup: str | None = None
    changed: bool = False

    def to_dict(self) -> JsonObject:
        return {
            "path": json_name(self.path).text,
            "kind": self.kind,
            "from": self.source,
            "to": self.target,
            "changed": self.changed,
            "dropped": list(self.dropped),
            "notes": list(self.notes),
            "written": self.written and json_name(self.written).text,
            "backup": self.backup and json_name(self.backup).text,
        }


def prepare_migration(
    path: str, to: str | None, kind: str | None, zone: tzinfo | None, limits: Limits
) -> Migrated:
    """Migrate the document at a path to version `to`, or to the newest, in memory; raises RuncardError if that is not possible."""
    before = read_document(path, limits)
    examined = reader.parse_document(before, kind=kind, limits=limits, is_yaml=is_yaml_name(path))
    report = examined.report
    if not report.valid or report.kind is None or examined.data is None:
        raise InvalidDocument(report, printable(path))
    to = to or KINDS[report.kind].latest
    if to not in KINDS[report.kind].versions:
        raise UsageError(
            f"{printable(path)}: there is no {report.kind} version {to}",
            hint=f"published: {', '.join(KINDS[report.kind].versions)}",
        )
    if any(finding.rule == "version.newer-minor" for finding in report.findings):
        raise DocumentError(
            f"{printable(path)} has version {report.version}, which is newer than this runcard: it is not rewritten",
            hint="install a newer runcard",
        )
    try:
        migration = reader.migrate_document(examined, to, zone)
    except DocumentError as error:
        raise DocumentError(f"{printable(path)}: {error.message}", hint=error.hint) from error
    data = migration.data
    if data == examined.data:
        return Migrated(path, report.kind, to, to, before, before)
    data = reader.with_origin(data, report.kind, report.version, before, to)
    after = reader.model_of(report.kind).edit(before, examined.data, data)
    result = reader.parse_document(after, kind=report.kind, limits=limits).report
    if not result.valid:
        raise InvalidDocument(result, f"what {printable(path)} would become")
    return Migrated(
        *(path, report.kind, report.version, to, before, after, migration.dropped, migration.notes),
        changed=before != after,
    )
