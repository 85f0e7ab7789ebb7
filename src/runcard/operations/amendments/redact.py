"""Redacting a closed record, in its directory or in an archive."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from runcard.errors import RuncardError
from runcard.files import printable
from runcard.operations.amendments.change_record import change_record, damage_warnings
from runcard.operations.amendments.redaction import (
    Progress,
    Redacted,
    Request,
    check_request,
    redact_directory,
)
from runcard.settings.apply import use_masking_settings
from runcard.store.find_record import open_archive, open_record


def redact(
    record: str | os.PathLike[str],
    *,
    files: Sequence[str] = (),
    events: Sequence[str] = (),
    rules: Sequence[str] = (),
    reason: str,
    by: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Redacted:
    """Remove files, the payloads of events, or matches of masking rules from a closed record, archived or not.

    `files` are paths or patterns, `events` numbers or `WRITER:SEQ`, `rules` names of rules: one of the three. With
    `dry_run` nothing is written. `progress` is called with the files and bytes that were searched.
    """
    use_masking_settings()
    request = Request(files, events, rules, reason, by)
    check_request(request)
    work = partial(redact_directory, request=request, progress=progress)
    source = open_record(record)
    warnings = damage_warnings(source)
    if dry_run:
        with source.as_directory() as directory:
            planned = work(directory, dry_run=True)
        warnings = () if planned.finished else warnings
        return replace(planned, path=source.path, warnings=(*warnings, *planned.warnings))
    done = replace(change_record(source, work), path=source.path)
    if done.finished:  # until then, an interrupted amendment looked like damage
        warnings = damage_warnings(source)
    if not source.is_archived:
        warnings = (*warnings, *_archive_warnings(source.path))
    return replace(done, warnings=(*warnings, *done.warnings))


def _archive_warnings(record: str) -> tuple[str, ...]:
    """The warning about a record that was restored, or whose redaction in its archive was killed: the archive has it still."""
    from runcard.operations.checks.verify_archives import stale_findings  # noqa: PLC0415 - most records have no archive

    with suppress(RuncardError):
        archive = open_archive(os.path.realpath(record))
        if any(stale_findings(archive)):
            return (f"{printable(archive.path)} still contains the removed data: archive the record again",)
    return ()
