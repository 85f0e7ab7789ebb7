"""Connections to upstreams: TLS and proxies, as the variables of the program's environment say."""

import base64
import contextlib
import select
import socket
import ssl
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from meter import certificates
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
from runcard.observe.meter.exchange import Failure
from runcard.observe.meter.upstream import CannotConnect, find_proxy, is_excluded, upstream_address

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HOST = "api.anthropic.com"  # has no address here: only a proxy knows it


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> certificates.TestAuthority:
    return certificates.make_authority(tmp_path_factory.mktemp("authority"))


def answer(connection: socket.socket, *pieces: bytes) -> bytes:
    """Read a head and send a reply; returns the head."""
    head = read_head(connection)
    for piece in pieces or (OK,):
        connection.sendall(piece)
    return head


def encrypted(authority: certificates.TestAuthority, heads: list[bytes], *pieces: bytes) -> Script:
    """A script for an upstream with TLS: one request, and its end."""

    def script(connection: socket.socket) -> None:
        with authority.context.wrap_socket(connection, server_side=True) as secure:
            heads.append(answer(secure, *pieces))
            with contextlib.suppress(OSError):
                read_all(secure)

    return script


def request(relay: RunningRelay, url: str) -> bytes:
    return b"GET %s/v1 HTTP/1.1\r\nHost: %s\r\nAuthorization: key\r\n\r\n" % (relay.path(url), relay.host)


def ask(relay: RunningRelay, url: str) -> bytes:
    with relay.connect() as connection:
        connection.sendall(request(relay, url))
        return read_exactly(connection, len(OK))


# TLS.


@pytest.mark.parametrize(
    "variable",
    ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CODEX_CA_CERTIFICATE", "SSL_CERT_DIR"],
)
def test_certificates_of_the_environment_are_trusted(
    authority: certificates.TestAuthority, tmp_path: Path, variable: str
) -> None:
    value = authority.ca_file
    if variable == "SSL_CERT_DIR":  # files there are named after the hash of the subject
        name = subject_hash(authority.ca_file)
        (tmp_path / f"{name}.0").write_bytes(authority.ca_file.read_bytes())
        value = tmp_path
    heads: list[bytes] = []
    environment = {variable: str(value), "SSL_CERT_FILE_X": "/missing"}
    with raw_upstream(encrypted(authority, heads)) as upstream, running_relay(environment) as relay:
        assert ask(relay, f"https://localhost:{upstream.port}") == OK
    expected = b"GET /v1 HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: key\r\n\r\n" % upstream.port
    assert heads == [expected]


