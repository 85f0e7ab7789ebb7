"""The relay between real sockets: the bytes of each side reach the other one, and the observer hears what happened."""

import contextlib
import gzip
import os
import re
import socket
import subprocess
import sys
import threading
import time

import brotli
import pytest

from meter.raw_peers import (
    TIMEOUT,
    RunningRelay,
    Script,
    raw_upstream,
    read_all,
    read_exactly,
    read_head,
    reset,
    running_relay,
)
from runcard.observe.meter.exchange import Failure, RequestHead, ResponseHead
from runcard.observe.meter.routes import Route
from waiting import is_true_within, wait_until
from zstd_of_python import zstd

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answers(*replies: bytes, requests: list[bytes] | None = None, size: int = 0) -> Script:
    """A script: reads a head and a body of this size for each reply, and gives it; then reads until the end."""

    def script(connection: socket.socket) -> None:
        for reply in replies:
            request = read_head(connection) + read_exactly(connection, size)
            if requests is not None:
                requests.append(request)
            connection.sendall(reply)
        read_all(connection)

    return script


def closes(*pieces: bytes) -> Script:
    """A script: reads a head, sends pieces, and closes the connection."""

    def script(connection: socket.socket) -> None:
        read_head(connection)
        for piece in pieces:
            connection.sendall(piece)

    return script


def get(relay: RunningRelay, path: bytes, *lines: bytes, method: bytes = b"GET", body: bytes = b"") -> bytes:
    more = b"".join(line + b"\r\n" for line in lines)
    return b"%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s" % (method, path, relay.host, more, body)


# Bytes.


def test_a_request_arrives_with_another_target_and_host_and_nothing_else() -> None:
    requests: list[bytes] = []
    body = b"\x00\xff{not json"
    with raw_upstream(answers(OK, requests=requests, size=len(body))) as upstream, running_relay() as relay:
        path = relay.path(f"{upstream.url}/base")
        head = (
            b"POST %s/v1/messages?beta=true&x=%%2F HTTP/1.1\r\naCCept:  */* \r\nhOsT:%s\r\nX-Api-Key:\tsecret\r\n"
            b"Origin: http://127.0.0.1\r\nX-Bytes: \xe9\xff\r\nConnection: close\r\ncontent-length: %d\r\n"
            b"X-Empty:\r\nX-Empty:\r\n\r\n"
        )
        with relay.connect() as connection:
            connection.sendall(head % (path, relay.host, len(body)) + body)
            assert read_exactly(connection, len(OK)) == OK
        direct = head % (b"/base", b"127.0.0.1:%d" % upstream.port, len(body)) + body
        assert requests == [direct]
        exchange = relay.exchange
    assert exchange.head[:2] == ("POST", "/base/v1/messages?beta=true&x=%2F")
    assert exchange.head.headers[:3] == (
        ("accept", "*/*"),
        ("host", f"127.0.0.1:{upstream.port}"),
        ("x-api-key", "secret"),
    )
    assert exchange.sent == body
    assert exchange.response == ResponseHead(200, "OK", (("content-length", "2"),))
    assert exchange.received == b"ok"
    assert exchange.calls == ["request_body", "request_end", "reply", "reply_body", "end"]


