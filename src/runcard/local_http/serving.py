"""Running a web server until a signal ends it."""

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn

from runcard.local_http.listener import MOST_CONNECTIONS
from runcard.local_http.slow_clients import DeadlineProtocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_GRACE = 2  # seconds for the answers of open requests when the server ends
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def make_server(app: Any) -> "SignalledServer":  # noqa: ANN401 - any ASGI application
    """A server that writes no log and does not name itself."""
    return SignalledServer(
        uvicorn.Config(
            app,
            http=DeadlineProtocol,
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            ws="none",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=_GRACE,
        )
    )


class SignalledServer(uvicorn.Server):
    """A server that ends on the usual signals, and does not raise them again."""

    @contextmanager
    def capture_signals(self) -> "Iterator[None]":
        previous = {number: signal.signal(number, self._end) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _end(self, _: int, __: "FrameType | None") -> None:
        self.should_exit = True
