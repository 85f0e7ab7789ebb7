"""Record a session from a shell, or from a program in any language: what `runcard session` does.

Such a session belongs to no process: it is open until it is finished. Each command adds to its journal and returns.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runcard import settings as known
from runcard.documents.session.live_events import SESSION_ENDED
from runcard.encoding import Limits, decode_json
from runcard.errors import RuncardError, StoreError, UsageError
from runcard.files import printable, shell_word
from runcard.observe.clock import Clock
from runcard.operations.checks.load import STDIN, read_document
from runcard.operations.sessions.close_session import NoInstancesError, close_dead_session
from runcard.operations.sessions.collect import CollectedSession, check_allowed
from runcard.operations.sessions.collect_team import earlier_session
from runcard.operations.sessions.session import JoinedSession
from runcard.recording.argument_checks import check_labels, check_status
from runcard.recording.session_instance import SessionInstance
from runcard.recording.session_link import INSTANCE_ID, SESSION_DIR, SessionLink
from runcard.recording.session_recorder import (
    SessionOptions,
    begin_session,
    check_session_id,
    join_events,
    started_instances,
)
from runcard.settings import read_settings
from runcard.settings.apply import use_masking_settings
from runcard.store import layout
from runcard.store.sessions.directory import Modes, store_of
from runcard.store.sessions.live import check_removable, find_live
from runcard.store.sessions.live_start import read_live_start
from runcard.store.sessions.own_paths import is_own_session
from runcard.store.sessions.recovery import recover_sessions

_LOG_BLOCK = 1 << 20  # bytes


def start_session(
    session_id: str,
    *,
    artifacts: str | None = None,
    labels: Mapping[str, object] | None = None,
    keep_secrets: bool = False,
) -> SessionLink:
    """Start a session that belongs to no process."""
    settings = read_settings({known.ARTIFACTS_DIR: artifacts})
    check_allowed(settings, "2.0.0")
    use_masking_settings(settings)
    options = SessionOptions(
        os.path.abspath(settings[known.ARTIFACTS_DIR]),
        check_session_id(session_id),
        check_labels(labels or {}),
        None,
        keep_secrets,
        strict=True,
        modes=Modes(settings[known.ARTIFACTS_DIRECTORY_MODE], settings[known.ARTIFACTS_FILE_MODE]),
        is_detached=True,
    )
    events = begin_session(options)
    return SessionLink(events.path, options.session_id, None)


def is_unproven(link: SessionLink) -> bool:
    """Whether nobody will be able to tell that this user has started the session."""
    return not is_own_session(link.path, read_live_start(link.path))


def join_session(word: str | None, artifacts: str | None = None) -> JoinedSession:
    """The open session with this id, or that of the environment; raises StoreError if there is none."""
    use_masking_settings()
    return JoinedSession(join_events(_directory(word, artifacts), strict=True))


def _directory(word: str | None, artifacts: str | None) -> str:
    if word is None:
        folder = os.environ.get(SESSION_DIR)
        if not folder:
            raise StoreError(
                f"no session is named, and {SESSION_DIR} is not set",
                hint="pass --session with its id, or start one: runcard session start team-1",
            )
        return os.path.abspath(folder)
    store = _store(artifacts)
    live = find_live(store, word)
    if live is None:
        raise StoreError(
            f"no session {printable(word)} is open in {printable(store)}",
            hint=f"name its store with --artifacts, or start it: runcard session start {shell_word(word)}",
        )
    return live


def _store(artifacts: str | None) -> str:
    return os.path.abspath(read_settings({known.ARTIFACTS_DIR: artifacts})[known.ARTIFACTS_DIR])


def agent_of(session: JoinedSession, word: str | None) -> SessionInstance:
    """The agent with this id or name, or that of the environment; the only one, if none is named."""
    name = word or os.environ.get(INSTANCE_ID)
    if name:
        return session.instance(name)
    names = started_instances(str(session.path))
    if len(names) != 1:
        raise UsageError("no agent is named", hint="pass --instance with its id or name")
    return session.instance(names[0][0])


def log_stream(agent: SessionInstance, text: str | None) -> None:
    """Add a text, or what comes on standard input, to the output of an agent."""
    if text is not None:
        agent.log(text)
        return
    while block := sys.stdin.buffer.readlines(_LOG_BLOCK):
        agent.log(b"".join(block))


def read_json(text: str, what: str) -> Any:  # noqa: ANN401 - any JSON
    """JSON that is given as a text, as a file with `@`, or as `-` for standard input."""
    try:
        if text == STDIN or text.startswith("@"):
            return decode_json(read_document(text.removeprefix("@"), Limits()))
        return decode_json(text.encode("utf-8", "surrogateescape"))
    except RuncardError as error:
        raise UsageError(f"{what} cannot be read: {error.message}", hint="pass JSON, @FILE or -") from error


def finish_named(word: str | None, artifacts: str | None, status: str) -> CollectedSession:
    """End the session with this id, or that of the environment; one that is stored already is brought to its end."""
    try:
        check_removable(_directory(word, artifacts))  # before anything is written
        session = join_session(word, artifacts)
    except StoreError:
        if (stored := _stored_already(word, artifacts)) is None:
            raise
        return stored
    return finish_session(session, status)


def _stored_already(word: str | None, artifacts: str | None) -> CollectedSession | None:
    """The stored session, whose end may have been interrupted; None if there is none."""
    folder = os.environ.get(SESSION_DIR)
    if word is None and not folder:
        return None
    live = os.path.abspath(folder or "") if word is None else layout.live_session(_store(artifacts), word)
    store, session_id = store_of(live), os.path.basename(live)
    if not os.path.isdir(layout.collections(store)):
        return None
    remarks = list(recover_sessions(store, Clock().timestamp))
    stored = earlier_session(store, session_id)
    return stored and replace(stored, remarks=(*remarks, *stored.remarks))


def finish_session(session: JoinedSession, status: str) -> CollectedSession:
    """End a session, and store it."""
    check_status(status)
    live = str(session.path)
    start = read_live_start(live)
    if not start.is_detached:
        raise StoreError(
            f"the session {start.session_id} belongs to a process, and ends there",
            hint=f"if the process is gone: runcard close {start.session_id}",
        )
    if os.path.lexists(layout.live_journal(live)):  # else it is stored, and only this directory is left
        if not started_instances(live):
            name = shell_word(start.session_id)
            hint = f"add one: runcard session instance writer --session {name}; or remove the session: runcard close {name}"
            raise NoInstancesError(start.session_id, hint=hint)
        session.write_event(SESSION_ENDED, {"status": status})
    return close_dead_session(live)
