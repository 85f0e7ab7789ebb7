"""Where messages end and what their bodies are: compared with h11, whatever the pieces that they arrive in."""

import itertools
from collections.abc import Iterator

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.observe.meter import http_message
from runcard.observe.meter.http_message import (
    BodyReader,
    ChunkedBody,
    HeadBuffer,
    LengthBody,
    MessageHead,
    OpenBody,
    RequestLine,
    UnclearMessage,
    parse_head,
    proposes_upgrade,
    reply_body,
    request_body,
    request_line,
    rewrite_request,
    status_line,
)

Message = tuple[bytes, bytes]  # its first line, and its body


def in_pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return (data[begin:end] for begin, end in itertools.pairwise(places))


def body_of(head: MessageHead, method: bytes) -> BodyReader:
    if line := request_line(head):
        return request_body(head, line)
    return reply_body(head, status_line(head), method)


def messages(pieces: Iterator[bytes], methods: list[bytes]) -> tuple[list[Message], bool]:
    """All messages, and whether the last one is complete without the end of the connection."""
    waiting, found, complete = list(methods), list[Message](), True
    buffer, first = HeadBuffer(), b""
    body: BodyReader | None = None
    content: list[bytes] = []
    for data in pieces:
        at = 0
        while at < len(data):
            if body is None:
                complete = False
                at = buffer.add(data, at)
                if at < 0:
                    break
                head = parse_head(buffer.take())
                first, content, body = head.first, [], body_of(head, waiting[0])
                if first.startswith(b"HTTP/1.1 1"):
                    body = None
                    continue
            else:
                at = body.read(data, at, content)
            if body.complete:
                found.append((first, b"".join(content)))
                body, complete = None, True
                waiting = waiting[1:] or [b"GET"]
    if isinstance(body, OpenBody):
        found.append((first, b"".join(content)))
    return found, complete


class H11:
    """The same, by h11; `read` raises when it does not accept them."""

    def __init__(self, methods: list[bytes]) -> None:
        self._methods = list(methods)
        self._is_client = bool(methods)
        self._connection = h11.Connection(h11.CLIENT if methods else h11.SERVER)
        self._found: list[Message] = []
        self._first, self._content = b"", b""

    def read(self, data: bytes) -> list[Message]:
        self._ask()
        for piece in (data, b"") if data else (b"",):
            self._connection.receive_data(piece)
            event = self._connection.next_event()
            while event not in (h11.NEED_DATA, h11.PAUSED) and not isinstance(event, h11.ConnectionClosed):
                self._use(event)
                event = self._connection.next_event()
        return self._found

    def _ask(self) -> None:
        if self._methods and self._connection.our_state is h11.IDLE:
            request = h11.Request(method=self._methods.pop(0), target="/", headers=[("host", "x")])
            self._connection.send(request)
            self._connection.send(h11.EndOfMessage())

    def _use(self, event: object) -> None:
        if isinstance(event, h11.Response):
            self._first = b"HTTP/%s %d %s" % (event.http_version, event.status_code, event.reason)
            self._content = b""
        elif isinstance(event, h11.Request):
            self._first = b"%s %s HTTP/%s" % (event.method, event.target, event.http_version)
            self._content = b""
        elif isinstance(event, h11.Data):
            self._content += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            self._end()

    def _end(self) -> None:
        self._found.append((self._first, self._content))
        if not self._is_client:
            self._connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
            self._connection.send(h11.EndOfMessage())
        if (self._connection.our_state, self._connection.their_state) == (h11.DONE, h11.DONE):
            self._connection.start_next_cycle()
            self._ask()


