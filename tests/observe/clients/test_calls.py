"""Every way to call a model with a vendor's library is one event, with what the call asked, took and used."""

import json
import threading
from typing import Any

import pytest

import runcard
from observe.clients import replies
from observe.clients.clients import (
    ASYNC,
    CHAT,
    CLAUDE,
    GEMINI,
    MESSAGES,
    RESPONSES,
    SYNC,
    TOOL,
    anthropic,
    claude,
    gemini,
    gpt,
    make,
)
from observe.clients.conftest import calls
from observe.clients.server import Answer, ModelServer
from runcard.digests import sha256_bytes
from runcard.encoding import canonical_json
from runs.runs import read

FACTS: dict[str, dict[str, Any]] = {
    "claude": {
        "requested_model": "claude-latest",
        "model": replies.CLAUDE,
        "response_id": "msg_01",
        "tokens": replies.CLAUDE_TOKENS,
        "stop_reason": "end_turn",
        "api": "messages",
    },
    "chat": {
        "requested_model": "gpt-latest",
        "model": replies.GPT,
        "response_id": "chatcmpl-01",
        "tokens": replies.CHAT_TOKENS,
        "stop_reason": "stop",
        "api": "chat",
    },
    "responses": {
        "requested_model": "gpt-latest",
        "model": replies.GPT,
        "response_id": "resp_01",
        "tokens": replies.RESPONSE_TOKENS,
        "stop_reason": "completed",
        "api": "responses",
    },
    "gemini": {
        "requested_model": "gemini-latest",
        "model": replies.GEMINI,
        "response_id": "gem-01",
        "tokens": replies.GEMINI_TOKENS,
        "stop_reason": "STOP",
        "api": "generateContent",
    },
}
AT_THE_END = {"claude": "tool_use", "chat": "tool_calls"}  # the streams of these end with a tool call


@pytest.mark.parametrize("way", [*SYNC, *ASYNC])
def test_a_call_is_one_event_whichever_way_it_is_made(
    way: str, server: ModelServer, run: runcard.Run
) -> None:
    make(way, server)
    (call,) = calls(run)
    vendor = next(name for name in FACTS if name in way.split("-"))
    streamed = "stream" in way.removesuffix("-streaming-response").split("-")
    expected = FACTS[vendor] | {"token_source": "reported", "streamed": streamed, "retries": 0}
    if streamed:
        expected["stop_reason"] = AT_THE_END.get(vendor, expected["stop_reason"])
    assert {name: call[name] for name in expected} == expected
    assert call["cost_usd"] > 0
    assert len(call["prompt_sha256"]) == 64
    assert 0 < call["latency_seconds"] < 60
    if streamed:
        assert 0 < call["time_to_first_token_seconds"] <= call["latency_seconds"]
    else:
        assert "time_to_first_token_seconds" not in call
    assert not {"error", "content"} & call.keys()


@pytest.mark.parametrize(
    "way",
    [way for way in (*SYNC, *ASYNC) if not {"copy", "beta", "parse", "talk"} & set(way.split("-"))][::2],
)
def test_without_a_run_nothing_is_recorded_and_nothing_is_different(
    way: str, server: ModelServer, outputs: Any
) -> None:
    with runcard.record(outputs, strict=True):
        watched = make(way, server)
    alone = make(way, server)
    assert _shown(alone) == _shown(watched)
    assert len(list(outputs.glob("2*"))) == 1
    assert server.asked[0].body == server.asked[1].body


def _shown(result: Any) -> Any:
    if isinstance(result, list):
        return [_shown(item) for item in result]
    if hasattr(result, "model_dump"):
        said = result.model_dump()
        said.pop("sdk_http_response", None)  # the time of the server is in it
        return said
    return result


def test_the_totals_of_a_run_are_those_of_its_calls(server: ModelServer, outputs: Any) -> None:
    with runcard.record(outputs, strict=True) as run:
        for way in ("claude", "claude-stream", "chat", "gemini-stream"):
            make(way, server)
    document = read(run.path)
    assert document["costs"]["input_tokens"] == 2 * 5051 + 2006 + 3050
    assert document["costs"]["token_source"] == "reported"  # noqa: S105 - where the counts come from
    assert document["costs"]["total_cost_usd"] > 0
    rows = document["token_usage"]["breakdown_by_model"]
    assert [(row["model"], row["calls"]) for row in rows] == [
        (replies.CLAUDE, 2),
        (replies.GPT, 1),
        (replies.GEMINI, 1),
    ]
    assert document["warnings"] == []


@pytest.mark.parametrize(
    ("name", "kind"), [("claude", "request-id"), ("chat", "x-request-id"), ("gemini", "x-goog-request-id")]
)
def test_the_id_of_a_request_and_the_observer_are_recorded(
    server: ModelServer, run: runcard.Run, name: str, kind: str
) -> None:
    """By these, the meter's report of the same call is recognized."""
    reply = {"claude": replies.message, "chat": replies.completion, "gemini": replies.generated}[name]()
    server.says(
        Answer(json.dumps(reply).encode(), headers={kind: "req_7", "content-type": "application/json"})
    )
    client = {"claude": claude, "chat": gpt, "gemini": gemini}[name]
    with client(server) as api:
        if name == "claude":
            api.messages.create(**CLAUDE)
        elif name == "chat":
            api.chat.completions.create(**CHAT)
        else:
            api.models.generate_content(**GEMINI)
    (call,) = calls(run)
    assert (call["observer"], call["request_id"]) == ("watch", "req_7")


