"""`run.add_usage` with what the vendors' libraries return, beside a watched client and without one."""

import asyncio
from typing import Any

import pytest

import runcard
from observe.clients import replies
from observe.clients.clients import (
    ASYNC,
    CHAT,
    CLAUDE,
    GEMINI,
    RESPONSES,
    SYNC,
    anthropic,
    claude,
    gemini,
    genai,
    gpt,
    make,
    openai,
)
from observe.clients.conftest import calls, events
from observe.clients.server import Answer, ModelServer
from runcard.accounting import Tokens, read_usage
from runcard.errors import UsageError

REPLIES = [
    way
    for way in (*SYNC, *ASYNC)
    if not {"lines", "talk"} & set(way.split("-")) and way != "chat-streaming-response"
]
TOKENS = {
    "claude": replies.CLAUDE_TOKENS,
    "chat": replies.CHAT_TOKENS,
    "responses": replies.RESPONSE_TOKENS,
    "gemini": replies.GEMINI_TOKENS,
}


@pytest.mark.parametrize("way", REPLIES)
def test_whatever_a_library_returns_is_read(way: str, server: ModelServer, outputs: Any) -> None:
    """A reply, the final message of a helper, or the list of a stream's events; made where no run watches."""
    reply = make(way, server)
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(reply)
    (call,) = calls(run)
    vendor = next(name for name in TOKENS if name in way.split("-"))
    assert (call["tokens"], call["token_source"]) == (TOKENS[vendor], "reported")
    assert call["stop_reason"]


@pytest.mark.parametrize(
    "way",
    ["claude", "claude-stream-helper", "chat-stream", "responses", "responses-stream", "gemini", "async-gemini-stream"],
)  # fmt: skip
def test_a_reply_of_a_watched_client_is_not_counted_twice(
    way: str, server: ModelServer, run: runcard.Run
) -> None:
    run.add_usage(make(way, server))
    assert len(calls(run)) == 1
    run.add_usage({"input": 1, "output": 2})
    run.add_usage(replies.message(id="msg_other"))
    assert len(calls(run)) == 3


def test_what_only_add_usage_states_about_a_watched_call_is_added(server: ModelServer, outputs: Any) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage(make("claude", server), step="draft", service_tier="batch")
    assert [call["service_tier"] for call in calls(run)] == [None, "batch"]
    document = runcard.load(run.path / "metadata.json").to_dict()
    (step,) = document["token_usage"]["breakdown_by_step"]
    assert (step["step"], step["calls"]) == ("draft", 1)
    assert [row["service_tier"] for row in document["costs"]["price_rows"]] == ["batch"]


def test_a_reply_that_is_still_coming_is_not_counted_twice(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer(events=replies.message_events()))
    with claude(server) as client, client.messages.stream(**CLAUDE) as stream:
        for event in stream:
            if event.type == "text":
                run.add_usage(stream.current_message_snapshot)
    assert len(calls(run)) == 1


def test_a_response_in_the_background_is_counted_when_it_is_there(server: ModelServer, outputs: Any) -> None:
    begun = replies.response(status="queued", output=[], usage=None)
    server.says(begun, begun, replies.response())
    with runcard.record(outputs, strict=True) as run, gpt(server) as client:
        response = client.responses.create(**RESPONSES, background=True)
        assert calls(run) == []
        while response.status != "completed":
            run.add_usage(response)
            response = client.responses.retrieve(response.id)
        run.add_usage(response)
        run.add_usage(response)
    (call,) = calls(run)
    assert (call["tokens"], call["token_source"]) == (replies.RESPONSE_TOKENS, "reported")
    assert call["stop_reason"] == "completed"


def test_a_response_in_the_background_that_nobody_waits_for_is_unknown(
    server: ModelServer, outputs: Any
) -> None:
    server.says(replies.response(status="queued", output=[], usage=None))
    with runcard.record(outputs, strict=True) as run, gpt(server) as client:
        client.responses.create(**RESPONSES, background=True)
    (call,) = calls(run)
    assert (call["tokens"], call["token_source"], call["stop_reason"]) == ({}, None, "queued")


