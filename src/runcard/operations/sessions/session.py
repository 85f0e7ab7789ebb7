"""Record a team's session while it works: `with runcard.Session("team-1") as session:`.

The session exists on disk from the first moment, and is closed when the block ends, however it ends. The user's exception
always passes unchanged; a failure of the recording itself is a warning, unless `strict` is set.
"""

import atexit
import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Self

from runcard import settings as known
from runcard.documents.run.events import WARNING_ADDED
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError, UsageError
from runcard.recording.argument_checks import check_labels, check_prices, check_status
from runcard.recording.caller_warnings import warn_caller
from runcard.recording.off_loop import run_off_loop
from runcard.recording.session_events import SessionEvents
from runcard.recording.session_link import CURRENT_LINK, SessionLink, open_session_here, session_link
from runcard.recording.session_recorder import (
    SessionOptions,
    SessionRecorder,
    begin_session,
    check_session_id,
    join_events,
    unrecorded,
)
from runcard.recording.termination import (
    TerminationGuard,
    received_signal,
    status_of,
    uncaught_exception,
)
from runcard.settings import read_settings
from runcard.settings.apply import use_masking_settings
from runcard.store.sessions.directory import Modes

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from pathlib import Path
    from types import TracebackType

    from runcard.accounting import Prices
    from runcard.operations.sessions.assembly import Progress
    from runcard.operations.sessions.collect import CollectedSession
    from runcard.settings import Settings

_sessions: dict[str, "Session"] = {}  # open in this process, by path


