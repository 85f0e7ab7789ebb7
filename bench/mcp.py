"""The MCP server: the time to its first answer, its calls per second and its memory, over stdio and over HTTP.

The client is this process, and sends plain messages, so that the server is measured and not a client library. Calls
are sent one after another, and each reads a page of a list of records from the catalog.
"""

import http.client
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import runcard
from bench.measuring import RUNCARD, BenchError, scratch
from bench.table import Row, Target, Times

_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_CALL = {"name": "list_records", "arguments": {"limit": 1}}
_FIRST_SECONDS = 1.5  # most for the first answer
_CALLS_PER_SECOND = 300.0  # least
_GROWTH = 8.0  # MiB: what the memory of a server may grow by after its first calls

Message = dict[str, Any]
Ask = Callable[[str, object], Message]


def measure(*, quick: bool = False) -> Iterator[Row]:
    rounds, calls = (3, 3_000) if quick else (10, 100_000)
    with scratch() as folder:
        for number in range(3):
            with runcard.record(folder / "outputs", model="m", provider="p", strict=True) as run:
                (run.path / "answer.txt").write_text(f"{number}\n")
        for name, connect in (("stdio", _stdio), ("HTTP", _http)):
            first = [_first_answer(connect, folder) for _ in range(rounds)]
            target = Target("<=", _FIRST_SECONDS, "s")
            yield Row(f"runcard mcp, {name}: first answer", Times.of(first), "", None, "s", target)
            seconds, growth = _many_calls(connect, folder, calls)
            target = Target("<=", 1e3 / _CALLS_PER_SECOND, "ms")
            yield Row(
                f"runcard mcp, {name}: a call, of {calls:,}",
                Times.of(seconds, 1e3),
                "",
                None,
                "ms",
                target,
            )
            grown = Times(growth, growth)
            target = Target("<=", _GROWTH, "MiB")
            yield Row(f"runcard mcp, {name}: memory growth", grown, "", None, "MiB", target)


def _first_answer(connect: "Connect", folder: Path) -> float:
    began = time.perf_counter()
    with connect(folder) as (ask, _):
        ask("tools/call", _CALL)
        return time.perf_counter() - began


def _many_calls(connect: "Connect", folder: Path, calls: int) -> tuple[list[float], float]:
    """The seconds of a call, in batches, and by how many MiB the memory grew after the first tenth."""
    batch, seconds, memory = calls // 20, [], []
    with connect(folder) as (ask, process):
        for _ in range(20):
            began = time.perf_counter()
            for _ in range(batch):
                if "result" not in ask("tools/call", _CALL):
                    raise BenchError("a call failed")
            seconds.append((time.perf_counter() - began) / batch)
            memory.append(_resident(process))
    return seconds, max(memory[2:]) - memory[1]


def _resident(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


Connect = Callable[[Path], Any]  # a context of (ask, process id)


@contextmanager
def _started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [RUNCARD, "mcp", *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def _stdio(folder: Path) -> Iterator[tuple[Ask, int]]:
    with _started(folder) as process:
        write, read = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)

        def send(message: object) -> None:
            write.write(json.dumps(message) + "\n")
            write.flush()

        def ask(method: str, params: object) -> Message:
            send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            answer: Message = json.loads(read.readline())
            return answer

        ask("initialize", _HELLO)
        send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield ask, process.pid


@contextmanager
def _http(folder: Path) -> Iterator[tuple[Ask, int]]:
    with _started(folder, "--http", "--port", "0") as process:
        printed = cast("IO[str]", process.stdout)
        lines = printed.readline() + printed.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)/mcp.*Bearer (\S+)", lines, re.DOTALL)
        if found is None:
            raise BenchError("the server did not start")
        headers = {
            "Authorization": f"Bearer {found[2]}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]))

        def send(message: object) -> bytes:
            connection.request("POST", "/mcp", json.dumps(message), headers)
            response = connection.getresponse()
            if session := response.getheader("mcp-session-id"):
                headers["Mcp-Session-Id"] = session
            return response.read()

        def ask(method: str, params: object) -> Message:
            body = send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            answer: Message = json.loads(body[body.index(b"{") :])
            return answer

        ask("initialize", _HELLO)
        send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield ask, process.pid
        connection.close()
