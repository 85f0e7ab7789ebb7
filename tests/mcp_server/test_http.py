"""The server over HTTP: who may ask, what is too much, and how it ends."""

import hmac
import json
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.command import runcard
from conftest import Cli
from mcp_server.answers import error_of
from mcp_server.http_server import HELLO, HttpClient, HttpServer
from runcard.local_http.access_token import is_bearer
from runcard.local_http.listener import listen

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    place = tmp_path_factory.mktemp("served")
    (place / "outputs").mkdir()
    with HttpServer(place, seconds=500) as running:
        yield running


def test_a_client_lists_and_calls_tools(project: Path) -> None:
    with HttpServer(project) as server:
        client = HttpClient(server)
        tools = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
        assert "list_records" in tools
        assert "record_run_start" not in tools
        assert client.call("list_records")["structuredContent"]["total"] == 3
        wrong = client.call("get_record", record="no-such-run")
        assert wrong["isError"]
        assert error_of(wrong["content"][0]["text"])["hint"]
        assert server.send(b"", client.headers, method="DELETE")[0] == 200
        assert server.send(INITIALIZE, client.headers)[0] == 404  # that session has ended


def test_it_prints_how_to_add_it_to_a_client(server: HttpServer) -> None:
    lines = server.printed.splitlines()
    assert lines[0] == f"Serving MCP at http://127.0.0.1:{server.port}/mcp; Ctrl-C ends it."
    assert lines[1] == f"Each request needs the header: Authorization: Bearer {server.token}"
    assert f'claude mcp add --transport http runcard {server.url} --header "Authorization' in lines[3]
    assert f"codex mcp add runcard --url {server.url} --bearer-token-env-var RUNCARD_MCP_TOKEN" in lines[5]
    assert len(server.token) >= 43  # 256 bits


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic {token}",
        "{token}",
        "Bearer {token}x",
        "Bearer x{token}",
        "Bearer {token} {token}",
        "Bearer \xff\xfe",
        "Bearer " + "x" * 20_000,
    ],
)
def test_without_the_token_nothing_is_answered(server: HttpServer, header: str | None) -> None:
    value = header and header.replace("{token}", server.token)
    for method in ("POST", "GET", "DELETE", "OPTIONS"):
        status, headers, body = server.send(INITIALIZE, {"Authorization": value}, method=method)
        assert status == 401
        assert headers["www-authenticate"] == "Bearer"
        assert "mcp-session-id" not in headers
        assert server.token not in body.decode()
        assert "Authorization: Bearer TOKEN" in body.decode()


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert not is_bearer([b"Bearer guess"], "secret-token")
    assert not is_bearer([], "secret-token")
    assert not is_bearer([b"Bearer secret-token", b"Bearer secret-token"], "secret-token")
    assert is_bearer([b"bearer secret-token"], "secret-token")
    assert compared[0] == (b"guess", b"secret-token")
    assert len(compared) == 4


@pytest.mark.parametrize(
    "host",
    ["evil.example.com", "evil.example.com:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.com:{port}", "127.0.0.1:{port}@evil.com", "[::1]", "127.0.0.2:{port}", "0.0.0.0:{port}", " "],
)  # fmt: skip
def test_a_host_that_is_not_this_server_is_refused(server: HttpServer, host: str) -> None:
    value = host.replace("{port}", str(server.port))
    assert server.error(INITIALIZE, {"Host": value}) == (421, "the Host header does not name this server")


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "127.0.0.1:{port}", "[::1]:{port}"])
def test_a_name_of_this_server_is_accepted(server: HttpServer, host: str) -> None:
    value = host.replace("{port}", str(server.port))
    assert server.send(INITIALIZE, {"Host": value, "Origin": f"http://{value}"})[0] == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example.com", "http://evil.example.com:{port}", "null", "http://127.0.0.1", "https://127.0.0.1:{port}", "http://localhost:{port}.evil.com", "file://"],
)  # fmt: skip
def test_a_foreign_web_page_is_refused(server: HttpServer, origin: str) -> None:
    value = origin.replace("{port}", str(server.port))
    assert server.error(INITIALIZE, {"Origin": value})[0] == 403


def test_answers_are_sent_at_once() -> None:
    """asyncio switches off the delay of small packets only for a socket that names its protocol."""
    listener = listen("127.0.0.1", 0)
    assert listener.listening.proto == socket.IPPROTO_TCP
    listener.listening.close()


