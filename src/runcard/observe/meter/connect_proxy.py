"""An HTTP proxy on the loopback interface that counts connections to the hosts of model providers: a witness of calls around the meter.

It knows CONNECT only. What passes through a connection is not looked at and not changed, in either direction: it is encrypted.
A connection may carry no call, one or many, so connections are all that is counted.

The program reaches every host that it would reach without this proxy, through the proxy that its environment names. Whatever fails
for one connection ends that one; if the server itself fails, it begins anew.

Invariant: a connection ends as the other side of it did: in one direction, in both, or with a reset.
"""

import asyncio
import base64
import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from hmac import compare_digest
from urllib.parse import urlsplit

from runcard.errors import UsageError
from runcard.observe.meter.http_message import HeadBuffer, parse_head, request_line
from runcard.observe.meter.model_hosts import is_model_host
from runcard.observe.meter.relay_loop import ProblemLog, RelayLoop, allow_many_files
from runcard.observe.meter.routes import UnusableUrlError, split_url
from runcard.observe.meter.upstream import (
    CannotConnect,
    Upstreams,
    find_proxy,
    is_excluded,
    is_loopback,
    keep_alive,
)
from runcard.observe.meter.upstream_connection import (
    BUFFER,
    OUT_OF_FILES,
    close_with_reset,
    is_out_of_files,
)

