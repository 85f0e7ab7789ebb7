"""Undoing the content coding of a body (gzip, deflate, brotli, zstd) as it arrives.

For observers only: the relay passes bodies on as they are. Memory is bounded, and so is the work: a body that grows beyond
all measure is given up.
"""

import zlib
from collections.abc import Callable, Iterator

_OUTPUT = 1 << 20  # bytes that a decoder may return at once
_STEP = 1 << 10  # bytes that a decoder gets at once: at the end of each frame or member, the rest is copied
_LARGEST = 16 << 20  # of a body that is small before it is decoded
_LARGEST_RATIO = 100  # of a large one
_MAX_CODINGS = 4
_GZIP, _DEFLATE, _RAW = 31, 15, -15  # as zlib names them

Decode = Callable[[bytes], Iterator[bytes]]


class CodingError(ValueError):
    """A body that cannot be decoded."""


class ContentDecoder:
    """The body of a message without its content codings."""

    def __init__(self, coding: str | None) -> None:
        """`coding` is the value of the header Content-Encoding."""
        names = [name for part in (coding or "").lower().split(",") if (name := part.strip())]
        names = [name for name in names if name != "identity"]
        if len(names) > _MAX_CODINGS:
            raise CodingError(f"{len(names)} content codings")
        self._decoders = [_decoder(name) for name in reversed(names)]
        self._received = self._returned = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        if not self._decoders:
            yield piece
            return
        self._received += len(piece)
        for part in self._decode(piece, 0):
            self._returned += len(part)
            if self._returned > _LARGEST + _LARGEST_RATIO * self._received:
                raise CodingError("the body is much larger than its compressed form")
            yield part

    def _decode(self, piece: bytes, number: int) -> Iterator[bytes]:
        if number == len(self._decoders):
            yield piece
            return
        for start in range(0, len(piece), _STEP):
            for part in self._decoders[number](piece[start : start + _STEP]):
                if part:
                    yield from self._decode(part, number + 1)


def _decoder(name: str) -> Decode:
    match name:
        case "gzip" | "x-gzip":
            return _Zlib(_GZIP).feed
        case "deflate":
            return _Zlib(_DEFLATE).feed
        case "br":
            return _Brotli().feed
        case "zstd":
            return _Zstd().feed
    raise CodingError(f"the content coding {name[:40]!r} is unknown")


class _Zlib:
    """gzip with any number of members; deflate with a header of zlib, or without as some servers send it."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._head: bytes | None = (
            b"" if window == _DEFLATE else None
        )  # until it is known whether it is a header
        self._decoder = zlib.decompressobj(window)

    def feed(self, piece: bytes) -> Iterator[bytes]:
        if self._head is not None:
            piece = self._head + piece
            self._head = piece if len(piece) < 2 else None
            if self._head is not None:
                return
            if piece[0] & 15 != zlib.DEFLATED or int.from_bytes(piece[:2]) % 31:
                self._decoder = zlib.decompressobj(_RAW)
        while piece:
            if self._decoder.eof:  # the next member
                if self._window != _GZIP:
                    return
                self._decoder = zlib.decompressobj(_GZIP)
            try:
                yield self._decoder.decompress(piece, _OUTPUT)
            except zlib.error as error:
                raise CodingError("the compressed body is damaged") from error
            piece = self._decoder.unused_data or self._decoder.unconsumed_tail


class _Brotli:
    def __init__(self) -> None:
        import brotli  # noqa: PLC0415 - few replies need it

        self._decoder = brotli.Decompressor()
        self._error = brotli.error

    def feed(self, piece: bytes) -> Iterator[bytes]:
        try:
            if self._decoder.is_finished():
                return
            yield self._decoder.process(piece, output_buffer_limit=_OUTPUT)
            while not self._decoder.can_accept_more_data():
                yield self._decoder.process(b"", output_buffer_limit=_OUTPUT)
        except self._error as error:
            raise CodingError("the compressed body is damaged") from error


class _Zstd:
    """zstd with any number of frames."""

    def __init__(self) -> None:
        try:
            from runcard.encoding.zstd import ZstdDecompressor, ZstdError  # noqa: PLC0415 - few replies need it
        except ImportError:  # Python can be built without it
            raise CodingError("this Python was built without zstd") from None
        self._new, self._error = ZstdDecompressor, ZstdError
        self._decoder = self._new()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        try:
            while piece or not (self._decoder.eof or self._decoder.needs_input):
                if self._decoder.eof:  # the next frame
                    self._decoder = self._new()
                yield self._decoder.decompress(piece, _OUTPUT)
                piece = self._decoder.unused_data if self._decoder.eof else b""
        except self._error as error:
            raise CodingError("the compressed body is damaged") from error
