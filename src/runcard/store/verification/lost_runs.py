"""Open runs whose directory is missing, and deleted records whose content is still there."""

import os
from collections.abc import Iterator

from runcard.documents.findings import Finding, ledger_finding, record_finding
from runcard.files import failure, printable, shell_word
from runcard.store import layout
from runcard.store.journal import try_lock
from runcard.store.own_directories import list_own
from runcard.store.runs.directory import lost_runs


def verify_open_marks(store: str) -> Iterator[Finding]:
    """Findings about runs on a store's list of open runs that the store does not have."""
    if not os.path.isdir(layout.own_folder(store)):
        return
    try:
        lost = lost_runs(store)
    except OSError as error:
        raise failure(error, str(error.filename or store), "look for open runs in") from error
    for name, is_at_work in lost:
        if is_at_work:
            yield record_finding(
                "open", printable(name), "", "the run is still running, but its directory is missing"
            )
            continue
        mark = os.path.relpath(layout.open_mark(os.path.join(store, name)), store)
        message = (
            "the run was not closed, and its directory is missing;"
            f" its events are in {printable(mark)}: remove that file to accept the loss"
        )
        yield record_finding("missing", printable(name), "", message)


def verify_removals(store: str) -> Iterator[Finding]:
    """Findings about deleted records whose content is still there, because a command was killed."""
    own = layout.own_folder(store)
    if not os.path.isdir(own):
        return
    for name in sorted(list_own(store, own)):
        record = layout.pruned_record(store, name)
        path = os.path.join(own, name)
        if record is None or os.path.islink(path) or _is_locked(path):
            continue
        message = (
            "the content of a deleted record is still here: the deletion was interrupted;"
            f" `runcard rm {shell_word(record)}` removes it"
        )
        yield ledger_finding(printable(os.path.relpath(path, store)), "", message)


def _is_locked(folder: str) -> bool:
    """Whether a process is at work on a record."""
    try:
        descriptor = try_lock(folder, shared=True)
    except OSError:
        return False  # it is gone, or locks do not work here
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None
