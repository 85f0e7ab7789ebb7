"""The relay: connections of the program, each with its own connection to the upstream.

A request is passed on as it is, but for its target and its host; a reply is passed on untouched. What one side does to its
connection is done to the other one: an end, half an end, a reset. Where the upstream cannot be reached at all, the connection
of the program is reset, without a reply. Only then, and after bytes were passed on, the observer hears of it.
"""

import asyncio
import contextlib
import re
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.observe.meter.exchange import ExchangeObserver, Failure, Observe, RequestHead
from runcard.observe.meter.exchange_report import ExchangeReport
from runcard.observe.meter.http_message import (
    BodyReader,
    Head,
    HeadBuffer,
    UnclearMessage,
    parse_head,
    proposes_upgrade,
    request_body,
    request_line,
    rewrite_request,
)
from runcard.observe.meter.routes import Route, Routes
from runcard.observe.meter.upstream import CannotConnect, UpstreamAddress, Upstreams
from runcard.observe.meter.upstream_connection import BUFFER, UpstreamConnection, close_with_reset

if TYPE_CHECKING:
    from collections.abc import Callable

_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_TARGET = re.compile(rb"(?:http://[^/?#]*)?/([0-9a-f]{32})/([^/?#]+)([/?].*)?", re.DOTALL)
_LINGER = 5.0  # seconds for a client to read a 404
_LAST_TURNS = 8  # of the loop, for what has arrived when the run ends
_PATIENCE = 0.1  # seconds for the first request to be sent, before modules are loaded to read it
_SWITCH_INTERVAL = 0.0005  # seconds
_MOST_PROBLEMS = 20


class LoopbackRelay:
    """All connections of one run, in a loop of its own."""

    def __init__(
        self, routes: Routes, observe: Observe, environment: Mapping[str, str], secret: str, port: int
    ) -> None:
        self._make_observer = observe
        self.upstreams = Upstreams(environment)
        self.connections: set[ProgramConnection] = set()
        self.links: set[UpstreamConnection] = set()
        self.problems: list[str] = []
        self._has_observed = False
        self._routes = routes
        self._secret = secret.encode("ascii")
        self._hosts = {b"127.0.0.1:%d" % port, b"localhost:%d" % port}
        self._loop = _Loop()
        self._stopping = asyncio.Event()

    def run(self, listening: socket.socket) -> None:
        """Serve until `stop`; in a thread of its own."""
        try:
            # So long a thread that records calls may keep this one waiting. The usual 5 ms are too long for a first byte.
            sys.setswitchinterval(_SWITCH_INTERVAL)
            self._loop.set_exception_handler(self._handle_error)
            self._loop.run_until_complete(self._serve(listening))
        finally:
            self._loop.close()

    def stop(self) -> None:
        """End all connections; from another thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def _serve(self, listening: socket.socket) -> None:
        server = await self._loop.create_server(lambda: ProgramConnection(self), sock=listening, backlog=1024)
        await self._stopping.wait()
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(0)
        server.close()
        for connection in list(self.connections):
            connection.end_run()
        for link in list(self.links):
            link.close(at_once=True)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def find(self, target: bytes, hosts: list[bytes]) -> tuple[Route, bytes] | None:
        """The route of a request, and its path at the upstream; None for a request that is not the program's."""
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return None
        found = _TARGET.fullmatch(target)
        if found is None or not compare_digest(found[1], self._secret):
            return None
        route = self._routes.find(found[2].decode("latin-1"))
        if route is None:
            return None
        path = route.with_version(found[3] or b"")
        return route, path if path.startswith(b"/") else b"/" + path

    def report(self, route: Route, head: RequestHead, *, proposes_upgrade: bool) -> ExchangeReport:
        """The report of a new exchange. That of the first one waits until its request was sent."""
        report = ExchangeReport(
            lambda: self._observe(route, head),
            head.method.encode("ascii"),
            self.add_problem,
            proposes_upgrade=proposes_upgrade,
            is_deferred=not self._has_observed,
        )
        if not self._has_observed:
            self._loop.call_later(_PATIENCE, report.open)
        return report

    def _observe(self, route: Route, head: RequestHead) -> ExchangeObserver | None:
        self._has_observed = True
        return self._make_observer(route, head)

    def add_problem(self, message: str) -> None:
        """Keep something that went wrong in the relay itself."""
        if len(self.problems) < _MOST_PROBLEMS and message not in self.problems:
            self.problems.append(message)

    def _handle_error(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An error that asyncio would print, such as too many open files."""
        error = context.get("exception")
        if not isinstance(error, ConnectionError):
            self.add_problem(f"{context.get('message')}: {type(error).__name__}: {error}")


class _Request(NamedTuple):
    """A request that is to be passed on."""

    route: Route
    path: bytes  # at the upstream, with its query
    raw: bytes
    head: Head
    method: bytes
    body: BodyReader | None
    unclear: str  # why there is no body to read


class ProgramConnection(asyncio.Protocol):
    """A connection of the program."""

    def __init__(self, relay: LoopbackRelay) -> None:
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
        if must_wait and (request is None or self._link is None or request.route.name != self._link.name):
            self._wait(raw + data[end:])
            return len(data)
        if request is None:
            self._refuse()
        else:
            self._begin(request)
        return end

    def _find_request(self, raw: bytes, unclear: str) -> _Request | None:
        """Read a head; None when it is not to be passed on."""
        head = parse_head(raw)
        line = request_line(head)
        found = None if line is None else self._relay.find(line.target, head.values(b"host"))
        if line is None or found is None:
            return None
        body = None
        try:
            body = None if unclear else request_body(head, line)
        except UnclearMessage as error:
            unclear = str(error)
        return _Request(*found, raw, head, line.method, body, unclear)

    def _begin(self, request: _Request) -> None:
        """Pass on the head of a request, and report it."""
        try:
            address = self._relay.upstreams.address(request.route)
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

    def _report_of(self, request: _Request, authority: bytes) -> ExchangeReport:
        host = authority.decode("ascii")
        headers = tuple((name, host if name == "host" else value) for name, value in request.head.headers)
        method, target = request.method.decode("ascii"), request.path.decode("latin-1")
        head = RequestHead(method, target, headers, time.monotonic())
        return self._relay.report(request.route, head, proposes_upgrade=proposes_upgrade(request.head))

    def _connect(self, route: Route, address: UpstreamAddress) -> UpstreamConnection:
        link = self._links.get(route.name)
        if link is None or link.is_lost:
            link = UpstreamConnection(self, route.name, address, self._relay.links, self._relay.add_problem)
            self._links[route.name] = link
            link.connect(self._relay.upstreams)
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
        self._fail_pending(Failure.CLIENT_GONE, "the program closed the connection")
        for link in self._links.values():
            link.close(is_reset=exc is not None)

    def pause_writing(self) -> None:
        if self._link is not None:
            self._link.set_reading(wanted=False)

    def resume_writing(self) -> None:
        if self._link is not None:
            self._link.set_reading(wanted=True)

    # From the upstream.

    def deliver(self, link: UpstreamConnection, data: bytes) -> bool:
        """Give data of the upstream to the program; False if it is not expected from there."""
        if link is not self._link:
            link.close()
            link.is_lost = True
            return False
        if not self._transport.is_closing():
            self._transport.write(data)
        return True

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
            asyncio.get_running_loop().call_later(0.01, self._reset)
            return
        close_with_reset(self._transport)

    def end_run(self) -> None:
        """The run is over."""
        self._fail_pending(Failure.ENDED, "the run ended before the reply was complete")
        self._transport.abort()


class _Loop(asyncio.SelectorEventLoop):
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
