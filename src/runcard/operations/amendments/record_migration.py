"""Migrating documents of a closed record: an amendment for each, and the old bytes in the store.

The sealed state is still checked: `verify` reads the digests of files, chains and links from the old bytes of the metadata
document in the store.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

from runcard.digests import sha256_bytes
from runcard.documents import reader
from runcard.documents.kinds import KINDS
from runcard.encoding import Limits
from runcard.errors import StoreError, UsageError
from runcard.files import decode_name, printable
from runcard.observe.clock import Clock
from runcard.observe.user_and_host import user_and_host
from runcard.operations.amendments.document_migration import Migrated, prepare_migration
from runcard.operations.checks.load import read_document
from runcard.store import layout
from runcard.store.amendments.change import Amender, Author, Edit, amending
from runcard.store.amendments.read import MIGRATION


def migrate_in_record(
    record: str | os.PathLike[str],
    to: str | None,
    documents: Sequence[str] | None = None,
    *,
    kind: str | None = None,
    zone: tzinfo | None = None,
    dry_run: bool = False,
    limits: Limits | None = None,
) -> tuple[Migrated, ...]:
    """Migrate documents of a closed record, or all of its own that have a version `to`; each change is an amendment.

    Without `to`, each becomes the newest of its kind.
    """
    path, limits = os.fspath(record), limits or Limits()
    with amending(path, look=dry_run) as amender:
        names = own_documents(path, to, limits) if documents is None else documents
        results = [_prepare_in_record(amender, name, to, kind, zone, limits) for name in names]
        if dry_run:
            return tuple(results)
        changes = {name: migrated for name, migrated in zip(names, results, strict=True) if migrated.changed}
        backups = {name: amender.keep_original(migrated.before) for name, migrated in changes.items()}
        edits = [_edit(amender, name, migrated) for name, migrated in changes.items()]
        if edits:
            amender.change(MIGRATION, edits, Author(user_and_host(), Clock().timestamp(), None))
    return tuple(
        replace(migrated, written=migrated.path, backup=backups[name]) if migrated.changed else migrated
        for name, migrated in zip(names, results, strict=True)
    )


def own_documents(record: str, to: str | None, limits: Limits) -> list[str]:
    """The record's own documents of which there is a version `to`."""
    paths = [os.path.join(record, layout.METADATA), *layout.session_documents(record)]
    kinds = {
        path: reader.parse_document(read_document(path, limits), limits=limits).report.kind for path in paths
    }
    # A file of unknown kind is not a document: migrating it says so.
    documents = [path for path, kind in kinds.items() if not kind or not to or to in KINDS[kind].versions]
    if not documents:
        versions = sorted({version for kind in kinds.values() if kind for version in KINDS[kind].versions})
        raise UsageError(
            f"no document of {printable(record)} has a version {to}", hint=f"published: {', '.join(versions)}"
        )
    return documents


def _prepare_in_record(
    amender: Amender, name: str, to: str | None, kind: str | None, zone: tzinfo | None, limits: Limits
) -> Migrated:
    """Prepare the migration of a document of the record, which must be unchanged."""
    path = _relative(amender, name)
    is_listed = path == layout.METADATA or path in amender.listing
    if not is_listed or amender.files.digest(path) != amender.expected(path):
        raise StoreError(
            f"{printable(name)} is not what it was when the record was closed",
            hint="see all of it with `runcard verify`, or write the migrated document to another file with --output",
        )
    return prepare_migration(name, to, kind, zone, limits)


def _relative(amender: Amender, name: str) -> str:
    return decode_name(os.fsencode(os.path.relpath(os.path.realpath(name), amender.path)))


def _edit(amender: Amender, name: str, migrated: Migrated) -> Edit:
    path = _relative(amender, name)
    fields = {
        "why": f"{migrated.kind} {migrated.source or 'without a version'} → {migrated.target}",
        "from": migrated.source,
        "to": migrated.target,
        "dropped": list(migrated.dropped),
    }
    return Edit(path, sha256_bytes(migrated.before).hex, amender.files.stage(path, [migrated.after]), fields)