def test_the_events_of_a_stream_that_was_cut_are_partial(server: ModelServer) -> None:
    def early(way: str) -> Any:
        events = make(way, server)
        return read_usage(events[: len(events) // 2])

    assert [early(way).source for way in ("claude-stream", "gemini-stream")] == ["partial", "partial"]
    assert early("claude-stream").tokens.input == 5051
    assert early("chat-stream").source is None  # nothing is known, and nothing is zero
    assert early("chat-stream").tokens == early("responses-stream").tokens == Tokens()


def test_what_is_no_reply_yet_is_refused_with_what_to_do(server: ModelServer, run: runcard.Run) -> None:
    def refused(thing: Any) -> str:
        with pytest.raises(UsageError) as caught:
            run.add_usage(thing)
        return f"{caught.value.message}; {caught.value.hint}"

    unread = "before it is read; read it to its end, and pass its final message or the list of its events"
    server.says(Answer(events=replies.message_events()))
    with claude(server) as client:
        with client.messages.create(**CLAUDE, stream=True) as stream:
            assert refused(stream) == f"a Stream has no usage {unread}"
        with client.messages.stream(**CLAUDE) as helper:
            assert refused(helper) == f"a MessageStream has no usage {unread}"
        assert "open it with `with`" in refused(client.messages.stream(**CLAUDE))
        server.says(replies.message())
        raw = client.messages.with_raw_response.create(**CLAUDE)
        assert "pass the result of its parse()" in refused(raw)
    with gpt(server) as client:
        server.says(Answer(events=replies.chunks()))
        with client.chat.completions.create(**CHAT, stream=True) as stream:
            assert unread in refused(stream)
        with client.chat.completions.stream(**CHAT) as helper:
            assert unread in refused(helper)
        server.says(replies.response())
        raw = client.responses.with_raw_response.create(**RESPONSES)
        assert "pass the result of its parse()" in refused(raw)
    with gemini(server) as client:
        server.says(Answer(events=replies.generated_events()))
        stream = client.models.generate_content_stream(**GEMINI)
        assert refused(stream) == f"a generator has no usage {unread}"
        stream.close()

    async def ask() -> None:
        async with anthropic.AsyncAnthropic(api_key="k", base_url=server.url) as client:
            pending = client.messages.create(**CLAUDE)
            assert refused(pending) == "a coroutine is not a reply yet; await it, and pass the result"
            pending.close()

    asyncio.run(ask())


def test_the_classes_of_the_libraries_are_those_that_were_meant() -> None:
    """What the refusals above go by: a name that a new version drops would go unnoticed."""
    assert hasattr(anthropic.Stream, "__next__")
    assert hasattr(openai.AsyncStream, "__anext__")
    assert not hasattr(genai.types.GenerateContentResponse, "__next__")
    for kind in (anthropic.types.Message, openai.types.chat.ChatCompletion, openai.types.responses.Response):
        assert not any(hasattr(kind, name) for name in ("__next__", "__anext__", "__await__", "__enter__"))


@pytest.mark.parametrize("way", ["chat", "claude", "gemini", "chat-stream"])
def test_an_unknown_count_leaves_the_program_alone(way: str, server: ModelServer, run: runcard.Run) -> None:
    """The call is kept with the counts that are known. Its cost is not: the unknown one may be charged."""
    more = {"foo_tokens": 12}
    good = {
        "chat": Answer(replies.completion(usage={**replies.CHAT_USAGE, **more})),
        "claude": Answer(replies.message(usage={**replies.CLAUDE_USAGE, **more})),
        "gemini": Answer(replies.generated(usageMetadata={**replies.GEMINI_USAGE, **more})),
        "chat-stream": Answer(events=[_with_count(event, more) for event in replies.chunks()]),
    }[way]
    make(way, server, good)
    (call,) = calls(run)
    vendor = next(name for name in TOKENS if name in way.split("-"))
    assert (call["tokens"], call["token_source"], call["cost_usd"]) == (TOKENS[vendor], "reported", None)
    warnings = [event["payload"] for event in events(run) if event["event"] == "warning.added"]
    assert {warning["type"] for warning in warnings} == {"unknown-count", "unknown-price"}
    assert all("foo_tokens" in warning["message"] for warning in warnings)


def _with_count(event: Any, more: dict[str, Any]) -> Any:
    if isinstance(event, dict) and event.get("usage"):
        return {**event, "usage": {**event["usage"], **more}}
    return event


@pytest.mark.parametrize("way", ["chat", "chat-stream"])
def test_a_cost_that_a_gateway_states_is_recorded(way: str, server: ModelServer, run: runcard.Run) -> None:
    """OpenRouter is called with OpenAI's client."""
    cost = {"cost": 0.000612, "is_byok": False}
    chunks = [_with_count(event, cost) for event in replies.chunks()]
    whole = replies.completion(usage={**replies.CHAT_USAGE, **cost})
    make(way, server, Answer(events=chunks) if "stream" in way else Answer(whole))
    (call,) = calls(run)
    assert (call["cost_usd"], call["cost_source"], call["price_row"]) == (0.000612, "reported", None)
