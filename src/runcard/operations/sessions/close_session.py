"""Close a session that was recorded while it worked: its journals become a session like any other.

The fold makes what `collect` takes; the rest is the work of `collect`. The journals' lines are in the session's own journal, as
they were written. Only one process may close a session, and none but its owner while that lives.

A process that is killed in the middle leaves an open session, and a part that the next collection removes. One that is killed
after the session has its name leaves the directory of the open one, which whoever closes it next removes.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runcard import settings as known
from runcard.documents.kinds import TEAM
from runcard.documents.session.live_fold import FoldedSession, fold_live
from runcard.documents.times import parse_time
from runcard.errors import RuncardError, StoreError
from runcard.files import printable
from runcard.observe.clock import Clock
from runcard.operations.sessions.assembly import Progress, SessionAssembler
from runcard.operations.sessions.collect import CollectedSession, check_allowed, check_quota
from runcard.operations.sessions.spec_file import CheckedSpec
from runcard.settings import Settings, read_settings
from runcard.settings.apply import use_masking_settings
from runcard.store import layout
from runcard.store.record import DirectoryRecord
from runcard.store.sessions.collect_options import CollectOptions
from runcard.store.sessions.directory import SessionDirectory, store_of
from runcard.store.sessions.instance_copies import InstancePaths
from runcard.store.sessions.live import (
    INTERRUPTED,
    LiveJournals,
    hold_dead,
    last_sign_of_life,
    lines_digest,
    live_state,
    lock_for_closing,
    log_times,
    remove_live,
)
from runcard.store.sessions.live_start import LiveStart, read_live_start
from runcard.store.sessions.recovery import recover_sessions

if TYPE_CHECKING:
    from runcard.encoding import JsonObject


class NoInstancesError(StoreError):
    """A session has no agents, so that there is nothing to store."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"No instances found for team session '{printable(session_id)}'",
            hint="start an instance before the session ends",
        )


class SessionIsRunningError(StoreError):
    """A session whose process is alive cannot be closed by another one."""


class SessionClosing(NamedTuple):
    """A session whose lines are not added to any more."""

    live: str
    start: LiveStart
    settings: Settings

    @property
    def store(self) -> str:
        return store_of(self.live)


def close_dead_session(
    live: str, *, even_detached: bool = True, progress: Progress | None = None
) -> CollectedSession:
    """Close an open session whose process is gone; raises SessionIsRunningError if it is not.

    A session that belongs to no process is closed only if `even_detached`.
    """
    live = os.path.abspath(live)
    start = read_live_start(live)
    status, remark = live_state(live)
    if status != INTERRUPTED and not (start.is_detached and even_detached):
        raise SessionIsRunningError(
            f"the session {start.session_id} is not closed: {remark or 'its process is running'}",
            hint="it is closed at its end",
        )
    with hold_dead(live) as is_held:
        if not is_held:
            raise SessionIsRunningError(
                f"the session {start.session_id} is not closed: another process is closing it",
                hint="wait until that is done",
            )
        return close_held_session(live, progress=progress)


def close_held_session(
    live: str, *, settings: Settings | None = None, progress: Progress | None = None
) -> CollectedSession:
    """Close a session whose owner's lock is held by this process."""
    settings = settings or session_settings(store_of(live))
    use_masking_settings(settings)
    with lock_for_closing(live):
        closing = SessionClosing(live, read_live_start(live), settings)
        remarks = list(recover_sessions(closing.store, Clock().timestamp))
        collected = _finish_closed(closing) or _store(closing, progress)
        remove_live(live)
    return replace(collected, remarks=(*remarks, *collected.remarks))


def session_settings(store: str) -> Settings:
    """The settings for closing a session of a store."""
    return read_settings({known.ARTIFACTS_DIR: store})


