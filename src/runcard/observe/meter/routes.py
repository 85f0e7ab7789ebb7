"""Where requests are sent on to.

A URL of the relay is `http://127.0.0.1:PORT/SECRET/ROUTE` and the path of the URL that it stands for. A route leads to one
host: path and query stay those of the program, however it puts them together.
Loaded by every `runcard run`: only light modules are imported here.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

METER = "RUNCARD_METER"  # for the program: a JSON object, the upstream of each URL of the relay

_HOST = _NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")
_ADDRESS = frozenset("0123456789ABCDEFabcdef:.")  # between brackets
_LAST_PORT = 65535

# Libraries do not agree on which part of a path belongs to the base URL: Anthropic's own adds the version to it, others take it
# for a part of it; both use the same variable. So at these hosts a path may come without its beginning. By host and first
# segment: what belongs in front of it.
_OPENAI_SEGMENTS = ("chat", "completions", "responses", "embeddings", "models", "images", "audio")
_BEGINNINGS = {
    "https://api.anthropic.com": dict.fromkeys(("messages", "complete", "models", "files", "skills"), "/v1"),
    "https://generativelanguage.googleapis.com": {
        **dict.fromkeys(("models", "tunedModels", "cachedContents"), "/v1beta"),
        **dict.fromkeys(("chat", "embeddings"), "/v1beta/openai"),
    },
    "https://api.groq.com": dict.fromkeys(_OPENAI_SEGMENTS, "/openai/v1"),
    "https://api.mistral.ai": dict.fromkeys((*_OPENAI_SEGMENTS, "fim", "agents", "ocr"), "/v1"),
    "https://api.x.ai": dict.fromkeys(_OPENAI_SEGMENTS, "/v1"),
    "https://openrouter.ai": dict.fromkeys(_OPENAI_SEGMENTS, "/api/v1") | {"v1": "/api"},
    "https://api.deepseek.com": dict.fromkeys(("chat", "completions", "models"), "/v1"),
    "https://api.fireworks.ai": dict.fromkeys(_OPENAI_SEGMENTS, "/inference/v1"),
    "https://api.together.ai": dict.fromkeys(_OPENAI_SEGMENTS, "/v1"),
    "https://api.moonshot.ai": dict.fromkeys(_OPENAI_SEGMENTS, "/v1"),
    "https://api.cerebras.ai": dict.fromkeys(_OPENAI_SEGMENTS, "/v1"),
}

_OF_LITELLM = {"https://api.deepseek.com": dict.fromkeys(("chat", "completions"), "/beta")}


class UnusableUrlError(ValueError):
    """A URL that the relay cannot send requests on to."""


class Route(NamedTuple):
    """One upstream."""

    name: str  # in the URL of the relay: `anthropic`, `openai`, `openai-2`
    upstream: str  # scheme, host and port, without a slash at the end
    network: tuple[tuple[str, str], ...] | None = None  # proxies and certificates; None: those of the command

    def whole_path(self, rest: bytes, user_agent: bytes = b"") -> bytes:
        """Path and query of a request at the upstream; `rest` is what follows the name of the route."""
        beginnings = _BEGINNINGS.get(self.upstream)
        if beginnings is None:
            return rest
        if user_agent.startswith(b"litellm/"):
            beginnings = _OF_LITELLM.get(self.upstream, beginnings)
        first = rest[1:].partition(b"?")[0].partition(b"/")[0].decode("latin-1")
        return beginnings.get(first, "").encode() + rest


class BaseUrl(NamedTuple):
    """A base URL in parts."""

    user: str  # user name and password with the @ behind them, or nothing
    origin: str  # scheme, host and port
    rest: str  # path and query, as they are


def split_url(url: str) -> BaseUrl:
    """The parts of a base URL; raises UnusableUrlError unless every URL library reads it in the same way."""
    url = url.strip()
    scheme, sign, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme not in {"http", "https"} or not sign:
        raise UnusableUrlError("it is not an http or https URL")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise UnusableUrlError("it has characters that are not allowed in a URL")
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    user, at, host = rest[:end].rpartition("@")
    name, colon, port = host.rpartition(":") if not host.endswith("]") and ":" in host else (host, "", "")
    is_address = name.startswith("[") and name.endswith("]")
    is_host = bool(name) and set(name[1:-1] if is_address else name) <= (_ADDRESS if is_address else _HOST)
    if not is_host or "@" in user:
        raise UnusableUrlError("it has no valid host")
    if colon and not (port.isdigit() and int(port) <= _LAST_PORT):
        raise UnusableUrlError("it has no valid port")
    return BaseUrl(f"{user}{at}", f"{scheme}://{host.lower()}", rest[end:])


class Routes:
    """All upstreams of a run, by name."""

    def __init__(self, base: str) -> None:
        """`base` is the URL of the relay, with its secret: `http://127.0.0.1:PORT/SECRET`."""
        self.base = base
        self._routes: dict[str, Route] = {}
        self.find_other: Callable[[str], Route | None] = lambda _: None  # routes that programs have found

    def url(self, name: str, upstream: str) -> str:
        """The URL of the relay that stands for a base URL; `name` is that of its provider or program.

        The same host has one route. A name that is taken by another host gets a number. Raises UnusableUrlError.
        """
        user, origin, rest = split_url(true_url(upstream, self.upstreams))
        taken = {route.upstream: route.name for route in self._routes.values()}
        chosen = taken.get(origin) or self._add(name, origin)
        scheme, host = self.base.split("://", 1)
        return f"{scheme}://{user}{host}/{chosen}{rest}"

    def _add(self, name: str, origin: str) -> str:
        """Add a route; returns its name."""
        chosen, number = name, 1
        while chosen in self._routes:
            number += 1
            chosen = f"{name}-{number}"
        self._routes[chosen] = Route(chosen, origin)
        return chosen

    def find(self, name: str) -> Route | None:
        found = self._routes.get(name)
        if found is None and _NAME.issuperset(name) and (found := self.find_other(name)) is not None:
            self._routes[name] = found
        return found

    @property
    def upstreams(self) -> dict[str, str]:
        """The upstream of each URL of the relay."""
        return {f"{self.base}/{route.name}": route.upstream for route in self._routes.values()}


class SharedRoutes(Routes):
    """The routes of a run in a program that it has started: new ones are told to the relay."""

    def __init__(
        self,
        base: str,
        upstreams: dict[str, str],
        network: dict[str, str] | None,
        share: "Callable[[Route], None]",
    ) -> None:
        """`upstreams` are those of the `Routes` of the relay. With a `network` of its own, each route is a new one."""
        super().__init__(base)
        self._relay, self._share = upstreams, share
        self._network = None if network is None else tuple(sorted(network.items()))
        if network is None:
            names = {url.rpartition("/")[2]: upstream for url, upstream in upstreams.items()}
            self._routes = {name: Route(name, upstream) for name, upstream in names.items()}

    @property
    def upstreams(self) -> dict[str, str]:
        return self._relay | super().upstreams

    def _add(self, name: str, origin: str) -> str:
        """The name follows from where the route leads: programs that are started at the same time find the same one."""
        import hashlib  # noqa: PLC0415 - few programs have a base URL that the run does not have

        content = f"{origin} {self._network}".encode("utf-8", "surrogateescape")
        chosen = f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"
        route = self._routes[chosen] = Route(chosen, origin, self._network)
        self._share(route)
        return chosen


def true_url(url: str, upstreams: dict[str, str]) -> str:
    """The URL that a URL of a relay stands for; any other URL as it is. `upstreams` is that of the `Routes` of the relay."""
    _, sign, rest = url.strip().partition("://")
    user, at, bare = rest.rpartition("@") if "@" in rest.partition("/")[0] else ("", "", rest)
    for relay, upstream in upstreams.items():
        start = relay.partition("://")[2]
        if sign and (bare == start or bare.startswith((f"{start}/", f"{start}?", f"{start}#"))):
            true_scheme, _, host = upstream.partition("://")
            return f"{true_scheme}://{user}{at}{host}{bare[len(start) :]}"
    return url


def upstreams_in(value: str | None) -> dict[str, str]:
    """The upstreams of a relay, of the variable that a program under `runcard run` has; none without it."""
    if not value:
        return {}
    from runcard.encoding import decode_json  # noqa: PLC0415 - few programs have it
    from runcard.errors import EncodingError  # noqa: PLC0415

    try:
        upstreams = decode_json(value.encode("utf-8", "surrogateescape"))
    except EncodingError:
        return {}
    if not isinstance(upstreams, dict):
        return {}
    return {
        url: upstream
        for url, upstream in upstreams.items()
        if url.startswith("http://127.0.0.1:") and isinstance(upstream, str) and _is_origin(upstream)
    }


def _is_origin(url: str) -> bool:
    try:
        return split_url(url).origin == url
    except UnusableUrlError:
        return False
