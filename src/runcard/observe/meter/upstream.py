"""Connecting to a provider: TLS with the certificates that the program would trust, and through the proxy that it would use.

The variables of the program's environment decide: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY in either case; SSL_CERT_FILE
and its like, which are trusted besides the certificates of the system. No address is looked up or connected to but that of
the upstream, or of its proxy.
"""

import asyncio
import base64
import ipaddress
import os
import socket
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from runcard.observe.meter.adapters import UNCHECKED
from runcard.observe.meter.http_message import HeadBuffer, UnclearMessage, parse_head, status_line
from runcard.observe.meter.network_variables import CERTIFICATE_FILES, CERTIFICATE_FOLDERS
from runcard.observe.meter.routes import Route

CONNECT_TIMEOUT = 30.0  # seconds: the program cannot apply its own to a connection that the relay makes

_SYSTEM_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",  # macOS
)
_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


class CannotConnect(OSError):  # noqa: N818 - as CannotRun
    """The upstream cannot be reached; the message names no credentials."""


class HttpProxy(NamedTuple):
    """A proxy from the environment."""

    scheme: str  # http, https, socks5, socks5h
    host: str
    port: int
    user: bytes | None
    password: bytes

    @property
    def authorization(self) -> bytes:
        """The header with its credentials, or nothing."""
        if self.user is None:
            return b""
        credentials = base64.b64encode(self.user + b":" + self.password)
        return b"Proxy-Authorization: Basic " + credentials + b"\r\n"


class UpstreamAddress(NamedTuple):
    """Where an upstream is, and how it is written in requests."""

    is_tls: bool
    host: str
    port: int
    authority: bytes  # the value of the Host header
    proxy: HttpProxy | None

    def target(self, path: bytes) -> bytes:
        """The target of a request for a path with its query."""
        return b"http://" + self.authority + path if self.has_reading_proxy else path

    @property
    def added_headers(self) -> bytes:
        return self.proxy.authorization if self.proxy is not None and self.has_reading_proxy else b""

    @property
    def has_reading_proxy(self) -> bool:
        """Whether there is a proxy that reads the requests; others only pass on a connection."""
        return self.proxy is not None and not self.is_tls and not self.proxy.scheme.startswith("socks")


