"""Bringing a document to another version: on the disk, and only when the user says so.

The result is checked before anything is written; the old bytes are kept beside it; the text changes only where it must.
"""

import os
import stat
from dataclasses import replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from runcard.encoding import Limits
from runcard.errors import StoreError
from runcard.files import failure, locked, open_regular, printable, unreadable, write_atomic
from runcard.files.temporary_files import remove_temporary_files_for
from runcard.operations.amendments.change_record import change_record
from runcard.operations.amendments.document_migration import Migrated, prepare_migration
from runcard.operations.amendments.record_migration import migrate_in_record, own_documents
from runcard.operations.checks.load import STDIN, check_kind
from runcard.store import layout
from runcard.store.find_record import is_other_directory, open_record

if TYPE_CHECKING:
    from runcard.encoding import JsonObject


def migrate(
    path: str | os.PathLike[str],
    to: str | None = None,
    *,
    kind: str | None = None,
    zone: tzinfo | None = None,
    output: str | os.PathLike[str] | None = None,
    backup: bool = True,
    dry_run: bool = False,
    limits: Limits | None = None,
) -> Migrated:
    """Migrate the document at `path`, in place unless `output` names a new file; `-` stands for the caller.

    `to` is the newest version of its kind unless given.
    In place, the old bytes are kept beside it as `.bak` unless `backup` is false. In a closed record they are kept in
    its store, and the record has an amendment. With `dry_run` nothing is written.
    """
    check_kind(kind)
    name = os.fspath(path)
    target = None if output is None else os.fspath(output)
    limits = limits or Limits()
    if target is None and name != STDIN:
        _check_rewritable(name)
        if record := layout.sealed_record(name):
            (changed,) = migrate_in_record(
                record, to, [name], kind=kind, zone=zone, dry_run=dry_run, limits=limits
            )
            return changed
        if not dry_run:
            with locked(os.path.dirname(os.path.abspath(name))):
                return _in_place(prepare_migration(name, to, kind, zone, limits), keep=backup)
    migrated = prepare_migration(name, to, kind, zone, limits)
    return migrated if dry_run or target in {None, STDIN} else _written_to(migrated, str(target))


def migrate_record(
    record: str,
    to: str | None = None,
    *,
    backup: bool = True,
    dry_run: bool = False,
    **options: Any,  # noqa: ANN401 - as migrate has them
) -> tuple[Migrated, ...] | None:
    """Migrate all documents of a record, archived or not; None for a file that is not a record, but may be a document."""
    if os.path.isfile(record) and not layout.is_archive(record):
        return None
    if os.path.isdir(record) and not is_other_directory(record):  # also one that is not a record of ours
        return migrate_folder(record, to, backup=backup, dry_run=dry_run, **options)
    source = open_record(record)
    if not source.is_archived:
        return migrate_folder(source.path, to, backup=backup, dry_run=dry_run, **options)
    if not dry_run:
        return change_record(
            source, lambda directory: _migrate_unpacked(directory, source.path, to, **options)
        )
    with source.as_directory() as copy:
        return _migrate_unpacked(copy, source.path, to, dry_run=True, **options)


def _migrate_unpacked(directory: str, archive: str, to: str | None, **options: Any) -> tuple[Migrated, ...]:  # noqa: ANN401 - as above
    """Migrate a record that came out of an archive; its documents are named by their paths in the archive."""
    results = migrate_in_record(directory, to, **options)
    paths = [os.path.join(archive, os.path.relpath(migrated.path, directory)) for migrated in results]
    return tuple(
        replace(migrated, path=path, written=migrated.written and path)
        for migrated, path in zip(results, paths, strict=True)
    )


def migrate_folder(
    folder: str,
    to: str | None = None,
    *,
    kind: str | None = None,
    zone: tzinfo | None = None,
    backup: bool = True,
    dry_run: bool = False,
    limits: Limits | None = None,
) -> tuple[Migrated, ...]:
    """Migrate all documents of a record: by amendments when it was closed; one by one when another program wrote it."""
    metadata = os.path.join(folder, layout.METADATA)
    if layout.sealed_record(metadata) is not None or not layout.may_be_file(metadata):
        return migrate_in_record(folder, to, kind=kind, zone=zone, dry_run=dry_run, limits=limits)
    names = own_documents(folder, to, limits or Limits())
    options: JsonObject = {"backup": backup, "dry_run": dry_run, "limits": limits}
    return tuple(migrate(name, to, kind=kind, zone=zone, **options) for name in names)


def _check_rewritable(path: str) -> None:
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        raise unreadable(error, path) from error
    if not is_file:
        raise StoreError(f"{printable(path)} is not a regular file", hint="name the file of a document")


def _written_to(migrated: Migrated, target: str) -> Migrated:
    try:
        write_atomic(target, migrated.after, replace=False)
    except FileExistsError as error:
        raise StoreError(f"{printable(target)} exists already", hint="choose another name") from error
    except OSError as error:
        raise failure(error, target, "write") from error
    return replace(migrated, written=target)


def _in_place(migrated: Migrated, *, keep: bool) -> Migrated:
    if not migrated.changed:
        return migrated
    try:
        backup = _keep(migrated.path, migrated.before) if keep else None
        write_atomic(migrated.path, migrated.after)
        remove_temporary_files_for(migrated.path)
    except OSError as error:
        raise failure(error, migrated.path, "rewrite") from error
    return replace(migrated, written=migrated.path, backup=backup)


def _holds(path: str, data: bytes) -> bool:
    """Whether a regular file has these bytes; what else may have its name is neither read nor followed."""
    try:
        with open(open_regular(path), "rb") as file:
            return file.read(len(data) + 1) == data
    except OSError:
        return False


def _keep(path: str, data: bytes) -> str:
    """Keep the old bytes beside the document, under the first name that is free or holds them already."""
    mode = os.stat(path).st_mode & 0o777
    number = 1
    while True:
        name = f"{path}.bak" if number == 1 else f"{path}.bak.{number}"
        try:
            write_atomic(name, data, mode=mode, replace=False)
        except FileExistsError:
            if _holds(name, data):
                return name
            number += 1
        else:
            return name
