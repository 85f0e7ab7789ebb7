"""`runcard mcp` as a process: the protocol on standard output and nothing else, whatever the client does."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.command import RUNCARD, environment
from mcp_server.line_client import HELLO, LineClient, processes_of
from mcp_server.slow_server import COMMAND as SLOW
from runcard.mcp_server.stdio import MOST_MESSAGE, LineReader
from waiting import wait_until


def _lines(data: bytes) -> list[tuple[bytes, bool]]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        left = memoryview(data)
        while left:
            left = left[os.write(writing, left) :]
        os._exit(0)
    os.close(writing)
    reader, found = LineReader(reading), []
    while (line := reader.next_line()) is not None:
        found.append(line)
    os.close(reading)
    os.waitpid(child, 0)
    return found


def test_lines_are_read_whole_and_those_that_are_too_large_in_part() -> None:
    large = b'{"id": 7, "x": "' + b"y" * (MOST_MESSAGE + 10) + b'"}'
    found = _lines(b"one\n\ntwo\n" + large + b"\nthree\nlast")
    assert found[:3] == [(b"one", False), (b"", False), (b"two", False)]
    assert found[3][1] is True
    assert len(found[3][0]) < 10_000
    assert found[3][0].startswith(b'{"id": 7,')
    assert found[3][0].endswith(b'y"}')
    assert found[4:] == [(b"three", False), (b"last", False)]
    assert _lines(b"") == []
    assert _lines(b"x" * MOST_MESSAGE + b"\n")[0][1] is False


def test_what_is_not_a_message_gets_an_error_and_the_server_goes_on(project: Path) -> None:
    with LineClient(project) as client:
        for data, own, code in (
            (b"this is not JSON", None, -32700),
            (b'{"jsonrpc": "2.0", "id": 91', None, -32700),
            (b"[1, 2]", None, -32600),
            (b"17", None, -32600),
            (b'{"jsonrpc": "1.0", "id": 92, "method": "ping"}', 92, -32600),
            (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}', None, -32600),
            (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, -32600),
            (b'\xff\xfe{"a"}', None, -32700),
            (
                b'{"jsonrpc": "2.0", "id": 93, "method": "ping", "params": '
                + b"[" * 5_000
                + b"]" * 5_000
                + b"}",
                93,
                -32700,
            ),
            (
                b'{"jsonrpc": "2.0", "id": "big", "method": "ping", "x": "' + b"y" * 50_000_000 + b'"}',
                "big",
                -32600,
            ),
            (b'{"x": "' + b"y" * 9_000_000 + b'", "jsonrpc": "2.0", "id": 95}', 95, -32600),
        ):
            client.raw(data + b"\n")
            answer = client.read()
            assert (answer["id"], answer["error"]["code"]) == (own, code), data[:80]
        client.raw(b"\n   \n")
        assert client.ask("no/such/method")["error"]["code"] == -32601
        assert (
            "Unknown tool"
            in client.ask("tools/call", {"name": "nonsense", "arguments": {}})["error"]["message"]
        )
        assert client.ask("tools/call", {"arguments": 5})["error"]["code"] == -32602
        assert client.call("list_records")["structuredContent"]["total"] == 3
        peak = int(next(line for line in Path(f"/proc/{client.process.pid}/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])  # fmt: skip
        assert peak < 250_000  # KiB: the message of 50 MB was not kept
        code, errors = client.end()
    assert (code, errors) == (0, "")


@pytest.mark.parametrize(
    "version",
    [
        "2024-11-05",
        "nonsense",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("2025-03-26", "2025-11-25", "1999-01-01")),
    ],
)
def test_a_client_of_another_version_gets_one_that_the_server_speaks(project: Path, version: str) -> None:
    with LineClient(project, greets=False) as client:
        answer = client.ask("initialize", HELLO | {"protocolVersion": version})["result"]
        known = version[:2] == "20"
        assert (answer["protocolVersion"] == version) is known
        assert answer["serverInfo"]["name"] == "runcard"
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert len(client.ask("tools/list")["result"]["tools"]) == 14
        assert client.end()[0] == 0


@pytest.mark.long
def test_a_hundred_calls_at_once_are_all_answered(project: Path) -> None:
    with LineClient(project) as client:
        names = ["list_records", "verify_record", "get_record", "cost_report"]
        wanted = {
            client.request(
                "tools/call",
                {
                    "name": name,
                    "arguments": {"record": "team-1"} if "_record" in name and name != "list_records" else {},
                },
            )
            for _ in range(25)
            for name in names
        }
        answers = [client.read() for _ in wanted]
        assert {answer["id"] for answer in answers} == wanted
        assert not any(answer["result"]["isError"] for answer in answers)
        assert client.end() == (0, "")


_NOISY = """\
import os, sys, warnings
from runcard.mcp_server import records
plain = records.get_record
def noisy(*arguments, **more):
    print("a print of an operation")
    os.write(1, b"bytes to descriptor 1\\n")
    os.system("echo a child process")
    sys.stdin.read()
    warnings.warn("a warning of an operation")
    return plain(*arguments, **more)