REPLIES = {
    "odd head": b"HTTP/1.1 529 Site Overloaded!\r\nX-a:1\r\nx-A:  2 \r\nContent-Length:0\r\n\r\n",
    "no reason": b"HTTP/1.1 429\r\nretry-after: 1\r\ncontent-length: 2\r\n\r\n{}",
    "bare lines": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n"
    b'3;a="b;c"\r\nabc\r\n00A\r\n0123456789\r\n0;last\r\nX-T: 1\r\nx-u:2\r\n\r\n',
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + OK,
    "invalid utf-8": b"HTTP/1.1 200 \xff\xfe\r\nX: \xff\r\nContent-Length: 4\r\n\r\n\xff\xfe\xc3\x28",
    "folded": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
    "not modified": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("is_bytewise", [False, True])
def test_a_reply_arrives_byte_for_byte(reply: bytes, *, is_bytewise: bool) -> None:
    def script(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        read_head(connection)
        for at in range(0, len(reply), 1 if is_bytewise else len(reply)):
            connection.sendall(reply[at : at + 1 if is_bytewise else None])
        read_all(connection)

    with raw_upstream(script) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        with relay.connect() as connection:
            connection.sendall(get(relay, path))
            assert read_exactly(connection, len(reply)) == reply
            exchange = relay.exchange
    assert exchange.failure is None
    assert exchange.calls[-1] == "end"


def test_the_observer_gets_bodies_without_chunks_and_without_trailers() -> None:
    reply = REPLIES["chunks"]
    with raw_upstream(answers(reply, size=16)) as upstream, running_relay() as relay:
        body = b"3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"
        request = get(
            relay, relay.path(upstream.url), b"Transfer-Encoding: chunked", method=b"PUT", body=body
        )
        with relay.connect() as connection:
            connection.sendall(request)
            assert read_exactly(connection, len(reply)) == reply
        exchange = relay.exchange
    assert (exchange.sent, exchange.received) == (b"abcd", b"abc0123456789")


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_compressed_bodies_are_not_touched(coding: str) -> None:
    compress = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstd.compress}
    body = compress[coding](b'{"usage": {}}' * 1000)
    reply = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (
        coding.encode(),
        len(body),
    )
    with raw_upstream(answers(reply + body)) as upstream, running_relay() as relay:
        with relay.connect() as connection:
            connection.sendall(get(relay, relay.path(upstream.url)))
            assert read_exactly(connection, len(reply + body)) == reply + body
        assert relay.exchange.received == body


def test_pieces_of_a_stream_arrive_as_they_are_sent() -> None:
    """The upstream sends the next event only when the program has the one before."""
    arrived = threading.Semaphore(0)
    events = [b"data: %d\n\n" % number for number in range(20)]

    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for event in events:
            connection.sendall(b"%x\r\n%s\r\n" % (len(event), event))
            assert arrived.acquire(timeout=TIMEOUT)
        connection.sendall(b"0\r\n\r\n")
        read_all(connection)

    with raw_upstream(script) as upstream, running_relay() as relay:
        with relay.connect() as connection:
            connection.sendall(get(relay, relay.path(upstream.url)))
            read_head(connection)
            for event in events:
                chunk = b"%x\r\n%s\r\n" % (len(event), event)
                assert read_exactly(connection, len(chunk)) == chunk
                arrived.release()
            assert read_exactly(connection, 5) == b"0\r\n\r\n"
        assert relay.exchange.pieces == events
        assert upstream.errors == []


def test_a_body_that_ends_with_the_connection() -> None:
    reply = b"HTTP/1.0 200 OK\r\n\r\nall of it"
    with raw_upstream(closes(reply)) as upstream, running_relay() as relay:
        assert relay.ask(get(relay, relay.path(upstream.url))) == reply
        exchange = relay.exchange
    assert (exchange.received, exchange.calls[-1]) == (b"all of it", "end")


@pytest.mark.parametrize(
    ("rest", "target"),
    [(b"", b"/"), (b"/", b"/"), (b"?x=1", b"/?x=1"), (b"//a/../b", b"//a/../b"), (b"/%00\xff", b"/%00\xff")],
)
def test_what_follows_the_url_of_the_relay_follows_that_of_the_upstream(rest: bytes, target: bytes) -> None:
    requests: list[bytes] = []
    with raw_upstream(answers(OK, requests=requests)) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        for prefix in (b"", b"http://" + relay.host):
            with relay.connect() as connection:
                connection.sendall(get(relay, prefix + path + rest))
                assert read_exactly(connection, len(OK)) == OK
    assert [request.split(b" ")[1] for request in requests] == [target, target]


def test_a_redirection_to_a_path_is_followed_on_the_same_connection_only() -> None:
    """The program puts the path behind the host of the relay, where it has no secret."""
    requests: list[bytes] = []
    reply = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /v1/x/#a\r\nContent-Length: 0\r\n\r\n"
    with raw_upstream(answers(reply, OK, requests=requests)) as upstream, running_relay() as relay:
        with relay.connect() as connection:
            connection.sendall(get(relay, relay.path(upstream.url) + b"/v1/x"))
            assert read_exactly(connection, len(reply)) == reply
            connection.sendall(get(relay, b"/v1/x/"))
            assert read_exactly(connection, len(OK)) == OK
            connection.sendall(get(relay, b"/v1/y/"))
            assert read_head(connection).startswith(b"HTTP/1.1 404 ")
        assert relay.ask(get(relay, b"/v1/x/")).startswith(b"HTTP/1.1 404 ")
    assert [request.split(b" ")[1] for request in requests] == [b"/v1/x", b"/v1/x/"]


@pytest.mark.parametrize("step", [1_400_000, pytest.param(200_000, marks=pytest.mark.long)])
def test_an_upstream_is_read_again_after_another_one_was_asked(step: int) -> None:
    """The program was slow when the first reply ended, so reading had stopped. That happens with some sizes only."""
    for size in range(2 << 20, 8 << 20, step):
        large = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size)
        with (
            raw_upstream(answers(large, large)) as first,
            raw_upstream(answers(OK)) as second,
            running_relay() as relay,
            relay.connect() as connection,
        ):
            one, two = relay.path(first.url, "one"), relay.path(second.url, "two")
            connection.sendall(get(relay, one) + get(relay, two) + get(relay, one))
            time.sleep(0.05)
            expected = large + OK + large
            assert read_exactly(connection, len(expected)) == expected


