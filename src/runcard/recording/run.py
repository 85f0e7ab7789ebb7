"""A run while it is recorded: start it, write its events to its journal, end it.

A run belongs to the process that started it. Another process, forked or started with `Run.environ`, adds events in a journal
of its own, and never closes the run.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Self
from weakref import WeakSet, WeakValueDictionary, finalize

from runcard.documents.run.events import (
    ENVIRONMENT_OBSERVED,
    MODEL_CALLED,
    RUN_ENDED,
    RUN_STARTED,
    USAGE_INCOMPLETE,
    WARNING_ADDED,
)
from runcard.documents.run.size_limit import TRUNCATED
from runcard.encoding import JsonObject
from runcard.errors import RuncardError, UsageError
from runcard.files import printable
from runcard.observe.clock import Clock
from runcard.observe.process import resources
from runcard.recording.argument_checks import check_status, plain_copy
from runcard.recording.caller_warnings import warn_caller
from runcard.recording.closing import seal_run
from runcard.recording.events import ClosedRunError, EventRecorder, lost_calls_payload, lost_events_payload
from runcard.recording.heartbeat import HEARTBEAT
from runcard.recording.journal_facts import WrittenEvents
from runcard.recording.open_runs import add_open_run, remove_open_run, started_run
from runcard.recording.recorder import Recorder
from runcard.recording.run_closer import RecorderState
from runcard.recording.start_document import given_configuration
from runcard.settings.apply import use_masking_settings
from runcard.store.journal import EVENT_LIMIT, ClosedJournalError, JournalWriter
from runcard.store.own_starts import MAC
from runcard.store.runs.config_file import read_config
from runcard.store.runs.directory import discard_run, join_run
from runcard.store.runs.heartbeat import write_heartbeat
from runcard.store.runs.open_journals import OwnJournal

if TYPE_CHECKING:
    from contextvars import Token
    from pathlib import Path
    from types import TracebackType

    from runcard.accounting import Prices
    from runcard.recording.lifetime import RunLifetime
    from runcard.recording.session_link import SessionLink
    from runcard.settings.apply import SigningSettings

BACKGROUND_TIMEOUT = 2.0  # seconds that ending a run waits for git, packages and token counts

_LONGEST_NAME = 100  # characters of an event's name in a message

CURRENT_RUN: ContextVar["Run | None"] = ContextVar("runcard_run", default=None)

_journal_events: WeakSet["JournalEvents"] = WeakSet()
_runs: WeakValueDictionary[str, "Run"] = WeakValueDictionary()  # of this process, by id
_last_unpickled: deque["Run"] = deque(maxlen=8)  # kept, so that the tasks of a worker process share a journal


class RecordOptions(NamedTuple):
    """The options of one recording."""

    outputs: str
    settings: JsonObject
    inputs: tuple[str, ...]
    prices: "Prices | None"
    keep_secrets: bool
    strict: bool
    event_limit: int = EVENT_LIMIT
    session: "SessionLink | None" = None  # the session and the agent that the run belongs to
    signing: "SigningSettings | None" = None  # what to sign the run with when it is closed


class PickledRun(NamedTuple):
    """What another process needs to add events to a run."""

    path: str
    directory: str  # where the run was started
    document: JsonObject  # the part of the start document that events need
    options: RecordOptions
    is_recorded: bool


class JournalEvents(EventRecorder):
    """Writes the events of a run to its journal, and closes the run at the end."""

    def __init__(
        self,
        path: str,
        document: JsonObject,
        clock: Clock,
        journal: JournalWriter | None,
        options: RecordOptions,
    ) -> None:
        super().__init__(strict=options.strict, prices=options.prices, keep_secrets=options.keep_secrets)
        self.path = path
        self.run_id: str = document["generation"]["run_id"]
        self.document = document
        self.written_document = b""  # the start document as it was written
        self.start_mac: str | None = None  # the code that says whose run it is, for the first line
        self.configuration = dict(document["configuration"])
        # Without settings, another process started the run.
        given = given_configuration(options.settings) if options.settings else read_config(self.run_id)
        self.given_configuration = dict(self.configuration) if given is None else given
        self.status = "running" if journal is not None else "not recorded"
        self.setup_warnings: list[tuple[str, str]] = []  # type and message, to be recorded and shown
        self._clock = clock
        self._journal = journal
        self._written_events = WrittenEvents()
        if journal is not None:
            journal.on_line = self._written_events.add
        self._journal_pid = os.getpid()
        self._options = options
        self._turn = threading.RLock()
        self._is_writing = False
        self._pending: deque[tuple[str, JsonObject, str]] = deque()
        self._lost_events = self._lost_calls = 0
        self._has_cut_event = False
        _journal_events.add(self)

    def emit(self, event: str, payload: JsonObject, *, level: str = "info") -> None:
        with self.guard_failures():
            try:
                self._write(event, payload, level)
            except ClosedJournalError as error:
                raise ClosedRunError(
                    f"the run in {printable(self.path)} is closed", hint=error.hint
                ) from error
            except (RuncardError, OSError):
                self._pass_on(event, payload, level)  # a call that the run has lost, its session can have
                raise
            self._pass_on(event, payload, level)

    def _pass_on(self, event: str, payload: JsonObject, level: str) -> None:
        if self._options.session is not None:
            from runcard.recording.session_link import pass_on  # noqa: PLC0415 - few runs are in a session

            pass_on(self._options.session, self.run_id, event, payload, level)

    def _write(self, event: str, payload: JsonObject, level: str) -> None:
        """Write one event at a time: lines are in the order of time, whichever thread they come from."""
        with self._turn:
            if self._is_writing:  # called by a signal handler, in the middle of another event
                self._pending.append((event, payload, level))
                return
            try:
                self._is_writing = True
                self._append(event, payload, level)
                for _ in range(len(self._pending)):
                    self._append(*self._pending.popleft())
            finally:
                self._is_writing = False

    def _append(self, event: str, payload: JsonObject, level: str) -> None:
        try:
            journal = self._own_journal()
            cut_size = None if journal is None else journal.append(self._fields(event, level), payload)
        except (RuncardError, OSError):
            self._lost_events += event != ENVIRONMENT_OBSERVED  # which is written again at the end
            self._lost_calls += event in (MODEL_CALLED, USAGE_INCOMPLETE)
            raise
        if journal is None:
            return
        if self._lost_events:
            journal.append(self._fields(WARNING_ADDED, "warning"), lost_events_payload(self._lost_events))
            self._lost_events = 0
        if self._lost_calls:
            journal.append(self._fields(USAGE_INCOMPLETE, "warning"), lost_calls_payload(self._lost_calls))
            self._lost_calls = 0
        if cut_size is not None and not self._has_cut_event:
            self._has_cut_event = True
            name = event[:_LONGEST_NAME]
            message = (
                f"the event {name} had {cut_size:,} bytes and was cut; there is no warning about further ones"
            )
            journal.append(self._fields(WARNING_ADDED, "warning"), {"type": TRUNCATED, "message": message})

    def _fields(self, event: str, level: str) -> JsonObject:
        now = self._clock.read()
        return {
            "timestamp": now.timestamp,
            "level": level,
            "event": event,
            "experiment_id": self.document["generation"]["experiment_id"],
            "run_id": self.run_id,
            "elapsed": now.elapsed,
            **({MAC: self.start_mac} if self.start_mac and event == RUN_STARTED else {}),
        }

    def _own_journal(self) -> JournalWriter | None:
        """The journal that this process may write: a forked child, or a process that joined, starts its own."""
        if self._journal_pid != os.getpid():
            self._journal = join_run(self.path, self.run_id, self._options.event_limit)
            self._journal_pid = os.getpid()
            finalize(self, self._journal.close)  # a worker process may join many runs
        return self._journal

    @property
    def is_open(self) -> bool:
        """Whether this process has started the run, and not ended it yet."""
        return self._journal is not None and self._journal_pid == os.getpid() and not self._journal.is_closed

    def join_on_first_event(self) -> None:
        """Start a journal with the first event: the run belongs to another process."""
        self._journal_pid, self.status = 0, "running"

    def pickled(self) -> PickledRun:
        generation = self.document["generation"]
        document = {
            "generation": {name: generation[name] for name in ("run_id", "experiment_id")},
            "configuration": self.configuration,
            "trace": self.document.get("trace"),
        }
        options = self._options._replace(settings={}, inputs=())
        return PickledRun(self.path, self.directory, document, options, self.status != "not recorded")

    def reset_after_fork(self) -> None:
        """In a forked child: another thread of the parent may have held the lock, and pending events are the parent's."""
        self._turn, self._is_writing = threading.RLock(), False
        self._pending.clear()
        self._lost_events = self._lost_calls = 0

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that let a child process find this run."""
        variables = {
            "RUNCARD_RUN_DIR": self.path,
            "RUNCARD_RUN_ID": self.run_id,
            "RUNCARD_PARENT": self.run_id,
        }
        if self._options.session is not None:
            variables |= self._options.session.environ
        trace = (self.document.get("trace") or {}).get("traceparent")
        return variables | ({"TRACEPARENT": trace} if trace else {})

    def start_heartbeat(self) -> None:
        """Note every few seconds, in a thread, that the run is alive; `end` stops it."""
        if self._journal is not None:
            HEARTBEAT.begin(self.run_id, self._beat)

    def _beat(self) -> None:
        write_heartbeat(self.path, self.run_id, self._clock.timestamp())

    def add_environment(self, environment: JsonObject) -> None:
        """Record the facts about the environment as soon as they are known; raises when they cannot be written."""
        self._write(ENVIRONMENT_OBSERVED, {"environment": environment}, "info")

    def end(
        self,
        status: str,
        *,
        exit_code: int | None = None,
        environment: JsonObject | None = None,
        used: JsonObject | None = None,
    ) -> JsonObject | None:
        """Record how the run ended, and close it. If that fails, the run is left for `runcard close`.

        Returns the final document, if the run was closed.
        """
        journal = self._journal
        if journal is None:
            return None
        HEARTBEAT.end(self.run_id)
        self.end_token_counts(BACKGROUND_TIMEOUT)
        try:
            self.end_calls()
            if environment is not None:
                self.emit(ENVIRONMENT_OBSERVED, {"environment": environment})
            now = self._clock.read()
            own_use = used or resources()
            self._add_to_session(own_use, is_own_process=used is None)
            payload = {
                "status": status,
                "timestamp_end": now.timestamp,
                "duration_seconds": now.elapsed,
                "exit_code": exit_code,
                "resources": own_use,
            }
            with self.guard_failures():
                self._write(RUN_ENDED, payload, "info")
                journal.end()  # no thread adds an event from now on
                own = OwnJournal(journal.sha256.hexdigest(), journal.head)
                state = RecorderState(self.document, self.written_document, own, self._written_events)
                document = seal_run(self.path, state)
                self.status = status
                self._sign()
                return document
        finally:
            journal.close()
        return None

    def _add_to_session(self, used: JsonObject, *, is_own_process: bool) -> None:
        """Say in the session what the run used. If that fails, or the session is closed, it is unknown there."""
        if self._options.session is not None:
            from runcard.recording.session_link import add_end  # noqa: PLC0415 - few runs are in a session

            with contextlib.suppress(RuncardError, OSError):
                add_end(self._options.session, self.document, used, is_own_process=is_own_process)

    def _sign(self) -> None:
        if self._options.signing is not None:
            from runcard.recording.record_signature import sign_closed_record  # noqa: PLC0415 - few sign

            for warning in sign_closed_record(self.path, self._options.signing):
                warn_caller(warning)

    @property
    def writer(self) -> str | None:
        """The name under which this process writes events; None as long as it has written none."""
        return None if self._journal is None else self._journal.head.writer

    def release(self) -> None:
        """Close the journal and stop the heartbeat: a run that was not ended is left for `runcard close`."""
        HEARTBEAT.end(self.run_id)
        if self._journal is not None:
            self._journal.close()

    def discard(self) -> None:
        """Remove the run, which is open, with all files in its directory."""
        self.end_token_counts(0)
        self.release()
        if self._journal is not None:
            discard_run(self.path)


def open_journal_events() -> list[JournalEvents]:
    """Those of the runs that this process has started and not ended."""
    while True:
        with contextlib.suppress(RuntimeError):  # another thread started a run meanwhile
            return [events for events in list(_journal_events) if events.is_open]


def _reset_after_fork() -> None:
    for events in list(_journal_events):
        events.reset_after_fork()


os.register_at_fork(after_in_child=_reset_after_fork)


class Run(Recorder):
    """A run that is being recorded. `runcard.record` and `runcard.start` make it, `runcard.current_run` returns it.

    As a context manager it is the current run of the block. The end of the block ends the run, in the process that started
    it. In a pickle it names the run: whoever loads it, in another process, adds events in a journal of its own.
    """

    def __init__(self, events: JournalEvents, lifetime: "RunLifetime | None" = None) -> None:
        self._events: JournalEvents = events
        self._lifetime = lifetime  # None: another process started the run
        self._tokens: list[Token[Run | None]] = []
        _runs[self.id] = self

    def __repr__(self) -> str:
        return f"<runcard.Run {self.id} {self._events.status} {self._events.path}>"

    @property
    def id(self) -> str:
        """The run's id."""
        return self._events.run_id

    @property
    def path(self) -> "Path":
        """The run's directory."""
        from pathlib import Path  # noqa: PLC0415 - longer to load than a run takes to begin

        return Path(self._events.path)

    @property
    def config(self) -> "JsonObject":
        """A copy of the configuration, secrets included: as given, with what `set_config` of this process added.

        A child of `runcard run` reads it from the file that RUNCARD_CONFIG names. Another process that joined the run
        gets it as it was recorded at the start: with its secrets masked.
        """
        return plain_copy(self._events.given_configuration)

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that let a child process find this run."""
        return self._events.environ

    def finish(self, status: str = "completed") -> None:
        """End the run, as `completed`, `failed` or `interrupted`, and close it."""
        check_status(status)
        if self._lifetime is None or not self._lifetime.is_ours:
            raise UsageError(
                "another process started this run", hint="call finish() there, when its children are done"
            )
        if not self._lifetime.is_open:
            raise UsageError("this run is finished", hint="start another one with runcard.start()")
        self._leave()
        self._lifetime.end(status=status)

    def __enter__(self) -> Self:
        self._tokens.append(CURRENT_RUN.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self._leave()
        if self._lifetime is not None:
            self._lifetime.end(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self._leave()
        if self._lifetime is not None:
            await self._lifetime.end_off_loop(error)

    def _leave(self) -> None:
        """Make the run before this one the current one again, where this one is."""
        for token in reversed(self._tokens):
            with contextlib.suppress(ValueError):  # entered in another context: a generator's, a thread's
                CURRENT_RUN.reset(token)
                self._tokens.remove(token)
                return

    def __reduce__(self) -> tuple[Callable[..., "Run"], tuple[object, ...]]:
        return _unpickled, (self._events.pickled(),)


def lifetime_of(run: Run) -> "RunLifetime | None":
    """What ends a run of this process; None for a run that another process started."""
    return run._lifetime  # noqa: SLF001 - of this module


def enclosing_run() -> Run | None:
    """The run that the calling code certainly belongs to: that of its block, or of `runcard.start`."""
    return CURRENT_RUN.get() or started_run()


def _unpickled(pickled: PickledRun) -> Run:
    """The run that was pickled: in a process that has it, the same object; in another one, another writer."""
    run = _runs.get(pickled.document["generation"]["run_id"])
    if run is not None:
        return run
    from runcard.recording.load_modules import load_modules  # noqa: PLC0415 - few processes get a run in this way

    load_modules()
    events = JournalEvents(pickled.path, pickled.document, Clock(), None, pickled.options)
    events.directory = pickled.directory
    try:
        use_masking_settings()
        if pickled.is_recorded:
            events.join_on_first_event()
    except RuncardError as error:
        warn_caller(f"this process is not recorded: {error}")
    for earlier in _last_unpickled:
        remove_open_run(earlier)  # the code of a worker belongs to the run that it got last
    _last_unpickled.append(run := Run(events))
    add_open_run(run, None)
    return run
