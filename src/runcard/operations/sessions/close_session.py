"""Close a session that was recorded while it worked: its journals become a session like any other.

The fold makes what `collect` takes; the rest is the work of `collect`. The journals' lines are in the session's own journal, as
they were written. Only one process may close a session, and none but its owner while that lives.

A process that is killed in the middle leaves an open session, and a part that the next collection removes. One that is killed
after the session has its name leaves the directory of the open one, which whoever closes it next removes.
"""

import contextlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runcard import settings as known
from runcard.documents.kinds import TEAM
from runcard.documents.session.live_fold import FoldedSession
from runcard.documents.session.team import Team
from runcard.errors import RuncardError, StoreError
from runcard.files import printable, shell_word
from runcard.observe.clock import Clock
from runcard.operations.sessions.assembly import Progress, SessionAssembler
from runcard.operations.sessions.collect import CollectedSession, check_allowed, check_quota
from runcard.operations.sessions.spec_file import CheckedSpec
from runcard.recording.closing import CloseResult
from runcard.recording.record_signature import sign_at_closing
from runcard.settings import Settings, read_settings
from runcard.settings.apply import use_masking_settings
from runcard.store import layout
from runcard.store.find_record import sessions_with_id
from runcard.store.record import DirectoryRecord
from runcard.store.sessions.collect_options import CollectOptions
from runcard.store.sessions.directory import SessionDirectory, store_of
from runcard.store.sessions.instance_copies import Confine, InstancePaths
from runcard.store.sessions.live import (
    INTERRUPTED,
    LiveJournals,
    check_removable,
    hold_dead,
    lines_digest,
    live_state,
    lock_live,
    remove_live,
)
from runcard.store.sessions.live_record import fold_session
from runcard.store.sessions.live_start import LiveStart, read_live_start
from runcard.store.sessions.own_paths import (
    NOT_OWN,
    TRUSTED,
    UNPROVEN,
    OwnPaths,
    agent_paths,
    is_all_own,
    known_paths,
    own_paths,
)
from runcard.store.sessions.recovery import recover_sessions, remove_unfinished

if TYPE_CHECKING:
    from collections.abc import Collection

    from runcard.documents.document import Document
    from runcard.encoding import JsonObject
    from runcard.store.own_starts import AgentPaths


class NoInstancesError(StoreError):
    """A session has no agents, so that there is nothing to store."""

    def __init__(self, session_id: str, *, hint: str = "start an instance before the session ends") -> None:
        super().__init__(f"No instances found for team session '{printable(session_id)}'", hint=hint)


class SessionIsRunningError(StoreError):
    """A session whose process is alive cannot be closed by another one."""

    def __init__(self, session_id: str, reason: str) -> None:
        super().__init__(f"the session {session_id} is not closed: {reason}", hint="it is closed at its end")
        self.reason = reason


