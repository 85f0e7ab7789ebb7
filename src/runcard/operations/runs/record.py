"""Record a run while it happens: `with runcard.record(...) as run:`.

The run exists on disk from the first moment and is closed when the block ends, however it ends. The user's exception
always passes unchanged; a failure of the recording itself is a warning, unless `strict` is set.
"""

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from runcard.errors import RuncardError, RuncardWarning, UsageError
from runcard.observe.clock import Clock
from runcard.observe.environment import EnvironmentGatherer
from runcard.observe.ids import new_id
from runcard.recording.argument_checks import check_prices
from runcard.recording.open_runs import add_open_run, remove_open_run
from runcard.recording.run import (
    BACKGROUND_TIMEOUT,
    CURRENT_RUN,
    JournalEvents,
    RecordOptions,
    Run,
    load_modules,
    start_run,
)
from runcard.recording.start_document import start_document, start_settings
from runcard.recording.termination import TerminationGuard, status_of
from runcard.settings import OUTPUTS, PRICES, read_settings
from runcard.settings.apply import use_masking_settings
from runcard.store.journal import EVENT_LIMIT

if TYPE_CHECKING:
    from contextvars import Token

    from runcard.accounting import Prices

Function = TypeVar("Function", bound=Callable[..., Any])

_EVENT_LIMITS = (1 << 16, 32 << 20)  # bytes; the upper one is half of what is read by default
_TEMPORARY = ("/tmp", "/var/tmp", ".")  # noqa: S108 - a directory of its own is made there


def record(  # noqa: PLR0913 - the main entry point: each argument describes the run
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
    """Record a `with` block (or `async with`, or the calls of a function) as a run below `outputs`.

    `outputs` defaults to the setting of that name, `prices` to the price file that the settings name. `inputs` are paths
    and patterns of files that are read. Secrets in `config`, labels or errors are masked, unless `keep_secrets` is set.
    An event of more than `max_event_bytes` is cut, and marked as such. When the recording itself fails, the block goes
    on with a RuncardWarning; with `strict` it raises.
    """
    load_modules()
    if isinstance(inputs, str):
        raise UsageError(
            "inputs must be a list of paths and patterns, not a text", hint=f"write inputs=[{inputs!r}]"
        )
    # Wrong arguments raise at once, not in the middle of the recording.
    settings = start_settings(
        model=model, provider=provider, config=config, experiment=experiment, labels=labels, parent=parent
    )
    patterns = tuple(os.fspath(pattern) for pattern in inputs)
    configured = read_settings()
    use_masking_settings(configured)
    arguments = {OUTPUTS: outputs, PRICES: prices}
    from_settings = (setting for setting, value in arguments.items() if value is None)
    for message, hint in configured.refusals(*from_settings):
        warnings.warn(f"{message}; {hint}", RuncardWarning, stacklevel=2)
    store = configured[OUTPUTS] if outputs is None else os.fspath(outputs)
    limit = _check_event_limit(max_event_bytes)
    return Recording(
        RecordOptions(store, settings, patterns, check_prices(prices), keep_secrets, strict, limit)
    )


def _check_event_limit(limit: int) -> int:
    low, high = _EVENT_LIMITS
    if not low <= limit <= high:
        raise UsageError(f"max_event_bytes is {limit!r}", hint=f"pass a number from {low:,} to {high:,}")
    return limit


class Recording:
    """A recording that has not started yet: a context manager, sync and async, and a decorator."""

    def __init__(self, options: RecordOptions) -> None:
        self._options = options
        self._events: JournalEvents | None = None
        self._token: Token[Run | None] | None = None

    def __enter__(self) -> Run:
        if self._events is not None:
            raise UsageError(
                "this recording has already started", hint="call runcard.record again for another run"
            )
        options = self._options
        self._pid = os.getpid()
        self._signals = TerminationGuard()
        try:
            events = start_run(options, _warn_caller)
        except (RuncardError, OSError) as error:
            if options.strict:
                raise
            warnings.warn(f"this run is not recorded: {error}", RuncardWarning, stacklevel=2)
            events = _unrecorded(options)
        self._run = run = Run(events)
        add_open_run(run, CURRENT_RUN.get())
        self._events, self._token = events, CURRENT_RUN.set(run)
        for kind, message in events.setup_warnings:
            events.add_warning(message, kind)
            warnings.warn(message, RuncardWarning, stacklevel=2)
        # Only now: it would slow down the start.
        self._background = EnvironmentGatherer(
            ".", ignore=[options.outputs], on_complete=events.add_environment
        )
        events.start_heartbeat()
        self._signals.begin()
        if options.inputs:
            try:
                run.add_input(*options.inputs)
            except BaseException as error:
                self.__exit__(type(error), error, error.__traceback__)
                raise
        return run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        events, token = self._events, self._token
        if events is None or token is None:
            return
        with contextlib.suppress(ValueError):  # a generator is closed in another context than it started in
            CURRENT_RUN.reset(token)
        if self._pid != os.getpid():
            remove_open_run(self._run)
            return  # a forked child on its way out: the run is its parent's
        try:
            self._end(events, error)
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"runcard could not record this run: {failure}")  # and the user's own error passes
        finally:
            remove_open_run(
                self._run
            )  # not before: what a thread records while the run is closed gives a warning
            self._signals.end()

    def _end(self, events: JournalEvents, error: BaseException | None) -> None:
        status, code = status_of(error)
        try:
            if error is not None and status == "failed":
                events.add_error(error)
        finally:
            environment = self._background.result(BACKGROUND_TIMEOUT)
            events.end(
                status, exit_code=code, environment=None if self._background.delivered else environment
            )

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
                async with Recording(self._options):
                    return await function(*args, **kwargs)

            return cast("Function", recorded_async)

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            with Recording(self._options):
                return function(*args, **kwargs)

        return cast("Function", recorded)


def _warn_caller(message: str) -> None:
    """Warn at the line of the `with` block, which is four calls away."""
    warnings.warn(message, RuncardWarning, stacklevel=5)


def _unrecorded(options: RecordOptions) -> JournalEvents:
    """A run that is not recorded, so that the user's code can go on."""
    clock = Clock()
    document, _ = start_document(
        clock, new_id("run"), new_id("exp"), options.settings, None, keep_secrets=options.keep_secrets
    )
    name = document["generation"]["run_id"]
    path = os.path.join(options.outputs, name)  # if no directory can be made, the user's code finds out
    for folder in (os.environ.get("TMPDIR"), *_TEMPORARY):
        with contextlib.suppress(OSError):
            if folder:
                os.mkdir(os.path.join(folder, f"runcard-{name}"), 0o700)
                path = os.path.join(folder, f"runcard-{name}")
                break
    return JournalEvents(path, document, clock, None, options)
