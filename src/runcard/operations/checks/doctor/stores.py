"""The stores at hand: their records and sizes, runs that are open or died, and what killed commands left.

Other commands finish or remove what a killed one left. Here it is only named: nothing is locked for longer than a look, and
nothing is written.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import shell_word
from runcard.files.temporary_files import HOUR, is_temporary_file
from runcard.operations.checks.show import status_now
from runcard.settings import ARTIFACTS_DIR, OUTPUTS, SettingsError
from runcard.settings.files import SettingsFileError
from runcard.store import directory_names, layout
from runcard.store.own_directories import list_own
from runcard.store.record import DirectoryRecord
from runcard.store.runs.directory import lost_runs
from runcard.store.runs.owner import is_abandoned
from runcard.store.sessions.live import DETACHED, INTERRUPTED, live_state
from runcard.store.sessions.live_start import read_live_start
from runcard.store.sessions.own_paths import is_own_session
from runcard.store.stores_at_hand import stores_at_hand

_MOST_ENTRIES = 10_000  # files of all stores that are looked at for their sizes
_BY_CLOSE = "runcard close"
_BY_NEXT = {
    "new-": "the next run in this store removes it",
    "copying-": f"`{_BY_CLOSE}` finishes it",
    "amending-": "the next amendment of the record finishes it",
    "archived-": "the next `runcard archive` finishes it",
    "pruned-": "the content of a deleted record: `runcard rm {record}` removes it",
    "restoring-": "the next `runcard restore` removes it",
}


class StoreLeftover(NamedTuple):
    """Something that a killed command left in a store."""

    path: str
    about: str


@dataclass
class StoreState:
    """One store."""

    path: str
    runs: int = 0
    sessions: int = 0
    archived: int = 0
    size: int = 0
    is_size_partial: bool = False  # there are too many files to look at
    open_runs: list[str] = field(default_factory=list)
    dead_runs: list[str] = field(default_factory=list)
    open_sessions: list[str] = field(default_factory=list)
    dead_sessions: list[str] = field(default_factory=list)
    unproven_sessions: list[str] = field(
        default_factory=list
    )  # that can be closed, and may be somebody else's
    leftovers: list[StoreLeftover] = field(default_factory=list)
    problem: str | None = None
    is_listed: bool = True  # else nothing is known of it

    def to_dict(self) -> JsonObject:
        return {
            "path": self.path,
            "runs": self.runs if self.is_listed else None,
            "sessions": self.sessions if self.is_listed else None,
            "archived": self.archived if self.is_listed else None,
            "bytes": self.size if self.is_listed else None,
            "bytes_at_least": self.is_size_partial,
            "open_runs": self.open_runs,
            "dead_runs": self.dead_runs,
            "open_sessions": self.open_sessions,
            "dead_sessions": self.dead_sessions,
            "unproven_sessions": self.unproven_sessions,
            "leftovers": [leftover._asdict() for leftover in self.leftovers],
            "problem": self.problem,
        }


def store_paths() -> tuple[list[str], str | None]:
    """The stores at hand; the default ones, and why, where these cannot be found out."""
    try:
        paths = stores_at_hand()
        os.getcwd()
    except (SettingsError, SettingsFileError):
        problem = None  # which is reported with the settings
    except RuncardError as error:
        problem = error.message
    except OSError as error:
        problem = f"the present folder: {error.strerror or error}"
        return [], problem
    else:
        return paths, None
    return [os.curdir, OUTPUTS.default, ARTIFACTS_DIR.default], problem


def store_states(paths: list[str]) -> list[StoreState]:
    """The state of each store that is there."""
    states = []
    entries = _MOST_ENTRIES
    for path in paths:
        state = StoreState(path)
        try:
            os.scandir(path).close()  # what follows takes a folder that cannot be listed for an empty one
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            state.is_listed, state.problem = False, os.strerror(error.errno or 0)
            states.append(state)
            continue
        names = _count(state)
        try:
            is_store = bool(names or state.archived) or _has_own_folder(path)
            if is_store:
                _find_open_runs(state)
                state.leftovers = list(_leftovers(path))
        except RuncardError as error:
            is_store, state.problem = True, error.message
        except OSError as error:
            is_store, state.problem = True, f"{error.filename or path}: {error.strerror or error}"
        if is_store:
            entries = _measure(state, names, entries)
            states.append(state)
    return states


def _has_own_folder(path: str) -> bool:
    """Whether a folder without records is a store; the clone of one with open sessions may have nothing but these."""
    return os.path.isdir(layout.own_folder(path)) or os.path.isdir(layout.collections(path))


def _count(state: StoreState) -> list[str]:
    """Count the records of a store; the names of their directories."""
    names = [name for name in layout.possible_records(state.path) if directory_names.start_in(name)]
    names = [name for name in names if layout.may_be_file(os.path.join(state.path, name, layout.METADATA))]
    state.sessions = sum(directory_names.session_id_in(name) is not None for name in names)
    state.runs = len(names) - state.sessions
    try:
        state.archived = len(layout.archives_in(layout.archive_folder(state.path)))
    except (RuncardError, OSError) as error:
        state.problem = str(error)
    return names


def _measure(state: StoreState, names: list[str], entries: int) -> int:
    """Add up the sizes of a store's files, as far as `entries` last; how many of these are left."""
    folders = [os.path.join(state.path, name) for name in (*names, layout.ARCHIVE)]
    while folders:
        try:
            with os.scandir(folders.pop()) as scan:
                for entry in scan:
                    if entries <= 0:
                        state.is_size_partial = True
                        return 0
                    entries -= 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        state.size += entry.stat(follow_symlinks=False).st_size
        except (FileNotFoundError, NotADirectoryError):
            continue  # there is no archive, or it was removed meanwhile
        except OSError:
            state.is_size_partial = True
    return entries


