"""Dividing the bytes of a reply as they arrive: one JSON text, or the events of a stream.

Bytes come in pieces of any size; replies and events may be of any size, the memory that they take is bounded. What cannot be
divided raises MalformedError; the vendor's library reports it in detail.
"""

import base64
import json
import re
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runcard.encoding import JsonObject
from runcard.observe.clients.long_text import LongText, StringEnd

if TYPE_CHECKING:
    from runcard.observe.clients.plain_deltas import IsPlain

Event = bytes | str | JsonObject  # its text, mostly

DONE = "[DONE]"  # how OpenAI's streams end
_PRELUDE = struct.Struct(">II4x")  # of a frame: its length, the length of its headers, a checksum
_CHECKSUM = 4  # bytes at the end of a frame
_MAX_FRAME = 64 << 20
_LONGEST_BREAK = 3  # bytes of what ends an event, but for the last one
_MARKS = re.compile(rb'["{}\[\]]')


class MalformedError(ValueError):
    """A part of a reply that cannot be decoded."""


class EventStream:
    """Server-sent events: lines of `data:`, and an empty line after each event."""

    def __init__(self) -> None:
        self.is_plain: IsPlain | None = None  # says which events need not be decoded
        self._pending = LongText()  # the beginning of an event
        self._end = b""  # of what is pending
        self._plain = b""  # the newest plain events

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The data of the events that this piece completes; `DONE` as it is."""
        size = _end_of_events(piece)
        if not size and self._end:  # what ends an event may be cut in two
            size = max(0, _end_of_events(self._end + piece[:_LONGEST_BREAK]) - len(self._end))
        if not size:
            self._pending.add(piece)
            self._end = (self._end + piece)[-_LONGEST_BREAK:]
            return
        self._pending.add(piece[:size])
        block, rest = self._pending.take(), piece[size:]
        self._pending.add(rest)
        self._end = rest[-_LONGEST_BREAK:]
        yield from self._events(block)

    def end(self) -> Iterator[Event]:
        """The last event, when the reply ended without an empty line."""
        yield from self._events(self._pending.take())
        yield from self._last_plain()

    def _events(self, block: bytes | None) -> Iterator[Event]:
        if block is None:
            raise MalformedError("an event of the reply is too large to be read")
        if self.is_plain is not None and self.is_plain(block):
            self._keep_plain(block)
            return
        for event in block.replace(b"\r\n", b"\n").split(b"\n\n"):
            if self.is_plain is not None and self.is_plain(event):
                self._keep_plain(event)
            elif data := _data_of(event):
                yield from self._last_plain()
                yield data

    def _keep_plain(self, events: bytes) -> None:
        """Of the plain events in a row, the last one is decoded: Gemini repeats its counts in each of them."""
        if events.startswith(b"data:") or b"\ndata:" in events:
            self._plain = events

    def _last_plain(self) -> Iterator[Event]:
        events, self._plain = self._plain.replace(b"\r\n", b"\n"), b""
        while events:
            events, _, last = events.rpartition(b"\n\n")
            if data := _data_of(last):
                yield data
                return


def _data_of(event: bytes) -> bytes | str | None:
    """The data of an event; None for a comment."""
    data = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
    text = b"\n".join(data)
    return None if not data else DONE if text.strip() == DONE.encode() else text


def _end_of_events(text: bytes) -> int:
    """Where the last complete event ends that can be found quickly; 0: there is none."""
    at = text.rfind(b"\n\n")
    if at >= 0:
        return at + 2
    at = text.rfind(b"\n\r\n")
    return at + 3 if at >= 0 else 0


class AmazonStream:
    """Amazon's frames, in which Bedrock sends events: lengths, headers, and a JSON text with the event in base64."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> Iterator[Event]:
        self._rest += piece
        while len(self._rest) >= _PRELUDE.size:
            size, headers = _PRELUDE.unpack_from(self._rest)
            if not _PRELUDE.size + headers + _CHECKSUM <= size <= _MAX_FRAME:
                self._rest.clear()
                raise MalformedError("a part of the reply is not a valid frame")
            if len(self._rest) < size:
                return
            frame = bytes(self._rest[:size])
            del self._rest[:size]
            yield self._event(decoded(frame[_PRELUDE.size + headers : size - _CHECKSUM]))

    def _event(self, payload: Any) -> bytes | JsonObject:
        if isinstance(payload, dict) and isinstance(payload.get("bytes"), str):
            return base64.b64decode(payload["bytes"])
        return {"type": "error", "error": payload}

    def end(self) -> Iterator[Event]:
        yield from ()


class JsonLines:
    """One JSON text in each line: the streams of Ollama."""

    def __init__(self) -> None:
        self._pending = LongText()

    def feed(self, piece: bytes) -> Iterator[Event]:
        first, newline, rest = piece.partition(b"\n")
        self._pending.add(first)
        if newline:
            *lines, last = rest.split(b"\n")
            yield from _text_of(self._pending)
            self._pending.add(last)
            yield from filter(bytes.strip, lines)

    def end(self) -> Iterator[Event]:
        yield from _text_of(self._pending)


class JsonArray:
    """A JSON array whose elements are events: how Gemini streams without server-sent events."""

    def __init__(self) -> None:
        self._pending = LongText()  # the current element
        self._depth = 0
        self._string: StringEnd | None = None  # the string that goes on

    def feed(self, piece: bytes) -> Iterator[Event]:
        at = start = 0
        while True:
            if self._string is not None:
                at = self._string.find(piece, at) + 1
                if not at:
                    break
                self._string = None
            mark = _MARKS.search(piece, at)
            if mark is None:
                break
            at = mark.end()
            if mark[0] == b'"':
                self._string = StringEnd()
            elif mark[0] in b"{[":
                self._depth += 1
                start = mark.start() if self._depth == 2 else start
            else:
                self._depth -= 1
                if self._depth == 1:
                    self._pending.add(piece[start:at])
                    yield from _text_of(self._pending)
        if self._depth > 1:
            self._pending.add(piece[start:])

    def end(self) -> Iterator[Event]:
        yield from _text_of(self._pending)


class JsonReply:
    """One JSON text."""

    def __init__(self) -> None:
        self._text = LongText()

    @property
    def is_shortened(self) -> bool:
        """Whether long texts of the reply are missing."""
        return self._text.is_shortened

    def feed(self, piece: bytes) -> Iterator[Event]:
        self._text.add(piece)
        yield from ()

    def end(self) -> Iterator[Event]:
        text = self._text.take()
        if text is None:
            raise MalformedError("the reply is too large to be read")
        yield text


def _text_of(pending: LongText) -> Iterator[bytes]:
    """The text that is pending, unless it is empty."""
    text = pending.take()
    if text is None:
        raise MalformedError("an event of the reply is too large to be read")
    if text.strip():
        yield text


def decoded(text: bytes | str) -> Any:
    """JSON, parsed as leniently as the vendors' libraries do."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise MalformedError("a part of the reply is not JSON") from error
