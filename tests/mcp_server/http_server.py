"""A real `runcard mcp --http` in a process of its own, and a client that sends whatever it likes."""

import http.client
import itertools
import json
import re
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from acceptance.command import RUNCARD, environment

Fields = dict[str, Any]
VERSION = "2025-06-18"
HELLO = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
_ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class HttpServer:
    """A server on a free port; it is killed if it hangs."""

    def __init__(
        self,
        place: Path,
        *arguments: str,
        program: Sequence[str] = RUNCARD,
        token: str | None = None,
        seconds: float = 240,
    ) -> None:
        self.process = subprocess.Popen(
            (*program, "mcp", "--http", "--port", "0", *arguments),
            cwd=place,
            env=environment({"RUNCARD_MCP_TOKEN": token or ""}, measured=True),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._watchdog = threading.Timer(seconds, self.process.kill)
        self._watchdog.start()
        assert self.process.stdout is not None
        self.printed = "".join(self.process.stdout.readline() for _ in range(6))
        found = re.search(r"at (http://\S+);", self.printed)
        assert found, self.process.communicate()
        self.url = found[1]
        self.token = token or re.search(r"Bearer (\S+)", self.printed)[1]  # type: ignore[index]
        self.port = urlsplit(self.url).port or 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    @property
    def header(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def end(self, number: int) -> tuple[int, str]:
        """Send a signal; the exit code, and what the server wrote to standard error."""
        self.process.send_signal(number)
        _, errors = self.process.communicate()
        return self.process.returncode, errors

    def send(
        self,
        data: object,
        headers: dict[str, str | None] | None = None,
        *,
        method: str = "POST",
        path: str = "/mcp",
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer. A header that is None is left out."""
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        merged = {**_ACCEPT, **self.header, **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(
            method, path, body, {name: value for name, value in merged.items() if value is not None}
        )
        response = connection.getresponse()
        answer = response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        connection.close()
        return answer

    def error(self, data: object, headers: dict[str, str | None] | None = None) -> tuple[int, str]:
        """Status and text of an answer that must be an error of JSON-RPC."""
        status, _, body = self.send(data, headers)
        return status, message_of(body)["error"]["message"]


class HttpClient:
    """A session of the protocol."""

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self._numbers = itertools.count(2)
        _, headers, body = server.send(_request("initialize", HELLO))
        self.hello = message_of(body)["result"]
        self.headers: dict[str, str | None] = {
            "Mcp-Session-Id": headers["mcp-session-id"],
            "MCP-Protocol-Version": VERSION,
        }
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, self.headers)

    def ask(self, method: str, params: Fields | None = None) -> Fields:
        request = _request(method, params or {}, next(self._numbers))
        return message_of(self.server.send(request, self.headers)[2])

    def call(self, tool: str, **arguments: Any) -> Fields:
        result: Fields = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result


def _request(method: str, params: Fields, number: int = 1) -> Fields:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def message_of(body: bytes) -> Fields:
    """The last message in an answer: in JSON, or in an event."""
    text = body.decode()
    lines = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data: {")]
    message: Fields = json.loads(lines[-1] if lines else text)
    return message
