"""A connection to an upstream: requests go out as they are given, replies are passed on and then read.

Invariant: data of the upstream is given to the program before anything looks at it.
"""

import asyncio
import contextlib
import errno
import os
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from runcard.observe.meter.exchange import Failure, ResponseHead
from runcard.observe.meter.exchange_report import ExchangeReport
from runcard.observe.meter.http_message import (
    HeadBuffer,
    OpenBody,
    UnclearMessage,
    parse_head,
    reply_body,
    status_line,
)
from runcard.observe.meter.routes import Route
from runcard.observe.meter.upstream import UpstreamAddress, Upstreams, keep_alive

if TYPE_CHECKING:
    from runcard.observe.meter.http_message import BodyReader

BUFFER = 1 << 18  # bytes that one side may be ahead of the other
_LONGEST_UNSENT = 1 << 20  # before the connection is made
OUT_OF_FILES = "too many connections at once for the limit of open files (ulimit -n)"
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset


class Program(Protocol):
    """The other side: the connection of a program."""

    pending: deque[ExchangeReport]  # requests whose reply is not complete, in their order

    def deliver(self, link: "UpstreamConnection", data: bytes) -> bool: ...
    def redirect(self, route: Route, location: bytes) -> None: ...
    def reply_ended(self) -> None: ...
    def switch_protocol(self) -> None: ...
    def replies_unclear(self, message: str) -> None: ...
    def upstream_failed(self, link: "UpstreamConnection", failure: Failure, message: str) -> None: ...
    def upstream_ended(self, link: "UpstreamConnection") -> None: ...
    def pause_reading(self, reason: str) -> None: ...
    def resume_reading(self, reason: str) -> None: ...