_USER = "runcard"
_HTTPS = 443
_MAX_HEAD = 1 << 16  # bytes
_HEAD_TIMEOUT = 30.0  # seconds
_MAX_EARLY = 1 << 18  # bytes that a program sends before the connection is made
_MAX_HOSTS = 100
_OTHERS = "other hosts of model providers"
_RESTART_INTERVAL, _STOP_TIMEOUT = 0.1, 5.0  # seconds
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_REASONS = {
    400: "Bad Request",
    407: "Proxy Authentication Required",
    431: "Request Header Fields Too Large",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


def check_proxies(environment: Mapping[str, str]) -> None:
    """Raise UsageError if the environment names a proxy that connections cannot be made through."""
    try:
        find_proxy("https", "model-provider.invalid", _HTTPS, environment)
    except CannotConnect as error:
        raise UsageError(
            f"--witness proxy: {error}",
            hint="correct HTTPS_PROXY or ALL_PROXY: http, https and socks5 are supported",
        ) from None


def exempt_hosts(environment: Mapping[str, str], hosts: Iterable[str]) -> list[str]:
    """Those of these hosts that NO_PROXY exempts from proxies."""
    exempt = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    return [host for host in sorted(hosts) if is_excluded(host, _HTTPS, exempt)]


class ConnectProxy(ProblemLog):
    """The proxy of one run: `start` it when the command was started, `stop` it when the command has ended."""

    def __init__(
        self, environment: Mapping[str, str], upstreams: Iterable[str], on_first: Callable[[str], None]
    ) -> None:
        """Bind the socket; raises OSError.

        `environment` is that of the program without this proxy. `upstreams` are the URLs that the meter sends requests on to: their
        hosts are those of providers, too. `on_first` is called once with each host, in the thread of the proxy.
        """
        super().__init__()
        self.connections: dict[str, int] = {}  # to hosts of providers
        self.upstreams = Upstreams(environment)
        self.pairs: set[_Connection] = set()  # all that are open
        hosts = {urlsplit(upstream).hostname or "" for upstream in upstreams}
        self.hosts = {host for host in hosts if host and not is_loopback(host)}  # besides the known ones
        self._on_first = on_first
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        login = f"{_USER}:{os.urandom(16).hex()}"
        self._credentials = base64.b64encode(login.encode())
        self.url = f"http://{login}@127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._stop_serving: Callable[[], object] = lambda: None  # from another thread

    def is_provider(self, host: str) -> bool:
        return host in self.hosts or is_model_host(host)

    def start(self) -> None:
        """Serve, in a thread: a process with threads must not fork. Raises RuntimeError if there are too many."""
        thread = threading.Thread(target=self._run, name="runcard-proxy", daemon=True)
        thread.start()
        self._thread = thread

    def stop(self) -> None:
        """End all connections."""
        self._stopping.set()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._stop_serving()
        if self._thread is not None:
            self._thread.join(_STOP_TIMEOUT)
        self._socket.close()

    def _run(self) -> None:
        allow_many_files()
        while not self._stopping.is_set():
            try:
                with contextlib.closing(RelayLoop()) as loop:
                    loop.set_exception_handler(self.handle_error)
                    loop.run_until_complete(self._serve(loop))
            except Exception as error:  # noqa: BLE001 - the program needs the proxy: it begins anew
                self.add_problem(f"{type(error).__name__}: {error}")
                self._shut_down()
                self._stopping.wait(_RESTART_INTERVAL)

    def _shut_down(self) -> None:
        """End the connections of a loop that failed: nobody serves them any more."""
        for connection in self.pairs:
            with contextlib.suppress(OSError):
                connection.shut_down()
        self.pairs.clear()

    async def _serve(self, loop: RelayLoop) -> None:
        stopping = asyncio.Event()
        self._stop_serving = lambda: loop.call_soon_threadsafe(stopping.set)
        listening = self._socket.dup()
        server = await loop.create_server(lambda: _ProgramSide(self), sock=listening, backlog=1024)
        if not self._stopping.is_set():
            await stopping.wait()
        server.close()
        for connection in list(self.pairs):
            connection.abort()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def is_allowed(self, authorizations: list[bytes]) -> bool:
        """Whether a request has the password: other users of the machine do not know it."""
        kind, _, credentials = authorizations[0].partition(b" ") if len(authorizations) == 1 else (b"",) * 3
        return kind.lower() == b"basic" and compare_digest(credentials.strip(), self._credentials)

    def count(self, host: str) -> None:
        """A connection to a host was made."""
        host = host.rstrip(".")
        if not self.is_provider(host):
            return
        if host not in self.connections and len(self.connections) >= _MAX_HOSTS:
            host = _OTHERS
        self.connections[host] = self.connections.get(host, 0) + 1
        if self.connections[host] == 1:
            try:
                self._on_first(host)
            except Exception as error:  # noqa: BLE001 - the connection goes on
                self.add_problem(f"{type(error).__name__}: {error}")


class _Connection(asyncio.Protocol):
    """One of two connections: what comes in goes out at the other one, and so does its end."""

    def __init__(self, proxy: ConnectProxy) -> None:
        self.other: _Connection | None = None
        self.has_ended = False  # nothing more comes in
        self._proxy = proxy
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is one of a connection
        self._transport = transport
        transport.set_write_buffer_limits(BUFFER)
        keep_alive(transport)
        self._proxy.pairs.add(self)

    def data_received(self, data: bytes) -> None:
        if self.other is not None:
            self.other.write(data)

    def eof_received(self) -> bool:
        """Pass on the end of one direction; when both have ended, both connections are closed."""
        self.has_ended = True
        if self.other is None:
            return False
        if self.other.has_ended or not self._transport.can_write_eof():
            self.other.close()
            return False
        self.other.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._proxy.pairs.discard(self)
        if self.other is not None:
            self.other.close(is_reset=exc is not None)

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other.set_reading(wanted=False)

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.set_reading(wanted=True)

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def write_eof(self) -> None:
        """TLS to a proxy cannot say this: the other side of it ends the connection."""
        if not self._transport.is_closing() and self._transport.can_write_eof():
            self._transport.write_eof()

    def set_reading(self, *, wanted: bool) -> None:
        if not self._transport.is_closing():
            if wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def close(self, *, is_reset: bool = False) -> None:
        """Close it, after what was written, or with a reset."""
        if is_reset:
            close_with_reset(self._transport)
        else:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def shut_down(self) -> None:
        """End it without its loop. Raises OSError."""
        self._transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


class _HostSide(_Connection):
    """The connection to a host."""

    def __init__(self, proxy: ConnectProxy, program: "_ProgramSide") -> None:
        super().__init__(proxy)
        self.other = program

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(self.other, _ProgramSide)  # noqa: S101
        self.other.begin(self)


class _ProgramSide(_Connection):
    """The connection of a program: a CONNECT, then whatever the program sends."""

    def __init__(self, proxy: ConnectProxy) -> None:
        super().__init__(proxy)
        self._head = HeadBuffer()
        self._host = ""
        self._early = b""  # what came before the connection to the host was made
        self._connecting: asyncio.Task[None] | None = None
        self._is_refused = False
        self._timeout: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._timeout = asyncio.get_running_loop().call_later(_HEAD_TIMEOUT, self.abort)

    def data_received(self, data: bytes) -> None:
        if self.other is not None or self._is_refused:
            super().data_received(data)
        elif self._connecting is not None:
            self._wait(data)
        else:
            self._read_head(data)

    def _wait(self, data: bytes) -> None:
        self._early += data
        if len(self._early) > _MAX_EARLY:
            self.set_reading(wanted=False)

    def _read_head(self, data: bytes) -> None:
        end = self._head.add(data)
        if len(self._head) > _MAX_HEAD:
            self._refuse(431)
        elif end >= 0:
            self._timeout.cancel()
            self._begin_request(self._head.take())
            if self._connecting is not None:
                self._wait(data[end:])

    def _begin_request(self, raw: bytes) -> None:
        head = parse_head(raw)
        line = request_line(head)
        if line is None:
            self._refuse(400)
        elif not self._proxy.is_allowed(head.values(b"proxy-authorization")):
            self._refuse(407, b'Proxy-Authenticate: Basic realm="runcard"\r\n')
        elif line.method != b"CONNECT":
            self._refuse(501)
        elif (address := target_address(line.target)) is None:
            self._refuse(400)
        else:
            self._host = address[0]
            self._connecting = asyncio.get_running_loop().create_task(self._connect(*address))

    async def _connect(self, host: str, port: int) -> None:
        try:
            await self._proxy.upstreams.tunnel(host, port, _HostSide(self._proxy, self))
        except TimeoutError:
            self._fail(504)
        except OSError as error:
            if is_out_of_files(error):
                self._proxy.add_problem(OUT_OF_FILES)
            self._fail(503 if is_out_of_files(error) else 502)
        except Exception:  # noqa: BLE001 - the program must not wait for ever
            self._fail(502)

    def begin(self, host: _HostSide) -> None:
        """The connection to the host was made: what has come so far goes there."""
        if self._transport.is_closing():
            host.abort()
            return
        self.other = host
        self.write(_ESTABLISHED)
        early, self._early = self._early, b""
        if early:
            host.write(early)
        if self.has_ended:
            host.write_eof()
        self.set_reading(wanted=True)
        self._proxy.count(self._host)

    def eof_received(self) -> bool:
        if self.other is None and self._connecting is not None:
            self.has_ended = True
            return True
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timeout.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
        super().connection_lost(exc)

    def _fail(self, status: int) -> None:
        if self.other is None:
            self._refuse(status)
        else:  # it was made, and then failed
            self.close(is_reset=True)

    def _refuse(self, status: int, field: bytes = b"") -> None:
        self._is_refused = True
        self._timeout.cancel()
        line = f"HTTP/1.1 {status} {_REASONS[status]}\r\n".encode()
        self.write(line + field + b"Content-Length: 0\r\nConnection: close\r\n\r\n")
        self._transport.close()


def target_address(target: bytes) -> tuple[str, int] | None:
    """Host and port of a CONNECT, the host in lower case; None unless every program reads them in the same way."""
    try:
        text = target.decode("ascii")
        address = split_url(f"https://{text}")
    except (UnicodeDecodeError, UnusableUrlError):
        return None
    host, _, port = address.origin.removeprefix("https://").rpartition(":")
    if address.user or address.rest or not host.rstrip(".") or not port.isdigit() or int(port) == 0:
        return None
    return host.strip("[]"), int(port)