def subject_hash(certificate: Path) -> str:
    command = ["openssl", "x509", "-noout", "-subject_hash", "-in", str(certificate)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("host", "environment"),
    [("localhost", {}), ("localhost", {"SSL_CERT_FILE": "/missing"}), ("127.0.0.2", {"SSL_CERT_FILE": "CA"})],
    ids=["unknown authority", "missing file", "another name"],
)
def test_a_certificate_that_is_not_trusted_is_no_connection(
    authority: certificates.TestAuthority, host: str, environment: dict[str, str]
) -> None:
    heads: list[bytes] = []
    environment = {name: value.replace("CA", str(authority.ca_file)) for name, value in environment.items()}
    with socket.create_server((host if host != "localhost" else "127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve() -> None:
            connection, _ = listening.accept()
            with contextlib.suppress(OSError):
                encrypted(authority, heads)(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        with running_relay(environment) as relay:
            with pytest.raises(ConnectionResetError):
                ask(relay, f"https://{host}:{port}")
            assert relay.exchange.failure is Failure.UNREACHABLE
            assert "certificate" in relay.exchange.message.lower()
        thread.join(TIMEOUT)
    assert heads == []


def test_verification_can_be_turned_off_for_programs_in_node(authority: certificates.TestAuthority) -> None:
    environment = {"NODE_TLS_REJECT_UNAUTHORIZED": "0"}
    with raw_upstream(encrypted(authority, [])) as upstream, running_relay(environment) as relay:
        assert ask(relay, f"https://localhost:{upstream.port}") == OK


def trusting(authority: certificates.TestAuthority, **more: str) -> dict[str, str]:
    return {"SSL_CERT_FILE": str(authority.ca_file), **more}


def test_a_program_that_vanishes_closes_the_encrypted_connection_at_once(
    authority: certificates.TestAuthority,
) -> None:
    """While the upstream still thinks, and cannot notice that nothing reads its reply."""
    noticed = threading.Event()

    def script(connection: socket.socket) -> None:
        with authority.context.wrap_socket(connection, server_side=True) as secure:
            read_head(secure)
            asked.set()
            assert secure.recv(1) == b""
            noticed.set()

    asked = threading.Event()
    with raw_upstream(script) as upstream, running_relay(trusting(authority)) as relay:
        with relay.connect() as connection:
            connection.sendall(request(relay, f"https://localhost:{upstream.port}"))
            assert asked.wait(TIMEOUT)
        assert noticed.wait(TIMEOUT)
        assert relay.exchange.failure is Failure.CLIENT_GONE


def test_a_program_that_vanishes_in_the_middle_of_an_encrypted_stream(
    authority: certificates.TestAuthority,
) -> None:
    def script(connection: socket.socket) -> None:
        with authority.context.wrap_socket(connection, server_side=True) as secure:
            answer(secure, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            with contextlib.suppress(OSError):
                while True:
                    secure.sendall(b"1000\r\n" + bytes(0x1000) + b"\r\n")

    with raw_upstream(script) as upstream, running_relay(trusting(authority)) as relay:
        for _ in range(5):
            with relay.connect() as connection:
                connection.sendall(request(relay, f"https://localhost:{upstream.port}"))
                assert len(read_exactly(connection, 1 << 16)) == 1 << 16
        for exchange in list(relay.exchanges):
            assert (exchange.ending, exchange.failure) == ("fail", Failure.CLIENT_GONE)


def test_a_program_that_closes_its_encrypted_web_socket(authority: certificates.TestAuthority) -> None:
    reply = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

    def script(connection: socket.socket) -> None:
        with authority.context.wrap_socket(connection, server_side=True) as secure:
            answer(secure, reply)
            received.append(read_all(secure))

    received: list[bytes] = []
    with raw_upstream(script) as upstream, running_relay(trusting(authority)) as relay:
        path = relay.path(f"https://localhost:{upstream.port}")
        lines = b"Host: %s\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n" % relay.host
        with relay.connect() as connection:
            connection.sendall(b"GET %s HTTP/1.1\r\n%s" % (path, lines))
            assert read_head(connection) == reply
            connection.sendall(b"bye")
        assert (relay.exchange.ending, relay.exchange.program_bytes) == ("end", b"bye")
    assert received == [b"bye"]


@pytest.mark.parametrize("ending", ["closed", "cut", "reset"])
def test_an_encrypted_reply_that_is_cut(authority: certificates.TestAuthority, ending: str) -> None:
    """With a goodbye of TLS, without one, and with a reset."""
    first = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nabc"

    def script(connection: socket.socket) -> None:
        secure = authority.context.wrap_socket(connection, server_side=True)
        answer(secure, first)
        assert arrived.wait(TIMEOUT)
        if ending == "closed":
            with contextlib.suppress(OSError):
                secure.unwrap()
        if ending == "reset":
            reset(secure)
        secure.close()

    arrived = threading.Event()
    with raw_upstream(script) as upstream, running_relay(trusting(authority)) as relay:
        with relay.connect() as connection:
            connection.sendall(request(relay, f"https://localhost:{upstream.port}"))
            assert read_exactly(connection, len(first)) == first
            arrived.set()
            with pytest.raises(ConnectionResetError) if ending == "reset" else contextlib.nullcontext():
                assert read_all(connection) == b""
        assert (relay.exchange.received, relay.exchange.failure) == (b"abc", Failure.CUT)


def test_an_encrypted_body_that_ends_with_the_connection(authority: certificates.TestAuthority) -> None:
    def script(connection: socket.socket) -> None:
        with authority.context.wrap_socket(connection, server_side=True) as secure:
            answer(secure, b"HTTP/1.1 200 OK\r\n\r\nall")

    with raw_upstream(script) as upstream, running_relay(trusting(authority)) as relay:
        data = relay.ask(request(relay, f"https://localhost:{upstream.port}"))
        assert data == b"HTTP/1.1 200 OK\r\n\r\nall"
        assert relay.exchange.ending == "end"


def test_large_bodies_through_tls(authority: certificates.TestAuthority) -> None:
    size = 20 << 20

    def script(connection: socket.socket) -> None:
        with authority.context.wrap_socket(connection, server_side=True) as secure:
            read_head(secure)
            received.append(len(read_exactly(secure, size)))
            secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size))
            read_all(secure)

    received: list[int] = []
    with raw_upstream(script) as upstream, running_relay(trusting(authority), lambda *_: None) as relay:
        path = relay.path(f"https://localhost:{upstream.port}")
        with relay.connect() as connection:
            connection.sendall(b"PUT %s HTTP/1.1\r\nHost: %s\r\n" % (path, relay.host))
            connection.sendall(b"Content-Length: %d\r\n\r\n" % size + bytes(size))
            read_head(connection)
            assert len(read_exactly(connection, size)) == size
    assert received == [size]


# Proxies.


def join(connection: socket.socket, port: int) -> None:
    """Pass on what comes on a connection to a port, and back.

    In one thread: a connection with TLS must not be read and written at the same time.
    """
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as upstream, contextlib.suppress(OSError):
        other = {connection: upstream, upstream: connection}
        open_ends = [connection, upstream]
        while open_ends:
            for source in readable(open_ends):
                if data := source.recv(1 << 16):
                    other[source].sendall(data)
                else:
                    open_ends.remove(source)
                    other[source].shutdown(socket.SHUT_WR)


def readable(sockets: list[socket.socket]) -> list[socket.socket]:
    """What TLS has decrypted already does not make a socket readable."""
    decrypted: list[socket.socket] = [
        one for one in sockets if isinstance(one, ssl.SSLSocket) and one.pending()
    ]
    if ready := decrypted or select.select(sockets, [], [], TIMEOUT)[0]:
        return ready
    raise TimeoutError


def tunnel(
    port: int, heads: list[bytes], reply: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"
) -> Script:
    """A script for a proxy: CONNECT."""

    def script(connection: socket.socket) -> None:
        heads.append(read_head(connection))
        connection.sendall(reply)
        if reply.startswith(b"HTTP/1.1 200"):
            join(connection, port)

    return script


CREDENTIALS = base64.b64encode(b"us er:p@ss")


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
def test_https_goes_through_a_proxy(authority: certificates.TestAuthority, variable: str) -> None:
    heads: list[bytes] = []
    seen: list[bytes] = []
    with (
        raw_upstream(encrypted(authority, heads)) as upstream,
        raw_upstream(tunnel(upstream.port, seen)) as proxy,
    ):
        environment = trusting(authority, **{variable: f"http://us%20er:p%40ss@127.0.0.1:{proxy.port}/"})
        with running_relay(environment) as relay:
            assert ask(relay, f"https://{HOST}") == OK
    assert heads == [b"GET /v1 HTTP/1.1\r\nHost: %s\r\nAuthorization: key\r\n\r\n" % HOST.encode()]
    to = HOST.encode() + b":443"
    lines = (b"CONNECT %s HTTP/1.1" % to, b"Host: %s" % to, b"Proxy-Authorization: Basic " + CREDENTIALS)
    assert seen == [b"\r\n".join(lines) + b"\r\n\r\n"]


def test_https_goes_through_a_proxy_with_tls(authority: certificates.TestAuthority) -> None:
    heads: list[bytes] = []
    seen: list[bytes] = []

    def script(connection: socket.socket) -> None:
        """TLS by hand between two sockets: the proxy decrypts the outer layer."""
        with authority.context.wrap_socket(connection, server_side=True) as secure:
            tunnel(upstream.port, seen)(secure)

    with raw_upstream(encrypted(authority, heads)) as upstream, raw_upstream(script) as proxy:
        environment = trusting(authority, HTTPS_PROXY=f"https://localhost:{proxy.port}")
        with running_relay(environment) as relay:
            assert ask(relay, f"https://{HOST}") == OK
    assert seen == [b"CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: api.anthropic.com:443\r\n\r\n"]
    assert len(heads) == 1


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_http_goes_through_a_proxy_with_whole_urls(scheme: str) -> None:
    seen: list[bytes] = []
    with (
        raw_upstream(lambda connection: seen.append(answer(connection))) as proxy,
        running_relay({"HTTP_PROXY": f"{scheme}us%20er:p%40ss@127.0.0.1:{proxy.port}"}) as relay,
    ):
        assert ask(relay, "http://models.example:8080") == OK
        assert relay.exchange.head.target == "/v1"
    expected = (
        b"GET http://models.example:8080/v1 HTTP/1.1\r\nHost: models.example:8080\r\n"
        b"Proxy-Authorization: Basic %s\r\nAuthorization: key\r\n\r\n" % CREDENTIALS
    )
    assert seen == [expected]


@pytest.mark.parametrize("credentials", ["", "user:pass@"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_socks_proxy(authority: certificates.TestAuthority, scheme: str, credentials: str) -> None:
    heads: list[bytes] = []
    asked: list[bytes] = []

    def script(connection: socket.socket) -> None:
        method = b"\x02" if credentials else b"\x00"
        assert read_exactly(connection, 3) == b"\x05\x01" + method
        connection.sendall(b"\x05" + method)
        if credentials:
            assert read_exactly(connection, 11) == b"\x01\x04user\x04pass"
            connection.sendall(b"\x01\x00")
        start = read_exactly(connection, 5)
        asked.append(start[:4] + read_exactly(connection, start[4] + 2))
        connection.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
        join(connection, upstream.port)

    plain: Script = lambda connection: heads.append(answer(connection))  # noqa: E731
    with (
        raw_upstream(encrypted(authority, heads) if scheme == "https" else plain) as upstream,
        raw_upstream(script) as proxy,
        running_relay(
            trusting(authority, ALL_PROXY=f"socks5h://{credentials}127.0.0.1:{proxy.port}")
        ) as relay,
    ):
        assert ask(relay, f"{scheme}://{HOST}") == OK
        assert proxy.errors == []
    port = {"http": b"\x00\x50", "https": b"\x01\xbb"}[scheme]
    assert asked == [b"\x05\x01\x00\x03" + HOST.encode() + port]
    assert heads == [b"GET /v1 HTTP/1.1\r\nHost: %s\r\nAuthorization: key\r\n\r\n" % HOST.encode()]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "407 Proxy Auth"),
        (b"SSH-2.0-x\r\n\r\n", "does not speak HTTP"),
        (b"", "closed the connection"),
        (b"HTTP/1.1 200", "closed the connection"),
    ],
)
def test_a_proxy_that_refuses_is_no_connection(reply: bytes, message: str) -> None:
    def script(connection: socket.socket) -> None:
        answer(connection, reply)

    with (
        raw_upstream(script) as proxy,
        running_relay({"HTTPS_PROXY": f"http://user:password@127.0.0.1:{proxy.port}"}) as relay,
    ):
        with pytest.raises(ConnectionResetError):
            ask(relay, f"https://{HOST}")
        exchange = relay.exchange
    assert exchange.failure is Failure.UNREACHABLE
    assert message in exchange.message
    assert "password" not in exchange.message


@pytest.mark.parametrize("value", ["gopher://x:1", "http://", "http://x:99999", "http://[:1", "socks4://x:1"])
def test_a_proxy_that_is_none_is_no_connection(value: str) -> None:
    with running_relay({"ALL_PROXY": value}) as relay:
        with pytest.raises(ConnectionResetError):
            ask(relay, f"https://{HOST}")
        assert relay.exchange.failure is Failure.UNREACHABLE


def test_an_upstream_on_this_machine_needs_no_proxy() -> None:
    heads: list[bytes] = []
    with (
        raw_upstream(lambda connection: heads.append(answer(connection))) as upstream,
        running_relay({"HTTP_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1"}) as relay,
    ):
        assert ask(relay, upstream.url) == OK


PROXY = {"HTTPS_PROXY": "http://p:1"}


@pytest.mark.parametrize(
    ("excluded", "expected"),
    [
        ("", False),
        ("*", True),
        ("example.org", True),
        (".example.org", True),
        ("*.example.org", True),
        ("api.example.org", True),
        ("API.Example.ORG", True),
        ("example.org:443", True),
        ("example.org:80", False),
        ("ample.org", False),
        ("other, example.org", True),
        ("other example.org", True),
        ("api.example.org.evil", False),
        (",,", False),
    ],
)
def test_no_proxy(excluded: str, *, expected: bool) -> None:
    assert is_excluded("api.example.org", 443, excluded) is expected
    for name in ("no_proxy", "NO_PROXY"):
        found = find_proxy("https", "api.example.org", 443, {**PROXY, name: excluded})
        assert (found is None) is expected


@pytest.mark.parametrize(
    ("host", "excluded", "expected"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.3:443", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("2001:db8::1", "[2001:db8::1]:443", True),
        ("2001:db8::1", "2001:db8::1", True),
        ("2001:db8::1", "2001:db8::/32", True),
        ("2001:db8::1", "[2001:db8::2]", False),
    ],
)
def test_no_proxy_for_addresses(host: str, excluded: str, *, expected: bool) -> None:
    assert is_excluded(host, 443, excluded) is expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HTTPS_PROXY": "http://b:1", "https_proxy": "http://a:1"}, "a"),
        ({"HTTPS_PROXY": "http://b:1", "all_proxy": "http://a:1"}, "b"),
        ({"HTTP_PROXY": "http://b:1"}, None),
        ({"https_proxy": "", "HTTPS_PROXY": "http://b:1"}, "b"),
        ({}, None),
    ],
)
def test_which_variable_names_the_proxy(variables: Mapping[str, str], expected: str | None) -> None:
    proxy = find_proxy("https", "example.org", 443, variables)
    assert (None if proxy is None else proxy.host) == expected


@pytest.mark.parametrize(
    ("url", "authority_value", "host", "port"),
    [
        ("https://Example.ORG", b"example.org", "example.org", 443),
        ("https://example.org:443", b"example.org", "example.org", 443),
        ("http://example.org:443", b"example.org:443", "example.org", 443),
        ("http://[::1]:8080", b"[::1]:8080", "::1", 8080),
        ("https://user:secret@example.org", b"example.org", "example.org", 443),
        ("https://bücher.example", b"xn--bcher-kva.example", "xn--bcher-kva.example", 443),
    ],
)
def test_the_host_of_an_upstream(url: str, authority_value: bytes, host: str, port: int) -> None:
    address = upstream_address(url, {})
    assert (address.authority, address.host, address.port) == (authority_value, host, port)


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://x", "http://", "http://x:y", "http://[x", "https://a\u0301..b"]
)
def test_an_upstream_that_is_none(url: str) -> None:
    with pytest.raises(CannotConnect):
        upstream_address(url, {})