def test_two_hosts_are_refused(server: HttpServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        own = f"Host: 127.0.0.1:{server.port}\r\n"
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{own}Host: evil.com\r\nContent-Length: 0\r\n\r\n".encode())
        assert connection.recv(100).split()[1] in {b"400", b"421"}


def test_another_path_is_refused(server: HttpServer) -> None:
    for path in ("/", "/mcp/", "/mcp/../x", "/sse", "//mcp"):
        assert server.send(INITIALIZE, path=path)[0] == 404


def test_a_message_of_50_megabytes_is_refused_and_not_kept(server: HttpServer) -> None:
    before = _peak(server)
    huge = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"' + b"x" * 50_000_000 + b'"}}'
    for _ in range(3):
        assert server.error(huge) == (413, "the message is larger than 8 MiB")
    assert _peak(server) - before < 24_000  # KiB
    with socket.create_connection(("127.0.0.1", server.port)) as connection:  # and without a length
        connection.settimeout(60)
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        )
        connection.sendall(
            f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        status = b""
        try:
            for _ in range(50):
                connection.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
            status = connection.recv(100)
        except OSError:  # the server has closed the connection
            pass
        assert status.split()[1:2] in ([], [b"413"])
    assert server.send(INITIALIZE)[0] == 200


def _peak(server: HttpServer) -> int:
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmHWM")).split()[1])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + b"9" * 10_000 + b"}}",
    ],
)
def test_what_is_not_a_message_gets_an_error_and_the_server_goes_on(server: HttpServer, data: bytes) -> None:
    status, text = server.error(data)
    assert 400 <= status < 500
    assert text
    assert "Traceback" not in text
    assert server.send(INITIALIZE)[0] == 200


def test_an_unknown_protocol_version_is_answered(server: HttpServer) -> None:
    for version in ("1999-01-01", "2099-01-01", "", "x" * 10_000):
        params = {**HELLO, "protocolVersion": version}
        _, _, body = server.send({**INITIALIZE, "params": params})
        assert b"protocolVersion" in body or b"error" in body
    client = HttpClient(server)
    status, text = server.error(INITIALIZE, {**client.headers, "MCP-Protocol-Version": "1999-01-01"})
    assert status == 400
    assert "version" in text.lower()


@pytest.mark.long
def test_100_calls_at_once_are_all_answered(project: Path) -> None:
    with HttpServer(project) as server:
        client, totals = HttpClient(server), []

        def ask() -> None:
            totals.append(client.call("list_records")["structuredContent"]["total"])

        threads = [threading.Thread(target=ask) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert totals == [3] * 100


def test_clients_that_vanish_leave_nothing_behind(project: Path) -> None:
    with HttpServer(project) as server:
        client = HttpClient(server)
        own = client.headers["Mcp-Session-Id"]
        message = {"name": "verify_record", "arguments": {"record": "team-1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": message})
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\nMcp-Session-Id: {own}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        for cut in (10, len(head), len(head) + 5, len(head) + len(body)) * 5:
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall((head + body)[:cut].encode())
        assert client.call("list_records")["structuredContent"]["total"] == 3
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        assert children.read_text() == ""
        assert server.end(signal.SIGTERM) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well_even_with_an_open_stream(project: Path, number: int) -> None:
    with HttpServer(project, "--allow-write") as server:
        client = HttpClient(server)
        run = client.call("record_run_start")["structuredContent"]
        with socket.create_connection(("127.0.0.1", server.port)) as stream:
            lines = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {client.headers['Mcp-Session-Id']}\r\n\r\n"
            stream.sendall(f"GET /mcp HTTP/1.1\r\n{lines}".encode())
            assert b"200" in stream.recv(1000)
            assert server.end(number) == (0, "")
    document = json.loads(runcard("show", run["run_id"], "--json", cwd=project).out)
    assert "interrupted" in json.dumps(document)


def test_a_token_from_the_environment_is_used_and_not_printed(project: Path) -> None:
    token = "a-token-of-20-or-more"  # noqa: S105 - made for this test
    with HttpServer(project, token=token) as server:
        assert token not in server.printed
        assert HttpClient(server).hello["serverInfo"]["name"] == "runcard"


@pytest.mark.parametrize("token", ["short", "x" * 19, "with a space in the middle", "é" * 30, "x" * 1001])
@pytest.mark.usefixtures("here")
def test_a_weak_or_odd_token_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("RUNCARD_MCP_TOKEN", token)
    outcome = cli("mcp", "--http", "--port", "0")
    assert outcome.code == 64
    assert outcome.err.startswith("Error: RUNCARD_MCP_TOKEN ")
    assert token not in outcome.err


@pytest.mark.usefixtures("here")
def test_a_port_that_is_taken_and_an_address_of_another_machine_are_clear_errors(
    cli: Cli, server: HttpServer
) -> None:
    taken = cli("mcp", "--http", "--port", str(server.port))
    assert taken.code != 0
    assert f"cannot listen on 127.0.0.1:{server.port}: Address already in use" in taken.err
    assert "--port 0 takes a free one" in taken.err
    far = cli("mcp", "--http", "--host", "192.0.2.1", "--port", "0")
    assert "cannot listen on 192.0.2.1:0" in far.err
    for host in ("no such host", "x" * 300, ""):
        assert "is not an address of this machine" in cli("mcp", "--http", "--host", host).err
    alone = cli("mcp", "--port", "1234")
    assert alone.code == 64
    assert "hint: add --http" in alone.err


def test_an_address_that_other_machines_reach_is_warned_about(tmp_path: Path) -> None:
    with HttpServer(tmp_path, "--host", "0.0.0.0") as server:  # noqa: S104 - what is tested
        assert server.send(INITIALIZE)[0] == 200
        assert server.send(INITIALIZE, {"Host": f"evil.com:{server.port}"})[0] == 421
        code, errors = server.end(signal.SIGTERM)
    assert code == 0
    assert "Warning: other machines can reach 0.0.0.0, and the token is sent to it unencrypted" in errors
