"""A run while it is recorded: start it, write its events to its journal, end it.

A run belongs to the process that started it. Another process, forked or started with `Run.environ`, adds events in a journal
of its own, and never closes the run.
"""

import contextlib
import functools
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from runcard.documents.run.events import ENVIRONMENT_OBSERVED, RUN_ENDED, RUN_STARTED, WARNING_ADDED
from runcard.documents.run.fields import RunFields
from runcard.documents.run.size_limit import TRUNCATED
from runcard.encoding import JsonObject, Limits, encode_json
from runcard.errors import RuncardError, RuncardWarning, StoreError
from runcard.files import failure, json_name, printable, read_file
from runcard.masking import mask_data
from runcard.observe.clock import Clock
from runcard.observe.ids import new_id
from runcard.observe.notebook import notebook_path
from runcard.observe.process import resources
from runcard.recording.argument_checks import plain_copy
from runcard.recording.closing import close_dead_run, seal_run
from runcard.recording.events import ClosedRunError, EventRecorder
from runcard.recording.heartbeat import HEARTBEAT
from runcard.recording.open_runs import common_run, open_runs_here
from runcard.recording.recorder import Recorder
from runcard.recording.run_closer import RecorderState
from runcard.recording.start_document import cut_start_document, given_configuration, start_document
from runcard.settings.apply import use_masking_settings
from runcard.store import layout
from runcard.store.experiments import experiment_id, store_experiment_id
from runcard.store.journal import EVENT_LIMIT, ClosedJournalError, JournalWriter, new_writer
from runcard.store.runs.config_file import read_config
from runcard.store.runs.directory import NewRun, is_owned, join_run, open_runs
from runcard.store.runs.heartbeat import write_heartbeat

if TYPE_CHECKING:
    from pathlib import Path

    from runcard.accounting import Prices

NO_LOCKS = "the file system of the store does not support file locks (flock); runcard uses lock files and process ids instead"

RUN_LIST = "RUNCARD_RUN_LIST"  # the variable with the path of the list of runs that `runcard rerun` keeps

BACKGROUND_TIMEOUT = 2.0  # seconds that ending a run waits for git, packages and token counts

_MAX_CANDIDATES = 4  # runs that a warning names
_LONGEST_NAME = 100  # characters of an event's name in a message

CURRENT_RUN: ContextVar["Run | None"] = ContextVar("runcard_run", default=None)

_journal_events: WeakSet["JournalEvents"] = WeakSet()


