"""A connection of the program: its requests go to their upstreams, and the replies come back.

What one side does to its connection is done to the other one: an end, half an end, a reset. Where the upstream cannot be
reached at all, the connection of the program is reset, without a reply.

Invariant: bytes are passed on before the observer hears of them.
"""

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from runcard.observe.meter.exchange import Failure, RequestHead
from runcard.observe.meter.exchange_report import ExchangeReport
from runcard.observe.meter.http_message import (
    BodyReader,
    HeadBuffer,
    MessageHead,
    UnclearMessage,
    parse_head,
    proposes_upgrade,
    request_body,
    request_line,
    rewrite_request,
)
from runcard.observe.meter.routes import Route
from runcard.observe.meter.upstream import CannotConnect, UpstreamAddress
from runcard.observe.meter.upstream_connection import BUFFER, UpstreamConnection, close_with_reset

if TYPE_CHECKING:
    from runcard.observe.meter.relay import LoopbackRelay

_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_LINGER = 5.0  # seconds for a client to read a 404


class _RoutedRequest(NamedTuple):
    """A request that is to be passed on."""

    route: Route
    path: bytes  # at the upstream, with its query
    raw: bytes
    head: MessageHead
    method: bytes
    body: BodyReader | None
    unclear: str  # why there is no body to read


