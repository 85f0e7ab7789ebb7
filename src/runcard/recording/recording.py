"""A recording: a context manager, and a decorator for functions of every kind."""

from typing import TYPE_CHECKING, Any, TypeVar

from runcard.errors import UsageError
from runcard.recording.lifetime import RunLifetime

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from runcard.recording.run import RecordOptions, Run

Function = TypeVar("Function", bound="Callable[..., Any]")


class Recording:
    """A recording that has not started yet: a context manager, sync and async, and a decorator."""

    def __init__(self, options: "RecordOptions") -> None:
        self._options = options
        self._has_started = False
        self._run: Run | None = None

    def __enter__(self) -> "Run":
        run = self._lifetime().begin()
        self._run = run.__enter__()
        return run

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> None:
        if self._run is not None:
            self._run.__exit__(kind, error, trace)

    async def __aenter__(self) -> "Run":
        run = await self._lifetime().begin_off_loop()
        self._run = run.__enter__()
        return run

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> None:
        if self._run is not None:
            await self._run.__aexit__(kind, error, trace)

    def _lifetime(self) -> RunLifetime:
        if self._has_started:
            raise UsageError(
                "this recording has already started", hint="call runcard.record again for another run"
            )
        self._has_started = True
        return RunLifetime(self._options)

    def __call__(self, function: Function) -> Function:
        """Record every call of a function as a run of its own."""
        from runcard.recording.recorded_functions import recorded  # noqa: PLC0415 - long to load

        return recorded(function, self._options)
