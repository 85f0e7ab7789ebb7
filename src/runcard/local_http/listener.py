"""An open port, and the names by which requests may call it."""

import ipaddress
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runcard.errors import UsageError
from runcard.files import failure

if TYPE_CHECKING:
    from starlette.types import Scope

MOST_CONNECTIONS = 1000


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
        """The root of the server, without a slash at its end."""
        return f"http://{_in_url(self.host)}:{self.port}"

    def is_own_host(self, values: list[bytes], scope: "Scope") -> bool:
        """Whether the values of the `Host` header name this server, once."""
        return len(values) == 1 and values[0].decode("latin-1").lower() in self._authorities(scope)

    def is_own_origin(self, values: list[bytes], scope: "Scope") -> bool:
        """Whether the values of the `Origin` header name this server, once."""
        allowed = {f"http://{name}" for name in self._authorities(scope)}
        return len(values) == 1 and values[0].decode("latin-1").lower() in allowed

    def _authorities(self, scope: "Scope") -> set[str]:
        """The names of this server: an address cannot be rebound, a name can, so only known names count."""
        names = {"localhost", self.host.lower()}
        names |= {scope["server"][0]} if scope.get("server") else set()
        if is_loopback(self.host):
            names |= {"127.0.0.1", "::1"}
        known = {_in_url(name) for name in names}
        return {f"{name}:{self.port}" for name in known} | (known if self.port == 80 else set())


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
        listening.listen(MOST_CONNECTIONS)  # so that a client can connect as soon as the URL is printed
    except OSError as error:
        listening.close()
        problem = failure(error, f"{host}:{port}", "listen on")
        problem.hint = "choose another port with --port; --port 0 takes a free one"
        raise problem from None
    return HttpListener(host, listening)


def header_values(headers: list[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    """The values of a header, whose name is in lower case."""
    return [value for name, value in headers if name == wanted]


def content_length(headers: list[tuple[bytes, bytes]]) -> int:
    """The length that a request states; 0 if it states none."""
    values = header_values(headers, b"content-length")
    return int(values[0]) if values and values[0].isdigit() else 0


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
