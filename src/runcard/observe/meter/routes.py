"""Where requests are sent on to.

A URL of the relay is `http://127.0.0.1:PORT/SECRET/ROUTE`; what a program appends to it is appended to the upstream's URL.
Loaded by every `runcard run`: only light modules are imported here.
"""

from typing import NamedTuple


class Route(NamedTuple):
    """One upstream."""

    name: str  # in the URL of the relay: `anthropic`, `openai`, `upstream-2`
    upstream: str  # the base URL that the program would use without the relay, without a slash at its end


class Routes:
    """All upstreams of a run, by name."""

    def __init__(self, base: str) -> None:
        """`base` is the URL of the relay, with its secret: `http://127.0.0.1:PORT/SECRET`."""
        self.base = base
        self._routes: dict[str, Route] = {}

    def url(self, name: str, upstream: str) -> str:
        """The URL of the relay that leads to this upstream; `name` is that of its provider or program.

        The same upstream has one URL. A name that is taken by another upstream gets a number.
        """
        upstream = upstream.rstrip("/")
        taken = {route.upstream: route.name for route in self._routes.values()}
        chosen, number = taken.get(upstream, name), 1
        while chosen in self._routes and self._routes[chosen].upstream != upstream:
            number += 1
            chosen = f"{name}-{number}"
        self._routes[chosen] = Route(chosen, upstream)
        return f"{self.base}/{chosen}"

    def find(self, name: str) -> Route | None:
        return self._routes.get(name)

    @property
    def upstreams(self) -> dict[str, str]:
        """The upstream's URL of each URL of the relay."""
        return {f"{self.base}/{route.name}": route.upstream for route in self._routes.values()}
