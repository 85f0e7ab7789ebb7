"""An HTTP proxy as companies have one: CONNECT for https, requests with a whole URL for http. It logs what passes.

All hosts lead to one upstream, so that clients can call their providers by name on a machine without network.
"""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from meter.scripted_upstream import TIMEOUT, ScriptedUpstream


class ForwardProxy(ThreadingHTTPServer):
    """The proxy; `targets` are the hosts that clients asked for, `refused` those that it does not know."""

    daemon_threads = True

    def __init__(self, upstream: ScriptedUpstream, hosts: set[str], credentials: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _ProxyHandler)
        self.upstream, self.hosts, self.credentials = upstream, hosts, credentials
        self.targets: list[str] = []
        self.refused: list[str] = []

    @property
    def url(self) -> str:
        user = f"{self.credentials}@" if self.credentials else ""
        return f"http://{user}127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is part of many tests."""


class _ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ForwardProxy

    def do_CONNECT(self) -> None:
        self._serve(self.path.rpartition(":")[0])

    def do_POST(self) -> None:
        self._serve(urlsplit(self.path).hostname or "")

    do_GET = do_HEAD = do_POST  # noqa: N815 - names of the base class

    def _serve(self, host: str) -> None:
        self.close_connection = True
        if self.server.credentials is not None:
            expected = base64.b64encode(self.server.credentials.encode()).decode()
            if self.headers.get("proxy-authorization") != f"Basic {expected}":
                self.send_error(407)
                return
        if host not in self.server.hosts:
            self.server.refused.append(host)
            self.send_error(502)
            return
        self.server.targets.append(host)
        with socket.create_connection(self.server.upstream.server_address[:2], TIMEOUT) as upstream:  # type: ignore[arg-type]
            if self.command == "CONNECT":
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                self.wfile.flush()
            else:
                path = self.path.removeprefix(f"http://{urlsplit(self.path).netloc}") or "/"
                kept = [item for item in self.headers.raw_items() if not item[0].lower().startswith("proxy-")]
                lines = [f"{self.command} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in kept)]
                upstream.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
            back = threading.Thread(target=_pump, args=(upstream, self.connection), daemon=True)
            back.start()
            self._pump_request(upstream)
            back.join(TIMEOUT)

    def _pump_request(self, upstream: socket.socket) -> None:
        with suppress(OSError):
            while data := self.rfile.read1(65536):
                upstream.sendall(data)
        with suppress(OSError):
            upstream.shutdown(socket.SHUT_WR)  # after a reset as well

    def log_message(self, *_: object) -> None:
        """Without a line on stderr for each request."""


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


@contextmanager
def forward_proxy(
    upstream: ScriptedUpstream, hosts: set[str], *, credentials: str | None = None
) -> Iterator[ForwardProxy]:
    """A proxy that leads all these hosts to the upstream; `credentials` are `user:password`."""
    server = ForwardProxy(upstream, hosts, credentials)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(TIMEOUT)