class UpstreamConnection(asyncio.Protocol):
    """One connection to one upstream, for one connection of a program."""

    def __init__(
        self,
        program: Program,
        route: Route,
        address: UpstreamAddress,
        links: "set[UpstreamConnection]",
        add_problem: Callable[[str], None],
    ) -> None:
        """`links` has those that are open."""
        self.route = route
        self.address = address
        self.is_lost = False
        self._program = program
        self._links = links
        self._add_problem = add_problem
        self._transport: asyncio.Transport | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._unsent: list[bytes] = []
        self._wants_eof = False
        self._is_closed = False  # by this side
        self._has_ended = False
        self._head = HeadBuffer()
        self._body: BodyReader | None = None
        self._switched: ExchangeReport | None = None  # that of a WebSocket
        self._is_unclear = False

    def connect(self, upstreams: Upstreams) -> None:
        self._links.add(self)
        self._connecting = asyncio.create_task(self._connect(upstreams))

    async def _connect(self, upstreams: Upstreams) -> None:
        try:
            await upstreams.connect(self.address, self)
        except TimeoutError:
            self._fail(Failure.TIMEOUT, f"{self.address.host}: no connection in time")
        except OSError as error:
            if is_out_of_files(error):
                self._add_problem(OUT_OF_FILES)
            self._fail(Failure.UNREACHABLE, f"{self.address.host}: {_reason(error)}")
        except Exception as error:  # noqa: BLE001 - the program must not wait for ever
            self._fail(Failure.UNREACHABLE, f"{self.address.host}: {type(error).__name__}")
        finally:
            self._connecting = None
            if self._transport is None:
                self._links.discard(self)

    def _fail(self, failure: Failure, message: str) -> None:
        self.is_lost = True
        if not self._is_closed:
            self._program.upstream_failed(self, failure, message)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is one of a connection
        self._transport = transport
        keep_alive(transport)
        transport.set_write_buffer_limits(BUFFER)
        if self._is_closed:
            transport.abort()
            return
        transport.write(b"".join(self._unsent))
        self._unsent = []
        if self._wants_eof:
            transport.write_eof()
        self._program.resume_reading("connecting")

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            if not self._transport.is_closing():
                self._transport.write(data)
            return
        self._unsent.append(data)
        if sum(map(len, self._unsent)) > _LONGEST_UNSENT:
            self._program.pause_reading("connecting")

    @property
    def can_write_eof(self) -> bool:
        """Whether one direction can be closed; TLS has no such thing."""
        through_tls = self.address.proxy is not None and self.address.proxy.scheme == "https"
        return not self.address.is_tls and not through_tls

    def write_eof(self) -> None:
        self._wants_eof = True
        if self._transport is not None and not self._transport.is_closing():
            with contextlib.suppress(OSError):
                self._transport.write_eof()

    def close(self, *, at_once: bool = False, is_reset: bool = False) -> None:
        """Close it, after what was written, at once or with a reset; nothing is reported any more."""
        self._is_closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        if self._transport is not None:
            if is_reset:
                close_with_reset(self._transport)
            elif at_once:
                self._transport.abort()
            else:
                self._transport.close()

    def pause_writing(self) -> None:
        self._program.pause_reading("upstream")

    def resume_writing(self) -> None:
        self._program.resume_reading("upstream")

    def set_reading(self, *, wanted: bool) -> None:
        """Read from the upstream, or let it wait while the program does not read."""
        if self._transport is not None and not self._transport.is_closing():
            if wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        if self._is_closed or not self._program.deliver(self, data) or self._is_unclear:
            return
        try:
            self._read(data)
        except UnclearMessage as unclear:
            self._set_unclear(str(unclear))
        except Exception as error:  # noqa: BLE001 - a mistake in here must not reach the program
            self._add_problem(f"a reply could not be read: {type(error).__name__}: {error}")
            self._set_unclear("an error of the relay")

    def _set_unclear(self, message: str) -> None:
        self._is_unclear = True
        self._program.replies_unclear(message)

    def _read(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            if self._switched is not None:
                self._switched.from_upstream(data[at:])
                return
            if self._body is None:
                at = self._head.add(data, at)
                if at < 0:
                    return
                self._begin_reply(self._head.take())
            else:
                pieces: list[bytes] = []
                try:
                    at = self._body.read(data, at, pieces)
                finally:
                    self._program.pending[0].reply_body(pieces)
            if self._body is not None and self._body.complete:
                self._end_reply()

    def _begin_reply(self, raw: bytes) -> None:
        if not self._program.pending:
            raise UnclearMessage("a reply without a request")
        head = parse_head(raw)
        line = status_line(head)
        report = self._program.pending[0]
        if line.status < 200 and line.status != 101:
            return
        response = ResponseHead(line.status, line.reason.decode("latin-1"), head.headers)
        if line.status == 101:
            if not report.proposes_upgrade:
                raise UnclearMessage("an upgrade without a request for it")
            report.reply(response)
            report.is_switched = True
            self._switched = report
            self._program.switch_protocol()
            return
        if 300 <= line.status < 400:
            for location in head.values(b"location"):
                if location.startswith(b"/") and not location.startswith(b"//"):
                    self._program.redirect(self.route, location)
        self._body = reply_body(head, line, report.method)
        report.reply(response)

    def _end_reply(self) -> None:
        self._body = None
        self._program.pending.popleft().end()
        self._program.reply_ended()

    def eof_received(self) -> bool:
        self._end_reading()
        return self.can_write_eof

    def _end_reading(self) -> None:
        """The upstream sends no more."""
        if self._has_ended or self._is_closed:
            return
        self._has_ended = True
        if self._switched is not None or isinstance(self._body, OpenBody):
            self._end_reply()
        self._program.upstream_ended(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self._links.discard(self)
        if self._is_closed:
            return
        if exc is None:
            self._end_reading()
        else:
            failure = Failure.TIMEOUT if isinstance(exc, TimeoutError) else Failure.CUT
            self._program.upstream_failed(self, failure, f"{self.address.host}: {exc}")


def close_with_reset(transport: asyncio.Transport) -> None:
    """Close a connection at once, so that the other side sees a reset."""
    with contextlib.suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()


def is_out_of_files(error: object) -> bool:
    """Whether this process, or the machine, has no descriptors left."""
    return isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}


def _reason(error: OSError) -> str:
    """Why there is no connection; asyncio says only that the call failed, and the number says why."""
    reason = error.strerror or str(error) or type(error).__name__
    return os.strerror(error.errno) if error.errno and reason.startswith("Connect call failed") else reason
