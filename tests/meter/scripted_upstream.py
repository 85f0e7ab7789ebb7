"""The providers on this machine: a server that answers as the test wrote down, and knows the true usage.

It speaks Anthropic Messages, OpenAI Responses (also by WebSocket), Chat Completions, embeddings and Gemini. Each request is
logged with its bytes; each call with the usage that the reply stated, so that a record can be compared to the token.

A test writes `Step`s: each is taken by the first call that fits it. Calls without a step get a text.
"""

import gzip
import hashlib
import json
import re
import socket
import ssl
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from meter.vendor_replies import (
    NO_EXTRA,
    AnthropicReply,
    ChatReply,
    EmbeddingsReply,
    Extra,
    GeminiReply,
    Json,
    ResponsesReply,
    SentCall,
    Tool,
    VendorReply,
)
from waiting import wait_until

TIMEOUT = 60.0  # seconds; a test that takes longer hangs

Fault = Literal[
    "cut",  # the connection ends after the first event, or the last of `events`, or in the middle of a JSON text
    "stall",  # nothing comes after the first event, or the last of `events`, or instead of a JSON text, until the test ends or the client goes
    "reset",  # the connection is reset in place of a reply
    "invalid",  # the stream has lines that are neither SSE nor UTF-8, and data that is no JSON, before its events
]
Coding = Literal["gzip", "deflate", "br", "zstd"]


@dataclass
class LoggedRequest:
    """A request as it came in."""

    method: str
    path: str
    headers: list[tuple[str, str]]  # as they are on the wire
    size: int = 0  # of the body
    sha256: str = ""
    tools: list[str] = field(default_factory=list)  # their names
    body: Json = field(default_factory=dict)
    client: int = 0  # the port of the client

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


@dataclass
class Step:
    """What to answer to one call."""

    tool: Tool | None = None  # only a request that offers this tool fits
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    coding: Coding | None = None
    fault: Fault | None = None
    when: Callable[[LoggedRequest], bool] = lambda _: True
    times: int = 1  # 0: always
    text_bytes: int = 0  # of further text, in pieces of 64 KiB
    extra: Extra = NO_EXTRA
    events: int = 1  # that are sent before the fault
    label: str | None = None  # for the test: it is that of the call

    def fits(self, request: LoggedRequest) -> bool:
        return self.when(request) and (self.tool is None or self.tool[0].partition(".")[0] in request.tools)


