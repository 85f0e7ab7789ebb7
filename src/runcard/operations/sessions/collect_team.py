"""Collect the work of a team by the id of its session: what the tool `collect_team_artifacts` does.

It finds, in this order: a session that this process records, an open one in the store, a SPEC in the folder that the setting
`artifacts.specs` names, and a session that is stored already. A session that this process records, or that no process does, is
closed with that. One that another process records stays open: what there is so far is stored.
"""

import os
import time
from pathlib import Path
from typing import Any

from runcard import settings as known
from runcard.documents.kinds import TEAM
from runcard.documents.session.team import Team
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError, UsageError
from runcard.files import is_safe_id, printable
from runcard.observe.clock import Clock
from runcard.operations.sessions.assembly import CollectionProgress, Progress, SessionAssembler
from runcard.operations.sessions.close_session import (
    NoInstancesError,
    close_dead_session,
    session_settings,
    spec_of,
)
from runcard.operations.sessions.collect import (
    CollectedSession,
    check_allowed,
    check_quota,
    collect,
    failure_dict,
)
from runcard.operations.sessions.session import open_session
from runcard.operations.sessions.spec_file import session_id_of
from runcard.recording.record_signature import sign_at_closing
from runcard.recording.session_recorder import started_instances
from runcard.settings import Settings, read_settings
from runcard.settings.apply import use_masking_settings
from runcard.store.find_record import sessions_with_id
from runcard.store.sessions.collect_options import CollectOptions
from runcard.store.sessions.directory import SessionDirectory, store_of
from runcard.store.sessions.instance_copies import Confine
from runcard.store.sessions.live import INTERRUPTED, LiveJournals, find_live, live_state
from runcard.store.sessions.live_record import fold_session
from runcard.store.sessions.live_start import read_live_start
from runcard.store.sessions.own_paths import own_paths
from runcard.store.sessions.recovery import recover_sessions

_SUFFIXES = (".yaml", ".yml", ".json")
_MOST_SPECS = 10_000  # files that are looked into for an id


class CollectionTimeoutError(RuncardError):
    """A collection took longer than the setting `artifacts.timeout` allows."""


def collect_team_artifacts(team_session_id: str, **options: Any) -> JsonObject:  # noqa: ANN401 - of `collect_team`
    """The same as `collect_team`, with the result that the tool returns, also for an error."""
    try:
        return collect_team(team_session_id, **options).to_dict()
    except RuncardError as error:
        return failure_dict(error, {"team_session_id": team_session_id})


def collect_team(
    team_session_id: str,
    *,
    artifacts: "str | os.PathLike[str] | None" = None,
    specs: "str | os.PathLike[str] | None" = None,
    timeout: float | None = None,
    progress: Progress | None = None,
    confine: Confine | None = None,
) -> CollectedSession:
    """Store the session with this id; raises RuncardError with the documented texts.

    `artifacts`, `specs` and `timeout` (seconds) are those of the settings by default. `progress` is called while files are
    copied; what it raises ends the collection. `confine` gets each path before anything is copied, and returns the one to
    copy instead; what it raises leaves the session as it is.
    """
    if not team_session_id or not str(team_session_id).strip():
        raise UsageError("Team session ID cannot be empty", hint="give the id of a session")
    settings = read_settings(
        {
            known.ARTIFACTS_DIR: None if artifacts is None else os.fspath(artifacts),
            known.ARTIFACTS_SPECS: None if specs is None else os.fspath(specs),
            known.ARTIFACTS_TIMEOUT: timeout,
        }
    )
    check_allowed(settings, TEAM.latest)
    limited = _limited(progress, settings[known.ARTIFACTS_TIMEOUT])
    store = os.path.abspath(settings[known.ARTIFACTS_DIR])
    if is_safe_id(team_session_id):
        if (live := find_live(store, team_session_id)) is not None:
            return _collect_live(live, settings, limited, confine)
        if (spec := find_spec(settings[known.ARTIFACTS_SPECS], team_session_id)) is not None:
            return collect(spec, artifacts=store, progress=limited, confine=confine)
        if (stored := earlier_session(store, team_session_id)) is not None:
            return stored
    for _, hint in settings.refusals(known.ARTIFACTS_SPECS):
        raise NoInstancesError(team_session_id, hint=f"artifacts.specs is not used: {hint}")
    raise NoInstancesError(team_session_id)


