"""An exchange read as a model call.

While the bytes pass, only what must be read at once is read: the events of a stream that have counts, the time of the first
token. Everything else (the request, the facts) waits until the call is over, and then for whoever asks.

Invariants: memory is bounded, whatever is sent; no failure in here reaches the relay.
"""

import functools
import hashlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol

from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.encoding import JsonObject
from runcard.observe.clients.call import CallFacts, ExchangeFacts
from runcard.observe.clients.endpoints import Endpoint, provider_at, regional_host, request_id
from runcard.observe.clients.reply_reader import MALFORMED, ReplyReader, error_fields
from runcard.observe.clients.reply_stream import MalformedError, decoded
from runcard.observe.clients.request_parameters import request_parameters
from runcard.observe.meter.callers import caller_of
from runcard.observe.meter.content_coding import CodingError, ContentDecoder
from runcard.observe.meter.exchange import ExchangeObserver, Failure, RequestHead, ResponseHead
from runcard.observe.meter.routes import Route
from runcard.observe.meter.wire_endpoints import (
    NotUnderstood,
    classify,
    header,
    host_of,
    model_in_path,
    path_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Rest = ParamSpec("Rest")

_LARGEST_REQUEST = 64 << 20  # bytes that are kept; of a larger one the parameters are not known
_LARGEST_ERROR = 1 << 16
_LONGEST_MESSAGE = 1000  # characters of an error's message
_ATTEMPTS = 1024  # failed requests that are remembered, to recognize a retry
_CANCELLED = (Failure.CLIENT_GONE, Failure.TIMEOUT, Failure.ENDED)
_MESSAGES = {
    Failure.CLIENT_GONE: "the program closed the connection",
    Failure.UNREACHABLE: "the provider cannot be reached",
    Failure.CUT: "the provider closed the connection",
    Failure.TIMEOUT: "the connection timed out",
    Failure.ENDED: "the run ended first",
}


class CallSink(Protocol):
    """Receives the calls that passed the relay, in the relay's thread."""

    @property
    def keep_content(self) -> bool: ...
    def call_finished(self, call: "FinishedCall") -> None: ...
    def not_understood(self, kind: str) -> None: ...  # something that may have cost
    def unreadable(self, problem: str) -> None: ...  # a part of a call that could not be read


class FinishedCall(Protocol):
    """A call that is over. Its facts are computed on demand: that may take a while."""

    def facts(self) -> CallFacts: ...


class WireCalls:
    """Makes the observers of exchanges; numbers the calls, and recognizes retries."""

    def __init__(self, sink: CallSink) -> None:
        self.sink = sink
        self._count = 0
        self._failed: OrderedDict[bytes, str] = OrderedDict()  # call ids by the digest of the request

    def observe(self, route: Route, head: RequestHead) -> ExchangeObserver | None:
        """The observer of a request; None for one that costs nothing."""
        purpose = classify(head, route.upstream)
        if purpose is None:
            return None
        if isinstance(purpose, NotUnderstood):
            return UnknownExchange(self.sink, purpose.kind)
        return WireCall(self, purpose, route, head)

    def next_id(self) -> str:
        self._count += 1
        return f"call-{self._count}"

    def take_failed(self, request: bytes) -> str | None:
        """The failed call before this one with the same request; it is forgotten."""
        return self._failed.pop(request, None)

    def add_failed(self, request: bytes, call_id: str) -> None:
        self._failed[request] = call_id
        if len(self._failed) > _ATTEMPTS:
            self._failed.popitem(last=False)


class UnknownExchange:
    """A request that may cost in a way that is not understood. A refused one costs nothing."""

    def __init__(self, sink: CallSink, kind: str) -> None:
        self._sink, self._kind = sink, kind
        self._status: int | None = None

    def reply(self, head: ResponseHead) -> None:
        self._status = head.status

    def end(self) -> None:
        if self._status is None or self._status < 400:
            self._sink.not_understood(self._kind)

    def fail(self, failure: Failure, message: str) -> None:  # noqa: ARG002 - of the protocol
        if failure is not Failure.UNREACHABLE:
            self.end()

    def request_body(self, piece: bytes) -> None: ...
    def request_end(self) -> None: ...
    def reply_body(self, piece: bytes) -> None: ...
    def from_program(self, data: bytes) -> None: ...
    def from_upstream(self, data: bytes) -> None: ...


def _guarded(
    step: "Callable[Concatenate[WireCall, Rest], None]",
) -> "Callable[Concatenate[WireCall, Rest], None]":
    """A step whose failure makes the call unreadable; the relay goes on."""

    @functools.wraps(step)
    def wrapper(self: "WireCall", /, *args: Rest.args, **kwargs: Rest.kwargs) -> None:
        try:
            step(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever a provider sends
            self.give_up(error)

    return wrapper


class WireCall:
    """A model call that passes the relay."""

    def __init__(self, calls: WireCalls, endpoint: Endpoint, route: Route, head: RequestHead) -> None:
        self._calls, self._endpoint, self._route, self._head = calls, endpoint, route, head
        self._path = path_of(head.target)
        self._started = time.monotonic()
        self._call_id = calls.next_id()
        self._retry_of: str | None = None
        self._request = RequestBody(header(head.headers, "content-encoding"), self._path)
        self._is_sent = False
        self._reply_head: ResponseHead | None = None
        self._decoder: ContentDecoder | None = None
        self._refusal: bytearray | None = None  # the body of a reply that is an error
        self._reader = ReplyReader(self._elapsed, keep_content=calls.sink.keep_content)
        self._streamed = False
        self._error: JsonObject | None = None
        self._problem: str | None = None  # why the reply could not be read
        self._may_be_billed = False
        self._latency = 0.0

    @_guarded
    def request_body(self, piece: bytes) -> None:
        self._request.add(piece)

    @_guarded
    def request_end(self) -> None:
        self._is_sent = True
        self._retry_of = self._calls.take_failed(self._request.digest)

    @_guarded
    def reply(self, head: ResponseHead) -> None:
        self._reply_head = head
        self._decoder = ContentDecoder(header(head.headers, "content-encoding"))
        if not 200 <= head.status < 300:
            self._refusal = bytearray()
            return
        content_type = (header(head.headers, "content-type") or "").lower()
        self._streamed = "stream" in content_type or "ndjson" in content_type or ":stream" in self._path
        self._reader.start(content_type, streamed=self._streamed)

    @_guarded
    def reply_body(self, piece: bytes) -> None:
        if self._decoder is None:
            return
        for part in self._decoder.feed(piece):
            if self._refusal is None:
                self._reader.feed(part)
            else:
                self._refusal += part[: _LARGEST_ERROR - len(self._refusal)]

    def end(self) -> None:
        self._finish()

    def fail(self, failure: Failure, message: str) -> None:
        self._error = {"type": failure.value, "message": (message or _MESSAGES[failure])[:_LONGEST_MESSAGE]}
        self._may_be_billed = self._is_sent and failure in _CANCELLED and self._reply_head is None
        self._finish()

    def from_program(self, data: bytes) -> None: ...
    def from_upstream(self, data: bytes) -> None: ...

    def give_up(self, error: Exception) -> None:
        """The reply, or the rest of it, is not read."""
        self._decoder = None
        is_known = isinstance(error, CodingError | MalformedError)
        self._problem = self._problem or (str(error) if is_known else f"{type(error).__name__}: {error}")

    def _finish(self) -> None:
        self._latency = self._elapsed()
        self._end_reply()
        sink = self._calls.sink
        if self._problem is not None:
            self._error = self._error or {"type": MALFORMED, "message": self._problem}
            sink.unreadable(self._problem)
        if self._error is not None:
            self._calls.add_failed(self._request.digest, self._call_id)
        sink.call_finished(self)

    @_guarded
    def _end_reply(self) -> None:
        """Read what the end of the reply shows."""
        if self._refusal is not None and self._reply_head is not None:
            self._error = self._error or _refusal(self._reply_head, bytes(self._refusal))
            return
        reader, is_cut = self._reader, self._error is not None
        error = reader.error
        if self._streamed or not is_cut:
            reader.end()
        if not reader.began or is_cut or self._problem is not None:
            return
        if self._streamed and not (reader.complete or reader.has_stop_reason) and error is None:
            self._error = {"type": Failure.CUT.value, "message": "the stream ended before its last event"}
        elif reader.error is not None:
            self._error = dict(reader.error)
            if reader.error["type"] == MALFORMED:
                self._problem = reader.error["message"]

    def facts(self) -> CallFacts:
        """What was observed."""
        request, reader, head = self._request.read(), self._reader, self._reply_head
        caller = caller_of(self._head.headers)
        return CallFacts(
            api=self._endpoint.name,
            requested_model=_requested_model(request, self._path),
            provider=provider_at(self._route.upstream),
            prompt=None if request is None else self._endpoint.prompt_of(request),
            request=None if request is None else request_parameters(request),
            reply=reader.reply,
            content=reader.content,
            streamed=self._streamed or (request or {}).get("stream") is True,
            reply_began=reader.began or self._may_be_billed,
            complete=self._error is None,
            latency=self._latency,
            first_token=reader.first_token,
            retries=0,
            error=self._error,
            regional_host=regional_host(self._route.upstream),
            request_id=None if head is None else request_id(dict(reversed(head.headers))),
            exchange=ExchangeFacts(
                call_id=self._call_id,
                endpoint=f"{host_of(self._route.upstream)}{self._path}",
                status=None if head is None else head.status,
                retry_of=self._retry_of,
                client_session=caller.session,
                agent=caller.agent,
                parent_agent=caller.parent_agent,
            ),
        )

    def _elapsed(self) -> float:
        return round(time.monotonic() - self._started, 6)


class RequestBody:
    """The body of a request, as long as it is not too large, and its digest."""

    def __init__(self, coding: str | None, path: str) -> None:
        self._coding = coding
        self._pieces: list[bytes] = []
        self._size = 0
        self._digest = hashlib.blake2b(path.encode("utf-8", "replace"), digest_size=16)

    @property
    def digest(self) -> bytes:
        """To compare requests."""
        return self._digest.digest()

    def add(self, piece: bytes) -> None:
        self._digest.update(piece)
        self._size += len(piece)
        if self._size <= _LARGEST_REQUEST:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def read(self) -> Mapping[str, Any] | None:
        """The request as data; None when it is too large, or cannot be read."""
        if self._size > _LARGEST_REQUEST:
            return None
        text, size = [], 0
        try:
            for part in ContentDecoder(self._coding).feed(b"".join(self._pieces)):
                size += len(part)
                if size > _LARGEST_REQUEST:
                    return None
                text.append(part)
            data = decoded(b"".join(text))
        except (CodingError, MalformedError):
            return None
        return data if isinstance(data, dict) else None


def _requested_model(request: Mapping[str, Any] | None, path: str) -> str | None:
    model = ReplyFields(request or {}).text("model", "agent")
    return model.removeprefix("models/") if model else model_in_path(path)


def _refusal(head: ResponseHead, body: bytes) -> JsonObject:
    """The error of a reply that is one, as the vendor describes it."""
    fields: JsonObject = {"type": "http-error", "message": head.reason}
    try:
        data = decoded(body)
    except MalformedError:
        data = None
    if isinstance(data, list) and data:  # Gemini, for a stream
        data = data[0]
    outer = as_mapping(data) or {}
    inner = as_mapping(outer.get("error")) or {}
    if inner:
        fields = error_fields(ReplyFields(inner))
    elif isinstance(message := outer.get("error") or outer.get("message"), str):
        fields["message"] = message
    return {"type": fields["type"], "message": fields["message"][:_LONGEST_MESSAGE], "status": head.status}