def test_connections_are_kept_and_requests_are_sent_before_replies_are_complete() -> None:
    requests: list[bytes] = []
    replies = [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number for number in range(5)]
    replies[2] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"  # to HEAD
    with raw_upstream(answers(*replies, requests=requests)) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        methods = [b"GET", b"DELETE", b"HEAD", b"GET", b"OPTIONS"]
        with relay.connect() as connection:
            connection.sendall(
                b"".join(get(relay, path + b"/%d" % n, method=m) for n, m in enumerate(methods))
            )
            assert read_exactly(connection, len(b"".join(replies))) == b"".join(replies)
        assert upstream.connections == 1
        wait_until(lambda: [exchange.ending for exchange in relay.exchanges] == ["end"] * 5)
    assert [request.split(b" ")[:2] for request in requests] == [
        [m, b"/%d" % n] for n, m in enumerate(methods)
    ]
    assert [exchange.received for exchange in relay.exchanges] == [b"0", b"1", b"", b"3", b"4"]


def test_replies_of_two_upstreams_stay_in_order_on_one_connection() -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(connection: socket.socket) -> None:
        for _ in range(2):
            read_head(connection)
            asked.set()
            go_on.wait(TIMEOUT)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
        read_all(connection)

    fast = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfast"
    with raw_upstream(slow) as first, raw_upstream(answers(fast)) as second, running_relay() as relay:
        one, two = relay.path(first.url, "one"), relay.path(second.url, "two")
        with relay.connect() as connection:
            connection.sendall(get(relay, one) + get(relay, two) + get(relay, one))
            assert asked.wait(TIMEOUT)
            go_on.set()
            data = read_exactly(connection, 3 * len(fast))
        assert re.findall(b"slow|fast", data) == [b"slow", b"fast", b"slow"]
        assert (first.connections, second.connections) == (1, 1)


def test_expect_100_continue() -> None:
    def script(connection: socket.socket) -> None:
        assert b"Expect: 100-continue" in read_head(connection)
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert read_exactly(connection, 4) == b"body"
        connection.sendall(OK)
        read_all(connection)

    with raw_upstream(script) as upstream, running_relay() as relay:
        lines = (b"Expect: 100-continue", b"Content-Length: 4")
        with relay.connect() as connection:
            connection.sendall(get(relay, relay.path(upstream.url), *lines, method=b"POST"))
            assert read_head(connection) == b"HTTP/1.1 100 Continue\r\n\r\n"
            connection.sendall(b"body")
            assert read_exactly(connection, len(OK)) == OK
        assert relay.exchange.calls == ["request_body", "request_end", "reply", "reply_body", "end"]
        assert upstream.errors == []


def test_a_reply_before_the_request_is_complete() -> None:
    reply = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"

    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(reply)
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)

    with raw_upstream(script) as upstream, running_relay() as relay:
        with relay.connect() as connection:
            request = get(relay, relay.path(upstream.url), b"Content-Length: 99999", method=b"POST")
            connection.sendall(request + b"x" * 1000)
            assert read_all(connection) == reply
            connection.sendall(b"x" * 1000)
        exchange = relay.exchange
    assert exchange.response is not None
    assert (exchange.response.status, exchange.failure) == (413, None)


def test_half_a_close_is_passed_on() -> None:
    def script(connection: socket.socket) -> None:
        assert read_all(connection).startswith(b"GET / HTTP/1.1\r\n")
        connection.sendall(OK)

    with raw_upstream(script) as upstream, running_relay() as relay, relay.connect() as connection:
        connection.sendall(get(relay, relay.path(upstream.url)))
        connection.shutdown(socket.SHUT_WR)
        assert read_all(connection) == OK
        assert relay.exchange.failure is None


def test_a_header_of_1_mb() -> None:
    requests: list[bytes] = []
    value = os.urandom(500_000).hex().encode()
    reply = b"HTTP/1.1 200 OK\r\nX-Large: %s\r\nContent-Length: 0\r\n\r\n" % value
    with raw_upstream(answers(reply, requests=requests)) as upstream, running_relay() as relay:
        with relay.connect() as connection:
            connection.sendall(get(relay, relay.path(upstream.url), b"X-Large: " + value))
            assert read_exactly(connection, len(reply)) == reply
        assert relay.exchange.failure is None
    assert b"X-Large: " + value + b"\r\n" in requests[0]