NAMES = st.sampled_from([b"X-A", b"x-b", b"Content-Type", b"Set-Cookie", b"Via"])
VALUES = st.sampled_from([b"", b"1", b"a b", b"text/event-stream", b"caf\xe9", b"a:b", b'"q,r"'])
FIELDS = st.lists(st.tuples(NAMES, st.sampled_from([b": ", b":", b":\t "]), VALUES), max_size=3)
CONTENT = (
    st.binary(max_size=40)
    | st.sampled_from([b"y" * 300, b"\r\n" * 2000])
    | st.sampled_from([b"\r\n\r\n", b"0\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
)
EXTENSIONS = st.sampled_from([b"", b";a", b";a=b", b';a="b c"', b"; a ; b"])


@st.composite
def framed_bodies(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """The header that frames a body, and the framed body."""
    content = draw(CONTENT)
    if draw(st.booleans()):
        return b"Content-Length: %d\r\n" % len(content), content
    cuts = draw(st.lists(st.integers(0, 99), max_size=4))
    chunks = b"".join(
        b"%x%s\r\n%s\r\n" % (len(piece), draw(EXTENSIONS), piece) for piece in in_pieces(content, cuts)
    )
    trailers = draw(st.sampled_from([b"", b"X-T: 1\r\n", b"X-T: 1\r\nx-u: \r\n"]))
    name = draw(st.sampled_from([b"Transfer-Encoding: chunked", b"transfer-encoding:Chunked"]))
    return name + b"\r\n", chunks + draw(st.sampled_from([b"0", b"00"])) + b"\r\n" + trailers + b"\r\n"


@st.composite
def replies(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A method, and a reply to it."""
    method = draw(st.sampled_from([b"GET", b"POST", b"HEAD"]))
    status = draw(st.sampled_from([b"200 OK", b"404 ", b"529 Overloaded now", b"204 No Content", b"304 x"]))
    framing, body = draw(framed_bodies())
    is_empty = method == b"HEAD" or status[:3] in (b"204", b"304")
    more = b"".join(b"%s%s%s\r\n" % field for field in draw(FIELDS))
    before = draw(
        st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 x\r\nLink: y\r\n\r\n"])
    )
    return method, before + b"HTTP/1.1 %s\r\n%s%s\r\n" % (status, more, framing) + (b"" if is_empty else body)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    method = draw(st.sampled_from([b"GET", b"POST", b"PUT"]))
    framing, body = draw(framed_bodies() | st.just((b"", b"")))
    more = b"".join(b"%s%s%s\r\n" % field for field in draw(FIELDS))
    return b"%s /a?b=%%20 HTTP/1.1\r\nHost: x\r\n%s%s\r\n%s" % (method, more, framing, body)


CUTS = st.lists(st.integers(0, 999), max_size=12)


@given(sent=st.lists(replies(), min_size=1, max_size=3), cuts=CUTS, bytewise=st.booleans())
def test_replies_end_where_h11_says(
    sent: list[tuple[bytes, bytes]], cuts: list[int], *, bytewise: bool
) -> None:
    methods, data = [method for method, _ in sent], b"".join(reply for _, reply in sent)
    cuts = list(range(len(data))) if bytewise else cuts
    assert messages(in_pieces(data, cuts), methods) == (H11(methods).read(data), True)


@given(sent=st.lists(requests(), min_size=1, max_size=3), cuts=CUTS, bytewise=st.booleans())
def test_requests_end_where_h11_says(sent: list[bytes], cuts: list[int], *, bytewise: bool) -> None:
    data = b"".join(sent)
    cuts = list(range(len(data))) if bytewise else cuts
    assert messages(in_pieces(data, cuts), [b""]) == (H11([]).read(data), True)


@given(reply=replies(), cuts=CUTS, at=st.integers(0, 999), other=st.binary(max_size=3), inserts=st.booleans())
def test_a_damaged_reply_is_read_as_h11_reads_it_or_not_at_all(
    reply: tuple[bytes, bytes], cuts: list[int], at: int, other: bytes, *, inserts: bool
) -> None:
    method, data = reply
    at %= len(data)
    data = data[:at] + other + data[at + (0 if inserts else len(other)) :]
    try:
        expected = H11([method]).read(data)
    except h11.RemoteProtocolError:
        return
    try:
        found, _ = messages(in_pieces(data, cuts), [method])
    except UnclearMessage:
        return
    assert [body for _, body in found[:1]] == [body for _, body in expected[:1]]


@given(data=requests(), cuts=CUTS, at=st.integers(0, 999), other=st.binary(max_size=3), inserts=st.booleans())
def test_a_damaged_request_is_read_as_h11_reads_it_or_not_at_all(
    data: bytes, cuts: list[int], at: int, other: bytes, *, inserts: bool
) -> None:
    at %= len(data)
    data = data[:at] + other + data[at + (0 if inserts else len(other)) :]
    try:
        expected = H11([]).read(data)
    except (h11.RemoteProtocolError, h11.LocalProtocolError):
        return
    try:
        found, _ = messages(in_pieces(data, cuts), [b""])
    except UnclearMessage:
        return
    assert [body for _, body in found[:1]] == [body for _, body in expected[:1]]


UNCLEAR_REQUESTS = [
    b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
    b"Content-Length: 3\r\nContent-Length: 4\r\n",
    b"Content-Length: 3, 4\r\n",
    b"Content-Length: +3\r\n",
    b"Content-Length: 0x3\r\n",
    b"Content-Length: 3_0\r\n",
    b"Content-Length:\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: 3\r\n 0\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"Transfer-Encoding: chunked, chunked\r\n",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    b"Transfer-Encoding:\r\n\tchunked\r\n",
    b"Transfer-Encoding : chunked\r\n",
    b"Content-Length : 3\r\n",
    b" Transfer-Encoding: chunked\r\nX: y\r\n Content-Length: 3\r\nContent-Length\x00: 3\r\n",
    b"X y\r\n Transfer-Encoding: chunked\r\n",
    b"X: y\rTransfer-Encoding: chunked\r\n",
    b"X: y\r\r\n",
    b"X: y\0\r\n",
]
FOLDED_FIRST = b"POST / HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("fields", UNCLEAR_REQUESTS)
def test_a_request_that_servers_read_in_different_ways_is_unclear(fields: bytes) -> None:
    head = parse_head(b"POST / HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n")
    with pytest.raises(UnclearMessage):
        request_body(head, RequestLine(b"POST", b"/", b"HTTP/1.1"))


@pytest.mark.parametrize("space", [b" ", b"\t"])
def test_a_folded_line_after_the_first_line_is_unclear(space: bytes) -> None:
    head = parse_head(FOLDED_FIRST % space)
    assert head.fields == [(b"host", b"x")]
    with pytest.raises(UnclearMessage):
        request_body(head, RequestLine(b"POST", b"/", b"HTTP/1.1"))


def test_a_bare_cr_before_a_request_is_unclear() -> None:
    head = parse_head(b"\r\n\rGET / HTTP/1.1\r\nHost: x\r\n\r\n")
    with pytest.raises(UnclearMessage):
        request_body(head, RequestLine(b"GET", b"/", b"HTTP/1.1"))


def test_a_request_line_with_a_bare_cr_is_none() -> None:
    assert request_line(parse_head(b"GET / HTTP/1.1\r\r\nHost: x\r\n\r\n")) is None


def test_folded_lines_of_an_ordinary_header_are_one_value() -> None:
    head = parse_head(b"GET / HTTP/1.1\r\nX: a\r\n  b \r\n\tc\r\nHost: x\n\r\n")
    assert (head.fields, head.unclear) == ([(b"x", b"a b c"), (b"host", b"x")], "")


def test_chunks_in_a_request_of_the_old_version_are_unclear() -> None:
    head = parse_head(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")
    with pytest.raises(UnclearMessage):
        request_body(head, RequestLine(b"POST", b"/", b"HTTP/1.0"))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (b"", OpenBody),
        (b"Content-Length: 3\r\n", LengthBody),
        (b"Content-Length: 3, 3\r\nContent-Length: 3\r\n", LengthBody),
        (b"Transfer-Encoding: gzip, chunked\r\n", ChunkedBody),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", ChunkedBody),
        (b"Transfer-Encoding: gzip\r\n", OpenBody),
        (b"Transfer-Encoding: chunked, gzip\r\n", OpenBody),
    ],
)
def test_how_a_reply_is_framed(fields: bytes, expected: type[BodyReader]) -> None:
    head = parse_head(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n")
    assert type(reply_body(head, status_line(head), b"GET")) is expected


@pytest.mark.parametrize("fields", [b"Content-Length: 3\r\nContent-Length: 4\r\n", b"Content-Length: x\r\n"])
def test_a_reply_with_two_lengths_is_unclear(fields: bytes) -> None:
    head = parse_head(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n")
    with pytest.raises(UnclearMessage):
        reply_body(head, status_line(head), b"GET")


@pytest.mark.parametrize(
    "line",
    [
        b"HTTP/1.1 200 OK\rX: y",
        b"HTTP/1.1 200 OK\r",
        b"HTTP/2 200",
        b"HTTP/1.1 20",
        b"ICY 200 OK",
        b"",
        b"HTTP/1.1 0200 OK",
    ],
)
def test_a_reply_without_a_status_is_unclear(line: bytes) -> None:
    with pytest.raises(UnclearMessage):
        status_line(parse_head(line + b"\r\n\r\n"))


def read_all(body: BodyReader, pieces: list[bytes]) -> None:
    for piece in pieces:
        body.read(piece, 0, [])


@pytest.mark.parametrize(
    "data",
    [
        b"x\r\n",
        b"\r\n",
        b"-1\r\n",
        b"0x3\r\n",
        b"3\r\nabcde",
        b"3\r\nabc\n",
        b"3\nabc",
        b" 3\r\n",
        b"1" * 16 + b"\r\n",
    ],
)
@pytest.mark.parametrize("step", [1, 99])
def test_a_chunk_that_is_none_is_unclear(data: bytes, step: int) -> None:
    body = ChunkedBody()
    with pytest.raises(UnclearMessage):
        read_all(body, [data[at : at + step] for at in range(0, len(data), step)])


def test_endless_lines_of_chunks_and_trailers_are_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_message, "LONGEST_HEAD", 1 << 18)
    for start, piece in ((b"3;", b"x" * 4096), (b"0\r\n", b"x" * 4096), (b"0\r\n", b"x: y\r\n" * 512)):
        body = ChunkedBody()
        with pytest.raises(UnclearMessage):
            read_all(body, [start, *[piece] * 1000])


def test_an_endless_head_is_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_message, "LONGEST_HEAD", 1 << 16)
    buffer = HeadBuffer()
    with pytest.raises(UnclearMessage):
        any(buffer.add(b"X: y\r\n" * 100) >= 0 for _ in range(1000))


HEAD = (
    b"POST /secret/x/v1?a HTTP/1.1\r\nx-Host: 1\r\nhOSt:  127.0.0.1:1 \r\nA:b\r\nHost-x: 127.0.0.1:1\r\n\r\n"
)


def test_only_the_target_and_the_host_are_rewritten() -> None:
    expected = HEAD.replace(b"/secret/x/v1?a", b"/v1?a").replace(b"hOSt:  127.0.0.1:1", b"hOSt:  example.org")
    assert rewrite_request(HEAD, b"/v1?a", b"example.org") == expected
    assert rewrite_request(b"\r\n\n" + HEAD, b"/v1?a", b"example.org") == b"\r\n\n" + expected
    bare = HEAD.replace(b"\r\n", b"\n")
    assert rewrite_request(bare, b"/v1?a", b"example.org") == expected.replace(b"\r\n", b"\n")


def test_lines_can_be_added_after_the_host() -> None:
    changed = rewrite_request(HEAD, b"http://u/v1", b"u", b"Proxy-Authorization: Basic eA==\r\n")
    assert b"hOSt:  u \r\nProxy-Authorization: Basic eA==\r\nA:b\r\n" in changed


@given(st.binary(max_size=200))
def test_heads_of_any_bytes_are_split(data: bytes) -> None:
    head = parse_head(data)
    assert all(name == name.lower() and b"\n" not in value for name, value in head.fields)
    assert len(head.headers) == len(head.fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (b"Connection: Upgrade\r\nUpgrade: websocket\r\n", True),
        (b"connection: keep-alive, upgrade\r\nUpgrade: h2c\r\n", True),
        (b"Upgrade: websocket\r\n", False),
        (b"Connection: upgrade\r\n", False),
    ],
)
def test_which_requests_propose_another_protocol(fields: bytes, *, expected: bool) -> None:
    assert proposes_upgrade(parse_head(b"GET / HTTP/1.1\r\n" + fields + b"\r\n")) is expected
