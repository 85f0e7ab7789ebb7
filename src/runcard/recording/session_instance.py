"""One agent of a session that is being recorded: `runcard.SessionInstance`."""

import contextlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from runcard.documents.session.live_events import EVENTS, INSTANCE_FINISHED, INSTANCE_STATUSES
from runcard.errors import UsageError
from runcard.recording.argument_checks import check_text, display_value, plain_copy
from runcard.recording.events import as_text
from runcard.recording.plain_data import plain_data
from runcard.recording.recorder import Recorder
from runcard.recording.session_events import InstanceEvents
from runcard.recording.session_link import CURRENT_LINK, SessionLink
from runcard.recording.termination import status_of
from runcard.store import layout

if TYPE_CHECKING:
    from contextvars import Token
    from decimal import Decimal
    from types import TracebackType

    from runcard.encoding import JsonObject
    from runcard.recording.session_events import SessionEvents

_STATUS_OF_BLOCK = {"completed": "completed", "failed": "error", "interrupted": "terminated"}


class SessionInstance:
    """An agent of a session. `Session.start_instance` makes it, and `Session.instance` finds one that another process started.

    As a context manager it is the agent that runs recorded in the block belong to, and the end of the block finishes it.
    """

    def __init__(
        self, events: InstanceEvents, name: str, *, has_output: bool = False, is_ours: bool = True
    ) -> None:
        self._events = events
        self._name = name
        self._has_output = has_output
        self._is_ours = is_ours  # this process started it, so the end of its block finishes it
        self._is_finished = False
        self._calls = _AgentCallRecorder(events)
        self._tokens: list[Token[SessionLink | None]] = []

    def __repr__(self) -> str:
        return f"<runcard.SessionInstance {self.name} {self.id} of {self._session.start.session_id}>"

    @property
    def _session(self) -> "SessionEvents":
        return self._events.session

    @property
    def id(self) -> str:
        """The id of the agent: `instance_id` in the documents."""
        return self._events.instance_id

    @property
    def name(self) -> str:
        """The name of the agent for people."""
        return self._name

    @property
    def is_finished(self) -> bool:
        """Whether `finish` was called for it, in this process."""
        return self._is_finished

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that let a child process find the session and this agent."""
        return self._link.environ

    @property
    def _link(self) -> SessionLink:
        return SessionLink(self._session.path, self._session.start.session_id, self.id)

    def add_usage(  # noqa: PLR0913 - as `Run.add_usage`
        self,
        reply: Any,  # noqa: ANN401 - whatever a vendor's package returns
        *,
        step: str | None = None,
        model: str | None = None,
        provider: str | None = None,
        cost: "float | Decimal | None" = None,
        service_tier: str | None = None,
        latency: float | None = None,
        prompt: str | None = None,
        template: str | None = None,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a call of a model by the usage that its vendor reports: a reply, or a plain dict.

        The arguments are those of `Run.add_usage`. A response that a run inside has recorded, by its id, counts once.
        """
        self._calls.add_usage(
            reply,
            step=step,
            model=model,
            provider=provider,
            cost=cost,
            service_tier=service_tier,
            latency=latency,
            prompt=prompt,
            template=template,
            request=request,
        )

    def log(self, text: str | bytes) -> None:
        """Add a text to the output of the agent, with a newline after it; secrets are masked first."""
        if self._has_output:
            raise UsageError(
                f"the output of {display_value(self.name)} is a file of its own: it cannot be logged as well",
                hint="write to that file, or start the agent without `output`",
            )
        if not isinstance(text, str | bytes):
            raise UsageError(f"the text to log is a {type(text).__name__}", hint="pass a text")
        session, where = self._session, layout.instance_file(self.id, layout.OUTPUT)
        with session.guard_failures():
            plain = text if isinstance(text, str) else text.decode("utf-8", "backslashreplace")
            session.log(session.mask_text(plain, where, self.id), self.id)

    def event(self, name: str, /, **payload: object) -> None:
        """Write an event of your own."""
        write_event(self._session, name, payload, self.id)

    def add_error(self, error: BaseException | str, *, type: str | None = None) -> None:  # noqa: A002
        """Record an error that the agent met: an exception, or a message. It goes on, unless `finish` says otherwise."""
        self._events.add_error(error, type)

    def finish(self, status: str = "completed", error: BaseException | str | None = None) -> None:
        """Record that the agent has ended, as `completed`, `error`, `timeout` or `terminated`."""
        if status not in INSTANCE_STATUSES:
            raise UsageError(f"invalid status {status!r}", hint=f"use one of {', '.join(INSTANCE_STATUSES)}")
        if self._is_finished:
            raise UsageError(f"{display_value(self.name)} is finished", hint="start another instance")
        self._leave()
        self._is_finished = True
        payload: JsonObject = {"status": status}
        if error is not None:
            self._events.add_error(error)
            payload["error"] = self._session.mask_text(as_text(error), "errors", self.id)
        self._events.emit(INSTANCE_FINISHED, payload)

    def __enter__(self) -> Self:
        self._tokens.append(CURRENT_LINK.set(self._link))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self._leave()
        if self._is_ours and not self._is_finished:
            ended_as = _STATUS_OF_BLOCK[status_of(error)[0]]
            if isinstance(error, TimeoutError):
                ended_as = "timeout"
            self.finish(ended_as, error if ended_as in {"error", "timeout"} else None)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self.__exit__(kind, error, trace)

    def _leave(self) -> None:
        """Make what was current before this agent current again, where it is."""
        for token in reversed(self._tokens):
            with contextlib.suppress(ValueError):  # entered in another context
                CURRENT_LINK.reset(token)
                self._tokens.remove(token)
                return


class _AgentCallRecorder(Recorder):
    """The part of a recorder that records calls."""

    def __init__(self, events: InstanceEvents) -> None:
        self._events: InstanceEvents = events


def write_event(
    session: "SessionEvents", name: str, payload: Mapping[str, object], instance_id: str | None
) -> None:
    """Write an event of the user's own."""
    text = check_text(name, "the name of an event")
    if text in EVENTS:
        raise UsageError(f"{text} is an event of runcard's own", hint="choose another name")
    plain = plain_data(dict(payload))
    data = plain_copy(plain.value)
    session.add_masked(plain.counts, "events", instance_id)
    masked = session.mask(data, "events", instance_id)
    session.emit(session.mask_text(as_text(text), "events", instance_id), masked, instance_id=instance_id)


def absolute(path: "str | os.PathLike[str] | None") -> str | None:
    """A path of the caller, from the directory that it is in now."""
    return None if path is None else os.path.abspath(os.path.expanduser(os.fspath(path)))
