"""A second witness: what Claude Code itself reports about its calls, by OpenTelemetry's OTLP with JSON, on loopback.

Of each report only the request id and the counts are kept, never content. Everything else that is sent here (metrics, traces,
other events) is accepted and dropped.
"""

import http.server
import json
import os
import re
import threading
import zlib
from collections.abc import Iterator, Mapping
from hmac import compare_digest
from typing import Any, NamedTuple

_LARGEST = 64 << 20  # bytes of a request, also unpacked
_MOST_CALLS = 200_000
_LONGEST_ID = 200
_IDLE = 30.0  # seconds that a connection waits for its next request
_EVENT = "api_request"
_LOGS = "/v1/logs"
_LONGEST_LINE = 200  # bytes, of a chunk
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_DECIMAL = re.compile("[0-9]{1,18}")
_LAST_REPORTS = 0.3  # seconds for what was sent just before the program ended

ENABLED, EXPORTER = "CLAUDE_CODE_ENABLE_TELEMETRY", "OTEL_LOGS_EXPORTER"
_COUNTS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_creation_tokens": "cache_write",
}


def exports_already(environment: Mapping[str, str]) -> bool:
    """Whether Claude Code sends its events to a collector of the user's."""
    is_enabled = environment.get(ENABLED, "").strip().lower() in {"1", "true", "yes", "on"}
    return is_enabled and environment.get(EXPORTER, "none").strip().lower() not in {"", "none"}


class ReportedCall(NamedTuple):
    """A call as the program reports it."""

    request_id: str | None
    tokens: dict[str, int]  # by class; `input` is without the cached tokens


class OtlpWitness:
    """Receives reports while the program runs: `start` when it was started, `stop` when it has ended."""

    def __init__(self) -> None:
        """Bind the socket; raises OSError."""
        self.calls: list[ReportedCall] = []
        self._secret = os.urandom(16).hex()
        self._server = _OtlpServer(self)
        self._thread: threading.Thread | None = None

    @property
    def variables(self) -> dict[str, str]:
        """The variables that let Claude Code report here."""
        return {
            ENABLED: "1",
            EXPORTER: "otlp",
            "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/json",
            "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": f"http://127.0.0.1:{self._server.server_port}/{self._secret}{_LOGS}",
            "OTEL_LOGS_EXPORT_INTERVAL": "200",  # milliseconds
        }

    def start(self) -> None:
        """Receive, in a thread: a process with threads must not fork."""
        arguments = {"poll_interval": 0.05}
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs=arguments, name="runcard-witness", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.join(_LAST_REPORTS)
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def is_allowed(self, path: str, host: str | None) -> bool:
        start = f"/{self._secret}/"
        hosts = {f"{name}:{self._server.server_port}" for name in ("127.0.0.1", "localhost")}
        return (
            compare_digest(path[: len(start)].encode("utf-8", "replace"), start.encode())
            and (host or "").lower() in hosts
        )

    def add(self, data: bytes) -> None:
        """Keep the calls in a report; raises ValueError for what is not one."""
        for call in _reported_calls(json.loads(data)):
            if len(self.calls) < _MOST_CALLS:
                self.calls.append(call)


class _OtlpServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, witness: OtlpWitness) -> None:
        self.witness = witness
        super().__init__(("127.0.0.1", 0), _OtlpHandler)

    def server_bind(self) -> None:
        """Without looking up the name of the host, which the base class does."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Nothing is printed into the output of the command."""


class _OtlpHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE
    server: _OtlpServer

    def do_POST(self) -> None:
        witness = self.server.witness
        if not witness.is_allowed(self.path, self.headers.get("host")):
            self._reply(404, b"")
            return
        try:
            data = self._body()
        except (ValueError, zlib.error):
            self._reply(400, b"{}")
            return
        if data is None:
            self._reply(413, b"{}")
        elif not self.path.endswith(_LOGS):
            self._reply(200, b"{}")
        elif "json" not in self.headers.get("content-type", ""):
            self._reply(415, b"{}")  # protobuf
        else:
            try:
                witness.add(data)
            except (ValueError, RecursionError):
                self._reply(400, b"{}")
            else:
                self._reply(200, b'{"partialSuccess":{}}')

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Any other request is not for this place."""
        self._reply(404, b"")

    def _body(self) -> bytes | None:
        """The body of a request; None if it is too large. Raises ValueError for one whose length is not clear."""
        data = self._chunks() if self.headers.get_all("transfer-encoding") else self._counted_body()
        if data is None or self.headers.get("content-encoding", "") != "gzip":
            return data
        unpacked = zlib.decompressobj(wbits=31)
        data = unpacked.decompress(data, _LARGEST)
        return None if unpacked.unconsumed_tail else data

    def _counted_body(self) -> bytes | None:
        lengths = self.headers.get_all("content-length") or ["0"]
        if len(lengths) != 1 or not _DECIMAL.fullmatch(lengths[0]):
            raise ValueError("an unclear length")
        size = int(lengths[0])
        return self.rfile.read(size) if size <= _LARGEST else None

    def _chunks(self) -> bytes | None:
        codings = self.headers.get_all("transfer-encoding")
        if codings != ["chunked"] or "content-length" in self.headers:
            raise ValueError("an unclear length")
        data = bytearray()
        while size := _chunk_size(self.rfile.readline(_LONGEST_LINE)):
            if len(data) + size > _LARGEST:
                return None
            data += self.rfile.read(size)
            if self.rfile.readline(3) != b"\r\n":
                raise ValueError("a chunk that does not end with a line end")
        self.rfile.readline(_LONGEST_LINE)
        return bytes(data)

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status != 200:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Nothing is printed into the output of the command."""


def _chunk_size(line: bytes) -> int:
    found = _CHUNK.fullmatch(line)
    if found is None:
        raise ValueError("a chunk without a length")
    return int(found[1], 16)


def _reported_calls(report: Any) -> Iterator[ReportedCall]:  # noqa: ANN401
    """The calls in a report of logs, whatever is sent."""
    for resource in _list(report, "resourceLogs"):
        for scope in _list(resource, "scopeLogs"):
            for record in _list(scope, "logRecords"):
                attributes = dict(_attributes(record))
                if attributes.get("event.name") == _EVENT:
                    yield _call(attributes)


def _call(attributes: Mapping[str, object]) -> ReportedCall:
    request_id = attributes.get("request_id")
    is_id = isinstance(request_id, str) and 0 < len(request_id) <= _LONGEST_ID and request_id.isprintable()
    counts = ((kind, _count(attributes.get(name))) for name, kind in _COUNTS.items())
    tokens = {kind: count for kind, count in counts if count is not None}
    return ReportedCall(str(request_id) if is_id else None, tokens)


def _count(value: object) -> int | None:
    """A count, which JSON of OTLP writes as a text."""
    try:
        count = int(value) if isinstance(value, int | str) else None
    except ValueError:
        return None
    return count if count is not None and count >= 0 else None


def _attributes(record: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401
    for attribute in _list(record, "attributes"):
        value = attribute.get("value") if isinstance(attribute, dict) else None
        if isinstance(value, dict) and isinstance(attribute.get("key"), str) and value:
            yield attribute["key"], next(iter(value.values()))


def _list(value: Any, name: str) -> list[Any]:  # noqa: ANN401
    items = value.get(name) if isinstance(value, dict) else None
    return items if isinstance(items, list) else []
