"""Bringing a document to another version: on the disk, and only when the user says so.

The result is checked before anything is written; the old bytes are kept beside it; the text changes only where it must.
"""

import os
import stat
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

from runcard.digests import sha256_bytes
from runcard.documents import codec
from runcard.documents.findings import InvalidDocument
from runcard.documents.kinds import KINDS
from runcard.encoding import Limits
from runcard.errors import DocumentError, StoreError, UsageError
from runcard.files import failure, json_name, locked, printable, unreadable, write_atomic
from runcard.operations.load import STDIN, check_kind, is_yaml_name, read_document
from runcard.store import layout

# Where a document can say what it was migrated from; 1.0.0 has no room for it.
_ROOM_FOR_ORIGIN = {("generation", "1.0"), ("team", "2.0.0"), ("instance", "2.0.0")}


@dataclass(frozen=True, slots=True)
class Migrated:
    """What became of one document."""

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

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def to_dict(self) -> dict[str, Any]:
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


def migrate(
    path: str | os.PathLike[str],
    to: str,
    *,
    kind: str | None = None,
    zone: tzinfo | None = None,
    output: str | os.PathLike[str] | None = None,
    backup: bool = True,
    dry_run: bool = False,
    limits: Limits | None = None,
) -> Migrated:
    """Migrate the document at `path`, in place unless `output` names a new file; `-` stands for the caller.

    In place, the old bytes are kept beside it as `.bak` unless `backup` is false. With `dry_run` nothing is written.
    """
    check_kind(kind)
    name = os.fspath(path)
    target = None if output is None else os.fspath(output)
    limits = limits or Limits()
    if target is None and name != STDIN:
        _check_rewritable(name)
        if not dry_run:
            with locked(os.path.dirname(os.path.abspath(name))):
                return _in_place(_moved(name, to, kind, zone, limits), keep=backup)
    moved = _moved(name, to, kind, zone, limits)
    return moved if dry_run or target in {None, STDIN} else _written_to(moved, str(target))


def _check_rewritable(path: str) -> None:
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        raise unreadable(error, path) from error
    if not is_file:
        raise StoreError(f"{printable(path)} is not a regular file", hint="name the file of a document")
    if record := layout.sealed_record(path):
        raise StoreError(
            f"{printable(path)} belongs to a closed record, {printable(record)}: changing it would break its checksums",
            hint="write the migrated document elsewhere with --output",
        )


def _moved(path: str, to: str, kind: str | None, zone: tzinfo | None, limits: Limits) -> Migrated:
    before = read_document(path, limits)
    examined = codec.examine(before, kind=kind, limits=limits, is_yaml=is_yaml_name(path))
    report = examined.report
    if not report.valid or report.kind is None or examined.data is None:
        raise InvalidDocument(report, printable(path))
    if to not in KINDS[report.kind].versions:
        raise UsageError(
            f"{printable(path)}: there is no {report.kind} version {to}",
            hint=f"published: {', '.join(KINDS[report.kind].versions)}",
        )
    if any(found.rule == "version.newer-minor" for found in report.findings):
        raise DocumentError(
            f"{printable(path)} has version {report.version}, which is newer than this runcard: it is not rewritten",
            hint="install a newer runcard",
        )
    if report.version == to:
        return Migrated(path, report.kind, to, to, before, before)
    moved = codec.migrated(examined, to, zone)
    data = moved.data
    if (report.kind, to) in _ROOM_FOR_ORIGIN:
        data = {**data, "origin": {"version": report.version, "sha256": sha256_bytes(before).hex}}
    after = codec.MODELS[report.kind].edit(before, examined.data, data)
    result = codec.examine(after, kind=report.kind, limits=limits).report
    if not result.valid:
        raise InvalidDocument(result, f"what {printable(path)} would become")
    return Migrated(path, report.kind, report.version, to, before, after, moved.dropped, moved.notes)


def _written_to(moved: Migrated, target: str) -> Migrated:
    try:
        write_atomic(target, moved.after, replace=False)
    except FileExistsError as error:
        raise StoreError(f"{printable(target)} exists already", hint="choose another name") from error
    except OSError as error:
        raise failure(error, target, "write") from error
    return replace(moved, written=target)


def _in_place(moved: Migrated, *, keep: bool) -> Migrated:
    if not moved.changed:
        return moved
    try:
        kept = _keep(moved.path, moved.before) if keep else None
        write_atomic(moved.path, moved.after)
    except OSError as error:
        raise failure(error, moved.path, "rewrite") from error
    return replace(moved, written=moved.path, backup=kept)


def _holds(path: str, data: bytes) -> bool:
    """Whether a regular file has these bytes; what else may have its name is neither read nor followed."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        with open(path, "rb") as file:
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
