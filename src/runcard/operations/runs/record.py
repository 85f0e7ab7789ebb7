"""Record a run while it happens: `with runcard.record(...) as run:`, `@runcard.record` or `runcard.start(...)`.

The run exists on disk from the first moment and is closed when the block ends, however it ends. The user's exception
always passes unchanged; a failure of the recording itself is a warning, unless `strict` is set.
"""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, overload

from runcard.errors import UsageError
from runcard.recording.argument_checks import check_prices
from runcard.recording.caller_warnings import caller_file, warn_caller
from runcard.recording.load_modules import load_modules
from runcard.recording.recording import Function, Recording
from runcard.recording.run import RecordOptions, Run
from runcard.recording.start_document import start_settings
from runcard.settings import OUTPUTS, PRICES, read_settings
from runcard.settings.apply import signing_settings, use_masking_settings
from runcard.store import layout
from runcard.store.journal import EVENT_LIMIT
from runcard.store.remote.urls import check_local

if TYPE_CHECKING:
    from runcard.accounting import Prices

_EVENT_LIMITS = (1 << 16, 32 << 20)  # bytes; the upper one is half of what is read by default


@overload
def record(function: Function, /) -> Function: ...


@overload
def record(
    outputs: str | os.PathLike[str] | None = ...,
    *,
    model: str | None = ...,
    provider: str | None = ...,
    config: object = ...,
    inputs: Iterable[str | os.PathLike[str]] = ...,
    experiment: str | None = ...,
    labels: Mapping[str, object] | None = ...,
    parent: str | None = ...,
    application: str | None = ...,
    application_version: str | None = ...,
    prices: "Prices | None" = ...,
    keep_secrets: bool = ...,
    strict: bool = ...,
    max_event_bytes: int = ...,
) -> Recording: ...


def record(  # noqa: PLR0913 - the main entry point: each argument describes the run
    outputs: "str | os.PathLike[str] | Function | None" = None,
    *,
    model: str | None = None,
    provider: str | None = None,
    config: object = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
    experiment: str | None = None,
    labels: Mapping[str, object] | None = None,
    parent: str | None = None,
    application: str | None = None,
    application_version: str | None = None,
    prices: "Prices | None" = None,
    keep_secrets: bool = False,
    strict: bool = False,
    max_event_bytes: int = EVENT_LIMIT,
) -> "Recording | Function":
    """Record a `with` block (or `async with`, or the calls of a function) as a run below `outputs`.

    `outputs` defaults to the setting of that name, `prices` to the price file that the settings name. `inputs` are paths
    and patterns of files that are read. `application` is the program that generates, whose version is recorded: that of
    the installed distribution, if you give none. Without it, the program is the distribution that the caller belongs to.
    Secrets in `config`, labels or errors are masked, unless `keep_secrets` is set.
    An event of more than `max_event_bytes` is cut, and marked as such. When the recording itself fails, the block goes
    on with a RuncardWarning; with `strict` it raises. As a decorator it needs no parentheses.
    """
    # A classmethod cannot be called, and is meant all the same.
    function = outputs if callable(outputs) or isinstance(outputs, classmethod) else None
    options = _options(
        None if outputs is function else outputs,  # type: ignore[arg-type]
        model=model,
        provider=provider,
        config=config,
        inputs=inputs,
        experiment=experiment,
        labels=labels,
        parent=parent,
        application=application,
        application_version=application_version,
        prices=prices,
        keep_secrets=keep_secrets,
        strict=strict,
        max_event_bytes=max_event_bytes,
    )
    return Recording(options) if function is None else Recording(options)(function)


def start(  # noqa: PLR0913 - as `record`
    outputs: str | os.PathLike[str] | None = None,
    *,
    model: str | None = None,
    provider: str | None = None,
    config: object = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
    experiment: str | None = None,
    labels: Mapping[str, object] | None = None,
    parent: str | None = None,
    application: str | None = None,
    application_version: str | None = None,
    prices: "Prices | None" = None,
    keep_secrets: bool = False,
    strict: bool = False,
    max_event_bytes: int = EVENT_LIMIT,
) -> Run:
    """Start a run that no block ends: `run.finish()` ends it. The arguments are those of `record`.

    It is the current run of all code that is in no block, also in other threads while no block is open. A run that is not finished when the program ends is closed
    then: as `failed` after an uncaught exception, as `interrupted` otherwise, with a warning.
    """
    from runcard.recording.started_runs import begin_started_run  # noqa: PLC0415 - few programs need it

    options = _options(
        outputs,
        model=model,
        provider=provider,
        config=config,
        inputs=inputs,
        experiment=experiment,
        labels=labels,
        parent=parent,
        application=application,
        application_version=application_version,
        prices=prices,
        keep_secrets=keep_secrets,
        strict=strict,
        max_event_bytes=max_event_bytes,
    )
    return begin_started_run(options)


