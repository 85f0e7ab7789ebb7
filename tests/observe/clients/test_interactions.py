"""Google's Interactions, which its library calls by other means than the rest."""

import asyncio
import threading
from typing import Any

import pytest

import runcard
from observe.clients import replies
from observe.clients.clients import async_gemini, collected, gemini, genai, make
from observe.clients.conftest import calls
from observe.clients.server import Answer, Json, ModelServer
from runcard.accounting import read_usage

if not hasattr(genai.Client, "interactions"):
    pytest.skip("this version of google-genai has no interactions", allow_module_level=True)

ASKED: Json = {"model": "gemini-latest", "input": "What does the fox do?"}
USAGE = {
    "total_input_tokens": 3000,
    "total_tool_use_tokens": 50,
    "total_cached_tokens": 2048,
    "total_output_tokens": 120,
    "total_thought_tokens": 900,
    "total_tokens": 4070,
}
BROKEN = Answer({"error": {"code": 500, "message": "it broke"}}, status=500)


def interaction(**changes: Any) -> Json:
    said = {"type": "model_output", "content": [{"type": "text", "text": replies.WORDS}]}
    return {
        "id": "int_01",
        "object": "interaction",
        "status": "completed",
        "model": replies.GEMINI,
        "role": "model",
        "steps": [said],
        "usage": USAGE,
        **changes,
    }


def interaction_events() -> list[Json]:
    begun = {"id": "int_01", "object": "interaction", "status": "in_progress", "model": replies.GEMINI}
    return [
        {"event_type": "interaction.created", "interaction": begun},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "The quick "}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "brown fox."}},
        {"event_type": "step.stop", "index": 0},
        {
            "event_type": "interaction.completed",
            "interaction": begun | {"status": "completed", "usage": USAGE},
        },
    ]


def check(call: dict[str, Any], *, streamed: bool) -> None:
    assert (call["requested_model"], call["model"], call["response_id"]) == (
        "gemini-latest",
        replies.GEMINI,
        "int_01",
    )
    assert (call["tokens"], call["token_source"]) == (replies.GEMINI_TOKENS, "reported")
    assert (call["stop_reason"], call["api"], call["streamed"]) == ("completed", "interactions", streamed)
    assert call["cost_usd"] > 0


def test_an_interaction_is_a_call(server: ModelServer, run: runcard.Run) -> None:
    server.says(interaction())
    with gemini(server) as client:
        for _ in range(2):
            reply = client.interactions.create(**ASKED)
            run.add_usage(reply)
            assert reply.output_text == replies.WORDS
    assert len(calls(run)) == 2
    check(calls(run)[0], streamed=False)


def test_a_streamed_interaction_is_a_call(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer(events=interaction_events()))
    with gemini(server) as client:
        runcard.watch(client, keep_content=True)
        events = list(client.interactions.create(**ASKED, stream=True))
    (call,) = calls(run)
    check(call, streamed=True)
    assert 0 < call["time_to_first_token_seconds"] <= call["latency_seconds"]
    assert call["content"]["reply"] == [{"type": "text", "text": replies.WORDS}]
    assert read_usage(events).tokens.to_dict() == replies.GEMINI_TOKENS


def test_an_async_interaction_is_a_call(server: ModelServer, run: runcard.Run) -> None:
    async def main() -> None:
        async with async_gemini(server) as client:
            server.says(interaction())
            await client.interactions.create(**ASKED)
            server.says(Answer(events=interaction_events()))
            await collected(await client.interactions.create(**ASKED, stream=True))

    asyncio.run(main())
    whole, streamed = calls(run)
    check(whole, streamed=False)
    check(streamed, streamed=True)


def test_other_calls_of_the_client_are_counted_once_beside_it(server: ModelServer, run: runcard.Run) -> None:
    server.says(interaction())
    with gemini(server) as client:
        client.interactions.create(**ASKED)
    make("gemini", server)
    make("gemini-stream", server)
    assert [call["retries"] for call in calls(run)] == [0, 0, 0]


def test_an_interaction_that_fails(server: ModelServer, run: runcard.Run) -> None:
    server.says(BROKEN)
    with gemini(server, retry_options={"attempts": 1}) as client, pytest.raises(Exception):  # noqa: B017, PT011
        client.interactions.create(**ASKED)
    (call,) = calls(run)
    assert (call["error"]["status"], call["tokens"], call["token_source"]) == (500, {}, None)


def test_an_interaction_that_breaks_off(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer(events=interaction_events()[:3], cut=True))
    with gemini(server) as client, pytest.raises(Exception):  # noqa: B017, PT011
        list(client.interactions.create(**ASKED, stream=True))
    (call,) = calls(run)
    assert (call["tokens"], call["token_source"]) == ({}, "partial")


def test_an_interaction_in_the_background_is_counted_when_it_is_there(
    server: ModelServer, run: runcard.Run
) -> None:
    server.says(interaction(status="in_progress", usage=None, steps=[]), interaction())
    with gemini(server) as client:
        client.interactions.create(**ASKED, background=True)
        assert calls(run) == []
        run.add_usage(client.interactions.get("int_01"))
    (call,) = calls(run)
    check(call, streamed=False)


def test_a_stream_of_an_interaction_stays_lazy(server: ModelServer, run: runcard.Run) -> None:
    hold = threading.Event()
    server.says(Answer(events=interaction_events(), hold=hold))
    with gemini(server) as client:
        stream = client.interactions.create(**ASKED, stream=True)
        next(iter(stream))
        assert not hold.is_set()
        hold.set()
        list(stream)
    assert len(calls(run)) == 1
