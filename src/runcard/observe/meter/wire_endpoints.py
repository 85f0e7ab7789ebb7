"""What a request is for: a model call that can be read, something that may cost and cannot be read, or neither.

The calls are those of the watched clients, and some that only programs of vendors make. Requests that cost nothing (counting
of tokens, lists, uploads, telemetry) are known by name. Any other POST to a provider may cost: it is not understood.
"""

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from runcard.observe.clients.anthropic_openai import ANTHROPIC, OPENAI
from runcard.observe.clients.endpoints import Endpoint, find_endpoint, unrecorded_kind
from runcard.observe.clients.google import GOOGLE
from runcard.observe.clients.google_interactions import INTERACTIONS
from runcard.observe.meter.exchange import Headers, RequestHead

_MESSAGES, _COMPLETE = ANTHROPIC
_RESPONSES = next(endpoint for endpoint in OPENAI if endpoint.name == "responses")
_OTHERS = (
    # Anthropic's oldest API; other requests end alike. Claude on Vertex AI. Codex, to make a conversation shorter.
    Endpoint(_COMPLETE.name, re.compile(r"/v1/complete$"), _COMPLETE.prompt),
    Endpoint(_MESSAGES.name, re.compile(r"/models/claude[^/:]*:(streamR|r)awPredict$"), _MESSAGES.prompt),
    Endpoint(_RESPONSES.name, re.compile(r"/responses/compact$"), _RESPONSES.prompt),
    # Ollama's own API.
    Endpoint("chat", re.compile(r"/api/chat$"), ("messages", "tools", "format")),
    Endpoint("generate", re.compile(r"/api/generate$"), ("system", "prompt", "suffix", "format")),
    Endpoint("embeddings", re.compile(r"/api/embed(dings)?$"), ("input", "prompt")),
)
_CALLS = (_MESSAGES, *OPENAI, *GOOGLE, *INTERACTIONS, *_OTHERS)
_MODEL = re.compile(r"/models/([^/:]+):[A-Za-z]+$")
_STORED_MESSAGE = re.compile(r"/(threads|sessions|conversations)/[^/]+/messages$")
_FREE = re.compile(
    r"count_tokens|count-tokens|:countTokens|:computeTokens|/input_tokens|/tokenize|/detokenize|/moderations"
    r"|/cancel$|:cancel$|/threads(/[^/]+(/messages(/[^/]+)?)?)?$|/assistants|/api/(show|pull|push|copy|create|blobs)"
    r"|/api/(?!chat$|generate$|embed|([a-z]+/)?v\d)"  # of Anthropic: telemetry, settings, accounts
    r"|/(files|uploads|conversations|oauth|sessions|code|environments|environment_providers|session_ingress"
    r"|organizations|skills|containers|token|traces|logs|metrics|events|telemetry|analytics-events|event_logging)(/|$|:)"
)
_REMOTE = re.compile(r"/v1/sessions/[^/]+/events$")  # work for an agent that runs at the vendor


class NotUnderstood(NamedTuple):
    """A request that may cost in a way that is not understood."""

    kind: str  # for people: `POST api.openai.com/v1/videos`


def classify(head: RequestHead, upstream: str) -> Endpoint | NotUnderstood | None:
    """What a request is for; None for one that costs nothing."""
    path = path_of(head.target)
    if is_upgrade(head):
        if _RESPONSES.path.search(path):
            return _RESPONSES
        return NotUnderstood(f"WebSocket {host_of(upstream)}{path}")
    if head.method.upper() != "POST" or _STORED_MESSAGE.search(path):
        return None
    endpoint = find_endpoint(_CALLS, head.method, path)
    if endpoint is not None:
        return endpoint
    may_cost = unrecorded_kind(head.method, path) is not None or _REMOTE.search(path)
    if not may_cost and _FREE.search(path):
        return None
    return NotUnderstood(f"{head.method.upper()} {host_of(upstream)}{path}")


def path_of(target: str) -> str:
    """The path of a target, without its query, which may hold a key."""
    return target.partition("?")[0].partition("#")[0]


def host_of(upstream: str) -> str:
    """The host of a URL with its port, without a password."""
    return urlsplit(upstream).netloc.rpartition("@")[2]


def model_in_path(path: str) -> str | None:
    """The model that a URL of Google names."""
    match = _MODEL.search(path)
    return match and unquote(match[1])


def is_upgrade(head: RequestHead) -> bool:
    """Whether a request asks for a WebSocket."""
    return "websocket" in (header(head.headers, "upgrade") or "").lower()


def header(headers: Headers, name: str) -> str | None:
    """The value of a header; of a repeated one all values, as HTTP joins them."""
    values = [value for key, value in headers if key == name]
    return ", ".join(values) if values else None
