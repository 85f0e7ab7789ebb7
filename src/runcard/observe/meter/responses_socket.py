"""OpenAI's Responses over a WebSocket, as Codex uses them: a request is a message, and so is each event of its reply.

The frames are read on the side, with the protocol of `websockets`, which does no input or output: the relay passes the bytes
on. A connection carries many responses, one after the other. A request with `generate: false` prepares the next one: it is
answered, and is no call.
"""

import functools
import hashlib
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.encoding import JsonObject
from runcard.observe.clients.endpoints import Endpoint
from runcard.observe.clients.plain_deltas import is_response_delta
from runcard.observe.clients.reply_reader import error_fields
from runcard.observe.clients.reply_stream import MalformedError, decoded
from runcard.observe.meter.exchange import Failure, RequestHead, ResponseHead
from runcard.observe.meter.routes import Route
from runcard.observe.meter.wire_endpoints import header
from runcard.observe.meter.wire_facts import CallOnWire, CallRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


Rest = ParamSpec("Rest")

_LARGEST_MESSAGE = 64 << 20
_MOST_WAITING = 1000  # requests that were not answered yet
_OPENED = ResponseHead(101, "", ())  # the headers are those of the connection: they name no call
_LAST_EVENTS = {"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"}


def _guarded(
    step: "Callable[Concatenate[ResponsesSocket, Rest], None]",
) -> "Callable[Concatenate[ResponsesSocket, Rest], None]":
    """A step whose failure makes the connection unreadable; the relay goes on."""

    @functools.wraps(step)
    def wrapper(self: "ResponsesSocket", /, *args: Rest.args, **kwargs: Rest.kwargs) -> None:
        try:
            step(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever the two ends send
            self.give_up(f"{type(error).__name__}: {error}")

    return wrapper


class ResponsesSocket:
    """A connection; until it is open, a request for it."""

    def __init__(self, calls: CallRegistry, endpoint: Endpoint, route: Route, head: RequestHead) -> None:
        self._calls, self._endpoint, self._route, self._head = calls, endpoint, route, head
        self._is_given_up = False
        self._program: MessageReader | None = None
        self._upstream: MessageReader | None = None
        self._waiting: deque[SocketCall] = deque()  # the first one is being answered

    @_guarded
    def reply(self, head: ResponseHead) -> None:
        if head.status == _OPENED.status:
            extensions = header(head.headers, "sec-websocket-extensions")
            self._program = MessageReader(extensions, of_program=True)
            self._upstream = MessageReader(extensions, of_program=False)

    @_guarded
    def from_program(self, data: bytes) -> None:
        for message in self._program.feed(data) if self._program is not None else ():
            request = _json_object(message)
            if request is not None and request.get("type") == "response.create":
                self._waiting.append(self._new_call(request, message))
                if len(self._waiting) > _MOST_WAITING:
                    self.give_up("too many requests without an answer")
                    return

    @_guarded
    def from_upstream(self, data: bytes) -> None:
        for message in self._upstream.feed(data) if self._upstream is not None else ():
            call = self._waiting[0] if self._waiting else None
            if call is not None and call.reader.first_token is not None and call.is_plain(message):
                continue
            event = _json_object(message)
            kind = None if event is None else event.get("type")
            if event is None or not isinstance(kind, str) or not kind.startswith(("response.", "error")):
                continue
            if call is None:  # its request was not understood
                call = self._new_call(None, b"")
                self._waiting.append(call)
            if kind == "error" and not call.reader.began:
                self._waiting.popleft()
                call.refuse(event)
                continue
            call.reply_head = _OPENED
            call.reader.add(event, streamed=True)
            if kind in _LAST_EVENTS:
                self._waiting.popleft()
                call.end(event)

    def end(self) -> None:
        closed = self._upstream.close_reason if self._upstream is not None else None
        self._end_calls(Failure.CUT, closed or "the connection was closed")

    def fail(self, failure: Failure, message: str) -> None:
        self._end_calls(failure, message)

    def request_body(self, piece: bytes) -> None: ...
    def request_end(self) -> None: ...
    def reply_body(self, piece: bytes) -> None: ...

    def give_up(self, problem: str) -> None:
        """Frames cannot be read any more: what follows on this connection is not understood."""
        if self._is_given_up:
            return
        self._is_given_up = True
        self._program = self._upstream = None
        self._calls.sink.not_understood(f"WebSocket {self._endpoint.name}")
        while self._waiting:
            call = self._waiting.popleft()
            call.problem = f"a WebSocket: {problem}"
            call.finish()

    def _end_calls(self, failure: Failure, message: str) -> None:
        while self._waiting:
            call = self._waiting.popleft()
            call.set_failure(failure, message)
            call.finish()

    def _new_call(self, request: JsonObject | None, message: bytes) -> "SocketCall":
        call = SocketCall(self._calls, self._endpoint, self._route, self._head)
        call.set_request(request, message)
        return call


class SocketCall(CallOnWire):
    """One response on a connection."""

    def __init__(self, calls: CallRegistry, endpoint: Endpoint, route: Route, head: RequestHead) -> None:
        super().__init__(calls, endpoint, route, head)
        self.streamed = self.is_sent = True
        self.is_plain = is_response_delta
        self._request: JsonObject | None = None
        self._message = b""

    def set_request(self, request: JsonObject | None, message: bytes) -> None:
        self._request, self._message = request, message
        if self._is_call:
            self.retry_of = self.calls.take_failed(self.request_digest)

    @property
    def _is_call(self) -> bool:
        return self._request is None or self._request.get("generate") is not False

    @property
    def request_digest(self) -> bytes:
        return hashlib.blake2b(self._message, digest_size=16).digest()

    def request(self) -> Mapping[str, Any] | None:
        return self._request

    def end(self, last: Mapping[str, Any]) -> None:
        """Its last event came."""
        if self.reader.error is not None:
            status = last.get("status")
            self.set_error({**self.reader.error, **({"status": status} if isinstance(status, int) else {})})
        self.finish()

    def refuse(self, event: Mapping[str, Any]) -> None:
        """An error in place of a reply: as in HTTP, nothing was generated."""
        error, status = (
            error_fields(ReplyFields(as_mapping(event.get("error")) or event)),
            event.get("status"),
        )
        self.reply_head = _OPENED
        if isinstance(status, int) and not isinstance(status, bool):
            self.reply_head = ResponseHead(status, "", ())
            error["status"] = status
        self.set_error(error)
        self.finish()

    def finish(self) -> None:
        if self._is_call:
            self.report()


class MessageReader:
    """The text messages in the bytes that one end sends."""

    def __init__(self, extensions: str | None, *, of_program: bool) -> None:
        from websockets.frames import Frame, Opcode  # noqa: PLC0415 - only for Codex
        from websockets.protocol import CLIENT, SERVER, Protocol  # noqa: PLC0415

        self._data_frames = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)
        self._frame = Frame
        # Who reads the program's frames is the server, and the other way around.
        self._protocol: Protocol = Protocol(SERVER if of_program else CLIENT, max_size=_LARGEST_MESSAGE)
        self._protocol.extensions = _extensions(extensions, of_program=of_program)
        self._pieces: list[bytes] = []

    @property
    def close_reason(self) -> str | None:
        """What the other end said when it closed the connection."""
        close = self._protocol.close_rcvd
        return f"the connection was closed: {close}" if close is not None else None

    def feed(self, data: bytes) -> "Iterator[bytes]":
        protocol = self._protocol
        protocol.receive_data(data)
        for frame in protocol.events_received():
            if isinstance(frame, self._frame) and frame.opcode in self._data_frames:
                self._pieces.append(bytes(frame.data))
                if frame.fin:
                    message = b"".join(self._pieces)
                    self._pieces.clear()
                    yield message
        protocol.data_to_send()  # answers to pings: never sent, and not kept
        if protocol.parser_exc is not None and protocol.close_rcvd is None:
            raise protocol.parser_exc


def _extensions(value: str | None, *, of_program: bool) -> list[Any]:
    """The extensions that both ends agreed on."""
    if not value:
        return []
    from websockets.extensions.permessage_deflate import PerMessageDeflate  # noqa: PLC0415
    from websockets.headers import parse_extension  # noqa: PLC0415

    found = []
    for name, parameters in parse_extension(value):
        if name != PerMessageDeflate.name:
            raise ValueError(f"the extension {name[:40]!r} is unknown")
        side, values = "client" if of_program else "server", dict(parameters)
        bits = int(values.get(f"{side}_max_window_bits") or 15)
        found.append(PerMessageDeflate(f"{side}_no_context_takeover" in values, True, bits, 15))
    return found


def _json_object(message: bytes) -> JsonObject | None:
    try:
        data = decoded(message)
    except MalformedError:
        return None
    return data if isinstance(data, dict) else None