# Ends.


def test_a_cut_reply_is_cut_for_the_program() -> None:
    pieces = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"3\r\nabc\r\n")
    with raw_upstream(closes(*pieces)) as upstream, running_relay() as relay:
        assert relay.ask(get(relay, relay.path(upstream.url))) == b"".join(pieces)
        exchange = relay.exchange
    assert (exchange.received, exchange.failure) == (b"abc", Failure.CUT)


def test_a_reset_in_the_middle_is_a_reset_for_the_program() -> None:
    first = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nabc"
    arrived = threading.Event()

    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(first)
        assert arrived.wait(TIMEOUT)
        reset(connection)

    with raw_upstream(script) as upstream, running_relay() as relay, relay.connect() as connection:
        connection.sendall(get(relay, relay.path(upstream.url)))
        assert read_exactly(connection, len(first)) == first
        arrived.set()
        with pytest.raises(ConnectionResetError):
            read_all(connection)
        assert (relay.exchange.received, relay.exchange.failure) == (b"abc", Failure.CUT)


def test_an_upstream_that_closes_without_a_reply() -> None:
    with raw_upstream(closes()) as upstream, running_relay() as relay:
        assert relay.ask(get(relay, relay.path(upstream.url))) == b""
        assert relay.exchange.failure is Failure.CUT


def test_an_idle_connection_is_closed_when_the_upstream_closes_it() -> None:
    with raw_upstream(closes(OK)) as upstream, running_relay() as relay:
        assert relay.ask(get(relay, relay.path(upstream.url))) == OK
        assert relay.exchange.failure is None


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "http://name.invalid", "http://a..b"])
def test_an_upstream_that_cannot_be_reached_is_a_reset_without_a_reply(url: str) -> None:
    with running_relay() as relay:
        path = relay.path(url.format(port=unused_port()))
        with relay.connect() as connection:
            connection.sendall(get(relay, path))
            with pytest.raises(ConnectionResetError):
                read_all(connection)
        assert relay.exchange.failure is Failure.UNREACHABLE
        assert relay.exchange.message


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_program_that_vanishes_in_the_middle(*, is_reset: bool) -> None:
    """The upstream is not left to send a reply that nothing reads."""
    noticed = threading.Event()

    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                connection.sendall(b"3\r\nabc\r\n")
                time.sleep(0.001)
        except OSError:
            noticed.set()

    with raw_upstream(script) as upstream, running_relay() as relay:
        connection = relay.connect()
        connection.sendall(get(relay, relay.path(upstream.url)))
        read_head(connection)
        assert read_exactly(connection, 8) == b"3\r\nabc\r\n"
        if is_reset:
            reset(connection)
        else:
            connection.close()
        assert noticed.wait(TIMEOUT)
        exchange = relay.exchange
    assert exchange.failure is Failure.CLIENT_GONE
    assert exchange.received.startswith(b"abc")


def test_a_program_that_vanishes_while_the_upstream_thinks() -> None:
    asked, noticed = threading.Event(), threading.Event()

    def script(connection: socket.socket) -> None:
        read_head(connection)
        asked.set()
        assert connection.recv(1) == b""
        noticed.set()

    with raw_upstream(script) as upstream, running_relay() as relay:
        connection = relay.connect()
        connection.sendall(get(relay, relay.path(upstream.url)))
        assert asked.wait(TIMEOUT)
        connection.close()
        assert noticed.wait(TIMEOUT)
        assert relay.exchange.failure is Failure.CLIENT_GONE


def test_a_reset_of_the_program_is_a_reset_for_the_upstream() -> None:
    """An end would look like a request that is complete, or like a program that still reads."""
    asked = threading.Event()
    ends: list[str] = []

    def script(connection: socket.socket) -> None:
        read_head(connection)
        asked.set()
        try:
            ends.append(repr(read_all(connection)))
        except ConnectionResetError:
            ends.append("reset")

    with raw_upstream(script) as upstream, running_relay() as relay:
        connection = relay.connect()
        connection.sendall(get(relay, relay.path(upstream.url), b"Content-Length: 99", method=b"POST"))
        assert asked.wait(TIMEOUT)
        reset(connection)
        wait_until(lambda: ends)
        assert relay.exchange.failure is Failure.CLIENT_GONE
    assert ends == ["reset"]


