"""Recording a run while it happens: `with runcard.record(...) as run:`.

The run exists on disk from the first moment and is closed when the block ends, however it ends. The user's exception
always passes unchanged; a failure of the recording itself is a warning, unless the user asked for strictness.

A run belongs to the process that began it. Another one that comes by, forked or started with `Run.environ`, adds events in
a journal of its own, and never closes the run.
"""

import contextlib
import functools
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from weakref import WeakSet

from runcard.documents.run import events
from runcard.documents.run.size_limit import TRUNCATED
from runcard.encoding import JsonObject, encode_json
from runcard.errors import RuncardError, RuncardWarning, StoreError, UsageError
from runcard.files import failure
from runcard.observe.clock import Clock
from runcard.observe.environment import EnvironmentGatherer
from runcard.observe.ids import new_id
from runcard.observe.process import resources
from runcard.operations.masking import use_masking_settings
from runcard.operations.runs.close import Own, close_dead, seal
from runcard.operations.runs.recorder_methods import Events, checked_prices
from runcard.operations.runs.start_document import bound_start, settings_of, start_document
from runcard.operations.runs.termination import TerminationGuard, status_of
from runcard.settings import OUTPUTS, PRICES, read_settings
from runcard.store import experiments, layout
from runcard.store.journal import EVENT_LIMIT, JournalWriter, new_writer
from runcard.store.runs.directory import NewRun, join, open_runs

if TYPE_CHECKING:
    from contextvars import Token
    from pathlib import Path

    from runcard.accounting import Prices

Function = TypeVar("Function", bound=Callable[..., Any])

NO_LOCKS = "the file system of the store does not support file locks (flock); runcard uses lock files and process ids instead"

_EVENT_LIMITS = (1 << 16, 32 << 20)  # bytes; the upper one is half of what is read by default
_NAME = 100  # characters of the name of an event in a message
_PATIENCE = 2.0  # seconds that closing waits for git and packages
_TEMPORARY = ("/tmp", "/var/tmp", ".")  # noqa: S108 - where a directory is made that nobody else may enter

_current: ContextVar["Run | None"] = ContextVar("runcard_run", default=None)
_runs: WeakSet["Run"] = WeakSet()