def _limited(progress: Progress | None, seconds: float | None) -> Progress:
    """The progress, which also ends a collection that takes too long."""
    start = time.monotonic()

    def report(amount: CollectionProgress) -> None:
        if seconds is not None and time.monotonic() - start > seconds:
            raise CollectionTimeoutError(
                "Artifact collection timed out",
                hint=f"allow more than {seconds:g} seconds with artifacts.timeout, or copy less",
            )
        if progress is not None:
            progress(amount)

    return report


def find_open(word: str, artifacts: "str | os.PathLike[str] | None" = None) -> str | None:
    """The directory of the open session with this id; None if there is none, or a file of this name."""
    if not is_safe_id(word) or os.path.lexists(word):
        return None
    settings = read_settings({known.ARTIFACTS_DIR: None if artifacts is None else os.fspath(artifacts)})
    return find_live(os.path.abspath(settings[known.ARTIFACTS_DIR]), word)


def collect_open(live: str, progress: Progress | None = None) -> CollectedSession:
    """Store an open session. It is closed with that, unless another process still records it."""
    settings = session_settings(store_of(live))
    check_allowed(settings, TEAM.latest)
    return _collect_live(live, settings, _limited(progress, None))


def _collect_live(
    live: str, settings: Settings, progress: Progress, confine: Confine | None = None
) -> CollectedSession:
    """Close an open session, or store what one of another process has so far."""
    if (session := open_session(live)) is not None:
        if not session.instances:
            raise NoInstancesError(session.id)
        return session.collect(progress=progress)
    start = read_live_start(live)
    if not started_instances(live):
        raise NoInstancesError(start.session_id)  # it stays open
    if start.is_detached or live_state(live)[0] == INTERRUPTED:
        return close_dead_session(live, confine=confine, progress=progress)
    return collect_so_far(live, settings, progress, confine)


def collect_so_far(
    live: str, settings: Settings, progress: Progress | None = None, confine: Confine | None = None
) -> CollectedSession:
    """Store what an open session has so far, as a session of its own; the open one goes on."""
    use_masking_settings(settings)
    start, clock = read_live_start(live), Clock()
    options = CollectOptions(settings, TEAM.latest, keep_secrets=start.keep_secrets)
    check_quota(options.store, settings[known.ARTIFACTS_MAX_SIZE_GB])
    journals = LiveJournals(live)
    folded = fold_session(live, start, clock.started, is_over=False, journals=journals)
    if not folded.session.instances:
        raise NoInstancesError(start.session_id)
    remarks = list(recover_sessions(options.store, Clock().timestamp))
    own = own_paths(live, start, journals)
    checked = spec_of(live, folded, journals, own, confine)
    with SessionDirectory(options.store, start.session_id, clock.started, options.modes) as directory:
        assembler = SessionAssembler(directory, checked, options, clock)
        document = assembler.run(progress, again=True)
    return CollectedSession(
        Path(directory.final),
        document,
        (),
        assembler.omissions,
        (*remarks, *assembler.remarks, *sign_at_closing(directory.final, settings, is_own=own.is_own)),
        assembler.excluded,
        assembler.masked,
    )


def find_spec(folder: str | None, session_id: str) -> str | None:
    """The SPEC of a session in a folder: by the name of the file, or else by the id in it."""
    if folder is None:
        return None
    try:
        names = sorted(name for name in os.listdir(folder) if name.lower().endswith(_SUFFIXES))[:_MOST_SPECS]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(
            f"{printable(folder)} cannot be read: {os.strerror(error.errno or 0)}",
            hint="correct the setting artifacts.specs",
        ) from error
    by_name = [name for name in names if os.path.splitext(name)[0] == session_id]
    for name in (*by_name, *(name for name in names if name not in by_name)):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and session_id_of(path) == session_id:
            return path
    return None


def earlier_session(store: str, session_id: str) -> CollectedSession | None:
    """The newest session with this id that is stored already."""
    for record in sessions_with_id(store, session_id):
        document = record.document()
        if isinstance(document, Team):
            message = f"{printable(session_id)} is stored already: nothing was collected"
            path = Path(os.path.abspath(record.path))
            return CollectedSession(path, document, (), (), (message,), {}, {}, is_new=False)
    return None
