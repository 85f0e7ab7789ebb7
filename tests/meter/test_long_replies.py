"""Replies of any size are read in little memory."""

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meter.exchanges import ANTHROPIC, GOOGLE, OPENAI, Sink, answer, pass_exchange, post, sse
from observe.clients import replies
from runcard.accounting import read_usage
from runcard.observe.clients import long_text
from runcard.observe.clients.call import CallFacts
from runcard.observe.clients.long_text import LongText
from runcard.observe.meter.routes import Route
from runcard.observe.meter.wire_calls import WireCalls

MEGABYTE = 1 << 20
TEXT = json.dumps('a "quoted" text, and \\ backslashes \u00e9\n' * 20_000).encode()[1:-1]


def observed(route: Route, path: str, kind: str, pieces: Iterable[bytes]) -> tuple[CallFacts, int]:
    """The facts of a call, and how much memory reading it took."""
    sink = Sink()
    observer = WireCalls(sink).observe(route, post(path))
    tracemalloc.start()
    pass_exchange(observer, {}, answer(kind), pieces)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return sink.calls[0], peak


def filled(reply: Any, marker: str, filler: bytes, count: int) -> Iterator[bytes]:
    """A JSON text with much in the place of the marker."""
    start, end = json.dumps(reply).encode().split(marker.encode())
    yield start
    for _ in range(count):
        yield filler
    yield end


def long_message() -> Iterator[bytes]:
    message = replies.message(content=[{"type": "text", "text": "MARK"}, {"type": "text", "text": "end"}])
    return filled(message, "MARK", TEXT, 80)


def long_embeddings() -> Iterator[bytes]:
    reply = replies.embeddings() | {"data": [{"object": "embedding", "index": 0, "embedding": ["MARK", 0.5]}]}
    start, end = json.dumps(reply).encode().split(b'"MARK"')
    yield start
    for _ in range(150):
        yield b"-0.0123456, 1.5e-3,\n" * 20_000
    yield b"1" + end


def long_event() -> Iterator[bytes]:
    events = replies.response_events()
    events[-1]["response"] = replies.response(output=[{"type": "image_generation_call", "result": "MARK"}])
    yield sse(events[:-1])
    start, end = sse(events[-1:]).split(b"MARK")
    yield start
    for _ in range(80):
        yield b"iVBORw0KGgo" * 90_000
    yield end


def long_stream() -> Iterator[bytes]:
    parts = [sse([event], named=True) for event in replies.message_events()]
    yield b"".join(parts[:8])
    for _ in range(1000):
        yield parts[7] * 500
    yield b"".join(parts[8:])


def long_array() -> Iterator[bytes]:
    first, *rest = [json.dumps(event).encode() for event in replies.generated_events()]
    yield b"["
    for _ in range(3000):
        yield first.replace(b"Hm.", b"Hm. [{" * 3000) + b",\n"
    yield b",".join(rest) + b"]"


CASES = {
    "a message": (ANTHROPIC, "/v1/messages", "application/json", long_message, replies.CLAUDE_TOKENS),
    "embeddings": (OPENAI, "/v1/embeddings", "application/json", long_embeddings, {"input": 8, "output": 0}),
    "an event": (OPENAI, "/v1/responses", "text/event-stream", long_event, replies.RESPONSE_TOKENS),
    "a stream": (ANTHROPIC, "/v1/messages", "text/event-stream", long_stream, replies.CLAUDE_TOKENS),
    "an array": (
        GOOGLE,
        "/v1beta/models/g:streamGenerateContent",
        "application/json",
        long_array,
        replies.GEMINI_TOKENS,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_long_reply_is_read_exactly_in_little_memory(name: str) -> None:
    route, path, kind, pieces, expected = CASES[name]
    size = sum(map(len, pieces()))
    facts, peak = observed(route, path, kind, pieces())
    assert size > 50 * MEGABYTE
    assert peak < 40 * MEGABYTE
    assert facts.error is None
    assert read_usage(facts.reply, allow_unknown=True).tokens.to_dict() == expected


def test_a_reply_that_is_large_without_long_texts_is_not_understood() -> None:
    pieces = (b"[" if n == 0 else b'{"a":"%s"},' % (b"b" * 1000) * 1000 for n in range(60))
    facts, peak = observed(ANTHROPIC, "/v1/messages", "application/json", pieces)
    assert facts.error is not None
    assert facts.error["message"] == "the reply is too large to be read"
    assert peak < 40 * MEGABYTE


@given(
    data=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    ),
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=20),
    ascii=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_what_is_short_stays_as_it_is(data: Any, sizes: list[int], *, ascii: bool) -> None:  # noqa: A002
    """In a text that is shortened, only long strings and long lists of numbers change."""
    document = {"data": data, "long": "x" * 5000 + '"', "usage": {"input_tokens": 7}}
    body = json.dumps(document, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    text = LongText()
    shortener = long_text._Shortener()
    text._shortener = shortener
    at = 0
    while at < len(body):
        size = sizes[at % len(sizes)]
        text.add(body[at : at + size])
        at += size
    shortened = text.take()
    assert shortened is not None
    assert json.loads(shortened) == document | {"long": ""}
