"""The session and the agent that code belongs to, for what is recorded inside: light, since every run asks.

That of the enclosing block, of the only open session of this process, or of the parent process, which names it in variables of
the environment.
"""

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.run.events import MODEL_CALLED, RUN_ENDED, USAGE_INCOMPLETE
from runcard.encoding import JsonObject
from runcard.errors import RuncardError
from runcard.files import is_safe_id, printable

if TYPE_CHECKING:
    from runcard.recording.session_events import SessionEvents

PASSED_ON = (MODEL_CALLED, USAGE_INCOMPLETE)  # events of a run that its session has as well

SESSION_DIR = "RUNCARD_SESSION_DIR"
SESSION_ID = "RUNCARD_SESSION"
INSTANCE_ID = "RUNCARD_INSTANCE"


class SessionLink(NamedTuple):
    """Where something belongs."""

    path: str  # of the open session
    session_id: str
    instance_id: str | None  # None: to the session as a whole

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that let a child process find it."""
        variables = {SESSION_DIR: self.path, SESSION_ID: self.session_id}
        return variables | ({} if self.instance_id is None else {INSTANCE_ID: self.instance_id})

    @property
    def relation(self) -> dict[str, str]:
        """How the document of a run names it."""
        relation = {"type": "session", "id": self.session_id}
        return relation | ({} if self.instance_id is None else {"instance_id": self.instance_id})


CURRENT_LINK: ContextVar[SessionLink | None] = ContextVar("runcard_session", default=None)

_open: dict[str, "SessionEvents"] = {}  # the sessions that this process has started or joined, by path
_started: dict[str, None] = {}  # those of them that it has started


def add_open_session(events: "SessionEvents", *, is_own: bool) -> None:
    _open[events.path] = events
    if is_own:
        _started[events.path] = None


def remove_open_session(path: str) -> None:
    _open.pop(path, None)
    _started.pop(path, None)


def open_session_here(path: str) -> "SessionEvents | None":
    """What writes the events of a session in this process."""
    return _open.get(path)


def started_sessions() -> tuple[str, ...]:
    """The paths of the sessions that this process has started and not ended."""
    return tuple(_started)


def session_link() -> SessionLink | None:
    """Where the calling code belongs."""
    if (link := CURRENT_LINK.get()) is not None:
        return link
    if len(_started) == 1:
        (path,) = _started
        return SessionLink(path, _open[path].start.session_id, None)
    folder, session_id = os.environ.get(SESSION_DIR), os.environ.get(SESSION_ID)
    if not folder or not session_id:
        return None
    own = os.environ.get(INSTANCE_ID) or ""
    return SessionLink(os.path.abspath(folder), session_id, own if is_safe_id(own) else None)


def add_run(link: SessionLink, run_id: str) -> None:
    """Record in a session that a run is recorded inside it; raises RuncardError when the session is closed."""
    from runcard.documents.session.live_events import RUN_RECORDED  # noqa: PLC0415 - few runs are in a session

    _events_of(link).write(RUN_RECORDED, {"run_id": run_id}, "info", link.instance_id)


def pass_on(link: SessionLink, run_id: str, event: str, payload: JsonObject, level: str) -> None:
    """Record an event of a run in its session as well: the calls of an agent are those of the runs inside it.

    A run that belongs to no agent keeps its calls for itself.
    """
    if event in PASSED_ON and link.instance_id is not None:
        _events_of(link).write(event, payload | {"run_id": run_id}, level, link.instance_id)


def add_end(link: SessionLink, document: JsonObject, used: JsonObject, *, is_own_process: bool) -> None:
    """Record in a session what a run of one of its agents used, by its start document.

    `is_own_process` says that this whole process was measured, and not a command alone.
    """
    if link.instance_id is None:
        return
    process = document["generation"]["process"]
    names = ("host", "pid", "started", "start_ticks") if is_own_process else ()
    parents = [relation["id"] for relation in document["relations"] if relation["type"] == "parent"]
    payload = {
        "run_id": document["generation"]["run_id"],
        "resources": used,
        "process": "/".join(str(process.get(name)) for name in names) or None,
        "parent": next(iter(parents), None),
    }
    _events_of(link).write(RUN_ENDED, payload, "info", link.instance_id)


def _events_of(link: SessionLink) -> "SessionEvents":
    from runcard.recording.session_recorder import join_events  # noqa: PLC0415 - few runs are in a session

    events = join_events(link.path)
    if events.start.session_id != link.session_id:
        raise RuncardError(f"{printable(link.path)} is not the session {printable(link.session_id)}")
    return events


def _forget_in_child() -> None:
    """A forked child has not started the sessions of its parent; it can join them."""
    _started.clear()


os.register_at_fork(after_in_child=_forget_in_child)
