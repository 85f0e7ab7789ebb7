"""Exchanges as the relay reports them, without a relay: a request, a reply in pieces, an end."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import brotli

from runcard.observe.clients.call import CallFacts
from runcard.observe.meter.exchange import ExchangeObserver, Failure, RequestHead, ResponseHead
from runcard.observe.meter.routes import Route
from runcard.observe.meter.wire_calls import WireCalls
from runcard.observe.meter.wire_facts import FinishedCall
from zstd_of_python import zstd

Json = dict[str, Any]

ANTHROPIC = Route("anthropic", "https://api.anthropic.com")
OPENAI = Route("openai", "https://api.openai.com/v1")
GOOGLE = Route("google", "https://generativelanguage.googleapis.com")
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


class Sink:
    """Keeps what it gets."""

    def __init__(self, *, keep_content: bool = False) -> None:
        self.keep_content = keep_content
        self.calls: list[CallFacts] = []
        self.kinds: list[str] = []
        self.problems: list[str] = []

    def calls_started(self) -> None: ...

    def call_finished(self, call: FinishedCall) -> None:
        self.calls.append(call.facts())

    def not_understood(self, kind: str) -> None:
        self.kinds.append(kind)

    def unreadable(self, problem: str) -> None:
        self.problems.append(problem)


def sse(events: Iterable[Json | str], *, named: bool = False, end: str = "\n") -> bytes:
    """Events as a stream."""
    lines = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event, separators=(",", ":"))
        if named and isinstance(event, dict):
            lines.append(f"event: {event['type']}")
        lines += [f"data: {data}", ""]
    return end.join([*lines, ""]).encode()


def post(path: str, **headers: str) -> RequestHead:
    return RequestHead(
        "POST", path, tuple((name.replace("_", "-"), value) for name, value in headers.items())
    )


def answer(kind: str = "application/json", status: int = 200, **headers: str) -> ResponseHead:
    fields = {"content_type": kind, **headers}
    return ResponseHead(status, "", tuple((name.replace("_", "-"), value) for name, value in fields.items()))


def pass_exchange(
    observer: ExchangeObserver | None,
    request: Json | bytes,
    head: ResponseHead | None,
    pieces: Iterable[bytes] = (),
    failure: Failure | None = None,
) -> None:
    """Report an exchange as the relay does."""
    assert observer is not None
    observer.request_body(request if isinstance(request, bytes) else json.dumps(request).encode())
    observer.request_end()
    if head is not None:
        observer.reply(head)
    for piece in pieces:
        observer.reply_body(piece)
    if failure is None:
        observer.end()
    else:
        observer.fail(failure, "")


def call_of(
    route: Route,
    head: RequestHead,
    request: Json | bytes,
    reply: ResponseHead | None,
    *pieces: bytes,
    failure: Failure | None = None,
    keep_content: bool = False,
) -> CallFacts:
    """The facts of one call."""
    sink = Sink(keep_content=keep_content)
    pass_exchange(WireCalls(sink).observe(route, head), request, reply, pieces, failure)
    (facts,) = sink.calls
    return facts
