"""The relay of a run: accepts the connections of the program, in a loop of its own.

A request is passed on as it is, but for its target and its host; a reply is passed on untouched.
"""

import asyncio
import contextlib
import re
import socket
import sys
from collections.abc import Mapping
from hmac import compare_digest
from typing import TYPE_CHECKING

from runcard.observe.meter.exchange import ExchangeObserver, Observe, RequestHead
from runcard.observe.meter.exchange_report import ExchangeReport
from runcard.observe.meter.program_connection import ProgramConnection
from runcard.observe.meter.relay_loop import ProblemLog, RelayLoop, allow_many_files
from runcard.observe.meter.routes import Route, Routes
from runcard.observe.meter.upstream import Upstreams

if TYPE_CHECKING:
    from runcard.observe.meter.upstream_connection import UpstreamConnection

_TARGET = re.compile(rb"(?:http://[^/?#]*)?/([0-9a-f]{32})/([^/?#]+)([/?].*)?", re.DOTALL)
_LAST_TURNS = 8  # of the loop, for what has arrived when the run ends
_PATIENCE = 0.1  # seconds for the first request to be sent, before modules are loaded to read it
_SWITCH_INTERVAL = 0.0005  # seconds


class LoopbackRelay(ProblemLog):
    """All connections of one run, in a loop of its own."""

    def __init__(
        self, routes: Routes, observe: Observe, environment: Mapping[str, str], secret: str, port: int
    ) -> None:
        super().__init__()
        self._make_observer = observe
        self._upstreams: dict[tuple[tuple[str, str], ...] | None, Upstreams] = {
            None: Upstreams(environment)
        }  # by the proxies and certificates of a route
        self.connections: set[ProgramConnection] = set()
        self.links: set[UpstreamConnection] = set()
        self._has_observed = False
        self._routes = routes
        self._secret = secret.encode("ascii")
        self._hosts = {b"127.0.0.1:%d" % port, b"localhost:%d" % port}
        self._loop = RelayLoop()
        self._stopping = asyncio.Event()

    def run(self, listening: socket.socket) -> None:
        """Serve until `stop`; in a thread of its own."""
        try:
            # So long a thread that records calls may keep this one waiting. The usual 5 ms are too long for a first byte.
            sys.setswitchinterval(_SWITCH_INTERVAL)
            allow_many_files()
            self._loop.set_exception_handler(self.handle_error)
            self._loop.run_until_complete(self._serve(listening))
        finally:
            self._loop.close()

    def stop(self) -> None:
        """End all connections; from another thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def _serve(self, listening: socket.socket) -> None:
        server = await self._loop.create_server(lambda: ProgramConnection(self), sock=listening, backlog=1024)
        await self._stopping.wait()
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(0)
        server.close()
        for connection in list(self.connections):
            connection.end_run()
        for link in list(self.links):
            link.close(at_once=True)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def upstreams(self, route: Route) -> Upstreams:
        """What connects to the upstream of a route."""
        found = self._upstreams.get(route.network)
        if found is None:
            found = self._upstreams[route.network] = Upstreams(dict(route.network or ()))
        return found

    def is_host(self, hosts: list[bytes]) -> bool:
        """Whether these are the values of the Host header in a request to the relay."""
        return len(hosts) == 1 and hosts[0].lower() in self._hosts

    def find(self, target: bytes, user_agent: bytes) -> tuple[Route, bytes] | None:
        """The route of a request, and its path at the upstream; None for a request that is not the program's."""
        found = _TARGET.fullmatch(target)
        if found is None or not compare_digest(found[1], self._secret):
            return None
        route = self._routes.find(found[2].decode("latin-1"))
        if route is None:
            return None
        path = route.whole_path(found[3] or b"", user_agent)
        return route, path if path.startswith(b"/") else b"/" + path

    def report(self, route: Route, head: RequestHead, *, proposes_upgrade: bool) -> ExchangeReport:
        """The report of a new exchange. That of the first one waits until its request was sent."""
        report = ExchangeReport(
            lambda: self._observe(route, head),
            head.method.encode("ascii"),
            self.add_problem,
            proposes_upgrade=proposes_upgrade,
            is_deferred=not self._has_observed,
        )
        if not self._has_observed:
            self._loop.call_later(_PATIENCE, report.open)
        return report

    def _observe(self, route: Route, head: RequestHead) -> ExchangeObserver | None:
        self._has_observed = True
        return self._make_observer(route, head)
