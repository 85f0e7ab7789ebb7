"""The bytes of a reply as they come in, and the data they hold: one JSON text, or the events of a stream.

Bytes come in any pieces. What cannot be read is told as such and passed over: the vendor's library will say more about it.
"""

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any

DONE = "[DONE]"  # how OpenAI's streams end
_PRELUDE, _CHECK = (
    struct.Struct(">II4x"),
    4,
)  # of a frame: its length, that of its headers, a check; a check at the end
_LIMIT = 256 << 20  # a reply beyond this is not kept in memory only to be looked at


class MalformedError(ValueError):
    """A piece of a reply that is not what it should be."""


class EventStream:
    """Server-sent events: lines of `data:`, an empty line behind each event."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[Any]:
        """The events that this piece completes; `DONE` as it is."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            yield from self._line(line.removesuffix(b"\r"))

    def end(self) -> Iterator[Any]:
        """What was left when the reply ended without an empty line."""
        yield from self._line(self._rest.removesuffix(b"\r"))
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[Any]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            yield DONE if data.strip() == DONE.encode() else decoded(data)


class AmazonStream:
    """Amazon's frames, in which Bedrock sends the same events: lengths, headers, a JSON text with the event in base64."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[Any]:
        self._rest += piece
        while len(self._rest) >= _PRELUDE.size:
            size, headers = _PRELUDE.unpack_from(self._rest)
            if size < _PRELUDE.size + headers + _CHECK:
                raise MalformedError("a part of the reply is no frame")
            if len(self._rest) < size:
                return
            frame, self._rest = self._rest[:size], self._rest[size:]
            yield self._event(decoded(frame[_PRELUDE.size + headers : size - _CHECK]))

    def _event(self, said: Any) -> Any:
        if isinstance(said, dict) and isinstance(said.get("bytes"), str):
            return decoded(base64.b64decode(said["bytes"]))
        return {"type": "error", "error": said}

    def end(self) -> Iterator[Any]:
        yield from ()


class JsonReply:
    """One JSON text."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[Any]:
        self._size += len(piece)
        if self._size <= _LIMIT:
            self._pieces.append(piece)
        yield from ()

    def end(self) -> Iterator[Any]:
        if self._size <= _LIMIT:
            yield decoded(b"".join(self._pieces))


def decoded(text: bytes | str) -> Any:
    """JSON, read as forgivingly as the vendors' libraries do."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise MalformedError("a part of the reply is no JSON") from error
