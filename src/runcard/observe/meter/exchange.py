"""What the relay reports: one request and its reply, or the messages of a WebSocket.

The relay calls the observer in its own thread. An observer that raises is not called again for this exchange; the bytes
are passed on all the same. Pieces of bodies come without transfer coding (chunks), but with their content coding (gzip).
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, Protocol

from runcard.observe.meter.routes import Route

Headers = tuple[tuple[str, str], ...]  # names in lower case, decoded as Latin-1, in their order


class RequestHead(NamedTuple):
    """The head of a request, as it is sent to the upstream."""

    method: str
    target: str  # path and query at the upstream
    headers: Headers
    arrived: float = 0.0  # when the relay had it, by the monotonic clock


class ResponseHead(NamedTuple):
    """The head of a reply."""

    status: int
    reason: str
    headers: Headers


class Failure(Enum):
    """Why an exchange ended before its reply was complete."""

    CLIENT_GONE = "client-gone"  # the program closed its connection
    UNREACHABLE = "unreachable"  # no connection to the upstream: refused, no such host, TLS
    CUT = "cut"  # the upstream closed the connection in the middle
    TIMEOUT = "timeout"  # of the connection: as the system reports it, or none was made in 30 s
    ENDED = "ended"  # the run ended first
    NOT_UNDERSTOOD = "not-understood"  # where its request or reply ends is unclear; all bytes were passed on


class ExchangeObserver(Protocol):
    """Receives one exchange: the request, then the reply, then `end` or `fail`, once."""

    def request_body(self, piece: bytes) -> None: ...
    def request_end(self) -> None: ...
    def reply(self, head: ResponseHead) -> None: ...  # the final one: 1xx are not reported, but for 101
    def reply_body(self, piece: bytes) -> None: ...
    def end(self) -> None: ...  # the reply is complete, with its trailers; or the WebSocket was closed
    def fail(self, failure: Failure, message: str) -> None: ...

    # After a reply with status 101: the bytes of a WebSocket connection, as they are.
    def from_program(self, data: bytes) -> None: ...
    def from_upstream(self, data: bytes) -> None: ...


# Makes the observer of an exchange when the head of the request is there; None: nobody is interested in this request.
Observe = Callable[[Route, RequestHead], ExchangeObserver | None]