records.TOOLS[2].__dict__["function"] = noisy
from runcard.cli.main import main
sys.argv = ["runcard", "mcp"]
sys.exit(main())
"""


def test_nothing_but_the_protocol_is_on_standard_output(project: Path) -> None:
    call = {"name": "get_record", "arguments": {"record": "@latest"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    done = subprocess.run(
        [sys.executable, "-c", _NOISY],
        cwd=project,
        env=environment(),
        input=b"".join(json.dumps(message).encode() + b"\n" for message in messages),
        capture_output=True,
        timeout=60,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["isError"] is False
    for text in (b"a print", b"bytes to", b"a child", b"a warning"):
        assert text in done.stderr


_VANISHING_CLIENT = """\
import subprocess, sys
way, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in sys.stdin:
    server.stdin.write(line.encode())
    server.stdin.flush()
    if '"id": 1' in line:
        server.stdout.readline()
assert b"progress" in server.stdout.readline()
if way == "closes its end":
    server.stdin.close()
    server.wait()
if way == "ends both":
    server.stdin.close()
    server.stdout.close()
print("ready", flush=True)
if way != "ends both":
    server.wait()
"""


@pytest.mark.parametrize("way", ["closes its end", "is killed", "ends both"])
def test_a_client_that_vanishes_leaves_no_process(large_run: Path, way: str) -> None:
    """Not even while a call is at work on a large record."""
    client = subprocess.Popen(
        [sys.executable, "-c", _VANISHING_CLIENT, way, *SLOW, "mcp"],
        cwd=large_run,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    call = {"name": "verify_record", "arguments": {"record": "@latest"}, "_meta": {"progressToken": "t"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
    client.stdin.close()
    assert client.stdout.readline() == b"ready\n"
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    client.stdout.close()
    wait_until(lambda: not processes_of(client.pid), "the end of the server")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_server_and_closes_its_runs(project: Path, number: signal.Signals) -> None:
    with LineClient(project, "--allow-write") as client:
        path = Path(client.call("record_run_start", labels={"by": "test"})["structuredContent"]["path"])
        client.process.send_signal(number)
        assert client.process.wait() == 128 + number
    document = json.loads((path / "metadata.json").read_text())
    assert document["generation"]["status"] == "interrupted"
    assert [warning["type"] for warning in document["warnings"]] == ["not-finished"]


def test_a_server_that_is_killed_leaves_an_open_run_that_close_closes(project: Path) -> None:
    with LineClient(project, "--allow-write") as client:
        path = Path(client.call("record_run_start")["structuredContent"]["path"])
        client.process.kill()
        client.process.wait()
    assert json.loads((path / "metadata.json").read_text())["generation"]["status"] == "running"
    subprocess.run([*RUNCARD, "close", path], check=True, cwd=project, env=environment(), capture_output=True)
    assert json.loads((path / "metadata.json").read_text())["generation"]["status"] == "interrupted"


def test_progress_is_reported_and_a_call_can_be_cancelled(large_run: Path) -> None:
    with LineClient(large_run, program=SLOW) as client:
        call = {"name": "verify_record", "arguments": {"record": "@latest"}, "_meta": {"progressToken": "t"}}
        own = client.request("tools/call", call)
        first = client.read()
        assert first["method"] == "notifications/progress"
        assert first["params"]["progressToken"] == "t"
        second = client.read()
        assert second["params"]["progress"] > first["params"]["progress"]
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": own}})
        while "progress" in str((message := client.ask("ping")).get("method")):
            pass
        assert message["result"] == {}
        assert client.call("list_records")["isError"] is False
        wait_until((large_run / "stopped").exists, "the end of the work")
        assert client.end()[0] == 0


def test_a_broken_settings_file_is_an_error_that_an_agent_can_act_on(project: Path) -> None:
    (project / "runcard.toml").write_text("outputs = [")
    with LineClient(project) as client:
        assert "runcard.toml" in client.error("list_records")["error"]
        (project / "runcard.toml").unlink()
        assert client.call("list_records")["isError"] is False
        assert client.end() == (0, "")


def test_a_folder_that_is_no_store_is_an_empty_one(tmp_path: Path) -> None:
    with LineClient(tmp_path, "--store", "nowhere") as client:
        assert client.call("list_records")["structuredContent"]["total"] == 0
        assert "no records" in client.error("get_record", record="@latest")["error"]
        assert client.end() == (0, "")
    assert not list(tmp_path.iterdir())


def test_on_a_terminal_it_says_what_it_is(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        (*RUNCARD, "mcp"),
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
    )
    os.close(slave)
    assert process.stderr is not None
    said = process.stderr.readline() + process.stderr.readline()
    os.close(master)  # the terminal is gone
    out, _ = process.communicate(timeout=60)
    assert "this is an MCP server" in said
    assert "runcard install" in said
    assert out == ""
