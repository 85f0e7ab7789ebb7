"""Open runs whose directory is missing."""

import os
from collections.abc import Iterator

from runcard.documents.findings import Finding, record_finding
from runcard.files import failure, printable
from runcard.store import layout
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
