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
        *(
            ("POST", "/v1/uploads/up_1/complete"),
            ("POST", "/api/frame/deploy/complete"),
            ("POST", "/v1/sessions/s/messages"),
        ),
        *(("POST", "/api/event_logging/v2/batch"), ("POST", "/api/claude_code/metrics")),
        *(("POST", "/v1/code/sessions"), ("POST", "/v1/code/sessions/s_1/events"), ("POST", "/v1/logs")),
    ],
)
def test_a_request_that_costs_nothing_is_not_observed(method: str, path: str) -> None:
    assert WireCalls(Sink()).observe(ANTHROPIC, RequestHead(method, path, ())) is None


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta/models/x:newMethod",
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


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (
            429,
            {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}},
            ("rate_limit_error", "slow"),
        ),
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            ("overloaded_error", "busy"),
        ),
        (
            400,
            {"error": {"message": "no", "type": "invalid_request_error", "code": "x"}},
            ("invalid_request_error", "no"),
        ),
        (
            400,
            [{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}],
            ("INVALID_ARGUMENT", "no"),
        ),
        (404, {"error": "model 'x' not found"}, ("http-error", "model 'x' not found")),
        (502, "<html>", ("http-error", "")),
        (503, {"error": {"message": ["odd"], "type": {}}}, ("error", "")),
    ],
)
@pytest.mark.parametrize("coding", ENCODERS)
def test_an_error_is_told_as_the_vendor_describes_it(
    status: int, body: Any, expected: Any, coding: str
) -> None:
    text = ENCODERS[coding]((body if isinstance(body, str) else json.dumps(body)).encode())
    head = answer(status=status, content_encoding=coding, request_id="req_1")
    facts = call_of(ANTHROPIC, post("/v1/messages"), REQUEST, head, text)
    assert facts.error == {"type": expected[0], "message": expected[1], "status": status}
    assert (facts.reply_began, facts.complete, facts.request_id) == (False, False, "req_1")
    assert facts.exchange is not None
    assert facts.exchange.status == status