def test_the_digest_of_a_prompt_is_that_of_its_canonical_form(server: ModelServer, run: runcard.Run) -> None:
    server.says(replies.message())
    asked = {"system": "Be brief.", "messages": MESSAGES, "tools": [TOOL]}
    with claude(server) as client:
        client.messages.create(model="claude-latest", max_tokens=5, stop_sequences=["."], **asked)
        client.messages.create(model="claude-other", max_tokens=99, **asked)
        client.messages.create(model="claude-latest", max_tokens=5, messages=MESSAGES)
    same, also, other = (call["prompt_sha256"] for call in calls(run))
    assert same == also == sha256_bytes(canonical_json(asked)).hex
    assert other == sha256_bytes(canonical_json({"messages": MESSAGES})).hex


def test_tools_that_a_library_calls_by_itself_take_a_call_each(server: ModelServer, run: runcard.Run) -> None:
    def weather(city: str) -> str:
        """The weather of a city."""
        return f"Rain in {city}"

    asks = replies.generated(
        {"functionCall": {"name": "weather", "args": {"city": "Paris"}}}, responseId="gem-1"
    )
    server.says(asks, replies.generated(responseId="gem-2"))
    with gemini(server) as client:
        reply = client.models.generate_content(
            model="gemini-latest", contents="?", config={"tools": [weather]}
        )
    assert reply.text == replies.WORDS
    assert [call["response_id"] for call in calls(run)] == ["gem-1", "gem-2"]


def test_a_tool_runner_of_anthropic_takes_a_call_each(server: ModelServer, run: runcard.Run) -> None:
    @anthropic.beta_tool  # type: ignore[untyped-decorator]
    def weather(city: str) -> str:
        """The weather of a city."""
        return f"Rain in {city}"

    server.says(replies.tool_use(), replies.message(id="msg_end"))
    with claude(server) as client:
        runner = client.beta.messages.tool_runner(
            model="claude-latest", max_tokens=99, messages=MESSAGES, tools=[weather]
        )
        assert runner.until_done().content[0].text == replies.WORDS
    assert [(call["response_id"], call["stop_reason"]) for call in calls(run)] == [
        ("msg_tool", "tool_use"),
        ("msg_end", "end_turn"),
    ]


def test_embeddings_are_calls_and_other_requests_are_not(server: ModelServer, run: runcard.Run) -> None:
    with gpt(server) as client:
        server.says(replies.embeddings())
        client.embeddings.create(model="text-embedding-3-small", input="fox", encoding_format="float")
        server.says({"object": "list", "data": []})
        client.models.list()
    with claude(server) as client:
        server.says({"input_tokens": 12})
        client.messages.count_tokens(model="claude-latest", messages=MESSAGES)
    (call,) = calls(run)
    assert (call["api"], call["tokens"], call["token_source"]) == (
        "embeddings",
        {"input": 8, "output": 0},
        "reported",
    )


def test_calls_that_are_not_understood_are_named_in_a_warning(server: ModelServer, outputs: Any) -> None:
    with runcard.record(outputs, strict=True) as run, gpt(server) as client:
        server.says({"created": 1, "data": [{"url": "https://example.com/fox.png"}]})
        for _ in range(2):
            client.images.generate(model="gpt-image-1", prompt="a fox")
    assert calls(run) == []
    (warning,) = read(run.path)["warnings"]
    assert warning["type"] == "not-recorded"
    assert warning["message"].startswith("calls of images/generations are not recorded")


def test_a_prompt_that_gemini_refuses_has_a_reason(server: ModelServer, run: runcard.Run) -> None:
    refused = {
        "promptFeedback": {"blockReason": "SAFETY"},
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
        "modelVersion": replies.GEMINI,
        "responseId": "gem-no",
    }
    for answer, way in ((Answer(refused), "gemini"), (Answer(events=[refused]), "gemini-stream")):
        make(way, server, answer)
    assert [(call["stop_reason"], call["tokens"]) for call in calls(run)] == [
        ("SAFETY", {"input": 9, "output": 0})
    ] * 2


def test_what_a_stream_brings_can_be_read_while_it_comes(server: ModelServer, run: runcard.Run) -> None:
    """The first event reaches the caller while the server still holds the rest back."""
    for way in ("claude-stream", "chat-stream", "responses-stream", "gemini-stream"):
        _, answer, _ = SYNC[way]
        hold = threading.Event()
        server.says(Answer(events=answer.events, hold=hold))
        with SYNC[way][0](server) as client:
            stream = _begin(way, client)
            next(iter(stream))
            assert not hold.is_set()
            hold.set()
            for _ in stream:
                pass
    assert [call["token_source"] for call in calls(run)] == ["reported"] * 4


def _begin(way: str, client: Any) -> Any:
    return {
        "claude-stream": lambda: client.messages.create(**CLAUDE, stream=True),
        "chat-stream": lambda: client.chat.completions.create(**CHAT, stream=True),
        "responses-stream": lambda: client.responses.create(**RESPONSES, stream=True),
        "gemini-stream": lambda: client.models.generate_content_stream(**GEMINI),
    }[way]()


def test_the_events_are_plain_json(server: ModelServer, run: runcard.Run) -> None:
    make("claude", server)
    assert json.loads(json.dumps(calls(run))) == calls(run)
