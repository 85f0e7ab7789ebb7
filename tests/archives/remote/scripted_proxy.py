"""A proxy in front of the S3 server: it counts requests and bytes, and fails as a test says."""

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class Request(NamedTuple):
    """A request that came through."""

    method: str
    path: str
    headers: dict[str, str]


class Fault(NamedTuple):
    """What happens to some requests."""

    applies: Callable[[Request], bool]
    status: int = 0  # an answer in the place of the server's
    code: str = ""
    keep: int | None = None  # bytes of the answer's body, before the connection is cut
    passes_on: bool = False  # whether the server gets the request, and only its answer is lost
    times: int = 1


class ScriptedProxy:
    """Passes requests on to a server at a port of this machine."""

    def __init__(self, port: int) -> None:
        self.requests: list[Request] = []
        self.bytes_sent = 0  # in bodies, to the client
        self.before: Callable[[Request], object] | None = None  # called before a request is passed on
        self._faults: list[tuple[Fault, list[int]]] = []
        self._lock = threading.Lock()
        proxy = self

        class Handler(_Handler):
            upstream = port
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reset(self) -> None:
        self.requests.clear()
        self._faults.clear()
        self.bytes_sent, self.before = 0, None

    def fail(self, method: str, part: str, **fault: Any) -> None:
        """Let the next requests of a method fail whose path has a part."""
        new = Fault(lambda request: request.method == method and part in request.path, **fault)
        self._faults.append((new, [new.times]))

    def note(self, request: Request) -> Fault | None:
        with self._lock:
            self.requests.append(request)
            for fault, left in self._faults:
                if left[0] and fault.applies(request):
                    left[0] -= 1
                    return fault
        return None

    def count(self, size: int) -> None:
        with self._lock:
            self.bytes_sent += size


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or a body waits for the client to acknowledge the headers
    upstream: int
    owner: ScriptedProxy

    def log_message(self, *_: object) -> None:
        pass

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, self.path, dict(self.headers.items()))
        fault = self.owner.note(request)
        if self.owner.before is not None:
            self.owner.before(request)
        if fault is not None and fault.status:
            xml = f"<Error><Code>{fault.code}</Code><Message>AWSAccessKeyId AKIA-IN-BODY</Message></Error>"
            self._answer(fault.status, {"Content-Type": "application/xml"}, xml.encode())
            return
        if fault is not None and not fault.passes_on and fault.keep is None:
            self._cut()
            return
        status, headers, data = self._pass_on(body)
        if fault is not None and fault.passes_on:
            self._cut()
            return
        self._answer(status, headers, data, fault.keep if fault else None)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle  # noqa: N815 - names of the standard library

    def _pass_on(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=60)
        try:
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            answer = connection.getresponse()
            headers = dict(answer.getheaders())
            return answer.status, headers, answer.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: dict[str, str], data: bytes, keep: int | None = None) -> None:
        self.send_response_only(status)
        length = headers.get("Content-Length") if self.command == "HEAD" else str(len(data))
        for name, value in headers.items():
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", length or "0")
        self.send_header("Connection", "close")  # or clients keep connections and threads for other tests
        self.end_headers()
        sent = data if keep is None else data[:keep]
        self.wfile.write(sent)
        self.owner.count(len(sent))
        if keep is not None:
            self._cut()

    def _cut(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.close()
