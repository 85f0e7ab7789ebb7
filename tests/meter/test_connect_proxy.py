"""The proxy that counts connections: bytes, ends and resets pass unchanged; hostile clients do no harm."""

import base64
import hashlib
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from runcard.errors import UsageError
from runcard.observe.meter import connect_proxy
from runcard.observe.meter.connect_proxy import ConnectProxy, check_proxies, target_address
from runcard.observe.meter.model_hosts import is_model_host
from runcard.observe.meter.relay_loop import RelayLoop
from waiting import wait_until

TIMEOUT = 30.0  # seconds
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@pytest.fixture
def proxy() -> Iterator[ConnectProxy]:
    with serving() as found:
        yield found


@contextmanager
def serving(**environment: str) -> Iterator[ConnectProxy]:
    server = ConnectProxy(
        environment, ["https://models.example/v1", "http://127.0.0.1:11434"], lambda _: None
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def host() -> Iterator[socket.socket]:
    """A listening socket in the role of a host."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as server:
        server.settimeout(TIMEOUT)
        yield server


def address(host: socket.socket) -> str:
    return f"127.0.0.1:{host.getsockname()[1]}"


def connected(proxy: ConnectProxy) -> socket.socket:
    url = urlsplit(proxy.url)
    return socket.create_connection((url.hostname or "", url.port or 0), TIMEOUT)


def request(proxy: ConnectProxy, target: str, *lines: str, method: str = "CONNECT") -> bytes:
    url = urlsplit(proxy.url)
    password = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
    head = [f"{method} {target} HTTP/1.1", f"Proxy-Authorization: Basic {password}", *lines]
    return "\r\n".join([*head, "", ""]).encode("latin-1")


def tunnel(
    proxy: ConnectProxy, host: socket.socket, early: bytes = b""
) -> tuple[socket.socket, socket.socket]:
    """A connection of a program, and the same one at the host."""
    program = connected(proxy)
    program.sendall(request(proxy, address(host)) + early)
    there, _ = host.accept()
    there.settimeout(TIMEOUT)
    assert read(program, len(ESTABLISHED)) == ESTABLISHED
    return program, there


def read(connection: socket.socket, size: int = -1) -> bytes:
    """So many bytes, or all."""
    data = b""
    while (size < 0 or len(data) < size) and (
        piece := connection.recv(65536 if size < 0 else size - len(data))
    ):
        data += piece
    return data


def status(proxy: ConnectProxy, data: bytes) -> int:
    """The status of the reply to a request, after which the proxy closes the connection."""
    with connected(proxy) as program:
        program.sendall(data)
        return int(read(program).split(b" ")[1])


@pytest.mark.parametrize("is_early", [True, False])
def test_bytes_pass_unchanged_in_both_directions(
    proxy: ConnectProxy, host: socket.socket, *, is_early: bool
) -> None:
    sent, back = os.urandom(5 << 20), os.urandom(7 << 20)
    early = sent[:1000] if is_early else b""
    program, there = tunnel(proxy, host, early)
    with program, there:
        found: list[bytes] = []
        reader = threading.Thread(target=lambda: found.append(read(there, len(sent))))
        reader.start()
        program.sendall(sent[len(early) :])
        reader.join(TIMEOUT)
        assert hashlib.sha256(found[0]).digest() == hashlib.sha256(sent).digest()
        writer = threading.Thread(target=there.sendall, args=(back,))
        writer.start()
        assert read(program, len(back)) == back
        writer.join(TIMEOUT)


def test_one_direction_can_end_before_the_other(proxy: ConnectProxy, host: socket.socket) -> None:
    program, there = tunnel(proxy, host)
    with program, there:
        program.sendall(b"question")
        program.shutdown(socket.SHUT_WR)
        assert read(there) == b"question"
        there.sendall(b"answer")
        there.shutdown(socket.SHUT_WR)
        assert read(program) == b"answer"
    program, there = tunnel(proxy, host)
    with program, there:
        there.sendall(b"first")
        there.shutdown(socket.SHUT_WR)
        assert read(program) == b"first"
        program.sendall(b"later")
        program.close()
        assert read(there) == b"later"
    wait_until(lambda: not proxy.pairs, "the end of all connections")


def test_a_program_that_ends_its_direction_at_once(proxy: ConnectProxy, host: socket.socket) -> None:
    with connected(proxy) as program:
        program.sendall(request(proxy, address(host)) + b"question")
        program.shutdown(socket.SHUT_WR)
        there, _ = host.accept()
        with there:
            assert read(there) == b"question"
            there.sendall(b"answer")
        assert read(program) == ESTABLISHED + b"answer"


@pytest.mark.parametrize("side", [0, 1])
def test_a_reset_is_passed_on(proxy: ConnectProxy, host: socket.socket, side: int) -> None:
    pair = tunnel(proxy, host)
    pair[side].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    pair[side].close()
    with pair[1 - side] as other, pytest.raises(ConnectionResetError):
        other.recv(1)


def test_a_side_that_does_not_read_is_waited_for(proxy: ConnectProxy, host: socket.socket) -> None:
    program, there = tunnel(proxy, host)
    with program, there:
        program.settimeout(1)
        sent = 0
        with suppress(TimeoutError):
            while sent < 1 << 30:
                sent += program.send(bytes(1 << 20))
        assert sent < 64 << 20
        program.settimeout(TIMEOUT)
        threading.Thread(target=program.shutdown, args=(socket.SHUT_WR,)).start()
        assert len(read(there)) == sent


def test_a_host_that_speaks_first(host: socket.socket) -> None:
    """Through the proxy of the user: what comes at once is not taken for the dialog with it."""
    with serving(HTTPS_PROXY=f"http://{address(host)}") as proxy:
        program = connected(proxy)
        program.sendall(request(proxy, "git.example:22"))
        there, _ = host.accept()
        with program, there:
            assert b"CONNECT git.example:22 HTTP/1.1\r\n" in there.recv(65536)
            there.sendall(b"HTTP/1.1 200 OK\r\n\r\nSSH-2.0-hello")
            assert read(program, len(ESTABLISHED) + 13) == ESTABLISHED + b"SSH-2.0-hello"


@pytest.mark.parametrize(
    "target",
    ["api.openai.com", "api.openai.com:0", "api.openai.com:65536", "api.openai.com:-1", "api.openai.com:4 43", ":443",
     "[::1]", "[::1", "[api.openai.com]:443", "::1:443", "user@api.openai.com:443", "api.openai.com:443/x", "...:443",
     "https://api.openai.com:443", "api.open\x01ai.com:443", "api.openai.com\x1b[2J:443", "api.\xf6penai.com:443", "/", "*"],
)  # fmt: skip
def test_a_target_that_is_no_host_and_port(proxy: ConnectProxy, target: str) -> None:
    assert status(proxy, request(proxy, target)) == 400
    assert (proxy.connections, proxy.problems) == ({}, [])


def test_targets_that_are_a_host_and_a_port() -> None:
    assert target_address(b"API.OpenAI.com.:443") == ("api.openai.com.", 443)
    assert target_address(b"[2001:DB8::1]:8443") == ("2001:db8::1", 8443)
    assert target_address(b"127.0.0.1:1") == ("127.0.0.1", 1)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["Proxy-Authorization: Basic cnVuY2FyZDp4"],
        ["Proxy-Authorization: Bearer x"],
        ["Proxy-Authorization: x"],
    ],
)
def test_others_are_refused(proxy: ConnectProxy, host: socket.socket, lines: list[str]) -> None:
    target = address(host)
    head = "\r\n".join([f"CONNECT {target} HTTP/1.1", *lines, "", ""]).encode()
    assert status(proxy, head) == 407
    twice = request(proxy, target, request(proxy, target).decode().splitlines()[1])
    assert status(proxy, twice) == 407


def test_other_requests_are_refused(proxy: ConnectProxy) -> None:
    assert status(proxy, request(proxy, "http://api.openai.com/v1", method="GET")) == 501
    assert status(proxy, b"\x16\x03\x01\x02\x00\x01\r\n\r\n") == 400


def test_a_head_without_an_end(proxy: ConnectProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_proxy, "_MAX_HEAD", 1000)
    fits = request(proxy, "nobody.invalid", "X: " + "x" * 500)
    assert status(proxy, fits) == 400
    assert status(proxy, request(proxy, "nobody.invalid", "X: " + "x" * 1000)) == 431
    assert status(proxy, b"x" * 1001) == 431


def test_a_slow_client_does_not_wait_for_ever(proxy: ConnectProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_proxy, "_HEAD_TIMEOUT", 0.2)
    with connected(proxy) as program:
        program.sendall(b"CONN")
        with suppress(ConnectionResetError):
            assert program.recv(1) == b""
    wait_until(lambda: not proxy.pairs)


def test_hosts_that_cannot_be_reached(proxy: ConnectProxy, host: socket.socket) -> None:
    port = host.getsockname()[1]
    host.close()
    assert status(proxy, request(proxy, f"127.0.0.1:{port}")) == 502
    assert status(proxy, request(proxy, "nobody.invalid:443")) == 502
    assert (proxy.connections, proxy.problems) == ({}, [])


def test_a_thousand_connections_at_once(proxy: ConnectProxy, host: socket.socket) -> None:
    pairs = [tunnel(proxy, host) for _ in range(1000)]
    for number, (program, there) in enumerate(pairs):
        program.sendall(b"%04d" % number)
        there.sendall(b"%04d" % -number)
    for number, (program, there) in enumerate(pairs):
        assert (read(there, 4), read(program, 4)) == (b"%04d" % number, b"%04d" % -number)
        program.close()
        there.close()
    wait_until(lambda: not proxy.pairs)
    assert proxy.problems == []


def test_the_end_of_the_run_ends_all_connections(host: socket.socket) -> None:
    with serving() as proxy:
        program, there = tunnel(proxy, host)
    with program, there:
        for side in (program, there):
            with suppress(ConnectionResetError):
                assert side.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        connected(proxy)


def test_a_server_that_fails_begins_anew(
    proxy: ConnectProxy, host: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs still find the proxy, connections do not hang, and the run says that it failed."""
    serve, errors = proxy._serve, iter([MemoryError("no room")])

    async def fail_once(loop: RelayLoop) -> None:
        for error in errors:
            raise error
        await serve(loop)

    first = tunnel(proxy, host)
    monkeypatch.setattr(proxy, "_serve", fail_once)
    proxy._stop_serving()
    with first[0], first[1]:
        assert [read(side) for side in first] == [b"", b""]
    wait_until(lambda: proxy.problems)
    second = tunnel(proxy, host)
    with second[0], second[1]:
        second[0].sendall(b"x")
        assert read(second[1], 1) == b"x"
    assert proxy.problems == ["MemoryError: no room"]


# What is counted.


def test_hosts_of_providers_are_counted(host: socket.socket) -> None:
    seen: list[str] = []
    with serving(HTTPS_PROXY=f"http://{address(host)}") as proxy:
        proxy._on_first = seen.append
        for target in (
            "api.openai.com:443",
            "API.openai.com.:8443",
            "models.example:443",
            "www.openai.com:443",
        ):
            program = connected(proxy)
            program.sendall(request(proxy, target))
            there, _ = host.accept()
            with program, there:
                there.recv(65536)
                assert proxy.connections.get("www.openai.com") is None
                there.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                assert read(program, len(ESTABLISHED)) == ESTABLISHED
        refused = connected(proxy)
        refused.sendall(request(proxy, "api.anthropic.com:443"))
        there, _ = host.accept()
        with refused, there:
            there.recv(65536)
            there.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            assert b" 502 " in read(refused)
        assert proxy.connections == {"api.openai.com": 2, "models.example": 1}
        assert seen == ["api.openai.com", "models.example"]


def test_an_address_of_this_machine_is_not_that_of_a_provider(
    proxy: ConnectProxy, host: socket.socket
) -> None:
    """Though a base URL of the user's leads there: what listens at another port is something else."""
    program, there = tunnel(proxy, host)
    program.close()
    there.close()
    assert proxy.connections == {}


def test_the_number_of_hosts_is_limited(proxy: ConnectProxy) -> None:
    for number in range(150):
        proxy.count(f"a{number}.openai.azure.com")
    assert (len(proxy.connections), proxy.connections["other hosts of model providers"]) == (101, 50)


def test_a_record_that_cannot_be_written_does_not_end_a_connection(host: socket.socket) -> None:
    def fail(name: str) -> None:
        raise OSError(28, name)

    with serving() as proxy:
        proxy.hosts.add("127.0.0.1")
        proxy._on_first = fail
        program, there = tunnel(proxy, host)
        with program, there:
            program.sendall(b"x")
            assert read(there, 1) == b"x"
        assert proxy.connections == {"127.0.0.1": 1}
        assert len(proxy.problems) == 1


@pytest.mark.parametrize(
    "name",
    ["api.anthropic.com", "api.openai.com", "eu.api.openai.com", "chatgpt.com", "api.x.ai", "openrouter.ai",
     "generativelanguage.googleapis.com", "us-central1-aiplatform.googleapis.com", "aiplatform.googleapis.com",
     "bedrock-runtime.us-east-1.amazonaws.com", "team.openai.azure.com", "api.individual.githubcopilot.com"],
)  # fmt: skip
def test_hosts_of_model_calls(name: str) -> None:
    assert is_model_host(name)
    assert not is_model_host(f"{name}.example")
    assert not is_model_host(f"x{name}") or name.startswith(("eu.", "us-", "team."))


@pytest.mark.parametrize(
    "name",
    ["anthropic.com", "statsig.anthropic.com", "auth.openai.com", "ab.chatgpt.com", "storage.googleapis.com",
     "s3.us-east-1.amazonaws.com", "management.azure.com", "api.github.com", "pypi.org", ""],
)  # fmt: skip
def test_other_hosts(name: str) -> None:
    assert not is_model_host(name)


def test_proxies_that_connections_can_be_made_through() -> None:
    for url in ("http://127.0.0.1:1", "https://a:b@proxy.example", "socks5h://proxy", "proxy:8080", ""):
        check_proxies({"HTTPS_PROXY": url})
    check_proxies({"all_proxy": "socks4://proxy", "NO_PROXY": "*"})  # nobody uses it
    with pytest.raises(UsageError):
        check_proxies({"all_proxy": "socks4://proxy"})
