"""A server of models on this machine that says what it is told to, in the vendors' own wire formats.

Each request takes the next answer; the last one is given again and again. An answer is one JSON text or the events of a
stream, may come slowly, break off, or be an error. What was asked is kept, to be looked at.
"""

import json
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
PATIENCE = 60.0


@dataclass
class Answer:
    """What the server says to one request."""

    body: Json | bytes = b""
    events: list[Any] | None = None  # of a stream: JSON data, or a text as it is
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False  # the connection breaks off after what is here
    hold: threading.Event | None = None  # a whole reply, or what comes after the first event, waits for this


@dataclass
class Asked:
    """A request that came in."""

    path: str
    headers: dict[str, str]
    body: Json


class ModelServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self._answers: deque[Answer] = deque()
        self._turn = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def says(self, *answers: Answer | Json) -> None:
        """What to answer from now on, one request after the other."""
        self._answers = deque(answer if isinstance(answer, Answer) else Answer(answer) for answer in answers)

    def next_answer(self, asked: Asked) -> Answer:
        with self._turn:
            self.asked.append(asked)
            return self._answers.popleft() if len(self._answers) > 1 else self._answers[0]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is none of its business."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ModelServer

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size) or b"{}")
        answer = self.server.next_answer(Asked(self.path, dict(self.headers), body))
        if answer.events is None:
            self._whole(answer)
        else:
            self._stream(answer, answer.events)
        if answer.cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        self.do_POST()

    def _whole(self, answer: Answer) -> None:
        if answer.hold is not None:
            answer.hold.wait(PATIENCE)
        text = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self._head(answer, "application/json", len(text) + (1000 if answer.cut else 0))
        self.wfile.write(text)
        self.wfile.flush()

    def _stream(self, answer: Answer, events: list[Any]) -> None:
        self._head(answer, "text/event-stream", None)
        for number, event in enumerate(events):
            if number == 1 and answer.hold is not None:
                answer.hold.wait(PATIENCE)
            self._chunk(_sse(event))
        if not answer.cut:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _head(self, answer: Answer, kind: str, length: int | None) -> None:
        """Each request has a connection of its own: none is open when its test has ended."""
        self.send_response(answer.status)
        self.send_header("connection", "close")
        extent = {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}
        for name, value in {"content-type": kind, **extent, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Quietly."""


def _sse(event: Any) -> bytes:
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    name = f"event: {event['type']}\n" if isinstance(event.get("type"), str) else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


@contextmanager
def serving() -> Iterator[ModelServer]:
    server = ModelServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)
