"""A client that sends whatever bytes it likes to a real `runcard mcp`, and reads the answers line by line."""

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from acceptance.command import RUNCARD, environment
from mcp_server.answers import error_of

Fields = dict[str, Any]
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class LineClient:
    """A server in a process of its own; it is killed if it hangs."""

    def __init__(
        self,
        place: Path,
        *arguments: str,
        program: Sequence[str] = RUNCARD,
        greets: bool = True,
        seconds: float = 240,
    ) -> None:
        self.process = subprocess.Popen(
            (*program, "mcp", *arguments),
            cwd=place,
            env=environment(measured=True),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._watchdog = threading.Timer(seconds, self.process.kill)
        self._watchdog.start()
        self._last = 0
        if greets:
            self.hello = self.ask("initialize", HELLO)["result"]
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Fields) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def request(self, method: str, params: Fields | None = None) -> int:
        self._last += 1
        self.send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params or {}})
        return self._last

    def read(self) -> Fields:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        message: Fields = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: Fields | None = None) -> Fields:
        own = self.request(method, params)
        while (message := self.read()).get("id") != own:
            pass
        return message

    def call(self, tool: str, /, **arguments: Any) -> Fields:
        result: Fields = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result

    def error(self, tool: str, **arguments: Any) -> Fields:
        """The error of a call that must fail."""
        result = self.call(tool, **arguments)
        assert result["isError"] is True
        return error_of(result["content"][0]["text"])

    def end(self) -> tuple[int, str]:
        """Close the server's input; its exit code, and what it wrote to standard error."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        rest = self.process.stdout.read()
        errors = self.process.stderr.read().decode()
        assert rest == b""
        return self.process.wait(), errors


def processes_of(group: int) -> list[int]:
    """The processes that still run in a process group."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(name))
    return found