class UnprovenSessionError(StoreError):
    """A session that may be somebody else's is not closed with all others, which would leave its files out."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"the session {session_id} is not closed: {UNPROVEN}",
            hint=f"name it: runcard close {shell_word(session_id)}",
        )


class SessionClosing(NamedTuple):
    """A session whose lines are not added to any more."""

    live: str
    start: LiveStart
    settings: Settings
    journals: LiveJournals
    own: OwnPaths
    confine: Confine | None

    @property
    def store(self) -> str:
        return store_of(self.live)


def close_dead_session(
    live: str,
    *,
    is_named: bool = True,
    trust: bool = False,
    confine: Confine | None = None,
    progress: Progress | None = None,
) -> CollectedSession:
    """Close an open session whose process is gone; raises SessionIsRunningError if it is not.

    One that belongs to no process, or that may be somebody else's, is closed only if the user named it. Without `trust`,
    nothing is copied but what this user demonstrably named, and no other session is signed. `confine` gets each path before
    it is copied.
    """
    live = os.path.abspath(live)
    start = read_live_start(live)
    status, remark = live_state(live)
    if status != INTERRUPTED and not (start.is_detached and is_named):
        raise SessionIsRunningError(start.session_id, _why_open(start, remark))
    check_removable(live)
    with hold_dead(live) as is_held:
        if not is_held:
            raise SessionIsRunningError(start.session_id, "another process is closing it")
        if not is_named and not is_all_own(live, start):
            raise UnprovenSessionError(start.session_id)
        return close_held_session(live, trust=trust, confine=confine, progress=progress)


def _why_open(start: LiveStart, remark: str | None) -> str:
    if start.is_detached:
        return f"it belongs to no process: `runcard session finish --session {shell_word(start.session_id)}` ends it"
    return remark or "its process is running"


def close_held_session(
    live: str,
    *,
    known: "Collection[AgentPaths] | None" = None,
    trust: bool = False,
    confine: Confine | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> CollectedSession:
    """Close a session whose owner's lock is held by this process.

    `known` are the files that the process which recorded it has named: it needs no proof that the session is its own.
    """
    settings = settings or session_settings(store_of(live))
    use_masking_settings(settings)
    with lock_live(live):
        start, journals = read_live_start(live), LiveJournals(live)
        if trust:
            own = TRUSTED
        elif known is not None:
            own = known_paths(live, start, journals, known)
        else:
            own = own_paths(live, start, journals)
        closing = SessionClosing(live, start, settings, journals, own, confine)
        remarks = list(recover_sessions(closing.store, Clock().timestamp))
        remarks += remove_unfinished(closing.store, closing.start.session_id)
        collected = _finish_closed(closing) or _store(closing, progress)
        remove_live(live)
    signing = sign_at_closing(str(collected.path), settings, is_own=closing.own.is_own)
    remarks += [*collected.remarks, *signing]
    return replace(collected, remarks=tuple(remarks))


def close_session(live: str, *, is_named: bool = True, trust: bool = False) -> CloseResult:
    """Close an open session for `runcard close`; one whose process is alive is left alone."""
    try:
        collected = close_dead_session(live, is_named=is_named, trust=trust)
    except UnprovenSessionError:
        return CloseResult(live, INTERRUPTED, closed=False, reason=UNPROVEN)
    except SessionIsRunningError as error:
        return CloseResult(live, "running", closed=False, reason=error.reason)
    except NoInstancesError:
        return CloseResult(live, "empty", closed=False, reason="it had no agents, and was removed")
    warnings = (*collected.omissions, *collected.remarks)
    return CloseResult(str(collected.path), _status(collected.document), closed=True, warnings=warnings)


def closed_session(directory: str) -> CloseResult | None:
    """What `runcard close` says of a session that is closed; None if this is none."""
    document = DirectoryRecord(directory).document()
    if document.kind is not TEAM:
        return None
    return CloseResult(directory, _status(document), closed=False, reason="it is closed already")


def _status(document: "Document") -> str:
    return "completed" if document.to_dict()["execution_summary"].get("all_completed") else "failed"


def session_settings(store: str) -> Settings:
    """The settings for closing a session of a store."""
    return read_settings({known.ARTIFACTS_DIR: store})


def _finish_closed(closing: SessionClosing) -> CollectedSession | None:
    """The session if it is stored already: who closed it was killed before it removed the open one."""
    writers, name = {head.writer for head in closing.journals.heads()}, closing.start.name
    for record in sessions_with_id(closing.store, closing.start.session_id):
        # A damaged session does not keep others from being closed.
        with contextlib.suppress(RuncardError, OSError):
            document = record.document()
            if not isinstance(document, Team):
                continue
            chains = document.to_dict().get("event_chains", ())
            # The journals may be removed already, and then the name is left.
            known = (
                {chain["writer"] for chain in chains}
                if writers
                else {chain.get("record") for chain in chains}
            )
            if (writers or {name}) <= known:
                return CollectedSession(Path(record.path), document, (), (), (), {}, {})
    return None


def _store(closing: SessionClosing, progress: Progress | None) -> CollectedSession:
    live, start, settings, journals = closing.live, closing.start, closing.settings, closing.journals
    check_allowed(settings, TEAM.latest)
    options = CollectOptions(settings, TEAM.latest, keep_secrets=start.keep_secrets)
    check_quota(options.store, settings[known.ARTIFACTS_MAX_SIZE_GB])
    clock = Clock()
    folded = fold_session(live, start, clock.started, is_over=True, journals=journals)
    if not folded.session.instances:
        remove_live(live)  # no document can be made of it
        raise NoInstancesError(start.session_id)
    checked = spec_of(live, folded, journals, closing.own, closing.confine)
    problems = journals.problems(start.name)
    with SessionDirectory(
        options.store,
        start.session_id,
        clock.started,
        options.modes,
        is_closing=True,
        first_lines=journals.blocks(),
    ) as directory:
        chains = [head.to_dict() | {"record": start.name} for head in journals.heads()]
        assembler = SessionAssembler(directory, checked, options, clock, live_chains=chains)
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


def spec_of(
    live: str, folded: FoldedSession, journals: LiveJournals, own: OwnPaths, confine: Confine | None = None
) -> CheckedSpec:
    """The session as `collect` takes it; its secrets were masked when they were written.

    Files outside of the store are only those that are this user's `own`; `confine` may refuse them as well.
    """
    paths = {}
    for instance in folded.session.instances:
        log = layout.live_log(live, instance.instance_id)
        named = agent_paths(instance.instance_id, instance.fields)
        refusal = NOT_OWN if named.is_any and not own.has(named) else None
        given = InstancePaths(named.workspace, named.output, refusal=refusal)
        given = given if confine is None or refusal else given.confined(confine)
        if named.output is None and os.path.lexists(log):
            given = replace(given, output=log, is_own_log=True)
        paths[instance.instance_id] = given
    source: JsonObject = {"path": printable(live), "sha256": lines_digest(journals.blocks())}
    return CheckedSpec(
        folded.session, paths, folded.usages, (), {}, source, more_redactions=folded.redactions
    )
