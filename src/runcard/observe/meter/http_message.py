"""Heads and bodies of HTTP/1.1 messages, as the bytes that they are.

Nothing here changes a message, but for the target and the host of a request. Readers find where a message ends and what its
body is; they accept data in pieces of any size. A message whose end cannot be told for certain raises `UnclearMessage`:
whoever relays it passes on what follows without reading it.
"""

import re
from typing import NamedTuple, Protocol

from runcard.observe.meter.exchange import Headers

LONGEST_HEAD = 16 << 20  # what a head, or the trailers, may have; longer ones are passed on, but not read
LONGEST_CHUNK_LINE = 1 << 16

_HEAD_END = re.compile(rb"\n\r?\n")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([^\x00-\x20]+) (HTTP/1\.[01])")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: ([^\x00\r\n]*))?")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_HOST_VALUE = re.compile(rb"(?im)(?<=\n)(host:[ \t]*)([^\r\n]*?)(?=[ \t]*\r?\n)")


class UnclearMessage(Exception):  # noqa: N818 - not an error of anybody here
    """Where this message ends, or what it says, cannot be told for certain."""


class MessageHead(NamedTuple):
    """The first line of a head, and its fields: names in lower case, values without space around them."""

    first: bytes
    fields: list[tuple[bytes, bytes]]
    unclear: str = ""  # why the fields do not say where the message ends

    def values(self, name: bytes) -> list[bytes]:
        return [value for each, value in self.fields if each == name]

    def tokens(self, name: bytes) -> list[bytes]:
        """The members of a list, in lower case."""
        members = b",".join(self.values(name)).lower().split(b",")
        return [member.strip(b" \t") for member in members if member.strip(b" \t")]

    @property
    def headers(self) -> Headers:
        """The fields as texts."""
        return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in self.fields)


class RequestLine(NamedTuple):
    method: bytes
    target: bytes
    version: bytes


class ReplyLine(NamedTuple):
    status: int
    reason: bytes


class HeadBuffer:
    """Collects pieces until a head is complete."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._data = bytearray()
        self._start = 0  # of the first line: empty lines before it are part of the head
        self._searched = 0

    def __len__(self) -> int:
        return len(self._data)

    def add(self, data: bytes, start: int = 0) -> int:
        """Take data from `start` on; returns where it ends if the head is complete now, else -1."""
        before = len(self._data)
        self._data += data[start:] if start else data
        if self._searched == self._start:
            self._start = self._searched = len(self._data) - len(self._data.lstrip(b"\r\n"))
        found = _HEAD_END.search(self._data, max(self._start, self._searched - 2))
        if found is None:
            self._searched = len(self._data)
            if self._searched > LONGEST_HEAD:
                raise UnclearMessage(f"a head of more than {LONGEST_HEAD >> 20} MiB")
            return -1
        end = found.end()
        del self._data[end:]
        return start + end - before

    def take(self) -> bytes:
        """What was collected; the buffer is empty afterwards."""
        data = bytes(self._data)
        self._clear()
        return data


def parse_head(raw: bytes) -> MessageHead:
    """Split a head. A line that is no field is left out."""
    first, *lines = (line.removesuffix(b"\r") for line in raw.lstrip(b"\r\n").split(b"\n"))
    fields: list[tuple[bytes, bytes]] = []
    unclear = ""
    if b"\0" in raw or b"\r" in raw.replace(b"\r\n", b""):  # some take a bare CR for the end of a line
        unclear = "a bare CR or a NUL in the head"
    is_after_field = False
    for line in lines:
        name, colon, value = line.partition(b":")
        if line[:1] in (b" ", b"\t"):  # an obsolete line folding: belongs to the field before
            if not is_after_field:
                unclear = "a folded line that belongs to no header"
                continue
            name, before = fields.pop()
            fields.append((name, (before + b" " + line.strip(b" \t")).strip(b" ")))
            if name in _FRAMING:
                unclear = "a framing header in several lines"
            continue
        is_after_field = bool(colon and _TOKEN.fullmatch(name))
        if is_after_field:
            fields.append((name.lower(), value.strip(b" \t")))
        elif any(each in name.lower() for each in _FRAMING):
            unclear = "a framing header with a malformed name"
    return MessageHead(first, fields, unclear)


_FRAMING = (b"content-length", b"transfer-encoding")


def request_line(head: MessageHead) -> RequestLine | None:
    found = _REQUEST_LINE.fullmatch(head.first)
    return None if found is None else RequestLine(*found.groups())


def status_line(head: MessageHead) -> ReplyLine:
    found = _STATUS_LINE.fullmatch(head.first)
    if found is None:
        raise UnclearMessage("no status line")
    return ReplyLine(int(found[1]), found[2] or b"")


def rewrite_request(raw: bytes, target: bytes, host: bytes, more: bytes = b"") -> bytes:
    """The same head with another target and host, and with lines added after the host's."""
    line_end = raw.index(b"\n", len(raw) - len(raw.lstrip(b"\r\n")))
    method, _, version = raw[:line_end].split(b" ")
    rest, changed = _HOST_VALUE.subn(lambda found: found[1] + host, raw[line_end:], count=1)
    if more and changed:
        end_of_host = rest.index(b"\n", rest.lower().index(b"\nhost:") + 1) + 1
        rest = rest[:end_of_host] + more + rest[end_of_host:]
    return b" ".join((method, target, version)) + rest


