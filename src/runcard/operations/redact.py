"""Taking something out of a closed record, in the open, wherever it lies.

An archived record is restored, redacted and archived again, in the place that it had. Each of the three is whole before the
next begins, so that the record is always in its archive, in its directory, or in both; calling it again goes on where it
was killed. The digest of the old archive stays in the ledger.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from runcard.errors import RuncardError, UsageError
from runcard.files import printable
from runcard.operations.archive import archive
from runcard.operations.archives import FoundArchive, archive_at, find_archive
from runcard.operations.redacting import Progress, Redacted, check_request, redact_directory
from runcard.operations.restore import restore
from runcard.store import layout
from runcard.store.archive.shelf import Shelf


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
    check_request(files, events, rules, reason)
    work = partial(redact_directory, files=files, events=events, rules=rules, reason=reason, by=by)
    work = partial(work, progress=progress)
    found = archive_of(record)
    if found is None:
        done = work(record, dry_run=dry_run)
        warning = _of_archive(os.fspath(record)) if done.taken and done.is_done else None
        return replace(done, warnings=(*done.warnings, warning)) if warning else done
    if dry_run:
        raise UsageError(
            f"{printable(found.path)} is an archive: nobody looks into it", hint="restore it, and look there"
        )
    if found.store is None:
        raise UsageError(
            f"nobody knows where {printable(found.path)} came from",
            hint="restore it with --to, and redact it there",
        )
    directory = os.path.join(found.store, found.name)
    if not os.path.isdir(directory):
        restore(found.path)
    done = work(directory)
    archive(directory, to=layout.folder_of_archive(found.path))
    return replace(done, path=found.path)


def archive_of(record: str | os.PathLike[str]) -> FoundArchive | None:
    """The archive that is meant by its path, or by the name that a record had; None for a record in its directory."""
    path = os.fspath(record)
    if os.path.lexists(path):
        return archive_at(path)
    try:
        return find_archive(path)
    except RuncardError:
        return None


def _of_archive(record: str) -> str | None:
    """What is to be said about a record that was restored: its archive still has everything."""
    path = os.path.realpath(record)
    for one in Shelf(layout.archive_folder(layout.store_of(path))).find(os.path.basename(path)):
        if os.path.lexists(one.path):
            return f"{printable(one.path)} still has what was taken out: archive the record again"
    return None
