"""What real HTTP clients send and get through the relay is byte for byte what they send and get without it."""

import gzip
import http.client
import os
import socket
import subprocess
import urllib.request
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx2
import pytest

from meter.raw_peers import TIMEOUT, raw_upstream, read_exactly, read_head, running_relay

BODY = b'{"model": "m", "stream": true}' * 50
EVENTS = b"".join(b'event: ping\ndata: {"n": %d}\n\n' % number for number in range(50))
REPLY = gzip.compress(EVENTS, mtime=0)
Client = Callable[[str], bytes]  # calls a base URL and returns the content of the reply


def with_http_client(url: str) -> bytes:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT)
    headers = {"X-Api-Key": "k", "Accept-Encoding": "gzip"}
    connection.request(
        "POST",
        f"{parts.path}/v1/messages?beta=true",
        iter([BODY[:9], BODY[9:]]),
        headers,
        encode_chunked=True,
    )
    content = gzip.decompress(connection.getresponse().read())
    connection.close()
    return content


def with_urllib(url: str) -> bytes:
    request = urllib.request.Request(f"{url}/v1/messages", BODY, {"X-Api-key": "k"})  # noqa: S310 - our own
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=TIMEOUT) as reply:
        return gzip.decompress(reply.read())


def with_httpx(url: str) -> bytes:
    with (
        httpx2.Client(timeout=TIMEOUT, trust_env=False) as client,
        client.stream("POST", f"{url}/v1/messages", content=BODY, headers={"x-api-key": "k"}) as reply,
    ):
        return b"".join(reply.iter_bytes())


def with_curl(url: str) -> bytes:
    command = [
        "curl",
        "--silent",
        "--noproxy",
        "*",
        "--compressed",
        "-H",
        "Expect: 100-continue",
        "--data-binary",
        "@-",
    ]
    return subprocess.run(
        [*command, f"{url}/v1/messages"], input=BODY, capture_output=True, check=True
    ).stdout


NODE = """
const reply = await fetch(process.env.URL + "/v1/messages", {method: "POST", body: process.env.BODY, headers: {"X-Api-Key": "k"}});
process.stdout.write(await reply.text());
"""


def with_node(url: str) -> bytes:
    environment = {**os.environ, "URL": url, "BODY": BODY.decode()}
    command = ["node", "--input-type=module", "-e", NODE]
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


def converse(connection: socket.socket, received: list[bytes]) -> None:
    """Read one request, answer it with a compressed stream in chunks, and close."""
    head = read_head(connection)
    if b"100-continue" in head:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = b""
    if b"chunked" in head.lower():
        while not body.endswith(b"0\r\n\r\n"):
            body += read_exactly(connection, 1)
    else:
        body = read_exactly(connection, len(BODY))
    received.append(head + body)
    connection.sendall(
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    for at in range(0, len(REPLY), 7):
        piece = REPLY[at : at + 7]
        connection.sendall(b"%X;x=y\r\n%s\r\n" % (len(piece), piece))
    connection.sendall(b"0\r\nX-Trailer: t\r\n\r\n")


@pytest.mark.parametrize(
    "client",
    [
        with_http_client,
        with_urllib,
        with_httpx,
        pytest.param(with_curl, marks=pytest.mark.needs("curl")),
        pytest.param(with_node, marks=pytest.mark.needs("npm")),
    ],
)
def test_a_client_sends_and_gets_the_same(client: Client) -> None:
    received: list[bytes] = []
    with (
        raw_upstream(lambda connection: converse(connection, received)) as upstream,
        running_relay() as relay,
    ):
        assert client(f"{upstream.url}/base") == EVENTS
        assert client(relay.routes.url("route", f"{upstream.url}/base")) == EVENTS
        assert relay.exchange.received == REPLY
        assert upstream.errors == []
    assert len(received) == 2
    assert received[0] == received[1]