class Upstreams:
    """Connects to upstreams, as a program with this environment would."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._addresses: dict[str, UpstreamAddress] = {}
        self._context: ssl.SSLContext | None = None

    def address(self, route: Route) -> UpstreamAddress:
        """Raises CannotConnect if the URL is not valid."""
        found = self._addresses.get(route.upstream)
        if found is None:
            found = self._addresses[route.upstream] = upstream_address(route.upstream, self._environment)
        return found

    async def connect(self, address: UpstreamAddress, protocol: asyncio.Protocol) -> None:
        """Connect a protocol to an upstream; raises OSError or TimeoutError."""
        async with asyncio.timeout(CONNECT_TIMEOUT):
            try:
                if address.proxy is None or address.has_reading_proxy:
                    await self._connect_directly(address, protocol)
                else:
                    await self._connect_through(address.proxy, address, protocol)
            except (ValueError, UnicodeError) as error:  # a host name that is none
                raise CannotConnect(f"{address.host}: {error}") from None

    async def tunnel(self, host: str, port: int, protocol: asyncio.Protocol) -> None:
        """Connect a protocol to a host, without TLS of our own: the program speaks it. Raises OSError or TimeoutError."""
        proxy = find_proxy("https", host, port, self._environment)
        address = UpstreamAddress(is_tls=False, host=host, port=port, authority=b"", proxy=proxy)
        async with asyncio.timeout(CONNECT_TIMEOUT):
            try:
                if proxy is None:
                    await self._connect_directly(address, protocol)
                else:
                    await self._connect_through(proxy, address, protocol)
            except (ValueError, UnicodeError) as error:  # a host name that is none
                raise CannotConnect(f"{host}: {error}") from None

    async def _connect_directly(self, address: UpstreamAddress, protocol: asyncio.Protocol) -> None:
        host, port, is_tls = address.host, address.port, address.is_tls
        if address.proxy is not None:
            host, port, is_tls = address.proxy.host, address.proxy.port, address.proxy.scheme == "https"
        await asyncio.get_running_loop().create_connection(
            lambda: protocol,
            host,
            port,
            ssl=self._trust() if is_tls else None,
            happy_eyeballs_delay=0.25,
        )

    async def _connect_through(
        self, proxy: HttpProxy, address: UpstreamAddress, protocol: asyncio.Protocol
    ) -> None:
        loop = asyncio.get_running_loop()
        transport, tunnel = await loop.create_connection(
            lambda: _Tunnel(loop),
            proxy.host,
            proxy.port,
            ssl=self._trust() if proxy.scheme == "https" else None,
            happy_eyeballs_delay=0.25,
        )
        try:
            if proxy.scheme.startswith("socks"):
                await _open_socks(tunnel, proxy, address)
            else:
                await _open_tunnel(tunnel, proxy, address)
            transport.set_protocol(protocol)
            if address.is_tls:
                transport = await self._encrypt(transport, address.host, protocol)
        except BaseException:
            transport.abort()
            raise
        protocol.connection_made(transport)
        if not address.is_tls and (rest := await tunnel.rest()):
            protocol.data_received(rest)

    async def _encrypt(
        self, transport: asyncio.Transport, host: str, protocol: asyncio.Protocol
    ) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        encrypted = await loop.start_tls(transport, protocol, self._trust(), server_hostname=host)
        if encrypted is None:
            raise CannotConnect("the connection was closed during the TLS handshake")
        return encrypted

    def _trust(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = trust(self._environment)
        return self._context


def upstream_address(url: str, environment: Mapping[str, str]) -> UpstreamAddress:
    """Read the URL of an upstream, and find its proxy."""
    parts, host, port = _split(url)
    if parts.scheme not in {"http", "https"} or not host:
        raise CannotConnect("not an http or https URL")
    try:
        name = host.encode("ascii") if host.isascii() else host.encode("idna")
    except UnicodeError:
        raise CannotConnect(f"{host!r} is no host name") from None
    authority = b"[" + name + b"]" if b":" in name else name
    usual = _PORTS[parts.scheme]
    if port is not None and port != usual:
        authority += b":%d" % port
    name_text, port = name.decode("ascii"), port or usual
    proxy = find_proxy(parts.scheme, name_text, port, environment)
    return UpstreamAddress(parts.scheme == "https", name_text, port, authority, proxy)


def _split(url: str) -> tuple[SplitResult, str | None, int | None]:
    """The parts of a URL, its host and its port; all empty when it is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return SplitResult("", "", "", "", ""), None, None
    return parts, host, port


def find_proxy(scheme: str, host: str, port: int, environment: Mapping[str, str]) -> HttpProxy | None:
    """The proxy for an upstream, as programs read their environment: the lower case wins."""
    url = ""
    for variable in (f"{scheme}_proxy", "all_proxy"):
        url = url or environment.get(variable) or environment.get(variable.upper()) or ""
    excluded = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if not url or is_loopback(host) or is_excluded(host, port, excluded):
        return None
    parts, name, proxy_port = _split(url if "://" in url else f"http://{url}")
    if not name or parts.scheme not in _PORTS:
        raise CannotConnect("the URL of the proxy in the environment is not valid")
    user = None if parts.username is None else unquote(parts.username).encode()
    password = unquote(parts.password or "").encode()
    return HttpProxy(parts.scheme, name, proxy_port or _PORTS[parts.scheme], user, password)


def is_excluded(host: str, port: int, excluded: str) -> bool:
    """Whether NO_PROXY names this host: itself, a domain above it, its network, or `*`; each with a port or without."""
    for entry in excluded.replace(",", " ").lower().split():
        name, has_port, number = entry.rpartition(":")
        if has_port and number.isdecimal() and (name.count(":") == 0 or name.endswith("]")):
            if int(number) != port:
                continue
        else:
            name = entry
        name = name.strip("[]").removeprefix("*").removeprefix(".")
        if entry == "*" or (name and (host == name or host.endswith("." + name))) or _is_in(host, name):
            return True
    return False


