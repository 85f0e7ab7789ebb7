"""The transport over streamable HTTP, for clients that share one server.

Every request passes three checks before the protocol sees it. The `Host` header must name this server, and an `Origin` header
its own pages: a web page that a browser shows cannot reach the server, even if the page's name leads to this machine (DNS
rebinding). And the token must be right, so that no other user of the machine can.
"""

import hmac
import ipaddress
import json
import logging
import os
import secrets
import signal
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from runcard.errors import UsageError
from runcard.files import failure
from runcard.mcp_server.stdio import MOST_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from mcp.server import Server
    from starlette.types import Receive, Scope, Send

PATH = "/mcp"
TOKEN_VARIABLE = "RUNCARD_MCP_TOKEN"  # noqa: S105 - its name

_LEAST_TOKEN, _MOST_TOKEN = 20, 1000  # characters
_MOST_READ = (
    64 << 20
)  # bytes of a message that is too large: read, so that the client sees the answer, and not kept
_MOST_SESSIONS = 1000
_MOST_CONNECTIONS = 1000
_GRACE = 2  # seconds for the answers of open requests when the server ends
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_INVALID_REQUEST = -32600


def choose_token() -> tuple[str, bool]:
    """The token that a request must have: that of the environment or a new one, and whether it is new."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        return secrets.token_urlsafe(32), True
    if not (_LEAST_TOKEN <= len(token) <= _MOST_TOKEN and token.isascii() and token.isprintable()):
        raise UsageError(
            f"{TOKEN_VARIABLE} is not a token: it needs {_LEAST_TOKEN} to {_MOST_TOKEN:,} printable ASCII characters",
            hint=f"unset {TOKEN_VARIABLE}, and runcard makes a token",
        )
    if " " in token:
        raise UsageError(f"{TOKEN_VARIABLE} has a space", hint="a token has none")
    return token, False


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach this address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass
class HttpListener:
    """An open port."""

    host: str
    listening: socket.socket

    @property
    def port(self) -> int:
        number: int = self.listening.getsockname()[1]
        return number

    @property
    def url(self) -> str:
        """What a client is given."""
        return f"http://{_in_url(self.host)}:{self.port}{PATH}"


def listen(host: str, port: int) -> HttpListener:
    """Open a port; raises an error of the user if that is not possible."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise UsageError(f"{host!r} is not an address of this machine", hint="try 127.0.0.1") from None
    # With the protocol named, asyncio sends each answer at once; otherwise each call waits 40 ms for the kernel.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_MOST_CONNECTIONS)  # so that a client can connect as soon as the URL is printed
    except OSError as error:
        listening.close()
        problem = failure(error, f"{host}:{port}", "listen on")
        problem.hint = "choose another port with --port; --port 0 takes a free one"
        raise problem from None
    return HttpListener(host, listening)


def serve_http(server: "Server[Any]", listener: HttpListener, token: str) -> int:
    """Serve until a signal ends the server; returns the exit code."""
    manager = StreamableHTTPSessionManager(
        server, max_request_body_size=MOST_MESSAGE, max_sessions=_MOST_SESSIONS
    )
    config = uvicorn.Config(
        CheckedRequests(manager, listener, token),
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE,
    )
    # What goes wrong in a request is in its answer. The rest, such as clients that vanish, is no news.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    web = _WebServer(config)

    async def serve() -> None:
        async with manager.run():
            await web.serve(sockets=[listener.listening])

    anyio.run(serve)
    return 0


class _WebServer(uvicorn.Server):
    """A server that ends on the usual signals, and does not raise them again."""

    @contextmanager
    def capture_signals(self) -> "Iterator[None]":
        previous = {number: signal.signal(number, self._end) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _end(self, _: int, __: "FrameType | None") -> None:
        self.should_exit = True


class CheckedRequests:
    """Passes on the requests that are from a client of this server."""

    def __init__(self, manager: StreamableHTTPSessionManager, listener: HttpListener, token: str) -> None:
        self._manager = manager
        self._token = token.encode()
        self._host, self._port = listener.host, listener.port

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """One request."""
        if scope["type"] != "http":
            return
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if not self._is_host(_values(headers, b"host"), scope):
            await _refuse(send, 421, "the Host header does not name this server")
        elif not self._is_origin(_values(headers, b"origin"), scope):
            await _refuse(send, 403, "the Origin header is that of a foreign web page")
        elif not self._is_token(_values(headers, b"authorization")):
            text = "the token is missing or wrong: send the header Authorization: Bearer TOKEN, with the token that runcard mcp --http printed"
            await _refuse(send, 401, text, (b"www-authenticate", b"Bearer"))
        elif scope["path"] != PATH:
            await _refuse(send, 404, f"the only path is {PATH}")
        elif _length(headers) > MOST_MESSAGE:
            await _discard(receive)
            await _refuse(send, 413, f"the message is larger than {MOST_MESSAGE >> 20} MiB")
        else:
            await self._manager.asgi_app(scope, receive, send)

    def _is_token(self, values: list[bytes]) -> bool:
        kind, _, token = (values[0] if len(values) == 1 else b"").partition(b" ")
        return hmac.compare_digest(token.strip(), self._token) and kind.lower() == b"bearer"

    def _is_host(self, values: list[bytes], scope: "Scope") -> bool:
        return len(values) == 1 and values[0].decode("latin-1").lower() in self._authorities(scope)

    def _is_origin(self, values: list[bytes], scope: "Scope") -> bool:
        allowed = {f"http://{name}" for name in self._authorities(scope)}
        return not values or (len(values) == 1 and values[0].decode("latin-1").lower() in allowed)

    def _authorities(self, scope: "Scope") -> set[str]:
        """The names of this server: an address cannot be rebound, a name can, so only known names count."""
        names = {"localhost", self._host.lower()}
        names |= {scope["server"][0]} if scope.get("server") else set()
        if is_loopback(self._host):
            names |= {"127.0.0.1", "::1"}
        known = {_in_url(name) for name in names}
        return {f"{name}:{self._port}" for name in known} | (known if self._port == 80 else set())


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _values(headers: list[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    values = _values(headers, b"content-length")
    return int(values[0]) if values and values[0].isdigit() else 0


async def _discard(receive: "Receive") -> None:
    """Read a body and keep nothing: a client that is still sending would not see the answer."""
    left = _MOST_READ
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


async def _refuse(send: "Send", status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": _INVALID_REQUEST, "message": text}}
    body = json.dumps(error).encode()
    known = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": known})
    await send({"type": "http.response.body", "body": body})