def _finish_closed(closing: SessionClosing) -> CollectedSession | None:
    """The session if it has its final name already: who closed it was killed before it removed the open one."""
    final = os.path.join(closing.store, closing.start.name)
    if not os.path.isdir(final):
        return None
    record = DirectoryRecord(final)
    writers = {head.writer for head in LiveJournals(closing.live).heads()}
    stated = record.raw_document.get("event_chains")
    chains = (
        {chain.get("writer") for chain in stated if isinstance(chain, dict)}
        if isinstance(stated, list)
        else set()
    )
    if not writers <= chains:
        raise StoreError(
            f"{printable(final)} is in the way: it is not this session",
            hint="move it away, and close the session again",
        )
    document = record.document()
    if document.kind is not TEAM:
        raise StoreError(
            f"{printable(final)} is not a session", hint="move it away, and close the session again"
        )
    return CollectedSession(Path(final), document, (), (), (), {}, {})  # type: ignore[arg-type]


def _store(closing: SessionClosing, progress: Progress | None) -> CollectedSession:
    live, start, settings = closing
    check_allowed(settings, TEAM.latest)
    options = CollectOptions(settings, TEAM.latest, keep_secrets=start.keep_secrets)
    check_quota(options.store, settings[known.ARTIFACTS_MAX_SIZE_GB])
    journals, clock = LiveJournals(live), Clock()
    folded = fold_session(live, start, clock.started, is_over=True, journals=journals)
    if not folded.session.instances:
        remove_live_if_empty(live, folded)
        raise NoInstancesError(start.session_id)
    checked = spec_of(live, folded, journals)
    problems = journals.problems(start.name)
    with SessionDirectory(
        options.store,
        start.session_id,
        start.created,
        options.modes,
        reserved=True,
        first_lines=journals.blocks(),
    ) as directory:
        assembler = SessionAssembler(directory, checked, options, clock, live_heads=journals.heads())
        document = assembler.run(progress, again=True)
    remarks = (*assembler.remarks, *(f"a journal is damaged: {problem}" for problem in problems))
    return CollectedSession(
        Path(directory.final),
        document,
        checked.findings,
        assembler.omissions,
        remarks,
        assembler.excluded,
        assembler.masked,
    )


def remove_live_if_empty(live: str, folded: FoldedSession) -> None:
    """Remove an open session in which nothing happened: no document can be made of it."""
    if not folded.session.instances:
        remove_live(live)


def fold_session(
    live: str, start: LiveStart, now: datetime, *, is_over: bool, journals: LiveJournals | None = None
) -> FoldedSession:
    """What the events of an open session tell so far."""
    lines = (journals or LiveJournals(live)).lines
    alive = parse_time(last_sign_of_life(live))
    folded = fold_live(start.document, lines, end=now, is_over=is_over, alive=alive)
    if not is_over or folded.status is not None:
        return folded
    times = log_times(live, (each.instance_id for each in folded.session.instances))
    newest = max((datetime.fromtimestamp(time, UTC) for time in times.values()), default=None)
    if newest is None or (folded.last_time is not None and newest <= folded.last_time):
        return folded
    newest = newest.replace(microsecond=newest.microsecond // 1000 * 1000)
    return fold_live(start.document, lines, end=now, is_over=is_over, alive=newest)


def spec_of(live: str, folded: FoldedSession, journals: LiveJournals) -> CheckedSpec:
    """The session as `collect` takes it; its secrets were masked when they were written."""
    paths = {}
    for instance in folded.session.instances:
        log = layout.live_log(live, instance.instance_id)
        logged = log if os.path.lexists(log) else None
        paths[instance.instance_id] = InstancePaths(
            instance.fields.get("workspace"), instance.fields.get("output") or logged
        )
    source: JsonObject = {"path": printable(live), "sha256": lines_digest(journals.blocks())}
    return CheckedSpec(
        folded.session, paths, folded.usages, (), {}, source, more_redactions=folded.redactions
    )


def try_close(live: str, report: Callable[[str], object]) -> CollectedSession | None:
    """Close a session, if that can be done; `report` gets the reason if not."""
    try:
        return close_dead_session(live)
    except RuncardError as error:
        report(error.message)
        return None