class Run(Events):
    """A run that is being recorded; made by `runcard.record`, found again by `runcard.current_run`."""

    def __init__(
        self,
        path: str,
        document: JsonObject,
        clock: Clock,
        journal: JournalWriter | None,
        **settings: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(**settings)
        self._path = path
        self.id: str = document["generation"]["run_id"]
        self._document = document
        self._first = b""  # the document as it was written when the run began
        self._configuration = dict(document["configuration"])
        self._clock = clock
        self._journal = journal
        self._pid = os.getpid()
        self._turn = threading.RLock()
        self._busy = False
        self._waiting: deque[tuple[str, JsonObject, str]] = deque()
        self._lost = 0  # events that could not be written
        self._has_cut = False  # whether an event was too long
        self._event_limit = EVENT_LIMIT
        self.setup_warnings: list[tuple[str, str]] = []  # type and message of what was odd at the beginning
        _runs.add(self)

    def emit(self, event: str, payload: JsonObject, *, level: str = "info") -> None:
        with self.guarded():
            self._keep(event, payload, level)

    def _keep(self, event: str, payload: JsonObject, level: str) -> None:
        """Write an event, one at a time: lines stand in the order of time, whichever thread they come from."""
        with self._turn:
            if self._busy:
                self._waiting.append(
                    (event, payload, level)
                )  # a signal handler, in the middle of another event
                return
            try:
                self._busy = True
                self._write(event, payload, level)
                for _ in range(len(self._waiting)):
                    self._write(*self._waiting.popleft())
            finally:
                self._busy = False

    def _write(self, event: str, payload: JsonObject, level: str) -> None:
        try:
            journal = self._own_journal()
            size = None if journal is None else journal.append(self._line(event, level), payload)
        except (RuncardError, OSError):
            self._lost += 1
            raise
        if journal is not None and self._lost:
            said = {"type": "events-lost", "message": f"{self._lost} events could not be written"}
            journal.append(self._line(events.WARNING_ADDED, "warning"), said)
            self._lost = 0
        if journal is not None and size is not None and not self._has_cut:
            self._has_cut = True
            cut = f"the event {event[:_NAME]} had {size:,} bytes and was cut; there is no warning about further ones"
            journal.append(self._line(events.WARNING_ADDED, "warning"), {"type": TRUNCATED, "message": cut})

    def _line(self, event: str, level: str) -> JsonObject:
        now = self._clock.read()
        return {
            "timestamp": now.timestamp,
            "level": level,
            "event": event,
            "experiment_id": self._document["generation"]["experiment_id"],
            "run_id": self.id,
            "elapsed": now.elapsed,
        }

    def _own_journal(self) -> JournalWriter | None:
        """The journal that this process may write: a forked child, or one that joined, begins its own."""
        if self._pid != os.getpid():
            self._journal, self._pid = join(self._path, self.id, self._event_limit), os.getpid()
        return self._journal

    @property
    def path(self) -> "Path":
        """The run's directory."""
        from pathlib import Path  # noqa: PLC0415 - longer to load than a run takes to begin

        return Path(self._path)

    @property
    def environ(self) -> dict[str, str]:
        """What a child process needs in its environment to find this run."""
        found = {"RUNCARD_RUN_DIR": self._path, "RUNCARD_RUN_ID": self.id, "RUNCARD_PARENT": self.id}
        trace = (self._document.get("trace") or {}).get("traceparent")
        return found | ({"TRACEPARENT": trace} if trace else {})

    def observe(self, environment: JsonObject) -> None:
        """Keep the facts about the environment as soon as they are known; raises when they cannot be kept."""
        self._keep(events.ENVIRONMENT_OBSERVED, {"environment": environment}, "info")

    def end(
        self,
        status: str,
        *,
        exit_code: int | None = None,
        facts: JsonObject | None = None,
        used: JsonObject | None = None,
    ) -> JsonObject | None:
        """Write down how it ended, and close the record. What could not be written down is left for `runcard close`.

        Returns the final document, unless there is none.
        """
        journal = self._journal
        if journal is None:
            return None
        self._counting.stop(_PATIENCE)
        try:
            self.end_calls()
            if facts is not None:
                self.emit(events.ENVIRONMENT_OBSERVED, {"environment": facts})
            now = self._clock.read()
            said = {
                "status": status,
                "timestamp_end": now.timestamp,
                "duration_seconds": now.elapsed,
                "exit_code": exit_code,
                "resources": used or resources(),
            }
            with self.guarded():
                self._keep(events.RUN_ENDED, said, "info")
                journal.end()  # what a thread says from now on would not be what is sealed
                return seal(self._path, Own(self._document, self._first, journal.sha256.hexdigest()))
        finally:
            journal.close()
        return None


def _renew_turns() -> None:
    """In a forked child: another thread of the parent may have held them, and what waits is the parent's."""
    for run in list(_runs):
        run._turn, run._busy = threading.RLock(), False  # noqa: SLF001 - of this module
        run._waiting.clear()  # noqa: SLF001


os.register_at_fork(after_in_child=_renew_turns)


def current_run() -> Run | None:
    """The run that this code belongs to: that of the enclosing `with` block, or of the parent process."""
    run = _current.get()
    if run is None and (path := os.environ.get("RUNCARD_RUN_DIR")):
        run = _joined(os.path.abspath(path))
    return run


@functools.lru_cache(maxsize=8)
def _joined(path: str) -> Run | None:
    """The run of another process, to which this one adds events in a journal of its own; None when it is closed."""
    from runcard.operations.checks.load import load  # noqa: PLC0415

    _load()
    try:
        use_masking_settings()
        document = load(os.path.join(path, layout.METADATA), kind="generation").to_dict()
        if document["generation"].get("status") != "running":
            raise StoreError(f"the run in {path} is closed", hint="unset RUNCARD_RUN_DIR")
    except RuncardError as error:
        warnings.warn(f"this process is not recorded: {error}", RuncardWarning, stacklevel=3)
        return None
    run = Run(path, document, Clock(), None, strict=False, prices=None, keep_secrets=False)
    run._pid = 0  # noqa: SLF001 - so that the first event begins a journal
    return run


class Order(NamedTuple):
    """What a recording was asked for."""

    outputs: str
    settings: JsonObject
    inputs: tuple[str, ...]
    prices: "Prices | None"
    keep_secrets: bool
    strict: bool
    event_limit: int = EVENT_LIMIT

    @property
    def options(self) -> JsonObject:
        return {"prices": self.prices, "keep_secrets": self.keep_secrets, "strict": self.strict}


def record(  # noqa: PLR0913 - the library's front door: each is a thing to say about a run
    outputs: str | os.PathLike[str] | None = None,
    *,
    model: str | None = None,
    provider: str | None = None,
    config: Mapping[str, Any] | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
    experiment: str | None = None,
    labels: Mapping[str, str] | None = None,
    parent: str | None = None,
    prices: "Prices | None" = None,
    keep_secrets: bool = False,
    strict: bool = False,
    max_event_bytes: int = EVENT_LIMIT,
) -> "Recording":
    """Record what happens in a `with` block (or `async with`, or the calls of a function) as a run below `outputs`.

    Without `outputs` the setting of that name counts, without `prices` the price file that the settings name.
    `inputs` are paths and patterns of files that are read. What `config`, labels or errors hold that looks like a
    secret is masked, unless `keep_secrets` is set. An event of more than `max_event_bytes` is cut, and says so. When
    the recording itself fails, the block goes on with a RuncardWarning; with `strict` it raises.
    """
    _load()
    if isinstance(inputs, str):
        raise UsageError(
            "inputs takes a list of paths and patterns, not one text", hint=f"write inputs=[{inputs!r}]"
        )
    # Wrong arguments raise at once, not in the middle of the recording.
    settings = settings_of(
        model=model, provider=provider, config=config, experiment=experiment, labels=labels, parent=parent
    )
    patterns = tuple(os.fspath(pattern) for pattern in inputs)
    configured = read_settings()
    use_masking_settings(configured)
    given = {OUTPUTS: outputs, PRICES: prices}
    for message, hint in configured.refusals(*(setting for setting, value in given.items() if value is None)):
        warnings.warn(f"{message}; {hint}", RuncardWarning, stacklevel=2)
    store = configured[OUTPUTS] if outputs is None else os.fspath(outputs)
    limit = _checked_limit(max_event_bytes)
    order = Order(store, settings, patterns, checked_prices(prices), keep_secrets, strict, limit)
    return Recording(order)


def _checked_limit(limit: int) -> int:
    low, high = _EVENT_LIMITS
    if not low <= limit <= high:
        raise UsageError(f"max_event_bytes is {limit!r}", hint=f"a number from {low:,} to {high:,}")
    return limit


def _load() -> None:
    """Load what a recording may need: later, a program may have lost the right to, or have too many files open.

    `runcard run` does without most of it, and begins sooner.
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


class Recording:
    """A recording that is about to begin: a context manager, sync and async, and a decorator."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._run: Run | None = None
        self._token: Token[Run | None] | None = None

    def __enter__(self) -> Run:
        if self._run is not None:
            raise UsageError(
                "this recording has begun already", hint="call runcard.record again for another run"
            )
        order = self._order
        self._pid = os.getpid()
        self._signals = TerminationGuard()
        try:
            run = begin(order)
        except (RuncardError, OSError) as error:
            if order.strict:
                raise
            warnings.warn(f"this run is not recorded: {error}", RuncardWarning, stacklevel=2)
            run = _unrecorded(order)
        self._run, self._token = run, _current.set(run)
        for kind, message in run.setup_warnings:
            run.add_warning(message, type=kind)
            warnings.warn(message, RuncardWarning, stacklevel=2)
        # Now: it would only be in the way before.
        self._background = EnvironmentGatherer(".", ignore=[order.outputs], on_complete=run.observe)
        self._signals.begin()
        if order.inputs:
            try:
                run.add_input(*order.inputs)
            except BaseException as error:
                self.__exit__(type(error), error, error.__traceback__)
                raise
        return run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run, token = self._run, self._token
        if run is None or token is None:
            return
        with contextlib.suppress(ValueError):  # a generator is closed in another context than it began in
            _current.reset(token)
        if self._pid != os.getpid():
            return  # a forked child on its way out: the run is its parent's
        try:
            self._end(run, error)
        except Exception as trouble:
            if error is None:
                raise
            error.add_note(f"runcard could not record this run: {trouble}")  # and the user's own error passes
        finally:
            self._signals.end()

    def _end(self, run: Run, error: BaseException | None) -> None:
        status, code = status_of(error)
        try:
            if error is not None and status == "failed":
                run.add_error(error)
        finally:
            facts = self._background.result(_PATIENCE)
            run.end(status, exit_code=code, facts=None if self._background.delivered else facts)

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: Function) -> Function:
        """Record every call of a function as a run of its own."""
        from inspect import iscoroutinefunction  # noqa: PLC0415 - long to load

        if iscoroutinefunction(function):

            @functools.wraps(function)
            async def recorded_async(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
                async with Recording(self._order):
                    return await function(*args, **kwargs)

            return cast("Function", recorded_async)

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            with Recording(self._order):
                return function(*args, **kwargs)

        return cast("Function", recorded)


def begin(order: Order) -> Run:
    """Make the directory of a run and its first document; from here on it is recorded."""
    store, settings = os.path.abspath(order.outputs), order.settings
    try:
        if not os.path.isdir(store):
            os.makedirs(store, exist_ok=True)
    except OSError as error:
        raise failure(error, order.outputs, "create") from error
    _close_abandoned(store)
    identity, odd = _experiment_id(order, store)
    clock, run_id = Clock(), new_id("run")
    enclosing = _current.get()
    parent = settings["parent"] or (enclosing.id if enclosing else os.environ.get("RUNCARD_PARENT"))
    document, counts = start_document(
        clock, run_id, identity, settings, parent, keep_secrets=order.keep_secrets
    )
    odd += [(TRUNCATED, message) for message in bound_start(document, order.event_limit)]
    new = NewRun(store, run_id, new_writer(), order.event_limit)
    try:
        run = Run(store, document, clock, new.journal, **order.options)
        run._event_limit = order.event_limit  # noqa: SLF001 - of this module
        run.emit(events.RUN_STARTED, document)
        for where, masked in counts.items():
            run.count_masked(masked, where)
        run._first = encode_json(document)  # noqa: SLF001 - of this module
        run._path = new.place(clock.started, run._first)  # noqa: SLF001
        run.setup_warnings = [*odd, *([] if new.has_locks else [("no-locks", NO_LOCKS)])]
    except BaseException:
        new.discard()
        raise
    return run


def _experiment_id(order: Order, store: str) -> tuple[str | None, list[tuple[str, str]]]:
    """The id of the experiment, and warnings; one that cannot be read is no reason not to record, and stays unknown."""
    name = order.settings["experiment"]
    if name is None:
        kept = experiments.id_of_store(store, lambda: new_id("exp"))
        return kept.id, [] if kept.warning is None else [("experiment", kept.warning)]
    from runcard.operations.experiments import identify  # noqa: PLC0415 - it may have to read YAML

    try:
        return identify(name), []
    except RuncardError as error:
        if order.strict:
            raise
        warnings.warn(f"the id of the experiment is not known: {error}", RuncardWarning, stacklevel=4)
        return None, []


def _close_abandoned(store: str) -> None:
    """Close what recorders left open that died here. One that cannot be closed is no reason not to record."""
    for run in open_runs(store):
        try:
            close_dead(run)
        except (RuncardError, OSError) as error:
            warnings.warn(f"an earlier run could not be closed: {error}", RuncardWarning, stacklevel=4)


def _unrecorded(order: Order) -> Run:
    """A run that goes nowhere, so that the user's code can go on."""
    clock = Clock()
    document, _ = start_document(
        clock, new_id("run"), new_id("exp"), order.settings, None, keep_secrets=order.keep_secrets
    )
    name = document["generation"]["run_id"]
    path = os.path.join(order.outputs, name)  # where there is no room anywhere, the user's code finds out
    for folder in (os.environ.get("TMPDIR"), *_TEMPORARY):
        with contextlib.suppress(OSError):
            if folder:
                os.mkdir(os.path.join(folder, f"runcard-{name}"), 0o700)
                path = os.path.join(folder, f"runcard-{name}")
                break
    return Run(path, document, clock, None, **order.options)