def _find_open_runs(state: StoreState) -> None:
    for name in sorted(list_own(state.path, layout.open_folder(state.path))):
        run = os.path.join(state.path, name)
        if os.path.isdir(run) and not os.path.islink(run):
            (state.dead_runs if _is_dead(run) else state.open_runs).append(run)
    for session in layout.live_sessions(state.path):
        status, remark = live_state(session)
        (state.dead_sessions if status == INTERRUPTED else state.open_sessions).append(session)
        if (status == INTERRUPTED or remark == DETACHED) and not is_own_session(
            session, read_live_start(session)
        ):
            state.unproven_sessions.append(session)


def _is_dead(run: str) -> bool:
    """Whether a run on the list of open runs waits for `runcard close`."""
    document = DirectoryRecord(run).raw_document
    try:
        status = status_now(run, document)
    except (RuncardError, OSError, KeyError, TypeError, AttributeError, ValueError):
        status = None  # the document is damaged
    if status == "running":
        return False
    return status == "interrupted" or is_abandoned(layout.open_mark(run))


def _leftovers(store: str) -> Iterator[StoreLeftover]:
    for name in sorted(list_own(store, layout.collections(store))):
        path = os.path.join(layout.collections(store), name)
        if (about := _session_leftover(path)) is not None and _is_old(path):
            yield StoreLeftover(path, about)
    own = layout.own_folder(store)
    if not os.path.isdir(own):
        return
    for name in sorted(list_own(store, own)):
        path = os.path.join(own, name)
        about = next((text for start, text in _BY_NEXT.items() if name.startswith(start)), None)
        if is_temporary_file(name):
            about = "a temporary file: the next run in this store removes it"
        if about is not None and _is_old(path):
            record = layout.pruned_record(store, name) or ""
            yield StoreLeftover(path, about.format(record=shell_word(record)))
    for name, is_at_work in lost_runs(store):
        if not is_at_work:
            path = layout.open_mark(os.path.join(store, name))
            yield StoreLeftover(path, "the events of a run whose directory is gone: see `runcard verify`")


def _session_leftover(path: str) -> str | None:
    """What an entry of `.open/` is that a killed command left; None for one that is at work, or is an open session."""
    if layout.closing_of(path) is not None and not os.path.isdir(path):
        return f"a session that may not be in the ledger: `{_BY_CLOSE}` adds it"
    if not os.path.isdir(path) or os.path.islink(path) or layout.is_live_session(path):
        return None
    if not os.listdir(path) or layout.is_new_live_session(path):
        return f"the rest of a closed session: `{_BY_CLOSE}` removes it"
    if is_abandoned(os.path.join(path, layout.AUDIT)):
        return f"a collection was interrupted: `{_BY_CLOSE}` removes it"
    return None


def _is_old(path: str) -> bool:
    """Whether nothing changed here for an hour: a command may be at work."""
    try:
        return time.time() - os.lstat(path).st_mtime > HOUR
    except OSError:
        return False
