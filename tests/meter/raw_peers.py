"""Both sides of the relay as plain sockets: an upstream that plays a script, a program that sends bytes, an observer that keeps all."""

import contextlib
import re
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from runcard.observe.meter.exchange import ExchangeObserver, Failure, RequestHead, ResponseHead
from runcard.observe.meter.listener import Listener
from runcard.observe.meter.routes import Route, Routes
from waiting import wait_until

TIMEOUT = 60.0  # seconds; whatever takes longer hangs

Script = Callable[[socket.socket], None]


def read_head(connection: socket.socket) -> bytes:
    """Exactly one head."""
    data = bytearray()
    while not data.endswith((b"\n\n", b"\n\r\n")) and (
        piece := connection.recv(_head_size(connection, bytes(data[-2:])))
    ):
        data += piece
    return bytes(data)


def _head_size(connection: socket.socket, last: bytes) -> int:
    """How many of the bytes that have arrived belong to the head."""
    if isinstance(connection, ssl.SSLSocket):  # it cannot be looked into
        return 1
    arrived = connection.recv(1 << 16, socket.MSG_PEEK)
    end = re.search(rb"\n\r?\n", last + arrived)
    return end.end() - len(last) if end else len(arrived) or 1


def read_exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (piece := connection.recv(size - len(data))):
        data += piece
    return bytes(data)


def read_all(connection: socket.socket) -> bytes:
    """All until the end; raises ConnectionResetError for a connection that was reset."""
    data = bytearray()
    while piece := connection.recv(1 << 16):
        data += piece
    return bytes(data)


def reset(connection: socket.socket) -> None:
    """Close a connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@dataclass
class RawUpstream:
    """Plays a script for each connection, in a thread of its own."""

    port: int
    connections: int = 0
    errors: list[BaseException] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def raw_upstream(script: Script) -> Iterator[RawUpstream]:
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    upstream = RawUpstream(listening.getsockname()[1])
    threads: list[threading.Thread] = []

    def play(connection: socket.socket) -> None:
        with contextlib.closing(connection):
            connection.settimeout(TIMEOUT)
            try:
                script(connection)
            except (OSError, AssertionError) as error:
                upstream.errors.append(error)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                upstream.connections += 1
                threads.append(threading.Thread(target=play, args=(connection,), daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield upstream
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting.join(TIMEOUT)
        for thread in threads:
            thread.join(TIMEOUT)


class RecordedExchange:
    """An observer that keeps what it hears."""

    def __init__(self, route: Route, head: RequestHead) -> None:
        self.route, self.head = route, head
        self.calls: list[str] = []
        self.sent = self.received = self.program_bytes = self.upstream_bytes = b""
        self.pieces: list[bytes] = []
        self.response: ResponseHead | None = None
        self.failure: Failure | None = None
        self.message = ""
        self.finished = threading.Event()

    def request_body(self, piece: bytes) -> None:
        self.calls.append("request_body")
        self.sent += piece

    def request_end(self) -> None:
        self.calls.append("request_end")

    def reply(self, head: ResponseHead) -> None:
        self.calls.append("reply")
        self.response = head

    def reply_body(self, piece: bytes) -> None:
        self.calls.append("reply_body")
        self.pieces.append(piece)
        self.received += piece

    def end(self) -> None:
        self.calls.append("end")
        self.finished.set()

    def fail(self, failure: Failure, message: str) -> None:
        self.calls.append("fail")
        self.failure, self.message = failure, message
        self.finished.set()

    @property
    def ending(self) -> str:
        """How it ended, when it has."""
        assert self.finished.wait(TIMEOUT)
        return self.calls[-1]

    def from_program(self, data: bytes) -> None:
        self.calls.append("from_program")
        self.program_bytes += data

    def from_upstream(self, data: bytes) -> None:
        self.calls.append("from_upstream")
        self.upstream_bytes += data


class RunningRelay:
    """A relay that was started by its first connection, as `runcard run` does."""

    def __init__(
        self, environment: Mapping[str, str], observe: "Callable[..., ExchangeObserver | None] | None"
    ) -> None:
        self.listener = Listener()
        self.routes = Routes(self.listener.base)
        self.exchanges: list[RecordedExchange] = []
        self._observe = observe or self._record
        self._environment = environment
        self._stopping, self._wakeup = socket.socketpair()
        self._waiting = threading.Thread(target=self._wait, daemon=True)
        self._waiting.start()

    def _record(self, route: Route, head: RequestHead) -> ExchangeObserver:
        self.exchanges.append(RecordedExchange(route, head))
        return self.exchanges[-1]

    def _wait(self) -> None:
        ready, _, _ = select.select([self.listener.fileno(), self._stopping.fileno()], [], [])
        if self.listener.fileno() in ready:
            self.listener.start(self.routes, self._observe, self._environment)

    def path(self, upstream: str, name: str = "route") -> bytes:
        """The path at the relay that leads to an upstream."""
        return urlsplit(self.routes.url(name, upstream)).path.encode()

    @property
    def host(self) -> bytes:
        return b"127.0.0.1:%d" % self.listener.port

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.listener.port), TIMEOUT)

    def ask(self, request: bytes) -> bytes:
        """Send something, and read all until the end of the connection."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_all(connection)

    @property
    def exchange(self) -> RecordedExchange:
        """The only one, when it has ended. The first one is observed only with its reply."""
        wait_until(lambda: self.exchanges, "an exchange")
        (exchange,) = self.exchanges
        assert exchange.finished.wait(TIMEOUT)
        return exchange

    def stop(self) -> None:
        self._wakeup.close()
        self._waiting.join(TIMEOUT)
        self.listener.stop()
        self._stopping.close()


@contextlib.contextmanager
def running_relay(
    environment: Mapping[str, str] | None = None,
    observe: "Callable[..., ExchangeObserver | None] | None" = None,
    *,
    problems: list[str] | None = None,
) -> Iterator[RunningRelay]:
    """At the end it must have no problems but those that are expected."""
    relay = RunningRelay(environment or {}, observe)
    try:
        yield relay
    finally:
        relay.stop()
    assert relay.listener.problems == (problems or [])