def test_a_program_that_ends_in_the_middle_of_its_request() -> None:
    received: list[bytes] = []
    with (
        raw_upstream(lambda connection: received.append(read_all(connection))) as upstream,
        running_relay() as relay,
    ):
        request = get(relay, relay.path(upstream.url), b"Content-Length: 99", method=b"POST")
        with relay.connect() as connection:
            connection.sendall(request + b"abc")
            connection.shutdown(socket.SHUT_WR)
            assert read_all(connection) == b""
        assert received[0].endswith(b"\r\n\r\nabc")
        assert relay.exchange.failure is Failure.CLIENT_GONE


def test_a_connection_without_a_request() -> None:
    with running_relay() as relay:
        relay.connect().close()
        with relay.connect() as connection:
            connection.sendall(b"GET /")
            connection.shutdown(socket.SHUT_WR)
            assert read_all(connection) == b""
        assert relay.exchanges == []


def test_the_end_of_the_run_ends_what_is_open() -> None:
    asked = threading.Event()

    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nabc")
        asked.set()
        with contextlib.suppress(ConnectionResetError):
            read_all(connection)

    with raw_upstream(script) as upstream, running_relay() as relay:
        connection = relay.connect()
        idle = relay.connect()
        connection.sendall(get(relay, relay.path(upstream.url)))
        assert asked.wait(TIMEOUT)
        wait_until(lambda: relay.exchanges and relay.exchanges[0].received)
        relay.stop()
        assert relay.exchange.failure is Failure.ENDED
        assert relay.exchange.received == b"abc"
        with pytest.raises(ConnectionRefusedError):
            relay.connect()
        for each in (connection, idle):
            with contextlib.closing(each), contextlib.suppress(ConnectionResetError):
                read_all(each)


def test_a_relay_without_connections_ends_without_a_thread() -> None:
    with running_relay() as relay:
        assert not relay.listener.is_started
    relay.listener.stop()
    assert not relay.listener.is_started


# Many, large, slow.


def test_100_connections_at_once() -> None:
    """No reply before all requests are there."""
    everybody = threading.Barrier(100)

    def script(connection: socket.socket) -> None:
        target = read_head(connection).split(b" ")[1]
        everybody.wait(TIMEOUT)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(target), target))
        read_all(connection)

    with raw_upstream(script) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        connections = [relay.connect() for _ in range(100)]
        for number, connection in enumerate(connections):
            connection.sendall(get(relay, path + b"/%d" % number))
        for number, connection in enumerate(connections):
            read_head(connection)
            target = b"/%d" % number
            assert read_exactly(connection, len(target)) == target
            connection.close()
        assert upstream.errors == []
        wait_until(lambda: [exchange.ending for exchange in relay.exchanges] == ["end"] * 100)
        assert sorted(int(exchange.received[1:]) for exchange in relay.exchanges) == list(range(100))


_MANY_CONNECTIONS = """
import resource, sys
sys.path.insert(0, sys.argv[1])
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
from meter.raw_peers import raw_upstream, running_relay, read_head
from meter.test_relay import OK, answers, get

with raw_upstream(answers(OK)) as upstream, running_relay() as relay:
    path = relay.path(upstream.url)
    relay.connect().close()
    connections = []
    for _ in range(100):
        connections.append(relay.connect())
        connections[-1].sendall(get(relay, path))
        assert read_head(connections[-1]).startswith(b"HTTP/1.1 200")
    for connection in connections:
        connection.close()
"""


def test_there_may_be_more_connections_than_open_files_are_usual() -> None:
    tests = os.path.dirname(os.path.dirname(__file__))
    command = [sys.executable, "-c", _MANY_CONNECTIONS, tests]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


