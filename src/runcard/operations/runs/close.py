"""Close the runs whose process is gone: `runcard close`."""

import errno
import os
from collections.abc import Iterator

from runcard.files import read_regular
from runcard.recording.closing import CloseResult, close_dead_run
from runcard.store import layout
from runcard.store.runs.directory import open_runs


def close(
    *runs: str | os.PathLike[str], store: str | os.PathLike[str] | None = None
) -> Iterator[CloseResult]:
    """Close the runs that are named, or all on a store's list of open runs, if their process is gone."""
    if store is not None:
        runs = (*runs, *open_runs(os.fspath(store)))
    for run in runs:
        yield close_dead_run(os.path.abspath(os.fspath(run)))


def find_unclosed_runs(store: str) -> list[str]:
    """The runs of a store that are not closed: those on its list, and those whose document says `running`."""
    if not os.path.isdir(store):
        return []
    runs = set(open_runs(store))
    for entry in os.scandir(store):
        if entry.is_dir(follow_symlinks=False) and _may_be_running(entry.path):
            runs.add(entry.path)
    return sorted(runs)


def _may_be_running(run: str) -> bool:
    """Whether the document says so; True if it cannot be read: closing the run reports why."""
    try:
        data = read_regular(os.path.join(run, layout.METADATA))
    except OSError as error:
        return error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}
    return b'"running"' in (data or b"")
