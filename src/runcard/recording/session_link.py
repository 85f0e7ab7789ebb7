"""The session and the agent that code belongs to, for what is recorded inside: light, since every run asks.

That of the enclosing block, of the only open session of this process, or of the parent process, which names it in variables of
the environment.
"""

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from runcard.recording.session_events import SessionEvents

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
    return SessionLink(os.path.abspath(folder), session_id, os.environ.get(INSTANCE_ID) or None)


def _forget_in_child() -> None:
    """A forked child has not started the sessions of its parent; it can join them."""
    _started.clear()


os.register_at_fork(after_in_child=_forget_in_child)