@pytest.mark.parametrize("failure", Failure)
@pytest.mark.parametrize("name", ["messages", "chat", "responses", "gemini"])
def test_a_stream_that_is_cut_is_partial(failure: Failure, name: str) -> None:
    route, path, kind, body, _ = STREAMS[name]
    facts = call_of(route, post(path), {}, answer(kind), body[: len(body) // 2], failure=failure)
    assert facts.error is not None
    assert (facts.error["type"], facts.reply_began, facts.complete) == (failure.value, True, False)
    usage = read_usage(facts.reply, allow_unknown=True)
    assert usage.source in {"partial", None}
    assert name != "messages" or (usage.tokens.input, usage.tokens.output) == (5051, 1)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_without_its_end_is_cut_though_the_connection_was_closed_well(name: str) -> None:
    route, path, kind, body, _ = STREAMS[name]
    facts = call_of(route, post(path), {}, answer(kind), body[: len(body) // 2])
    assert facts.error == {"type": "cut", "message": "the stream ended before its last event"}


@pytest.mark.parametrize(
    ("failure", "is_sent", "may_cost"),
    [
        *(
            (Failure.CLIENT_GONE, True, True),
            (Failure.CLIENT_GONE, False, False),
            (Failure.ENDED, True, True),
        ),
        *((Failure.TIMEOUT, True, True), (Failure.UNREACHABLE, True, False), (Failure.CUT, True, False)),
        (Failure.NOT_UNDERSTOOD, False, True),
    ],
)
def test_a_call_that_ends_before_its_reply_may_cost(
    failure: Failure, *, is_sent: bool, may_cost: bool
) -> None:
    """The provider may go on with a request that it has. One that it never had, or refused, costs nothing."""
    sink = Sink()
    observer = WireCalls(sink).observe(ANTHROPIC, post("/v1/messages"))
    assert observer is not None
    observer.request_body(json.dumps(REQUEST).encode())
    if is_sent:
        observer.request_end()
    observer.fail(failure, "")
    assert sink.calls[0].reply_began == may_cost


def test_a_stream_without_an_end_event_but_with_a_stop_reason_is_complete() -> None:
    """Some servers send no `[DONE]`."""
    facts = call_of(
        OPENAI, post("/v1/chat/completions"), {}, answer(EVENT_STREAM), sse(replies.chunks()[:-1])
    )
    assert (facts.error, facts.complete, tokens(facts.reply)) == (None, True, replies.CHAT_TOKENS)


def test_the_error_event_of_a_stream_is_its_error() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    body = sse([*replies.message_events()[:6], error])
    facts = call_of(ANTHROPIC, post("/v1/messages"), {}, answer(EVENT_STREAM), body)
    assert facts.error == {"type": "overloaded_error", "message": "busy"}
    assert facts.reply_began


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{"),
        ("application/json", b"\xff\xfe{}"),
        ("application/json", b"[" * 100_000),
        (EVENT_STREAM, b"data: {\n\n"),
        (EVENT_STREAM, b"data: \xff\xfe\n\ndata: {}\n\n"),
        (EVENT_STREAM, b'data: {"type": "message_delta", "usage": [1]}\n\n'),
    ],
)
def test_a_reply_that_is_not_understood_is_named(kind: str, body: bytes) -> None:
    sink = Sink()
    pass_exchange(WireCalls(sink).observe(ANTHROPIC, post("/v1/messages")), REQUEST, answer(kind), [body])
    (facts,) = sink.calls
    assert facts.error is not None
    assert facts.error["type"] == "malformed-reply"
    assert len(sink.problems) == 1
    assert sink.problems[0].startswith("api.anthropic.com/v1/messages: ")
    assert (facts.reply_began, facts.complete) == (True, False)


def test_a_malformed_event_does_not_hide_the_counts_after_it() -> None:
    body = b"data: {oops\n\n" + sse(replies.message_events())
    facts = call_of(ANTHROPIC, post("/v1/messages"), {}, answer(EVENT_STREAM), body)
    assert tokens(facts.reply) == replies.CLAUDE_TOKENS


def test_the_same_request_after_a_failure_is_its_retry() -> None:
    sink = Sink()
    calls = WireCalls(sink)
    good, busy = (
        json.dumps(replies.message()).encode(),
        b'{"error": {"type": "overloaded_error", "message": ""}}',
    )
    for request, status in ((REQUEST, 529), (REQUEST, 429), ({}, 200), (REQUEST, 200), (REQUEST, 200)):
        body = good if status == 200 else busy
        pass_exchange(calls.observe(ANTHROPIC, post("/v1/messages")), request, answer(status=status), [body])
    ids = [facts.exchange.call_id for facts in sink.calls if facts.exchange]
    retries = [facts.exchange.retry_of for facts in sink.calls if facts.exchange]
    assert len(set(ids)) == 5
    assert retries == [None, ids[0], None, ids[1], None]


def test_the_caller_is_who_the_headers_say() -> None:
    own = {
        "x_claude_code_session_id": "s",
        "x_claude_code_agent_id": "a",
        "x_claude_code_parent_agent_id": "p",
    }
    turn = '{"session_id": "s", "thread_id": "a", "parent_thread_id": "p"}'
    odd = {"x_claude_code_session_id": "x" * 1000, "x_codex_turn_metadata": "[" * 10_000}
    for headers, expected in (
        (own, ("s", "a", "p")),
        ({"x_codex_turn_metadata": turn}, ("s", "a", "p")),
        (odd, (None,) * 3),
    ):
        facts = call_of(
            ANTHROPIC,
            post("/v1/messages", **headers),
            REQUEST,
            answer(),
            json.dumps(replies.message()).encode(),
        )
        exchange = facts.exchange
        assert exchange is not None
        assert (exchange.client_session, exchange.agent, exchange.parent_agent) == expected


def test_a_request_of_any_size_is_counted() -> None:
    """One that is too large is not kept: its parameters are unknown."""
    sink = Sink()
    observer = WireCalls(sink).observe(ANTHROPIC, post("/v1/messages"))
    assert observer is not None
    observer.request_body(b'{"model": "m", "messages": "')
    piece = b"x" * (1 << 20)
    for _ in range(65):
        observer.request_body(piece)
    pass_exchange(observer, b'"}', answer(), [json.dumps(replies.message()).encode()])
    (facts,) = sink.calls
    assert (facts.requested_model, facts.request, facts.prompt) == (None, None, None)
    assert tokens(facts.reply) == replies.CLAUDE_TOKENS


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_compressed_request_is_read(coding: str) -> None:
    """Codex compresses with zstd."""
    body = ENCODERS[coding](json.dumps(REQUEST).encode())
    facts = call_of(
        ANTHROPIC,
        post("/v1/messages", content_encoding=coding),
        body,
        answer(),
        json.dumps(replies.message()).encode(),
    )
    assert facts.request == {"max_tokens": 9}


def test_content_is_kept_only_on_request() -> None:
    body = sse(replies.message_events())
    reply = answer(EVENT_STREAM)
    assert call_of(ANTHROPIC, post("/v1/messages"), REQUEST, reply, body).content is None
    kept = call_of(ANTHROPIC, post("/v1/messages"), REQUEST, reply, body, keep_content=True)
    texts = [part.get("text") for part in kept.content]
    assert replies.WORDS in texts
    assert kept.prompt == {"messages": REQUEST["messages"]}


def test_a_region_and_a_password_in_the_url_of_the_upstream() -> None:
    route = Route("upstream", "https://user:secret@eu.api.openai.com:8443/v1")
    facts = call_of(
        route, post("/v1/responses?key=secret"), {}, answer(), json.dumps(replies.response()).encode()
    )
    assert facts.exchange is not None
    assert facts.exchange.endpoint == "eu.api.openai.com:8443/v1/responses"
    assert facts.regional_host == "eu.api.openai.com"


@pytest.mark.parametrize("kind", ["", "text/plain", "application/octet-stream"])
def test_a_reply_without_a_known_content_type_is_read_by_its_beginning(kind: str) -> None:
    streamed = call_of(
        ANTHROPIC, post("/v1/messages"), {}, answer(kind), sse(replies.message_events(), named=True)
    )
    whole = call_of(ANTHROPIC, post("/v1/messages"), {}, answer(kind), json.dumps(replies.message()).encode())
    assert tokens(streamed.reply) == tokens(whole.reply) == replies.CLAUDE_TOKENS
    assert (streamed.streamed, whole.streamed, streamed.error, whole.error) == (True, False, None, None)


def test_many_large_requests_at_once_share_a_limit() -> None:
    """What does not fit is not kept, and there is room again when the calls were recorded."""
    sink = Sink()
    calls = WireCalls(sink)
    piece = b'{"model": "m", "messages": "' + b"x" * (60 << 20)
    observers = [calls.observe(ANTHROPIC, post("/v1/messages")) for _ in range(6)]
    reply = json.dumps(replies.message()).encode()
    for observer in observers:
        assert observer is not None
        observer.request_body(piece)
    for observer in observers:
        pass_exchange(observer, b'"}', answer(), [reply])
    pass_exchange(calls.observe(ANTHROPIC, post("/v1/messages")), piece + b'"}', answer(), [reply])
    assert [facts.requested_model for facts in sink.calls] == ["m"] * 2 + [None] * 4 + ["m"]


def test_a_call_that_is_redirected_goes_around_the_meter() -> None:
    sink = Sink()
    calls = WireCalls(sink)
    head = answer(status=307, location="https://eu.api.example/v1/messages?key=secret")
    pass_exchange(calls.observe(ANTHROPIC, post("/v1/messages")), REQUEST, head)
    pass_exchange(calls.observe(ANTHROPIC, post("/v1/messages")), REQUEST, answer(status=304))
    assert sink.kinds == ["the redirect of POST api.anthropic.com/v1/messages"]
    assert [facts.reply_began for facts in sink.calls] == [False, False]