class Session(SessionRecorder):
    """A session of a team of agents that is recorded while it works: a context manager, sync and async.

    The end of the block closes it, in the process that started it. Without a block, call `start` and `finish`. In a pickle it
    names the session: whoever loads it, in another process, adds events in a journal of its own.
    """

    def __init__(
        self,
        session_id: str,
        *,
        artifacts: "str | os.PathLike[str] | None" = None,
        labels: Mapping[str, object] | None = None,
        prices: "Prices | None" = None,
        keep_secrets: bool = False,
        strict: bool = False,
    ) -> None:
        """`artifacts` is the store, by default that of the settings. Nothing is written before the session starts.

        When the recording itself fails, the block goes on with a RuncardWarning; with `strict` it raises.
        """
        self._settings: Settings | None = read_settings(
            {known.ARTIFACTS_DIR: None if artifacts is None else os.fspath(artifacts)}
        )
        self._options: SessionOptions | None = SessionOptions(
            os.path.abspath(self._settings[known.ARTIFACTS_DIR]),
            check_session_id(session_id),
            check_labels(labels or {}),
            check_prices(prices),
            keep_secrets,
            strict,
            Modes(self._settings[known.ARTIFACTS_DIRECTORY_MODE], self._settings[known.ARTIFACTS_FILE_MODE]),
        )
        self._instances, self._named = {}, []
        self._prices = self._options.prices
        self._has_ended = self._has_started = False
        self._pid = 0  # of the process that started it
        self._tokens: list[Token[SessionLink | None]] = []
        self._signals = TerminationGuard()
        self._result: CollectedSession | None = None
        self._progress: Progress | None = None

    def __repr__(self) -> str:
        return f"<runcard.Session {self.id}>"

    @property
    def id(self) -> str:
        """The id of the session: `team_session_id` in the documents."""
        return self._options.session_id if self._options is not None else super().id

    @property
    def path(self) -> "Path":
        """The directory of the session: the one of the open session, and once it is closed, that of the record."""
        from pathlib import Path  # noqa: PLC0415 - slow to load

        if self._result is not None:
            return self._result.path
        self._check_started()
        return Path(self._events.path)

    @property
    def result(self) -> "CollectedSession | None":
        """What closing the session stored; None before that, and if it failed."""
        return self._result

    @property
    def is_open(self) -> bool:
        """Whether this process has started the session, and can still end it."""
        return self._options is not None and self._has_started and not self._has_ended and self._is_ours

    @property
    def _is_ours(self) -> bool:
        """Whether this process started the session, and not one that it was forked from."""
        return self._pid == os.getpid()

    def start(self) -> Self:
        """Start the session without a block: `finish` ends it."""
        if self._has_started:
            raise UsageError("this session has already started", hint="use another Session object")
        options = self._options
        if options is None:
            raise UsageError("another process started this session", hint="add to it")
        self._has_started, self._pid = True, os.getpid()
        use_masking_settings(self._settings)
        try:
            self._events = begin_session(options)
        except (RuncardError, OSError) as error:
            if options.strict:
                raise
            self._events = unrecorded(options, error)
        self._begin()
        _sessions[self._events.path] = self
        self._signals.begin()
        return self

    def finish(self, status: str = "completed") -> "CollectedSession | None":
        """End the session, as `completed`, `failed` or `interrupted`, and close it; returns what was stored.

        An agent that is not finished ends as the session does.
        """
        check_status(status)
        return self._finish(status)

    def collect(self, progress: "Progress | None" = None) -> "CollectedSession":
        """The same for a session whose agents may still work: those that are not finished are stored as `running`.

        It raises if the session cannot be stored.
        """
        self._check_started()
        self._progress, self._events.strict = progress, True
        result = self._finish("collected")
        if result is None:
            raise StoreError(f"the session {self.id} was not stored", hint="it is not recorded")
        return result

    def _finish(self, status: str) -> "CollectedSession | None":
        self._check_started()
        if self._options is None or not self._is_ours:
            raise UsageError(
                "another process started this session", hint="call finish() there, when its children are done"
            )
        if self._has_ended:
            raise UsageError("this session is finished", hint="start another one")
        self._leave()
        self._end_here(status)
        return self._result

    def __enter__(self) -> Self:
        if not self._has_started:
            self.start()
        self._tokens.append(CURRENT_LINK.set(SessionLink(self._events.path, self.id, None)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self._leave()
        if self.is_open:
            with _keep_error(error):
                self._end_here(status_of(error)[0], error)

    async def __aenter__(self) -> Self:
        if not self._has_started:
            self.start()
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self._leave()
        if self.is_open:
            with _keep_error(error):
                await run_off_loop(lambda: self._end(status_of(error)[0], error))
            self._after_end()

    def end_at_exit(self, error: BaseException | None) -> str | None:
        """End a session that is open when the program ends; the message if it should have been finished before."""
        message = None
        if self._events.is_recorded and error is None and received_signal() is None:
            message = "the program ended before the session was finished: call session.finish()"
            self._events.emit(WARNING_ADDED, {"type": "not-finished", "message": message}, level="warning")
        with _keep_error(error):
            self._end_here(status_of(error)[0] if error else "interrupted", error)
        return message and f"{self.path}: {message}"

    def _end_here(self, status: str, error: BaseException | None = None) -> None:
        try:
            self._end(status, error)
        finally:
            self._after_end()

    def _after_end(self) -> None:
        _sessions.pop(self._events.path, None)
        self._signals.end()

    def _check_started(self) -> None:
        if not self._has_started:
            raise UsageError("this session has not started", hint="use it in a `with` block, or call start()")

    def _leave(self) -> None:
        for token in reversed(self._tokens):
            with contextlib.suppress(ValueError):  # entered in another context
                CURRENT_LINK.reset(token)
                self._tokens.remove(token)
                return

    def _close(self) -> None:
        from runcard.operations.sessions.close_session import NoInstancesError, close_held_session  # noqa: PLC0415 - slow to load

        try:
            self._result = close_held_session(
                self._events.path, known=self._named, settings=self._settings, progress=self._progress
            )
        except NoInstancesError as error:
            warn_caller(f"{error.message}: nothing was stored")
            return
        for message in (*self._result.omissions, *self._result.remarks):
            warn_caller(message)

    def __reduce__(self) -> "tuple[Callable[..., Session], tuple[str, bool]]":
        self._check_started()
        return _unpickled, (self._events.path, self._events.strict)


class JoinedSession(Session):
    """The session of another process, to which this one adds events."""

    def __init__(self, events: SessionEvents) -> None:
        SessionRecorder.__init__(self, events)
        self._options = self._settings = self._result = self._progress = None
        self._has_started, self._pid = True, 0
        self._tokens = []
        self._signals = TerminationGuard()

    def write_event(self, event: str, payload: JsonObject) -> None:
        """Write an event of runcard's own."""
        self._events.write(event, payload, "info", None)


@contextlib.contextmanager
def _keep_error(error: BaseException | None) -> Iterator[None]:
    """The user's own error passes; a failure of the recording is a note of it."""
    try:
        yield
    except Exception as failure:
        if error is None:
            raise
        error.add_note(f"runcard could not close this session: {failure}")


def _unpickled(path: str, strict: bool) -> Session:  # noqa: FBT001 - as pickle calls it
    """The session that was pickled: in the process that has it, the same object; in another one, another writer."""
    return open_session(path) or JoinedSession(join_events(path, strict=strict))


def open_session(path: str) -> Session | None:
    """The session that this process has started, and that is open in this directory."""
    session = _sessions.get(path)
    return session if session is not None and session.is_open else None


def current_session() -> Session | None:
    """The session that this code belongs to: that of the enclosing block, of this process, or of the parent process."""
    link = session_link()
    if link is None:
        return None
    if (session := open_session(link.path)) is not None:
        return session
    try:
        use_masking_settings()
        known = open_session_here(link.path)
        return JoinedSession(known if known is not None and not known.is_closed else join_events(link.path))
    except RuncardError as error:
        warn_caller(f"this process is not recorded in a session: {error}")
        return None


def _end_unfinished() -> None:
    """End the sessions that are open when the program ends, as `runcard.start` does with runs."""
    error = uncaught_exception()
    unfinished = [session for session in reversed(_sessions.values()) if session.is_open]
    for message in [session.end_at_exit(error) for session in unfinished]:
        if message is not None:  # only now: a warning may raise
            warn_caller(message)


atexit.register(_end_unfinished)