class RecordOptions(NamedTuple):
    """The options of one recording."""

    outputs: str
    settings: JsonObject
    inputs: tuple[str, ...]
    prices: "Prices | None"
    keep_secrets: bool
    strict: bool
    event_limit: int = EVENT_LIMIT


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
        self.configuration = dict(document["configuration"])
        self.given_configuration = given_configuration(options.settings) if options.settings else {}
        self.status = "running" if journal is not None else "not recorded"
        self.setup_warnings: list[tuple[str, str]] = []  # type and message, to be recorded and shown
        self._clock = clock
        self._journal = journal
        self._journal_pid = os.getpid()
        self._event_limit = options.event_limit
        self._turn = threading.RLock()
        self._is_writing = False
        self._pending: deque[tuple[str, JsonObject, str]] = deque()
        self._lost_events = 0
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
            self._lost_events += 1
            raise
        if journal is None:
            return
        if self._lost_events:
            lost = {"type": "events-lost", "message": f"{self._lost_events} events could not be written"}
            journal.append(self._fields(WARNING_ADDED, "warning"), lost)
            self._lost_events = 0
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
        }

    def _own_journal(self) -> JournalWriter | None:
        """The journal that this process may write: a forked child, or a process that joined, starts its own."""
        if self._journal_pid != os.getpid():
            self._journal = join_run(self.path, self.run_id, self._event_limit)
            self._journal_pid = os.getpid()
        return self._journal

    @property
    def is_open(self) -> bool:
        """Whether this process has started the run, and not ended it yet."""
        return self._journal is not None and self._journal_pid == os.getpid() and not self._journal.is_closed

    def join_on_first_event(self) -> None:
        """Start a journal with the first event: the run belongs to another process."""
        self._journal_pid, self.status = 0, "running"

    def reset_after_fork(self) -> None:
        """In a forked child: another thread of the parent may have held the lock, and pending events are the parent's."""
        self._turn, self._is_writing = threading.RLock(), False
        self._pending.clear()

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that let a child process find this run."""
        variables = {
            "RUNCARD_RUN_DIR": self.path,
            "RUNCARD_RUN_ID": self.run_id,
            "RUNCARD_PARENT": self.run_id,
        }
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
            payload = {
                "status": status,
                "timestamp_end": now.timestamp,
                "duration_seconds": now.elapsed,
                "exit_code": exit_code,
                "resources": used or resources(),
            }
            with self.guard_failures():
                self._write(RUN_ENDED, payload, "info")
                journal.end()  # no thread adds an event from now on
                state = RecorderState(self.document, self.written_document, journal.sha256.hexdigest())
                document = seal_run(self.path, state)
                self.status = status
                return document
        finally:
            journal.close()
        return None


def _reset_after_fork() -> None:
    for events in list(_journal_events):
        events.reset_after_fork()


os.register_at_fork(after_in_child=_reset_after_fork)


class Run(Recorder):
    """A run that is being recorded. `runcard.record` makes it, `runcard.current_run` returns it inside the block."""

    def __init__(self, events: JournalEvents) -> None:
        self._events: JournalEvents = events

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


class RunMatch(NamedTuple):
    """The run that code belongs to."""

    run: Run | None
    candidates: tuple[Run, ...] = ()  # if it is uncertain: the open runs that it may belong to as well

    def describe(self) -> str:
        """Why it is uncertain, and what to do, for a warning."""
        names = ", ".join(run.id for run in self.candidates[:_MAX_CANDIDATES])
        more = ", …" if self.candidates[_MAX_CANDIDATES:] else ""
        return (
            f"{len(self.candidates)} runs are open in this process ({names}{more}), and this thread is in none of them; "
            "pass run= to runcard.watch, or the context to the thread"
        )


def current_run() -> Run | None:
    """The run that this code belongs to: that of the enclosing `with` block, or of the parent process.

    A thread is in no block. There it is the only open run of this process; if several are open, the one that encloses all
    others, with a warning.
    """
    match = find_run()
    if match.candidates:
        warnings.warn(f"the current run is uncertain: {match.describe()}", RuncardWarning, stacklevel=2)
    return match.run


def find_run(preferred: Run | None = None) -> RunMatch:
    """The run that the calling code belongs to; `preferred` is the one to choose among several open ones."""
    run = CURRENT_RUN.get()
    if run is not None:
        return RunMatch(run)
    runs = open_runs_here()
    if preferred in runs:
        return RunMatch(preferred)
    if len(runs) == 1:
        return RunMatch(runs[0])
    path = os.environ.get("RUNCARD_RUN_DIR")
    return RunMatch(common_run(runs) or (_join(os.path.abspath(path)) if path else None), runs)


@functools.lru_cache(maxsize=8)
def _join(path: str) -> Run | None:
    """The run of another process, to which this one adds events in a journal of its own; None when it is closed."""
    load_modules()
    try:
        use_masking_settings()
        document = _load_document(os.path.join(path, layout.METADATA))
        if RunFields(document).status != "running":
            raise StoreError(f"the run in {path} is closed", hint="unset RUNCARD_RUN_DIR")
    except RuncardError as error:
        warnings.warn(f"this process is not recorded: {error}", RuncardWarning, stacklevel=3)
        return None
    options = RecordOptions(layout.store_of(path), {}, (), None, keep_secrets=False, strict=False)
    events = JournalEvents(path, document, Clock(), None, options)
    given = read_config(events.run_id)
    events.given_configuration = dict(document["configuration"]) if given is None else given
    events.join_on_first_event()
    return Run(events)


def _load_document(path: str) -> JsonObject:
    from runcard.documents import reader  # noqa: PLC0415 - long to load
    from runcard.documents.findings import InvalidDocument  # noqa: PLC0415

    try:
        return reader.load_document(read_file(path, Limits().size), kind="generation").to_dict()
    except InvalidDocument as error:
        raise InvalidDocument(error.report, printable(path)) from None


def load_modules() -> None:
    """Load what a recording may need: later, a program may have lost the right to, or have too many files open.

    `runcard run` does without most of it, and starts sooner.
    """
    import base64  # noqa: F401, PLC0415
    import encodings.utf_16_be  # noqa: F401, PLC0415 - what keys are sorted by
    import pathlib  # noqa: F401, PLC0415
    import resource  # noqa: F401, PLC0415
    import tempfile  # noqa: F401, PLC0415

    import jsonschema_rs  # noqa: F401, PLC0415

    import runcard.accounting  # noqa: PLC0415
    import runcard.checksums.large_files  # noqa: PLC0415
    import runcard.documents.run.generation  # noqa: PLC0415
    import runcard.observe.input_patterns  # noqa: PLC0415
    import runcard.parallel.helper_pool  # noqa: F401, PLC0415


def start_run(options: RecordOptions, warn: Callable[[str], None]) -> JournalEvents:
    """Create the directory of a run with its start document; from here on it is recorded.

    `warn` is called with warnings that are not about this run: earlier runs that could not be closed.
    """
    store, settings = os.path.abspath(options.outputs), options.settings
    try:
        if not os.path.isdir(store):
            os.makedirs(store, exist_ok=True)
    except OSError as error:
        raise failure(error, options.outputs, "create") from error
    _close_abandoned(store, warn)
    identity, setup_warnings = _experiment_id(options, store, warn)
    clock, run_id = Clock(), new_id("run")
    enclosing = CURRENT_RUN.get()
    parent = settings["parent"] or (enclosing.id if enclosing else os.environ.get("RUNCARD_PARENT"))
    document, masked_counts = start_document(
        clock, run_id, identity, settings, parent, keep_secrets=options.keep_secrets
    )
    document["generation"] |= _origin(store, settings)
    setup_warnings += [(TRUNCATED, message) for message in cut_start_document(document, options.event_limit)]
    new_run = NewRun(store, run_id, new_writer(), options.event_limit)
    try:
        events = JournalEvents(store, document, clock, new_run.journal, options)
        events.emit(RUN_STARTED, document)
        for where, counts in masked_counts.items():
            events.add_masked(counts, where)
        events.written_document = encode_json(document)
        events.path = new_run.place(clock.started, events.written_document)
        _add_to_run_list(events.path)
        if not new_run.has_locks:
            setup_warnings.append(("no-locks", NO_LOCKS))
        events.setup_warnings = setup_warnings
    except BaseException:
        new_run.discard()
        raise
    return events


def _origin(store: str, settings: JsonObject) -> JsonObject:
    """Where a run was started, as far as that is known and can be written: for running it again.

    The paths are relative, so that a project can be moved: the directory to that of the run, the notebook to the directory.
    """
    try:
        directory = os.getcwd()
    except OSError:  # it was removed
        return {}
    paths = {"directory": os.path.join(os.pardir, os.path.relpath(directory, store))}
    is_command = "trace" in settings  # then a notebook started it, at most
    if not is_command and (notebook := notebook_path()):
        paths["notebook"] = os.path.relpath(notebook, directory)
    is_written = all(json_name(path).base64 is None for path in paths.values())
    return paths if is_written and not mask_data(paths).counts else {}


def _add_to_run_list(run: str) -> None:
    """Add a run to the list that `runcard rerun` keeps of the runs that are recorded under it."""
    if path := os.environ.get(RUN_LIST):
        with contextlib.suppress(OSError):  # that rerun has ended
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.write(descriptor, os.fsencode(run) + b"\0")
            finally:
                os.close(descriptor)


def _experiment_id(
    options: RecordOptions, store: str, warn: Callable[[str], None]
) -> tuple[str | None, list[tuple[str, str]]]:
    """The id of the experiment, and warnings to record; an unreadable one stays unknown, and the run is recorded."""
    name = options.settings["experiment"]
    if name is None:
        own = store_experiment_id(store, new_id)
        return own.id, [] if own.warning is None else [("experiment", own.warning)]
    try:
        return experiment_id(name, new_id), []
    except RuncardError as error:
        if options.strict:
            raise
        warn(f"the id of the experiment is not known: {error}")
        return None, []


def _close_abandoned(store: str, warn: Callable[[str], None]) -> None:
    """Close the runs whose recorders died. One that cannot be closed does not stop the recording."""
    own = {events.path for events in list(_journal_events) if events.is_open}
    for run in open_runs(store, besides=own):
        try:
            if not is_owned(run):
                close_dead_run(run)
        except (RuncardError, OSError) as error:
            warn(f"an earlier run could not be closed: {error}")
