"""Taking something out of a closed record, in the open, wherever it lies."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from runcard.errors import RuncardError
from runcard.files import printable
from runcard.operations.amendments.redaction import (
    Progress,
    Redacted,
    Request,
    check_request,
    redact_directory,
)
from runcard.operations.archives.change_archived import archive_of, change_archived, unpacked
from runcard.operations.archives.find import find_archive
from runcard.settings.apply import use_masking_settings


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
    """Take files, the payloads of events, or what rules of masking find out of a closed record, archived or not.

    `files` are paths or patterns, `events` numbers or `WRITER:SEQ`, `rules` names of rules: one of the three. With
    `dry_run` nothing is written. `progress` is called with the files and bytes that were searched.
    """
    use_masking_settings()
    request = Request(files, events, rules, reason, by)
    check_request(request)
    work = partial(redact_directory, request=request, progress=progress)
    found = archive_of(record)
    if found is None:
        done = work(record, dry_run=dry_run)
        warning = _of_archive(os.fspath(record)) if done.taken and done.is_done else None
        return replace(done, warnings=(*done.warnings, warning)) if warning else done
    if dry_run:
        with unpacked(found) as copy:
            return replace(work(copy, dry_run=True), path=found.path)
    return replace(change_archived(found, work), path=found.path)


def _of_archive(record: str) -> str | None:
    """What is to be said about a record that was restored: its archive, wherever it lies, still has everything."""
    with suppress(RuncardError):
        found = find_archive(os.path.realpath(record))
        if os.path.lexists(found.path):
            return f"{printable(found.path)} still has what was taken out: archive the record again"
    return None