def start_for_client(  # noqa: PLR0913 - as `record`
    outputs: str | None = None,
    *,
    model: str | None = None,
    provider: str | None = None,
    config: object = None,
    inputs: Iterable[str] = (),
    experiment: str | None = None,
    labels: Mapping[str, object] | None = None,
    parent: str | None = None,
    application: str | None = None,
    application_version: str | None = None,
) -> Run:
    """Start a run of another program, which tells this process what happens in it. A failure to record raises.

    It is never the current run of code of this process, and the command line of this process is not that of the run.
    """
    from runcard.recording.lifetime import RunLifetime  # noqa: PLC0415 - as `start`

    options = _options(
        outputs,
        model=model,
        provider=provider,
        config=config,
        inputs=inputs,
        experiment=experiment,
        labels=labels,
        parent=parent,
        application=application,
        application_version=application_version,
        prices=None,
        keep_secrets=False,
        strict=True,
        max_event_bytes=EVENT_LIMIT,
    )
    return RunLifetime(options._replace(settings=options.settings | {"command": [], "program": None})).begin()


def _options(  # noqa: PLR0913
    outputs: str | os.PathLike[str] | None,
    *,
    model: str | None,
    provider: str | None,
    config: object,
    inputs: Iterable[str | os.PathLike[str]],
    experiment: str | None,
    labels: Mapping[str, object] | None,
    parent: str | None,
    application: str | None,
    application_version: str | None,
    prices: "Prices | None",
    keep_secrets: bool,
    strict: bool,
    max_event_bytes: int,
) -> RecordOptions:
    """The options of a recording, checked: wrong arguments raise at once, not in the middle of the recording."""
    load_modules()
    if isinstance(inputs, str):
        raise UsageError(
            "inputs must be a list of paths and patterns, not a text", hint=f"write inputs=[{inputs!r}]"
        )
    settings = start_settings(
        model=model,
        provider=provider,
        config=config,
        experiment=experiment,
        labels=labels,
        parent=parent,
        application=application,
        application_version=application_version,
    )
    settings["program"] = None if application else caller_file()
    if experiment is not None:
        _warn_of_similar_experiment(experiment)
    patterns = tuple(os.fspath(pattern) for pattern in inputs)
    configured = read_settings()
    use_masking_settings(configured)
    arguments = {OUTPUTS: outputs, PRICES: prices}
    from_settings = (setting for setting, value in arguments.items() if value is None)
    for message, hint in configured.refusals(*from_settings):
        warn_caller(f"{message}; {hint}")
    store = configured[OUTPUTS] if outputs is None else _check_outputs(outputs)
    limit = _check_event_limit(max_event_bytes)
    return RecordOptions(
        store,
        settings,
        patterns,
        check_prices(prices),
        keep_secrets,
        strict,
        limit,
        signing=signing_settings(configured),
    )


def _check_outputs(outputs: object) -> str:
    path = os.fspath(outputs) if isinstance(outputs, os.PathLike) else outputs
    if isinstance(path, str):
        check_local(path)
        return path
    if isinstance(outputs, property):
        raise UsageError("a property cannot be recorded", hint="write @property above @runcard.record")
    raise UsageError(f"outputs is of the type {type(outputs).__name__}", hint="pass the path of a directory")


def _warn_of_similar_experiment(name: str) -> None:
    """Warn of a name that is probably mistyped: it has no folder, and a similar one has."""
    if os.path.lexists(layout.experiment_folder(name)) or not os.path.isdir(layout.EXPERIMENTS):
        return
    from runcard.operations.experiments.find import similar_names  # noqa: PLC0415 - rarely needed

    if names := similar_names(name):
        warn_caller(
            f"there is no folder {layout.experiment_folder(name)}, so only the name is recorded; did you mean {names[0]}?"
        )


def _check_event_limit(limit: int) -> int:
    low, high = _EVENT_LIMITS
    if not low <= limit <= high:
        raise UsageError(f"max_event_bytes is {limit!r}", hint=f"pass a number from {low:,} to {high:,}")
    return limit
