"""Close the runs whose process is gone: `runcard close`."""

import errno
import os

from runcard.errors import StoreError
from runcard.files import printable, read_regular, shell_word
from runcard.observe.clock import Clock
from runcard.recording.closing import CloseResult, close_dead_run
from runcard.recording.record_signature import sign_at_closing
from runcard.store import layout
from runcard.store.find_record import is_other_directory, open_record
from runcard.store.runs.config_file import remove_left_configs
from runcard.store.runs.directory import open_runs


def close(
    *runs: str | os.PathLike[str], store: str | os.PathLike[str] | None = None, trust: bool = False
) -> list[CloseResult]:
    """Close the runs that are named, or all on a store's list of open runs, if their process is gone.

    A run is named in any way that the command line takes. One that cannot be closed raises an error; those before it are
    closed. `trust` says that those which are named are the user's own.
    """
    found = () if store is None else open_runs(os.fspath(store))
    named = (close_one(os.fspath(run), trust=trust) for run in runs)
    return [*named, *(close_one(run) for run in found)]


def close_one(record: str, *, is_named: bool = True, trust: bool = False) -> CloseResult:
    """Close a run or a session that is open, if its process is gone.

    Only if the user named it: a session without a process, or one that may be somebody else's.

    What is not known to be this user's own is not signed, and no files are copied for it, unless `trust` is set.
    """
    directory = os.path.abspath(_directory(record))
    if layout.is_live_session(directory):
        from runcard.operations.sessions.close_session import close_session  # noqa: PLC0415 - few are sessions

        return close_session(directory, is_named=is_named, trust=trust)
    if os.path.lexists(os.path.join(directory, layout.AUDIT)):
        from runcard.operations.sessions.close_session import closed_session  # noqa: PLC0415 - see above

        if (result := closed_session(directory)) is not None:
            return result
    result = close_dead_run(directory)
    if not result.closed:
        return result
    return result._replace(warnings=tuple(sign_at_closing(result.path, is_own=trust or result.is_own)))


def _directory(run: str) -> str:
    """The directory of a run that is named in any way, or that has lost its document."""
    if os.path.isdir(run) and not is_other_directory(run):
        return run
    record = open_record(run)
    if record.is_archived:
        raise StoreError(
            f"{printable(record.path)} is archived, so it is closed",
            hint=f"to see it: runcard show {shell_word(record.path)}",
        )
    return record.path


def finish_interrupted(store: str) -> list[str]:
    """Finish or remove what killed commands left of the sessions of a store, and outside of stores; a message for each."""
    from runcard.store.sessions.recovery import recover_sessions  # noqa: PLC0415 - few stores have sessions

    sessions = list(recover_sessions(store, Clock().timestamp)) if os.path.isdir(store) else []
    return [*sessions, *remove_left_configs()]


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
