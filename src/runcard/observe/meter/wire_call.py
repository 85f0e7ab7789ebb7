"""An HTTP exchange read as a model call.

Invariants: memory is bounded, whatever is sent; no failure in here reaches the relay.
"""

import functools
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.encoding import JsonObject
from runcard.observe.clients.endpoints import Endpoint
from runcard.observe.clients.reply_reader import error_fields
from runcard.observe.clients.reply_stream import MalformedError, decoded
from runcard.observe.meter.content_coding import CodingError, ContentDecoder
from runcard.observe.meter.exchange import Failure, RequestHead, ResponseHead
from runcard.observe.meter.routes import Route
from runcard.observe.meter.wire_endpoints import header
from runcard.observe.meter.wire_facts import CallOnWire, CallRegistry, KeptBytes

if TYPE_CHECKING:
    from collections.abc import Callable

Rest = ParamSpec("Rest")

_LARGEST_REQUEST = 64 << 20  # bytes that are kept; of a larger one the parameters are not known
_LARGEST_ERROR = 1 << 16


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


class WireCall(CallOnWire):
    """A model call by HTTP."""

    def __init__(self, calls: CallRegistry, endpoint: Endpoint, route: Route, head: RequestHead) -> None:
        super().__init__(calls, endpoint, route, head)
        self._body = RequestBody(header(head.headers, "content-encoding"), self.path, calls.kept)
        self._decoder: ContentDecoder | None = None
        self._is_unlabelled = False  # the content type of the reply is not known yet
        self._refusal: bytearray | None = None  # the body of a reply that is an error

    @property
    def request_digest(self) -> bytes:
        return self._body.digest

    def request(self) -> Mapping[str, Any] | None:
        return self._body.read()

    @_guarded
    def request_body(self, piece: bytes) -> None:
        self._body.add(piece)

    @_guarded
    def request_end(self) -> None:
        self.is_sent = True
        self.retry_of = self.calls.take_failed(self.request_digest)

    @_guarded
    def reply(self, head: ResponseHead) -> None:
        self.reply_head = head
        if 200 <= head.status < 300:
            self._start_reply((header(head.headers, "content-type") or "").lower())
        else:
            self._refusal = bytearray()
        self._decoder = ContentDecoder(header(head.headers, "content-encoding"))

    def _start_reply(self, content_type: str) -> None:
        is_stream = any(name in content_type for name in ("event-stream", "eventstream", "ndjson", "jsonl"))
        self.streamed = is_stream or ":stream" in self.path
        self._is_unlabelled = not is_stream and "json" not in content_type
        self.reader.start(content_type, streamed=self.streamed)

    def _read_label(self, piece: bytes) -> None:
        """The beginning of a reply without a known content type tells whether it is a stream."""
        self._is_unlabelled = False
        if piece.startswith((b"data:", b"event:", b":")):
            self._start_reply("text/event-stream")

    @_guarded
    def reply_body(self, piece: bytes) -> None:
        if self._decoder is None:
            return
        for part in self._decoder.feed(piece):
            if self._refusal is None:
                if self._is_unlabelled:
                    self._read_label(part)
                self.reader.feed(part)
            else:
                self._refusal += part[: _LARGEST_ERROR - len(self._refusal)]

    def end(self) -> None:
        self._end_reply(is_cut=False)
        self.report()

    def fail(self, failure: Failure, message: str) -> None:
        self.set_failure(failure, message)
        self._end_reply(is_cut=True)
        self.report()

    def from_program(self, data: bytes) -> None: ...
    def from_upstream(self, data: bytes) -> None: ...

    def give_up(self, error: Exception) -> None:
        super().give_up(error)
        self._decoder = None

    @_guarded
    def _end_reply(self, *, is_cut: bool) -> None:
        """Read what the end of the reply shows."""
        if self._refusal is not None and self.reply_head is not None:
            if not is_cut:
                self.set_error(_refusal(self.reply_head, bytes(self._refusal)))
            return
        reader = self.reader
        earlier = reader.error
        if self.streamed or not is_cut:
            reader.end()
        if is_cut or not reader.began or self.problem is not None:
            return
        if self.streamed and not (reader.complete or reader.has_stop_reason) and earlier is None:
            self.error = {"type": Failure.CUT.value, "message": "the stream ended before its last event"}
        elif reader.error is not None:
            self.set_error(reader.error)


class RequestBody:
    """The body of a request, as long as there is room for it, and its digest."""

    def __init__(self, coding: str | None, path: str, room: KeptBytes) -> None:
        self._coding = coding
        self._room = room
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_kept = True
        self._digest = hashlib.blake2b(path.encode("utf-8", "replace"), digest_size=16)

    @property
    def digest(self) -> bytes:
        """To compare requests."""
        return self._digest.digest()

    def add(self, piece: bytes) -> None:
        self._digest.update(piece)
        if not self._is_kept:
            return
        if self._size + len(piece) <= _LARGEST_REQUEST and self._room.take(len(piece)):
            self._size += len(piece)
            self._pieces.append(piece)
        else:
            self._drop()

    def __del__(self) -> None:
        self._drop()

    def _drop(self) -> None:
        self._is_kept = False
        self._room.give_back(self._size)
        self._size = 0
        self._pieces.clear()

    def read(self) -> Mapping[str, Any] | None:
        """The request as data, once: it is dropped. None when it is too large, or cannot be read."""
        if not self._is_kept:
            return None
        body = b"".join(self._pieces)
        self._drop()
        text, size = [], 0
        try:
            for part in ContentDecoder(self._coding).feed(body):
                size += len(part)
                if size > _LARGEST_REQUEST:
                    return None
                text.append(part)
            data = decoded(b"".join(text))
        except (CodingError, MalformedError):
            return None
        return data if isinstance(data, dict) else None


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
    return {"type": fields["type"], "message": fields["message"], "status": head.status}