class ScriptedUpstream(ThreadingHTTPServer):
    """The server; `calls` and `requests` may be read while it runs."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, tls: ssl.SSLContext | None = None, *, websocket: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.websocket = websocket  # else an upgrade is refused
        self.workspace_origin = "NO_CONSTRAINT"  # of ChatGPT: the host of its model calls
        self.requests: list[LoggedRequest] = []
        self.calls: list[SentCall] = []
        self.warm_ups = 0
        self.released = threading.Event()  # ends what stalls
        self.on_call: Callable[[SentCall], None] = lambda _: None  # called before the reply
        self._steps: list[Step] = []
        self._lock = threading.Lock()
        self._tls = tls

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.server_address[1]}"

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self._tls is None:
            return connection, address
        return self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def plan(self, *steps: Step) -> None:
        """What to answer to the next calls."""
        self._steps.extend(steps)

    def end_plan(self) -> list[Step]:
        """Forget the steps that are left, and say which of them were to be taken."""
        with self._lock:
            left = [step for step in self._steps if step.times > 0]
            self._steps.clear()
        return left

    def clear(self) -> None:
        with self._lock:
            self._steps.clear()
            self.requests, self.calls, self.warm_ups = [], [], 0

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until something has happened here."""
        wait_until(condition)

    def log(self, request: LoggedRequest) -> None:
        with self._lock:
            self.requests.append(request)

    def answer(
        self, kind: "type[VendorReply]", request: LoggedRequest, body: Json
    ) -> tuple[Step, "VendorReply", SentCall]:
        """Choose the reply to a call, and log it."""
        with self._lock:
            step = next((step for step in self._steps if step.fits(request)), Step())
            step.times -= 1
            if step.times == 0 and step in self._steps:
                self._steps.remove(step)
            reply = kind(len(self.calls) + 1, body, step.tool, step.extra)
            call = SentCall(kind.api, body["model"], request=request, label=step.label, extra=step.extra)
            call.request_id = f"req_{len(self.calls) + 1:04}"
            self.calls.append(call)
        self.on_call(call)
        return step, reply, call

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is part of many tests."""


_ANTHROPIC = re.compile(r"/v1/messages$")
_RESPONSES = re.compile(r"/responses$")
_CHAT = re.compile(r"/chat/completions$")
_EMBEDDINGS = re.compile(r"/embeddings$")
_GEMINI = re.compile(r"/models/([^/:]+):(generateContent|streamGenerateContent)$")
_KINDS: dict[re.Pattern[str], type[VendorReply]] = {
    _ANTHROPIC: AnthropicReply,
    _RESPONSES: ResponsesReply,
    _CHAT: ChatReply,
    _EMBEDDINGS: EmbeddingsReply,
    _GEMINI: GeminiReply,
}
_COUNTS = re.compile(r"(/count_tokens|:countTokens)$")

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ScriptedUpstream

    def do_HEAD(self) -> None:
        self._log_request(b"")
        self._send(200, b"", {})

    def do_GET(self) -> None:
        if (self.headers.get("upgrade") or "").lower() == "websocket":
            self._upgrade(self._log_request(b""))
            return
        self._log_request(b"")
        path = self.path.partition("?")[0]
        if path.endswith("/wham/accounts/check"):  # which host is that of a workspace of ChatGPT
            account = {"id": self.headers.get("chatgpt-account-id"), "plan_type": "pro"}
            account["workspace_backend_origin"] = self.server.workspace_origin
            account["account_routing_override"] = "NO_CONSTRAINT"
            self._send_json(200, {"accounts": [account], "default_account_id": account["id"]})
            return
        self._send_json(
            200 if path.endswith("/models") else 404, {"data": [], "models": [], "object": "list"}
        )

    def do_POST(self) -> None:
        request = self._log_request(self._read_body())
        path = self.path.partition("?")[0]
        for pattern, kind in _KINDS.items():
            if match := pattern.search(path):
                self._call(kind, request, match)
                return
        if _COUNTS.search(path):
            self._send_json(200, {"input_tokens": 17, "totalTokens": 17})
            return
        self._send_json(200, {"message": "nobody knows what this costs"})

    def _log_request(self, raw: bytes) -> LoggedRequest:
        request = LoggedRequest(self.command, self.path, list(self.headers.raw_items()))
        request.client = self.client_address[1]
        request.size, request.sha256 = len(raw), hashlib.sha256(raw).hexdigest()
        with suppress(ValueError):
            request.body = json.loads(_decoded(raw, self.headers.get("content-encoding")) or b"{}")
            request.tools = _tool_names(request.body)
        self.server.log(request)
        return request

    def _read_body(self) -> bytes:
        if "chunked" not in (self.headers.get("transfer-encoding") or ""):
            return self._read_exactly(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self._read_exactly(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _read_exactly(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionError
        return data

    def _call(self, kind: type[VendorReply], request: LoggedRequest, match: re.Match[str]) -> None:
        body = request.body
        if kind is GeminiReply:
            body = {**body, "model": match[1], "stream": match[2].startswith("stream")}
        if "model" not in body:
            self._send_json(400, {"type": "error", "error": {"type": _ERRORS[400], "message": "no model"}})
            return
        step, reply, call = self.server.answer(kind, request, body)
        headers = {"request-id": call.request_id or "", "x-request-id": call.request_id or "", **step.headers}
        if kind is GeminiReply:
            headers = {"x-goog-request-id": call.request_id or "", **step.headers}
        call.status, call.streamed = step.status, bool(body.get("stream"))
        if step.fault == "reset":
            call.status = 0
            self._reset()
        elif step.status >= 400:
            error = {"type": _ERRORS.get(step.status, "api_error"), "message": "scripted"}
            self._send_json(step.status, {"type": "error", "error": {**error, "code": step.status}}, headers)
        elif call.streamed:
            self._stream(step, reply, call, headers)
        else:
            self._whole(step, reply, call, headers)

    def _whole(self, step: Step, reply: VendorReply, call: SentCall, headers: dict[str, str]) -> None:
        if step.fault == "stall":
            call.status = 0
            self._stall()
            return
        text = json.dumps(reply.whole()).encode()
        if step.coding is not None:
            coder = _Coder(step.coding)
            text = coder.code(text) + coder.end()
            headers = {**headers, "content-encoding": step.coding}
        if step.fault == "cut":
            self._head(200, {**headers, "content-type": "application/json", "content-length": str(len(text))})
            self._write(text[: len(text) // 2])
            self._cut()
            return
        _complete(call, reply)
        self._send(200, text, {**headers, "content-type": "application/json"})

    def _stream(self, step: Step, reply: VendorReply, call: SentCall, headers: dict[str, str]) -> None:
        coder = _Coder(step.coding)
        if step.coding is not None:
            headers = {**headers, "content-encoding": step.coding}
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **headers})
        events = [_sse(event) for event in reply.events()]
        if step.fault == "invalid":
            events.insert(1, b"\xff\xfe no field\n\ndata: {not json\n\n: comment\nfield without colon\n\n")
        call.model, call.response_id = reply.model, reply.response_id
        call.tokens = reply.early_tokens
        call.token_source = "partial"  # noqa: S105 - no password
        for number, event in enumerate(events):
            self._chunk(coder.code(event))
            if number == step.events - 1 and step.fault == "cut":
                time.sleep(0 if number == 0 else 0.3)  # until the client has read what came before
                self._cut()
                return
            if number == step.events - 1 and step.fault == "stall":
                self._stall()
                return
            if number == 0:
                for _ in range(step.text_bytes // 65536):
                    self._chunk(coder.code(b": " + b"x" * 65532 + b"\n\n"))
        _complete(call, reply)
        self._chunk(coder.end())
        self._write(b"0\r\n\r\n")

    def _upgrade(self, request: LoggedRequest) -> None:
        if not self.server.websocket:
            self._send_json(404, {"error": {"type": "not_found_error", "message": "no WebSocket here"}})
            return
        from meter.responses_websocket import serve_responses  # noqa: PLC0415 - few tests need it

        self.close_connection = True
        serve_responses(self.server, self.connection, request)

    def _send_json(self, status: int, data: Json, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(data).encode(), {"content-type": "application/json", **(headers or {})})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self._head(status, {**headers, "content-length": str(len(body))})
        if self.command != "HEAD":
            self._write(body)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        if data:
            self._write(b"%x\r\n%s\r\n" % (len(data), data))

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _stall(self) -> None:
        """Wait until the test ends or the client has gone."""
        self.connection.settimeout(0.05)
        self.close_connection = True
        while not self.server.released.is_set():
            with suppress(TimeoutError):
                if not self.connection.recv(1):
                    return

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, *_: object) -> None:
        """Without a line on stderr for each request."""


class _Coder:
    """A content coding, one piece after the other."""

    def __init__(self, coding: Coding | None) -> None:
        self._code: Callable[[bytes], bytes] = bytes
        self.end: Callable[[], bytes] = bytes
        if coding in {"gzip", "deflate"}:
            plain = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
            self._code = lambda data: plain.compress(data) + plain.flush(zlib.Z_SYNC_FLUSH)
            self.end = plain.flush
        elif coding == "br":
            import brotli  # noqa: PLC0415

            dense = brotli.Compressor()
            self._code = lambda data: bytes(dense.process(data) + dense.flush())
            self.end = dense.finish
        elif coding == "zstd":
            from zstd_of_python import zstd  # noqa: PLC0415

            quick = zstd.ZstdCompressor()
            self._code = lambda data: quick.compress(data, quick.FLUSH_BLOCK)
            self.end = quick.flush

    def code(self, data: bytes) -> bytes:
        return self._code(data)


def _decoded(raw: bytes, coding: str | None) -> bytes:
    if coding == "gzip":
        return gzip.decompress(raw)
    if coding == "zstd":
        from zstd_of_python import zstd  # noqa: PLC0415

        return zstd.ZstdDecompressor().decompress(raw)
    return raw


def _complete(call: SentCall, reply: VendorReply) -> None:
    call.model, call.response_id, call.tokens = reply.model, reply.response_id, reply.tokens
    call.token_source = "reported" if call.tokens else None


def _tool_names(body: Json) -> list[str]:
    """The names of the tools that a request offers, in each vendor's form."""
    return [
        str(declared.get("name") or declared.get("type"))
        for tool in body.get("tools") or ()
        for declared in tool.get("functionDeclarations") or (tool.get("function") or tool,)
    ]


def _sse(event: Any) -> bytes:
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    name = f"event: {event['type']}\n" if isinstance(event.get("type"), str) else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


@contextmanager
def scripted_upstream(
    steps: Iterable[Step] = (), *, tls: ssl.SSLContext | None = None, websocket: bool = True
) -> Iterator[ScriptedUpstream]:
    """A server that runs in a thread of its own until the block ends."""
    server = ScriptedUpstream(tls, websocket=websocket)
    server.plan(*steps)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join(TIMEOUT)