def _is_in(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether the upstream is on this machine, which a proxy could not reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def trust(environment: Mapping[str, str]) -> ssl.SSLContext:
    """The certificates of the system, and those that the environment names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    _load_system_certificates(context)
    for name in CERTIFICATE_FILES:
        _load(context, file=environment.get(name))
    for name in CERTIFICATE_FOLDERS:
        for folder in environment.get(name, "").split(os.pathsep):
            _load(context, folder=folder)
    if environment.get(UNCHECKED) == "0":  # the user's choice, for programs in Node
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _load_system_certificates(context: ssl.SSLContext) -> None:
    paths = ssl.get_default_verify_paths()
    if _has_hashed_names(paths.openssl_capath):  # read when needed: a file with all of them takes 30 ms
        _load(context, folder=paths.openssl_capath)
        return
    files = [path for path in (paths.openssl_cafile, *_SYSTEM_CERTIFICATES) if os.path.isfile(path)]
    _load(context, file=files[0] if files else _packaged_certificates())


def _has_hashed_names(folder: str) -> bool:
    return os.path.isdir(folder) and any(name.endswith(".0") for name in os.listdir(folder))


def _packaged_certificates() -> str | None:
    """Certificates of a Python package, for a system that has none; many programs bring their own too."""
    for name in ("certifi", "pip._vendor.certifi"):
        try:
            module = __import__(name, fromlist=["where"])
        except ImportError:
            continue
        return str(module.where())
    return None


def _load(context: ssl.SSLContext, *, file: str | None = None, folder: str | None = None) -> None:
    """Trust certificates; what cannot be read is left out."""
    if file or folder:
        try:
            context.load_verify_locations(cafile=file or None, capath=folder or None)
        except (OSError, ValueError):
            return


class _Tunnel(asyncio.Protocol):
    """The dialog with a proxy before the connection belongs to the upstream."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._reader = asyncio.StreamReader(loop=loop)
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # of a connection

    def data_received(self, data: bytes) -> None:
        self._reader.feed_data(data)

    def eof_received(self) -> None:
        self._reader.feed_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._reader.at_eof():
            self._reader.set_exception(exc or CannotConnect("the proxy closed the connection"))

    async def ask(self, data: bytes, size: int) -> bytes:
        """Send something, and read an answer of this many bytes."""
        self._transport.write(data)
        return await self.read(size)

    async def rest(self) -> bytes:
        """What has come after the dialog, where the host speaks first."""
        self._reader.feed_eof()
        return await self._reader.read()

    async def read(self, size: int) -> bytes:
        try:
            return await self._reader.readexactly(size)
        except asyncio.IncompleteReadError:
            raise CannotConnect("the proxy closed the connection") from None


async def _open_tunnel(tunnel: _Tunnel, proxy: HttpProxy, address: UpstreamAddress) -> None:
    host = f"[{address.host}]" if ":" in address.host else address.host
    to = b"%s:%d" % (host.encode("ascii"), address.port)
    request = b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (to, to, proxy.authorization)
    buffer = HeadBuffer()
    data = await tunnel.ask(request, 1)
    while buffer.add(data) < 0:  # one byte at a time: what follows the head is the upstream's
        data = await tunnel.read(1)
    try:
        line = status_line(parse_head(buffer.take()))
    except UnclearMessage:
        raise CannotConnect("the proxy does not speak HTTP") from None
    if not 200 <= line.status < 300:
        reason = line.reason.decode("ascii", "replace")
        raise CannotConnect(f"the proxy refused the connection: {line.status} {reason}".rstrip())


async def _open_socks(tunnel: _Tunnel, proxy: HttpProxy, address: UpstreamAddress) -> None:
    """SOCKS 5 (RFC 1928, 1929); the proxy looks the host up."""
    method = 0 if proxy.user is None else 2
    if await tunnel.ask(bytes((5, 1, method)), 2) != bytes((5, method)):
        raise CannotConnect("the proxy refused the connection: no common way to sign in")
    if proxy.user is not None:
        credentials = b"\x01" + _sized(proxy.user) + _sized(proxy.password)
        if (await tunnel.ask(credentials, 2))[1] != 0:
            raise CannotConnect("the proxy refused the credentials")
    request = b"\x05\x01\x00\x03" + _sized(address.host.encode("ascii")) + address.port.to_bytes(2, "big")
    version, reply, _, kind = await tunnel.ask(request, 4)
    if version != 5 or reply != 0:
        raise CannotConnect(f"the proxy refused the connection: SOCKS reply {reply}")
    length = {1: 4, 4: 16}.get(kind) or (await tunnel.read(1))[0]
    await tunnel.read(length + 2)


def _sized(data: bytes) -> bytes:
    return bytes((min(len(data), 255),)) + data[:255]


def keep_alive(transport: asyncio.BaseTransport) -> None:
    """Keep a connection alive while the upstream thinks, as the clients of providers do."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