class ProgramConnection(asyncio.Protocol):
    """A connection of the program."""

    def __init__(self, relay: "LoopbackRelay") -> None:
        self._relay = relay
        self._transport: asyncio.Transport
        self.pending: deque[ExchangeReport] = deque()
        self._links: dict[str, UpstreamConnection] = {}  # by route
        self._link: UpstreamConnection | None = None  # that of the last request
        self._head = HeadBuffer()
        self._body: BodyReader | None = None
        self._current: ExchangeReport | None = None  # whose body is read, or whose upgrade was accepted
        self._waiting = b""  # data that must wait for replies
        self._pauses: set[str] = set()
        self._is_raw = False  # what comes is passed on, and is no request
        self._closes_after_reply = False
        self._replies_unclear = ""  # why replies are not read any more
        self._is_refused = False
        self._redirection: tuple[Route, bytes] | None = None  # where the last reply sent the program to
        self._has_ended = False  # the program sends no more
        self._upstream_has_ended = False

    # From the program.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is one of a connection
        self._transport = transport
        transport.set_write_buffer_limits(BUFFER)
        self._relay.connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        if self._upstream_has_ended:
            self._send_after_end(data)
        elif self._waiting:
            self._waiting += data
        else:
            self._read(data)

    def _read(self, data: bytes) -> None:
        at = 0
        while at < len(data) and not self._is_refused:
            if self._is_raw:
                self._pass_on_raw(data[at:])
                return
            if self._body is not None:
                at = self._read_body(self._body, data, at)
            elif self._must_wait_for_upgrade():
                self._wait(data[at:])
                return
            else:
                at = self._read_head(data, at)

    def _must_wait_for_upgrade(self) -> bool:
        """Whether the next bytes may be of another protocol, which the reply decides."""
        return bool(self.pending) and self.pending[-1].proposes_upgrade and not self._replies_unclear

    def _wait(self, data: bytes) -> None:
        """Let what comes next wait until all replies are complete."""
        self._waiting = data
        self.pause_reading("order")

    def _read_head(self, data: bytes, at: int) -> int:
        unclear = ""
        try:
            end = self._head.add(data, at)
        except UnclearMessage as error:
            end, unclear = len(data), str(error)
        if end < 0:
            return len(data)
        raw = self._head.take()
        request = self._find_request(raw, unclear)
        must_wait = bool(self.pending) and not self._replies_unclear
        if must_wait and (request is None or self._link is None or request.route != self._link.route):
            self._wait(raw + data[end:])
            return len(data)
        if request is None:
            self._refuse()
        else:
            self._begin(request)
        return end

    def _find_request(self, raw: bytes, unclear: str) -> _RoutedRequest | None:
        """Read a head; None when it is not to be passed on."""
        head = parse_head(raw)
        line = request_line(head)
        if line is None or not self._relay.is_host(head.values(b"host")):
            return None
        found = self._relay.find(line.target, b"".join(head.values(b"user-agent")[:1]))
        if found is None and self._redirection is not None and line.target == self._redirection[1]:
            found = self._redirection
        if found is None:
            return None
        body = None
        try:
            body = None if unclear else request_body(head, line)
        except UnclearMessage as error:
            unclear = str(error)
        return _RoutedRequest(*found, raw, head, line.method, body, unclear)

    def _begin(self, request: _RoutedRequest) -> None:
        """Pass on the head of a request, and report it."""
        try:
            address = self._relay.upstreams(request.route).address(request.route)
        except CannotConnect as error:
            self._report_of(request, b"").fail(Failure.UNREACHABLE, str(error))
            self._reset()
            return
        target = address.target(request.path)
        link = self._connect(request.route, address)
        link.write(rewrite_request(request.raw, target, address.authority, address.added_headers))
        report = self._report_of(request, address.authority)
        self.pending.append(report)
        self._current, self._body = report, request.body
        if request.unclear or self._replies_unclear:
            report.fail(Failure.NOT_UNDERSTOOD, request.unclear or self._replies_unclear)
        if request.body is None or (self._replies_unclear and report.proposes_upgrade):
            self._is_raw = self._closes_after_reply = True
        elif request.body.complete:
            self._end_request()

    def _report_of(self, request: _RoutedRequest, authority: bytes) -> ExchangeReport:
        host = authority.decode("ascii")
        headers = tuple((name, host if name == "host" else value) for name, value in request.head.headers)
        method, target = request.method.decode("ascii"), request.path.decode("latin-1")
        head = RequestHead(method, target, headers, time.monotonic())
        return self._relay.report(request.route, head, proposes_upgrade=proposes_upgrade(request.head))

    def _connect(self, route: Route, address: UpstreamAddress) -> UpstreamConnection:
        link = self._links.get(route.name)
        if link is None or link.is_lost:
            link = UpstreamConnection(self, route, address, self._relay.links, self._relay.add_problem)
            self._links[route.name] = link
            link.connect(self._relay.upstreams(route))
        self._link = link
        return link

    def _read_body(self, body: BodyReader, data: bytes, at: int) -> int:
        pieces: list[bytes] = []
        unclear = ""
        try:
            end = body.read(data, at, pieces)
        except UnclearMessage as error:
            end, unclear = len(data), str(error)
        if self._link is not None:
            self._link.write(data if end - at == len(data) else data[at:end])
        if self._current is not None:
            self._current.request_body(pieces)
            if unclear:
                self._current.fail(Failure.NOT_UNDERSTOOD, unclear)
                self._is_raw = self._closes_after_reply = True
        if body.complete:
            self._end_request()
        return end

    def _end_request(self) -> None:
        self._body = None
        if self._current is not None:
            self._current.request_end()
            self._current = None

    def _pass_on_raw(self, data: bytes) -> None:
        if self._link is not None:
            self._link.write(data)
        if self._current is not None and not self._closes_after_reply:
            self._current.from_program(data)

    def _send_after_end(self, data: bytes) -> None:
        """The upstream has closed its side: it may still read, and if it does not, the program notices."""
        if self._link is None or self._link.is_lost:
            self._reset()
        else:
            self._link.write(data)

    def _refuse(self) -> None:
        """Answer a request that is not the program's."""
        self._is_refused = True
        self._transport.write(_NOT_FOUND)
        self._transport.write_eof()
        asyncio.get_running_loop().call_later(_LINGER, self._transport.abort)

    def eof_received(self) -> bool:
        self._has_ended = True
        link = self._link
        if link is None or link.is_lost or self._is_refused or self._upstream_has_ended:
            return False
        if not link.can_write_eof or not (self.pending or self._is_raw):
            return False
        link.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._relay.connections.discard(self)
        if exc is None and self.pending and self.pending[0].is_switched:
            self.pending.popleft().end()
        self._fail_pending(Failure.CLIENT_GONE, "the program closed the connection")
        for link in self._links.values():
            link.close(is_reset=exc is not None)

    def pause_writing(self) -> None:
        if self._link is not None:
            self._link.set_reading(wanted=False)

    def resume_writing(self) -> None:
        for link in self._links.values():  # the last request may have gone to another one meanwhile
            link.set_reading(wanted=True)

    # From the upstream.

    def deliver(self, link: UpstreamConnection, data: bytes) -> bool:
        """Give data of the upstream to the program; False if it is not expected from there."""
        if link is not self._link:
            link.close()
            link.is_lost = True
            return False
        if not self._transport.is_closing() and not self._is_refused:
            self._transport.write(data)
        return True

    def redirect(self, route: Route, location: bytes) -> None:
        """A reply names a path at the upstream: the program asks for it here, without the path of the relay."""
        self._redirection = (route, location.partition(b"#")[0])

    def reply_ended(self) -> None:
        """A reply is complete: what waited for it goes on."""
        if self.pending:
            return
        if self._has_ended or self._closes_after_reply:
            self._transport.close()
        elif self._waiting:
            data, self._waiting = self._waiting, b""
            self.resume_reading("order")
            self._read(data)

    def switch_protocol(self) -> None:
        """The upgrade was accepted: from now on the connection belongs to another protocol."""
        self._is_raw = True
        self._current = self.pending[0]
        if self._waiting:
            data, self._waiting = self._waiting, b""
            self.resume_reading("order")
            self._pass_on_raw(data)

    def replies_unclear(self, message: str) -> None:
        """Replies are passed on from now on, but not read: nothing waits for their end."""
        self._replies_unclear = message
        self._fail_pending(Failure.NOT_UNDERSTOOD, message)
        if self._waiting:
            data, self._waiting = self._waiting, b""
            self.resume_reading("order")
            self._read(data)

    def upstream_failed(self, link: UpstreamConnection, failure: Failure, message: str) -> None:
        """No connection, or a reset one: the program sees the same."""
        if link is self._link:
            self._fail_pending(Failure.CLIENT_GONE if self._has_ended else failure, message)
            self._reset()

    def upstream_ended(self, link: UpstreamConnection) -> None:
        """The upstream has closed its side."""
        if link is not self._link:
            link.close()
            link.is_lost = True
            return
        self._upstream_has_ended = True
        failure = Failure.CLIENT_GONE if self._has_ended else Failure.CUT
        self._fail_pending(
            failure, f"{link.address.host} closed the connection before the reply was complete"
        )
        if self._has_ended:
            self._transport.close()
        elif not self._transport.is_closing():
            self._transport.write_eof()
            self._pauses.clear()
            self._transport.resume_reading()

    def _fail_pending(self, failure: Failure, message: str) -> None:
        while self.pending:
            self.pending.popleft().fail(failure, message)

    def pause_reading(self, reason: str) -> None:
        self._pauses.add(reason)
        self._transport.pause_reading()

    def resume_reading(self, reason: str) -> None:
        self._pauses.discard(reason)
        if not self._pauses and not self._transport.is_closing():
            self._transport.resume_reading()

    # Endings.

    def _reset(self) -> None:
        """Close with a reset, when the program has got all that there is for it."""
        self._is_refused = True  # nothing is read any more
        if self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(0.05, self._reset)
            return
        close_with_reset(self._transport)

    def end_run(self) -> None:
        """The run is over."""
        self._fail_pending(Failure.ENDED, "the run ended before the reply was complete")
        self._transport.abort()
