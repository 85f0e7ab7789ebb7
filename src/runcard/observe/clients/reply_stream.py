"""Decoding the bytes of a reply as they arrive: one JSON text, or the events of a stream.

Bytes come in pieces of any size. Malformed data raises MalformedError; the vendor's library reports it in detail.
"""

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any

DONE = "[DONE]"  # how OpenAI's streams end
_PRELUDE = struct.Struct(">II4x")  # of a frame: its length, the length of its headers, a checksum
_CHECKSUM = 4  # bytes at the end of a frame
_MAX_SIZE = 256 << 20  # bytes of a JSON reply that are buffered


class MalformedError(ValueError):
    """A part of a reply that cannot be decoded."""


class EventStream:
    """Server-sent events: lines of `data:`, and an empty line after each event."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[Any]:
        """The events that this piece completes; `DONE` as it is."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            yield from self._line(line.removesuffix(b"\r"))

    def end(self) -> Iterator[Any]:
        """The last event, when the reply ended without an empty line."""
        yield from self._line(self._rest.removesuffix(b"\r"))
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[Any]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            yield DONE if data.strip() == DONE.encode() else decoded(data)


class AmazonStream:
    """Amazon's frames, in which Bedrock sends events: lengths, headers, and a JSON text with the event in base64."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[Any]:
        self._rest += piece
        while len(self._rest) >= _PRELUDE.size:
            size, headers = _PRELUDE.unpack_from(self._rest)
            if size < _PRELUDE.size + headers + _CHECKSUM:
                raise MalformedError("a part of the reply is not a valid frame")
            if len(self._rest) < size:
                return
            frame, self._rest = self._rest[:size], self._rest[size:]
            yield self._event(decoded(frame[_PRELUDE.size + headers : size - _CHECKSUM]))

    def _event(self, payload: Any) -> Any:
        if isinstance(payload, dict) and isinstance(payload.get("bytes"), str):
            return decoded(base64.b64decode(payload["bytes"]))
        return {"type": "error", "error": payload}

    def end(self) -> Iterator[Any]:
        yield from ()


class JsonReply:
    """One JSON text."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[Any]:
        self._size += len(piece)
        if self._size <= _MAX_SIZE:
            self._pieces.append(piece)
        yield from ()

    def end(self) -> Iterator[Any]:
        if self._size <= _MAX_SIZE:
            yield decoded(b"".join(self._pieces))


def decoded(text: bytes | str) -> Any:
    """JSON, parsed as leniently as the vendors' libraries do."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise MalformedError("a part of the reply is not JSON") from error
