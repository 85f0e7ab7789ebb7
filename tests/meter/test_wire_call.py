"""An exchange read as a model call: the same facts as the vendor's reply has, in whatever pieces it comes."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meter.exchanges import (
    ANTHROPIC,
    ENCODERS,
    GOOGLE,
    OPENAI,
    Sink,
    answer,
    call_of,
    pass_exchange,
    post,
    sse,
)
from observe.clients import replies
from runcard.accounting import read_usage
from runcard.observe.clients.call import CallFacts
from runcard.observe.meter.exchange import Failure, RequestHead
from runcard.observe.meter.routes import Route
from runcard.observe.meter.wire_calls import WireCalls

Json = dict[str, Any]
REQUEST: Json = {
    "model": "claude-sonnet-5-latest",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}


def tokens(reply: Any) -> dict[str, int]:
    return read_usage(reply, allow_unknown=True).tokens.to_dict()


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_message_is_read_in_every_content_coding(coding: str) -> None:
    body = ENCODERS[coding](json.dumps(replies.message()).encode())
    head = answer(content_encoding=coding, request_id="req_1")
    facts = call_of(ANTHROPIC, post("/v1/messages"), REQUEST, head, body[:20], body[20:])
    assert facts.reply == replies.message()
    assert facts.requested_model == "claude-sonnet-5-latest"
    assert facts.request == {"max_tokens": 9}
    assert (facts.error, facts.request_id, facts.complete) == (None, "req_1", True)
    assert facts.exchange is not None
    assert (facts.exchange.endpoint, facts.exchange.status) == ("api.anthropic.com/v1/messages", 200)


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
def test_a_stream_is_read_in_every_content_coding(coding: str, size: int) -> None:
    body = ENCODERS[coding](sse(replies.message_events(), named=True))
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    head = answer("text/event-stream; charset=utf-8", content_encoding=coding)
    facts = call_of(ANTHROPIC, post("/v1/messages?beta=true"), REQUEST | {"stream": True}, head, *pieces)
    assert tokens(facts.reply) == replies.CLAUDE_TOKENS
    assert facts.streamed
    assert facts.first_token is not None
    assert (facts.error, facts.complete) == (None, True)


def gemini_array(events: list[Json]) -> bytes:
    return b"[" + b"\n,\r\n".join(json.dumps(event, indent=2).encode() for event in events) + b"\n]\n"


def ollama_lines() -> bytes:
    head = {"model": "llama3.2", "created_at": "2026-01-01T00:00:00Z"}
    parts: list[Json] = [
        {**head, "message": {"role": "assistant", "content": text}, "done": False} for text in "abc"
    ]
    counts = {"done": True, "done_reason": "stop", "prompt_eval_count": 26, "eval_count": 298}
    return b"".join(json.dumps(part).encode() + b"\n" for part in [*parts, {**head, **counts}])


EVENT_STREAM = "text/event-stream"
GEMINI_STREAM = f"/v1beta/models/{replies.GEMINI}:streamGenerateContent"
STREAMS = {
    "messages": (ANTHROPIC, "/v1/messages", EVENT_STREAM, sse(replies.message_events(), named=True), replies.CLAUDE_TOKENS),
    "messages, CRLF": (ANTHROPIC, "/v1/messages", EVENT_STREAM, sse(replies.message_events(), end="\r\n"), replies.CLAUDE_TOKENS),
    "chat": (OPENAI, "/chat/completions", EVENT_STREAM, sse(replies.chunks()), replies.CHAT_TOKENS),
    "responses": (OPENAI, "/responses", EVENT_STREAM, sse(replies.response_events(), named=True), replies.RESPONSE_TOKENS),
    "gemini": (GOOGLE, f"{GEMINI_STREAM}?alt=sse&key=x", EVENT_STREAM, sse(replies.generated_events()), replies.GEMINI_TOKENS),
    "gemini, array": (GOOGLE, GEMINI_STREAM, "application/json", gemini_array(replies.generated_events()), replies.GEMINI_TOKENS),
    "ollama": (Route("ollama", "http://127.0.0.1:11434"), "/api/chat", "application/x-ndjson", ollama_lines(), {"input": 26, "output": 298}),
}  # fmt: skip


def timeless(facts: CallFacts) -> CallFacts:
    """The facts without what a clock measured."""
    return replace(facts, latency=0, first_token=None if facts.first_token is None else 0)


@pytest.mark.parametrize("name", STREAMS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_stream_has_the_same_facts_in_whatever_pieces_it_comes(name: str, data: st.DataObject) -> None:
    route, path, kind, body, expected = STREAMS[name]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    pieces = [body[start:end] for start, end in pairwise([0, *cuts, len(body)])]
    whole, cut = (call_of(route, post(path), {}, answer(kind), *parts) for parts in ([body], pieces))
    assert timeless(whole) == timeless(cut)
    assert tokens(cut.reply) == expected
    assert cut.first_token is not None
    assert (cut.error, cut.complete, cut.streamed) == (None, True, True)


WHOLE = {
    "messages": (ANTHROPIC, "/v1/messages", replies.message()),
    "a proxy's messages": (Route("upstream", "https://proxy.example/anthropic"), "/anthropic/v1/messages", replies.message()),
    "chat": (OPENAI, "/v1/chat/completions", replies.completion()),
    "another server's chat": (Route("upstream", "http://gpu:8000"), "/serve/openai/v1/chat/completions", replies.completion()),
    "responses": (OPENAI, "/v1/responses", replies.response()),
    "a compacted response": (OPENAI, "/v1/responses/compact", replies.response(object="response.compaction")),
    "embeddings": (OPENAI, "/v1/embeddings", replies.embeddings()),
    "generateContent": (GOOGLE, f"/v1beta/models/{replies.GEMINI}:generateContent", replies.generated()),
    "Claude on Vertex": (GOOGLE, "/v1/projects/p/locations/global/publishers/anthropic/models/claude-x:rawPredict", replies.message()),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_a_reply_without_a_stream_is_read(name: str) -> None:
    route, path, reply = WHOLE[name]
    body = json.dumps(reply).encode()
    facts = call_of(route, post(path), {"model": "m"}, answer(), body[:9], body[9:])
    assert facts.reply == reply
    assert (facts.error, facts.complete, facts.streamed, facts.first_token) == (None, True, False, None)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(
            ("HEAD", "/"),
            ("GET", "/v1/models"),
            ("GET", "/v1/messages"),
            ("POST", "/v1/messages/count_tokens"),
        ),
        *(("POST", "/v1beta/models/gemini-2.5-pro:countTokens"), ("POST", "/api/event_logging/batch")),
        *(
            ("POST", "/v1/files"),
            ("POST", "/v1/responses/resp_1/cancel"),
            ("POST", "/v1/threads/t_1/messages"),
        ),
        *(("DELETE", "/v1/responses/resp_1"), ("POST", "/v1/oauth/token"), ("POST", "/api/show")),
        *(("POST", "/api/event_logging/v2/batch"), ("POST", "/api/claude_code/metrics")),
        *(("POST", "/v1/code/sessions"), ("POST", "/v1/code/sessions/s_1/events"), ("POST", "/v1/logs")),
    ],
)
def test_a_request_that_costs_nothing_is_not_observed(method: str, path: str) -> None:
    assert WireCalls(Sink()).observe(ANTHROPIC, RequestHead(method, path, ())) is None


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/v1/images/generations",
            "/v1/messages/batches",
            "/v1/threads/t_1/runs",
            "/v1/new_thing?key=secret",
        ),
        *(
            "/v1/publishers/mistralai/models/mistral-large:rawPredict",
            "/v1beta/models/gemini-9:generateAnswer",
        ),
        *("/api/v1/rerank", "/api/paas/v4/web_search", "/v1/models/owner/name/predictions"),
        *("/models/gpt2", "/v1/sessions/sesn_1/events"),
    ],
)
def test_a_request_that_may_cost_is_counted_as_not_understood(path: str) -> None:
    sink = Sink()
    calls = WireCalls(sink)
    for status in (200, 404, 200):
        pass_exchange(calls.observe(OPENAI, post(path)), b"{}", answer(status=status), [b"{}"])
    assert sink.kinds == [f"POST api.openai.com{path.partition('?')[0]}"] * 2
    assert sink.calls == []


@pytest.mark.parametrize("is_sent", [True, False])
def test_a_call_that_the_relay_could_not_follow_may_be_billed(is_sent: bool) -> None:  # noqa: FBT001
    """All its bytes were passed on: perhaps the program got a reply."""
    sink = Sink()
    observer = WireCalls(sink).observe(ANTHROPIC, post("/v1/messages"))
    assert observer is not None
    observer.request_body(json.dumps(REQUEST).encode())
    if is_sent:
        observer.request_end()
    observer.fail(Failure.NOT_UNDERSTOOD, "")
    (facts,) = sink.calls
    assert facts.reply_began
    assert facts.error == {"type": "not-understood", "message": "the meter could not follow the connection"}