class BodyReader(Protocol):
    """Reads one body."""

    complete: bool

    def read(self, data: bytes, start: int, pieces: list[bytes]) -> int:
        """Take what belongs to the message from `start` on; returns its end. The content is appended to `pieces`."""


class LengthBody:
    """A body of a known length."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.complete = length == 0

    def read(self, data: bytes, start: int, pieces: list[bytes]) -> int:
        end = min(len(data), start + self._left)
        if end > start:
            pieces.append(data[start:end])
        self._left -= end - start
        self.complete = self._left == 0
        return end


class OpenBody:
    """A body that ends with the connection."""

    complete = False

    def read(self, data: bytes, start: int, pieces: list[bytes]) -> int:
        pieces.append(data[start:])
        return len(data)


class ChunkedBody:
    """A body in chunks, with their extensions, and the trailers after it."""

    def __init__(self) -> None:
        self.complete = False
        self._left = 0  # of the content of this chunk
        self._line = b""  # the part of a line that was read
        self._is_after_content = False  # a line end must follow
        self._is_in_trailers = False
        self._trailer_size = 0
        self._width = 6  # of the line before the newest chunk, with both line ends

    def read(self, data: bytes, start: int, pieces: list[bytes]) -> int:
        at, size = start, len(data)
        while at < size and not self.complete:
            if self._left:
                end = min(size, at + self._left)
                pieces.append(data[at:end])
                self._left -= end - at
                self._is_after_content = self._left == 0
                at = end
            elif self._is_after_content and not self._line:
                at = self._read_line(data, self._read_whole_chunks(data, at, pieces))
            else:
                at = self._read_line(data, at)
        return at

    def _read_whole_chunks(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        """The fast way: chunks that are in the data with all their bytes, from the line end before them on."""
        length_of, append, size, width = _LENGTHS.get, pieces.append, len(data), self._width
        while True:
            length = length_of(data[at : at + width])
            if length is None:
                width = next((each for each in _WIDTHS if data[at : at + each] in _LENGTHS), 0)
                if not width:
                    return at
                self._width = width
                continue
            begin = at + width
            end = begin + length
            if end > size:
                return at
            append(data[begin:end])
            at = end

    def _read_line(self, data: bytes, at: int) -> int:
        newline = data.find(b"\n", at) + 1
        self._line += data[at : newline or len(data)]
        limit = LONGEST_HEAD if self._is_in_trailers else LONGEST_CHUNK_LINE
        if len(self._line) + self._trailer_size > limit:
            raise UnclearMessage("a chunk or trailers with too long a head")
        if self._is_after_content and not b"\r\n".startswith(self._line):
            raise UnclearMessage("a chunk that does not end with a line end")
        if newline:
            line, self._line = self._line, b""
            self._use_line(line)
        return newline or len(data)

    def _use_line(self, line: bytes) -> None:
        if self._is_in_trailers:
            self._trailer_size += len(line)
            self.complete = line in (b"\r\n", b"\n")
        elif self._is_after_content:
            self._is_after_content = False
        else:
            self._left = _chunk_length(line)
            self._is_in_trailers = self._left == 0


def _chunk_length(line: bytes) -> int:
    found = _CHUNK.fullmatch(line)
    if found is None:
        raise UnclearMessage("a chunk without a length")
    return int(found[1], 16)


# Most chunks are small, and there are many of them: looking up what is between two of them takes half of the time.
_LENGTHS = {line % length: length for line in (b"\r\n%x\r\n", b"\r\n%X\r\n") for length in range(1, 1 << 11)}
_WIDTHS = (5, 6, 7)


def request_body(head: MessageHead, line: RequestLine) -> BodyReader:
    """The reader of the body of a request."""
    if head.unclear:
        raise UnclearMessage(head.unclear)
    lengths, coded = head.values(b"content-length"), head.values(b"transfer-encoding")
    if coded:
        if lengths or line.version != b"HTTP/1.1" or head.tokens(b"transfer-encoding") != [b"chunked"]:
            raise UnclearMessage("a request with an unclear length")
        return ChunkedBody()
    return LengthBody(_length(lengths) if lengths else 0)


def reply_body(head: MessageHead, line: ReplyLine, method: bytes) -> BodyReader:
    """The reader of the body of a reply, which may be empty whatever its headers say."""
    if method == b"HEAD" or line.status < 200 or line.status in {204, 304}:
        return LengthBody(0)
    if head.unclear:
        raise UnclearMessage(head.unclear)
    if codings := head.tokens(
        b"transfer-encoding"
    ):  # stronger than a length beside it: RFC 9112, section 6.3
        is_chunked = codings[-1] == b"chunked" and b"chunked" not in codings[:-1]
        return ChunkedBody() if is_chunked else OpenBody()
    lengths = head.values(b"content-length")
    return LengthBody(_length(lengths)) if lengths else OpenBody()


def _length(values: list[bytes]) -> int:
    lengths = {value.strip(b" \t") for value in b",".join(values).split(b",")}
    (first, *others) = lengths
    if others or not _LENGTH.fullmatch(first):
        raise UnclearMessage("an unclear length")
    return int(first)


def proposes_upgrade(head: MessageHead) -> bool:
    """Whether what follows this request may be another protocol."""
    return b"upgrade" in head.tokens(b"connection") and bool(head.values(b"upgrade"))