_BIG_TRANSFER = """
import resource, socket, sys, threading
sys.path.insert(0, sys.argv[1])
from meter.raw_peers import raw_upstream, running_relay, read_head, read_exactly

SIZE, PIECE = 200 << 20, bytes(1 << 20)

class Counter:
    sent = received = 0
    def request_body(self, piece): self.sent += len(piece)
    def reply_body(self, piece): self.received += len(piece)
    def end(self): ended.set()
    def __getattr__(self, name): return lambda *_: None

ended = threading.Event()

def receive(connection):
    left, buffer = SIZE, bytearray(1 << 16)
    while left:
        left -= connection.recv_into(buffer, min(left, len(buffer)))

def script(connection):
    read_head(connection)
    receive(connection)
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % SIZE)
    for _ in range(SIZE // len(PIECE)):
        connection.sendall(PIECE)

counter = Counter()
with raw_upstream(script) as upstream, running_relay({}, lambda *_: counter) as relay, relay.connect() as connection:
    path = relay.path(upstream.url)
    connection.sendall(b"POST %s HTTP/1.1\\r\\nHost: %s\\r\\nContent-Length: %d\\r\\n\\r\\n" % (path, relay.host, SIZE))
    connection.sendall(PIECE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(SIZE // len(PIECE) - 1):
        connection.sendall(PIECE)
    read_head(connection)
    receive(connection)
    assert ended.wait(30)
    print(counter.sent, counter.received, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.long
def test_bodies_of_200_mb_need_no_memory() -> None:
    """In both directions; the memory is that of the whole process, both peers included."""
    tests = os.path.dirname(os.path.dirname(__file__))
    command = [sys.executable, "-c", _BIG_TRANSFER, tests]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    sent, received, grown = map(int, done.stdout.split())
    assert (sent, received) == (200 << 20, 200 << 20)
    assert grown < 20_000  # KiB


def test_a_side_that_does_not_read_stops_the_other_one() -> None:
    sent = 0

    def script(connection: socket.socket) -> None:
        nonlocal sent
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (100 << 20))
        with contextlib.suppress(OSError):
            while True:
                sent += connection.send(bytes(1 << 16))

    with raw_upstream(script) as upstream, running_relay() as relay:
        connection = relay.connect()
        connection.sendall(get(relay, relay.path(upstream.url)))
        read_head(connection)
        wait_until(lambda: sent > 0, "the first bytes")
        assert not is_true_within(0.5, lambda: sent > 50 << 20)
        assert len(read_exactly(connection, 20 << 20)) == 20 << 20
        reset(connection)


# Observers.


def test_a_request_that_nobody_is_interested_in_is_passed_on() -> None:
    with (
        raw_upstream(answers(OK)) as upstream,
        running_relay(observe=lambda *_: None) as relay,
        relay.connect() as connection,
    ):
        connection.sendall(get(relay, relay.path(upstream.url)))
        assert read_exactly(connection, len(OK)) == OK


@pytest.mark.parametrize(
    "where", ["observe", "request_body", "request_end", "reply", "reply_body", "end", "slow"]
)
def test_an_observer_that_fails_changes_nothing_for_the_program(where: str) -> None:
    class Failing:
        def __getattr__(self, name: str) -> object:
            def call(*_: object) -> None:
                calls.append(name)
                if name == where:
                    raise ValueError(f"in {name}")

            return call

    def observe(_: Route, head: RequestHead) -> object:
        assert head.method == "POST"
        if where == "observe":
            raise ValueError("in observe")
        time.sleep(0.3 if where == "slow" else 0)
        return Failing()

    calls: list[str] = []
    problems = [] if where == "slow" else [f"a call could not be read: ValueError: in {where}"]
    with (
        raw_upstream(answers(OK, OK, size=4)) as upstream,
        running_relay(observe=observe, problems=problems) as relay,  # type: ignore[arg-type]
        relay.connect() as connection,
    ):
        request = get(relay, relay.path(upstream.url), b"Content-Length: 4", method=b"POST", body=b"body")
        for _ in range(2):
            connection.sendall(request)
            assert read_exactly(connection, len(OK)) == OK
    if where != "slow":
        assert calls.count(where) == (0 if where == "observe" else 2)
        assert calls[-1:] == ([] if where == "observe" else [where])


# Requests of others.


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET {other} HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET {path}x HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET {path} HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n",
        b"GET {path} HTTP/1.1\r\n\r\n",
        b"GET {path} HTTP/2.0\r\nHost: {host}\r\n\r\n",
        b"GET {path}\r\nHost: {host}\r\n\r\n",
        b"GET  {path} HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\n\r\n",
        b"CONNECT example.org:443 HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n",
    ],
)
def test_a_wrong_path_or_host_is_a_404_without_a_body(request_bytes: bytes) -> None:
    with raw_upstream(answers(OK)) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        values = {b"{host}": relay.host, b"{path}": path, b"{other}": path.replace(path[1:5], b"0000")}
        for name, value in values.items():
            request_bytes = request_bytes.replace(name, value)
        expected = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        assert relay.ask(request_bytes) == expected
        assert (upstream.connections, relay.exchanges) == (0, [])


def test_localhost_is_a_name_of_the_relay() -> None:
    with raw_upstream(answers(OK)) as upstream, running_relay() as relay, relay.connect() as connection:
        path = relay.path(upstream.url)
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: LocalHost:%d\r\n\r\n" % (path, relay.listener.port))
        assert read_exactly(connection, len(OK)) == OK


def test_only_the_loopback_interface_is_listened_on_and_the_secret_is_128_bits() -> None:
    with running_relay() as one, running_relay() as two:
        assert one.listener._socket.getsockname()[0] == "127.0.0.1"
        secrets = [
            re.findall(r"http://127\.0\.0\.1:\d+/([0-9a-f]{32})$", r.listener.base) for r in (one, two)
        ]
        assert [len(found) for found in secrets] == [1, 1]
        assert secrets[0] != secrets[1]
        assert not os.get_inheritable(one.listener.fileno())


def test_a_large_request_of_others_gets_its_404_too() -> None:
    with running_relay() as relay, relay.connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
        with contextlib.suppress(OSError):
            for _ in range(20):
                connection.sendall(bytes(1 << 16))
        assert read_head(connection).startswith(b"HTTP/1.1 404 ")


# What is not understood.


UNCLEAR = {
    "two framings": b"Transfer-Encoding: chunked\r\nContent-Length: 4",
    "two lengths": b"Content-Length: 4\r\nContent-Length: 5",
    "no number": b"Content-Length: four",
    "unknown coding": b"Transfer-Encoding: gzip",
    "folded": b"Content-Length:\r\n 4",
    "bare CR": b"X: y\rTransfer-Encoding: chunked",
    "NUL": b"X: y\0",
}


@pytest.mark.parametrize("line", UNCLEAR.values(), ids=UNCLEAR)
def test_an_unclear_request_is_passed_on_and_nothing_after_it_is_taken_for_a_request(line: bytes) -> None:
    received: list[bytes] = []

    def script(connection: socket.socket) -> None:
        received.append(read_head(connection) + read_exactly(connection, 200))
        connection.sendall(OK)
        received.append(read_all(connection))

    with raw_upstream(script) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        body = (b"body" + get(relay, path)).ljust(200)
        with relay.connect() as connection:
            connection.sendall(get(relay, path, line, method=b"POST", body=body))
            assert read_all(connection) == OK
        assert relay.exchange.failure is Failure.NOT_UNDERSTOOD
    assert received[0].endswith(line + b"\r\n\r\n" + body)
    assert received[0].startswith(b"POST / HTTP/1.1\r\n")
    assert upstream.connections == 1


def test_a_folded_line_after_the_request_line_is_no_header_and_the_request_is_unclear() -> None:
    """A server may read the next request out of a body that this request does not seem to have."""
    received: list[bytes] = []

    def script(connection: socket.socket) -> None:
        received.append(read_head(connection) + read_exactly(connection, 200))
        connection.sendall(OK)

    with raw_upstream(script) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        smuggled = get(relay, path).ljust(200)
        folded = b" Transfer-Encoding: chunked\r\n"
        with relay.connect() as connection:
            connection.sendall(
                b"POST %b HTTP/1.1\r\n%bHost: %b\r\n\r\n%b" % (path, folded, relay.host, smuggled)
            )
            assert read_all(connection) == OK
        assert relay.exchange.failure is Failure.NOT_UNDERSTOOD
    assert received[0].startswith(b"POST / HTTP/1.1\r\n" + folded)
    assert received[0].endswith(smuggled)
    assert upstream.connections == 1


def test_a_request_with_broken_chunks_is_passed_on() -> None:
    received: list[bytes] = []

    def script(connection: socket.socket) -> None:
        received.append(read_head(connection) + read_exactly(connection, 12))
        connection.sendall(OK)

    with raw_upstream(script) as upstream, running_relay() as relay:
        request = get(relay, relay.path(upstream.url), b"Transfer-Encoding: chunked", method=b"POST")
        with relay.connect() as connection:
            connection.sendall(request + b"3\r\nabc\r\n")
            connection.sendall(b"zz\r\n")
            assert read_all(connection) == OK
        assert (relay.exchange.sent, relay.exchange.failure) == (b"abc", Failure.NOT_UNDERSTOOD)
    assert received[0].endswith(b"\r\n\r\n3\r\nabc\r\nzz\r\n")


UNCLEAR_REPLIES = {
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    "broken chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n-\r\n",
    "another protocol": b"220 smtp.example ready\r\n\r\n",
    "upgrade without a request": b"HTTP/1.1 101 Switching\r\n\r\nok",
    "old": b"HTTP/0.9 200 OK\r\n\r\nok",
    "bare CR": b"HTTP/1.1 200 OK\r\nX: y\rContent-Length: 4\r\nContent-Length: 2\r\n\r\nok",
    "bare CR after the status": b"HTTP/1.1 200 OK\rContent-Length: 4\r\nContent-Length: 2\r\n\r\nok",
    "folded first": b"HTTP/1.1 200 OK\r\n Content-Length: 4\r\nContent-Length: 2\r\n\r\nok",
}


@pytest.mark.parametrize("reply", UNCLEAR_REPLIES.values(), ids=UNCLEAR_REPLIES)
def test_an_unclear_reply_is_passed_on_and_so_are_requests_after_it(reply: bytes) -> None:
    requests: list[bytes] = []
    with raw_upstream(answers(reply, OK, requests=requests)) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        with relay.connect() as connection:
            for expected in (reply, OK):
                connection.sendall(get(relay, path))
                assert read_exactly(connection, len(expected)) == expected
        assert [exchange.failure for exchange in relay.exchanges] == [Failure.NOT_UNDERSTOOD] * 2
    assert {request.split(b"\r\n")[0] for request in requests} == {b"GET / HTTP/1.1"}


def test_a_reply_that_nobody_asked_for_is_passed_on() -> None:
    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(OK + b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")

    with raw_upstream(script) as upstream, running_relay() as relay:
        assert relay.ask(get(relay, relay.path(upstream.url))).endswith(b"Content-Length: 0\r\n\r\n")
        assert relay.exchange.failure is None


def test_a_reply_of_the_upstream_that_is_too_long_to_be_read_is_passed_on() -> None:
    line = b"X: " + b"y" * (1 << 20) + b"\r\n"

    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + line * 17 + b"Content-Length: 2\r\n\r\nok")

    with raw_upstream(script) as upstream, running_relay() as relay:
        data = relay.ask(get(relay, relay.path(upstream.url)))
        assert (len(data) > 17 << 20, data[-2:]) == (True, b"ok")
        assert relay.exchange.failure is Failure.NOT_UNDERSTOOD


def test_a_head_of_a_request_that_is_too_long_to_be_read_is_passed_on() -> None:
    line = b"X: " + b"y" * (1 << 20) + b"\r\n"
    received: list[int] = []

    def script(connection: socket.socket) -> None:
        size = 0
        while size < 17 * len(line):
            size += len(connection.recv(1 << 20))
        received.append(size)
        connection.sendall(OK)
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)

    with raw_upstream(script) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        with relay.connect() as connection:
            connection.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\n" % (path, relay.host) + line * 17)
            connection.sendall(b"\r\n")
            assert read_all(connection) == OK
        assert relay.exchange.failure is Failure.NOT_UNDERSTOOD
    assert received


# WebSocket.

UPGRADE = (b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Key: x")
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"


@pytest.mark.parametrize("is_early", [False, True])
def test_an_accepted_upgrade_passes_on_bytes_in_both_directions(*, is_early: bool) -> None:
    """Also when the program does not wait for the reply: what follows is no request, though it looks like one."""
    frame = b"\x81\x05GET / HTTP/1.1\r\n\r\n"

    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(SWITCH + b"hello")
        assert read_exactly(connection, len(frame)) == frame
        connection.sendall(b"\x88\x00")

    with raw_upstream(script) as upstream, running_relay() as relay:
        with relay.connect() as connection:
            connection.sendall(get(relay, relay.path(upstream.url), *UPGRADE) + (frame if is_early else b""))
            assert read_exactly(connection, len(SWITCH) + 5) == SWITCH + b"hello"
            connection.sendall(b"" if is_early else frame)
            assert read_all(connection) == b"\x88\x00"
        assert upstream.errors == []
        exchange = relay.exchange
    assert (exchange.program_bytes, exchange.upstream_bytes) == (frame, b"hello\x88\x00")
    assert exchange.response is not None
    assert (exchange.response.status, exchange.failure, exchange.calls[-1]) == (101, None, "end")


def test_a_refused_upgrade_is_a_reply_like_any_other() -> None:
    refusal = b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno"
    requests: list[bytes] = []
    with raw_upstream(answers(refusal, OK, requests=requests)) as upstream, running_relay() as relay:
        path = relay.path(upstream.url)
        with relay.connect() as connection:
            connection.sendall(get(relay, path, *UPGRADE) + get(relay, path + b"/next"))
            assert read_exactly(connection, len(refusal + OK)) == refusal + OK
        wait_until(lambda: [exchange.ending for exchange in relay.exchanges] == ["end", "end"])
    assert [request.split(b" ")[1] for request in requests] == [b"/", b"/next"]


def test_a_web_socket_that_the_program_leaves() -> None:
    noticed = threading.Event()

    def script(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(SWITCH)
        assert read_all(connection) == b"bye"
        noticed.set()

    with raw_upstream(script) as upstream, running_relay() as relay:
        with relay.connect() as connection:
            connection.sendall(get(relay, relay.path(upstream.url), *UPGRADE))
            read_head(connection)
            connection.sendall(b"bye")
        assert noticed.wait(TIMEOUT)
        assert relay.exchange.program_bytes == b"bye"
