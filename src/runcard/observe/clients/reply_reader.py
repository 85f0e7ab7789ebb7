"""Reading a reply as its bytes arrive: its usage, its errors, its text for those who keep it, the time of its first token.

One reader for watched clients and for the meter. Malformed events are noted in `error`, and those after them are read all the
same: what is read does not depend on the pieces in which a reply arrives.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.accounting.vendors.streams import StreamedReply
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.observe.clients.plain_deltas import find_delta_test
from runcard.observe.clients.reply_stream import (
    DONE,
    AmazonStream,
    Event,
    EventStream,
    JsonArray,
    JsonLines,
    JsonReply,
    MalformedError,
    decoded,
)
from runcard.observe.clients.reply_text import ReplyText

MALFORMED = "malformed-reply"  # the type of the error of a reply that cannot be decoded

_Decoder = EventStream | AmazonStream | JsonArray | JsonLines | JsonReply


class ReplyReader:
    """A reply, as far as it came."""

    def __init__(self, elapsed: Callable[[], float], *, keep_content: bool) -> None:
        self.began = False
        self.complete = False
        self.error: Mapping[str, Any] | None = None
        self.first_token: float | None = None
        self._elapsed = elapsed
        self._keep_content = keep_content
        self._decoder: _Decoder | None = None
        self._whole: Mapping[str, Any] | None = None  # of a reply without a stream
        self._stream = StreamedReply()
        self._text = ReplyText(keep=keep_content)

    @property
    def reply(self) -> Mapping[str, Any] | None:
        """The reply in its vendor's format; of a stream, put together from its events."""
        return self._whole or self._stream.reply or None

    @property
    def whole(self) -> Mapping[str, Any] | None:
        """A reply that came without a stream."""
        return self._whole

    @property
    def has_stop_reason(self) -> bool:
        """Whether a stream said why it ends, though it may lack its last event."""
        return self._stream.has_stop_reason

    @property
    def content(self) -> Any:
        """The text of the reply, if it is kept."""
        return self._text.content

    @property
    def response_id(self) -> str | None:
        """The id of the reply, once it is known."""
        return ReplyFields(self.reply or {}).text("id", "responseId", "response_id")

    def start(self, content_type: str, *, streamed: bool) -> None:
        """A successful reply starts; one before it, if any, could not be read."""
        self.began, self.complete, self.error = True, False, None
        self._decoder = _decoder(content_type, streamed=streamed)

    def feed(self, piece: bytes) -> None:
        """Bytes of the reply."""
        if self._decoder is not None:
            self._consume(self._decoder.feed(piece))

    def end(self) -> None:
        """All bytes have arrived."""
        if self._decoder is not None:
            self._consume(self._decoder.end())

    def add(self, event: str | bytes | Mapping[str, Any], *, streamed: bool) -> None:
        """The whole reply, or an event of a stream, from somebody who decodes the bytes."""
        self.began = True
        self._add(event, streamed=streamed)

    def replace(self, reply: Mapping[str, Any]) -> None:
        """The later reply of a call that went on at the server after it returned."""
        self._whole = reply

    def _consume(self, pieces: Iterator[Event]) -> None:
        try:
            for piece in pieces:
                self._add(piece, streamed=not isinstance(self._decoder, JsonReply))
        except MalformedError as error:  # the rest of the piece cannot be divided into events
            self._add_malformed(error)

    def _add(self, piece: Event | Mapping[str, Any], *, streamed: bool) -> None:
        try:
            data = decoded(piece) if isinstance(piece, bytes | str) and piece != DONE else piece
            self._add_event(data, streamed=streamed)
        except (MalformedError, UsageError) as error:
            self._add_malformed(error)

    def _add_malformed(self, error: Exception) -> None:
        self.error = self.error or {"type": MALFORMED, "message": str(error)}

    def _add_event(self, event: Any, *, streamed: bool) -> None:
        if event == DONE:
            self.complete = True
        elif not isinstance(event, Mapping):
            return
        elif streamed:
            self._add_streamed(event)
        else:
            self._whole, self.complete = event, True
            if not (isinstance(self._decoder, JsonReply) and self._decoder.is_shortened):
                self._text.whole(event)
            if isinstance(error := event.get("error"), Mapping):
                self.error = self.error or error_fields(ReplyFields(error))

    def _add_streamed(self, event: Mapping[str, Any]) -> None:
        if self.first_token is None or self._keep_content:
            if self._text.add(event) and self.first_token is None:
                self.first_token = self._elapsed()
        elif isinstance(self._decoder, EventStream) and self._decoder.is_plain is None:
            self._decoder.is_plain = find_delta_test(event)
        self._stream.add(ReplyFields(event))
        self.complete = self.complete or self._stream.complete
        if self._stream.error is not None:
            self.error = self.error or error_fields(self._stream.error)


def _decoder(content_type: str, *, streamed: bool) -> _Decoder:
    if "amazon.eventstream" in content_type:
        return AmazonStream()
    if "event-stream" in content_type:
        return EventStream()
    if "ndjson" in content_type or "jsonl" in content_type:
        return JsonLines()
    if "json" in content_type:
        return JsonArray() if streamed else JsonReply()
    return EventStream() if streamed else JsonReply()


def error_fields(error: ReplyFields) -> JsonObject:
    """The type and the message of an error that a vendor describes."""
    kind = error.text("type", "status", "code") or "error"
    return {"type": kind, "message": error.text("message") or ""}
