"""What the servers that a run has in threads share: their event loop, how many files they may have open, what went wrong in them."""

import asyncio
import contextlib
import resource
import socket
import threading
from typing import TYPE_CHECKING, Any

from runcard.observe.meter.upstream_connection import OUT_OF_FILES, is_out_of_files

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_FILES = 1 << 16  # open at the same time
_MAX_PROBLEMS = 20


def allow_many_files() -> None:
    """A connection of the program takes two here; the program has a limit of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(_MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class ProblemLog:
    """What went wrong in a server itself, each problem once."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def add_problem(self, message: str) -> None:
        if len(self.problems) < _MAX_PROBLEMS and message not in self.problems:
            self.problems.append(message)

    def handle_error(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An error that asyncio would print, such as too many open files."""
        error = context.get("exception")
        if is_out_of_files(error):
            self.add_problem(OUT_OF_FILES)
        elif not isinstance(error, ConnectionError):
            self.add_problem(f"{context.get('message')}: {type(error).__name__}: {error}")


class RelayLoop(asyncio.SelectorEventLoop):
    """Looks addresses up in threads that nothing waits for when the run ends."""

    async def getaddrinfo(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as in its base class
        result: asyncio.Future[Any] = self.create_future()

        def look_up() -> None:
            set_result: Callable[[Any], None] = _set_result
            try:
                value: Any = socket.getaddrinfo(*arguments, **options)
            except Exception as error:  # noqa: BLE001 - passed on
                set_result, value = _set_exception, error
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self.call_soon_threadsafe(set_result, value)

        def _set_result(value: Any) -> None:  # noqa: ANN401
            if not result.done():
                result.set_result(value)

        def _set_exception(error: Any) -> None:  # noqa: ANN401
            if not result.done():
                result.set_exception(error)

        threading.Thread(target=look_up, name="runcard-address", daemon=True).start()
        return await result
