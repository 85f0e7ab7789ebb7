"""The transport over streamable HTTP, for clients that share one server.

Every request passes three checks before the protocol sees it. The `Host` header must name this server, and an `Origin` header
its own pages: a web page that a browser shows cannot reach the server, even if the page's name leads to this machine (DNS
rebinding). And the token must be right, so that no other user of the machine can.
"""

import json
import logging
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from runcard.local_http.access_token import is_bearer
from runcard.local_http.listener import HttpListener, content_length, header_values
from runcard.local_http.serving import make_server
from runcard.mcp_server.stdio import MOST_MESSAGE

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import Receive, Scope, Send

PATH = "/mcp"
TOKEN_VARIABLE = "RUNCARD_MCP_TOKEN"  # noqa: S105 - its name

_MOST_READ = (
    64 << 20
)  # bytes of a message that is too large: read, so that the client sees the answer, and not kept
_MOST_SESSIONS = 1000
_INVALID_REQUEST = -32600


def serve_http(server: "Server[Any]", listener: HttpListener, token: str) -> int:
    """Serve until a signal ends the server; returns the exit code."""
    manager = StreamableHTTPSessionManager(
        server, max_request_body_size=MOST_MESSAGE, max_sessions=_MOST_SESSIONS
    )
    # What goes wrong in a request is in its answer. The rest, such as clients that vanish, is no news.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    web = make_server(CheckedRequests(manager, listener, token))

    async def serve() -> None:
        async with manager.run():
            await web.serve(sockets=[listener.listening])

    anyio.run(serve)
    return 0


class CheckedRequests:
    """Passes on the requests that are from a client of this server."""

    def __init__(self, manager: StreamableHTTPSessionManager, listener: HttpListener, token: str) -> None:
        self._manager = manager
        self._listener, self._token = listener, token

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """One request."""
        if scope["type"] != "http":
            return
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        origins = header_values(headers, b"origin")
        if not self._listener.is_own_host(header_values(headers, b"host"), scope):
            await _refuse(send, 421, "the Host header does not name this server")
        elif origins and not self._listener.is_own_origin(origins, scope):
            await _refuse(send, 403, "the Origin header is that of a foreign web page")
        elif not is_bearer(header_values(headers, b"authorization"), self._token):
            text = "the token is missing or wrong: send the header Authorization: Bearer TOKEN, with the token that runcard mcp --http printed"
            await _refuse(send, 401, text, (b"www-authenticate", b"Bearer"))
        elif scope["path"] != PATH:
            await _refuse(send, 404, f"the only path is {PATH}")
        elif content_length(headers) > MOST_MESSAGE:
            await _discard(receive)
            await _refuse(send, 413, f"the message is larger than {MOST_MESSAGE >> 20} MiB")
        else:
            await self._manager.asgi_app(scope, receive, send)


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
