"""What goes wrong: attempts that are repeated, errors, streams that break off or that nobody reads to the end."""

import asyncio
import gc
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import runcard
from observe.clients import replies
from observe.clients.clients import (
    CHAT,
    CLAUDE,
    GEMINI,
    RESPONSES,
    anthropic,
    async_claude,
    async_gemini,
    claude,
    gemini,
    genai,
    gpt,
    make,
    openai,
)
from observe.clients.conftest import calls, events
from observe.clients.server import Answer, ModelServer
from runs.runs import read

AT_ONCE = {"retry-after-ms": "1", "retry-after": "0"}
BUSY = Answer({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}, status=429, headers=AT_ONCE)  # fmt: skip
BROKEN = Answer({"error": {"code": 500, "message": "it broke", "status": "INTERNAL"}}, status=500, headers=AT_ONCE)  # fmt: skip
RETRIES = {"retry_options": {"attempts": 3, "initial_delay": 0.001, "max_delay": 0.001, "jitter": 0}}
WAYS = ["claude", "claude-stream", "chat", "chat-stream", "responses", "async-claude", "async-chat-stream"]


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_succeeds_at_the_third_attempt_is_one_call(
    way: str, server: ModelServer, run: runcard.Run
) -> None:
    good = Answer(replies.message())
    if "stream" in way:
        good = Answer(events=replies.message_events() if "claude" in way else replies.chunks())
    elif "claude" not in way:
        good = Answer(replies.completion() if "chat" in way else replies.response())
    make(way, server, BUSY, BROKEN, good)
    (call,) = calls(run)
    assert (call["retries"], call["token_source"]) == (2, "reported")
    assert "error" not in call
    assert len(server.asked) == 3


@pytest.mark.parametrize("way", ["gemini", "gemini-stream", "async-gemini", "async-gemini-stream"])
def test_gemini_tries_again_when_it_is_told_to(way: str, server: ModelServer, run: runcard.Run) -> None:
    good = Answer(events=replies.generated_events()) if "stream" in way else Answer(replies.generated())
    make(way, server, BROKEN, BROKEN, good, **RETRIES)
    (call,) = calls(run)
    assert (call["retries"], call["token_source"]) == (2, "reported")


ERRORS: dict[str, tuple[Any, Any]] = {
    "claude": (claude, lambda c: c.messages.create(**CLAUDE)),
    "chat": (gpt, lambda c: c.chat.completions.create(**CHAT, stream=True)),
    "responses": (gpt, lambda c: c.responses.create(**RESPONSES)),
    "gemini": (gemini, lambda c: c.models.generate_content(**GEMINI)),
    "gemini-stream": (gemini, lambda c: list(c.models.generate_content_stream(**GEMINI))),
}


@pytest.mark.parametrize("way", ERRORS)
def test_an_error_that_stays_is_recorded_and_passes_unchanged(
    way: str, server: ModelServer, outputs: Path
) -> None:
    server.says(BROKEN)
    open_client, use = ERRORS[way]
    with runcard.record(outputs, strict=True) as run:
        settings = RETRIES if way.startswith("gemini") else {}
        with open_client(server, **settings) as client:
            kinds = (anthropic.InternalServerError, openai.InternalServerError, genai.errors.ServerError)
            with pytest.raises(kinds) as caught:
                use(client)
        make("claude", server)
    failed, good = calls(run)
    assert failed["error"]["type"] == type(caught.value).__name__
    assert failed["error"]["status"] == 500
    assert "it broke" in failed["error"]["message"]
    assert (failed["retries"], failed["tokens"], failed["token_source"]) == (2, {}, None)
    assert failed["requested_model"] == failed["model"] != good["model"]
    assert "error" not in good
    assert [line["level"] for line in events(run) if line["event"] == "model.called"] == ["error", "info"]
    costs = read(run.path)["costs"]
    assert (costs["input_tokens"], costs["total_cost_usd"]) == (5051, good["cost_usd"])
    assert read(run.path)["warnings"] == []  # nobody charges for it, so no price is missing


def test_a_server_that_is_not_there(run: runcard.Run) -> None:
    with anthropic.Anthropic(api_key="k", base_url="http://127.0.0.1:9", max_retries=1) as client:
        runcard.watch(client)
        with pytest.raises(anthropic.APIConnectionError):
            client.messages.create(**CLAUDE)
    (call,) = calls(run)
    assert (call["error"]["type"], call["retries"], call["token_source"]) == ("APIConnectionError", 1, None)


def test_a_secret_in_the_message_of_an_error_is_masked(server: ModelServer, run: runcard.Run) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20 + "-AAAAAAAA"
    server.says(Answer({"type": "error", "error": {"type": "authentication_error", "message": f"bad key {key}"}}, status=401))  # fmt: skip
    with claude(server) as client, pytest.raises(anthropic.AuthenticationError, match=key):
        client.messages.create(**CLAUDE)
    text = (run.path / "experiment.jsonl").read_text()
    assert "bad key" in text
    assert key not in text


CUTS: dict[str, tuple[list[Any], dict[str, int]]] = {
    "claude-stream": (
        replies.message_events()[:9],
        {"input": 5051, "output": 1, "cache_read": 4000, "cache_write_5m": 1000, "cache_write_1h": 30},
    ),
    "chat-stream": (replies.chunks()[:3], {}),
    "responses-stream": (replies.response_events()[:6], {}),
    "gemini-stream": (replies.generated_events()[:2], {"input": 3000, "output": 0}),
    "async-claude-stream": (replies.message_events()[:1], {"input": 5051, "output": 1, "cache_read": 4000, "cache_write_5m": 1000, "cache_write_1h": 30}),
    "async-gemini-stream": (replies.generated_events()[:2], {"input": 3000, "output": 0}),
}  # fmt: skip


@pytest.mark.parametrize("way", CUTS)
def test_a_connection_that_breaks_in_mid_stream_leaves_partial_counts(
    way: str, server: ModelServer, outputs: Path
) -> None:
    said, tokens = CUTS[way]
    with runcard.record(outputs, strict=True) as run:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - each library has its own
            make(way, server, Answer(events=said, cut=True))
        assert not isinstance(caught.value, runcard.RuncardError)
    (call,) = calls(run)
    assert (call["tokens"], call["token_source"]) == (tokens, "partial")
    assert call["error"]["type"]
    assert call["stop_reason"] in (None, "in_progress")
    assert read(run.path)["costs"]["token_source"] == call["token_source"]


def test_a_whole_reply_that_breaks_off(server: ModelServer, run: runcard.Run) -> None:
    with pytest.raises(anthropic.APIConnectionError):
        make("claude", server, Answer(replies.message(), cut=True), max_retries=0)
    (call,) = calls(run)
    assert (call["error"]["type"], call["retries"]) == ("APIConnectionError", 0)


@pytest.mark.parametrize("way", ["claude", "chat", "responses", "gemini"])
def test_a_reply_that_is_no_json(way: str, server: ModelServer, run: runcard.Run) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - each library has its own
        make(way, server, Answer(b'{"id": "msg_01", "usa'), **({} if way == "gemini" else {"max_retries": 0}))
    (call,) = calls(run)
    assert call["error"]["type"]
    assert (call["tokens"], call["token_source"]) == ({}, "partial")


@pytest.mark.parametrize("way", ["claude-stream", "chat-stream"])
def test_an_event_that_is_no_json(way: str, server: ModelServer, run: runcard.Run) -> None:
    good = replies.message_events() if "claude" in way else replies.chunks()
    bad = '{"type": "content_bl'
    raw = bad if way == "chat-stream" else f"{bad}\nevent: content_block_delta"
    with pytest.raises(json.JSONDecodeError):
        make(way, server, Answer(events=[*good[:2], raw]))
    (call,) = calls(run)
    assert call["error"] == {"type": "malformed-reply", "message": "a part of the reply is not JSON"}
    assert call["token_source"] == "partial"  # noqa: S105 - where the counts come from


@pytest.mark.parametrize("way", ["claude-stream", "chat-stream", "responses-stream", "gemini-stream"])
def test_an_error_in_the_middle_of_a_stream_is_told_by_the_stream(
    way: str, server: ModelServer, run: runcard.Run
) -> None:
    told: dict[str, Any] = {"type": "overloaded_error", "message": "too many foxes"}
    first: list[Any] = {
        "claude-stream": replies.message_events()[:2],
        "chat-stream": replies.chunks()[:1],
        "responses-stream": replies.response_events()[:2],
        "gemini-stream": replies.generated_events()[:1],
    }[way]
    error = {"error": {"code": 503, "status": "overloaded_error", "message": "too many foxes"}}
    last = error if way == "gemini-stream" else {"type": "error", "error": told}
    kinds = (anthropic.APIStatusError, openai.APIError, genai.errors.APIError)
    with pytest.raises(kinds):
        make(way, server, Answer(events=[*first, last]))
    (call,) = calls(run)
    assert call["error"]["type"] in ("overloaded_error", "ServerError")
    assert "too many foxes" in call["error"]["message"]
    assert call["token_source"] == "partial"  # noqa: S105 - where the counts come from


def test_a_stream_that_is_closed_early_is_partial_and_no_error(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer(events=replies.message_events()))
    with claude(server) as client, client.messages.create(**CLAUDE, stream=True) as stream:
        for event in stream:
            if event.type == "content_block_delta":
                break
    (call,) = calls(run)
    assert (call["token_source"], call["tokens"]["output"]) == ("partial", 1)
    assert "error" not in call


def test_a_stream_that_is_dropped_is_partial(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer(events=replies.message_events()))
    with claude(server) as client:
        next(iter(client.messages.create(**CLAUDE, stream=True)))
        gc.collect()
    server.says(Answer(events=replies.generated_events()))
    with gemini(server) as client:
        next(client.models.generate_content_stream(**GEMINI))
        gc.collect()
    assert [call["token_source"] for call in calls(run)] == ["partial", "partial"]


def test_a_stream_that_is_open_when_its_run_ends_belongs_to_it(server: ModelServer, outputs: Path) -> None:
    server.says(Answer(events=replies.message_events()))
    with runcard.record(outputs, strict=True) as run, claude(server) as client:
        stream = client.messages.create(**CLAUDE, stream=True)
        next(stream)
    assert [call["token_source"] for call in calls(run)] == ["partial"]
    assert len(list(stream)) == len(replies.message_events()) - 2  # what is left of it, without the ping
    assert len(calls(run)) == 1


def test_a_stream_of_chat_completions_without_counts_says_how_to_get_them(
    server: ModelServer, outputs: Path
) -> None:
    with runcard.record(outputs, strict=True) as run:
        for _ in range(2):
            make("chat-stream", server, Answer(events=replies.chunks(usage=False)))
    first, second = calls(run)
    assert (first["tokens"], first["token_source"], first["stop_reason"]) == ({}, None, "tool_calls")
    assert second["cost_usd"] is None
    document = read(run.path)
    assert document["costs"]["input_tokens"] is None
    assert document["costs"]["total_cost_usd"] is None
    told = {warning["type"]: warning["message"] for warning in document["warnings"]}
    assert "include_usage" in told["no-usage"]
    assert len(document["warnings"]) == 2  # this one, and the cost that stays unknown; each once


def test_counts_that_cannot_be_are_a_warning_and_no_error(server: ModelServer, outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        reply = make(
            "claude", server, Answer(replies.message(usage={"input_tokens": -4, "output_tokens": 2}))
        )
    assert reply.id == "msg_01"
    (call,) = calls(run)
    assert (call["tokens"], call["token_source"]) == ({}, None)
    assert (call["model"], call["response_id"]) == (reply.model, "msg_01")
    assert "usage.input_tokens is -4; it must not be negative" in read(run.path)["warnings"][0]["message"]


def test_a_call_that_is_cancelled(server: ModelServer, run: runcard.Run) -> None:
    hold = threading.Event()
    server.says(Answer(events=replies.message_events(), hold=hold))

    async def main() -> None:
        async with async_claude(server) as client:

            async def read_all() -> None:
                async for _ in await client.messages.create(**CLAUDE, stream=True):
                    begun.set()

            begun = asyncio.Event()
            task = asyncio.create_task(read_all())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    hold.set()
    (call,) = calls(run)
    assert (call["error"]["type"], call["token_source"]) == ("CancelledError", "partial")


def test_an_async_stream_that_is_dropped_is_partial(server: ModelServer, outputs: Path) -> None:
    async def main() -> runcard.Run:
        async with runcard.record(outputs, strict=True) as run:
            async with async_gemini(server) as client:
                server.says(Answer(events=replies.generated_events()))
                await anext(await client.models.generate_content_stream(**GEMINI))
            async with async_claude(server) as client:
                server.says(Answer(events=replies.message_events()))
                stream = await client.messages.create(**CLAUDE, stream=True)
                await anext(stream)
                await stream.close()
        return run

    run = asyncio.run(main())
    assert [call["token_source"] for call in calls(run)] == ["partial", "partial"]


def test_a_call_that_cannot_be_recorded_is_a_warning(server: ModelServer, outputs: Path) -> None:
    with runcard.record(outputs) as run:
        pass
    with claude(server) as client:
        runcard.watch(client, run=run)
        server.says(replies.message())
        with pytest.warns(runcard.RuncardWarning, match="the run in .* is closed: this call was not"):
            reply = client.messages.create(**CLAUDE)
        assert reply.content[0].text == replies.WORDS
        server.says(Answer(events=replies.message_events()))
        with pytest.warns(runcard.RuncardWarning, match="is closed"):
            assert len(list(client.messages.create(**CLAUDE, stream=True))) == 15


def test_a_client_that_is_built_in_another_way_goes_on_unseen(
    server: ModelServer, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a version of the library might be that nobody has seen yet."""

    def changed(*_: object) -> None:
        raise AttributeError("nothing of this name")

    monkeypatch.setattr("runcard.observe.clients.anthropic_openai.watch_sending", changed)
    warned = pytest.warns(runcard.RuncardWarning, match="could not be recorded: AttributeError")
    with runcard.record(outputs) as run, warned:
        assert make("claude", server).content[0].text == replies.WORDS
    assert calls(run) == []
    with runcard.record(outputs, strict=True), pytest.raises(AttributeError, match="nothing of this name"):
        make("claude", server)


def test_a_reply_that_is_read_in_another_way_goes_on_unseen(
    server: ModelServer, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(*_: object) -> None:
        raise AttributeError("nothing of this name")

    monkeypatch.setattr("runcard.observe.clients.reply_reader.JsonReply.feed", changed)
    warned = pytest.warns(runcard.RuncardWarning, match="could not be recorded: AttributeError")
    with runcard.record(outputs) as run, warned:
        assert make("claude", server).content[0].text == replies.WORDS
    assert [call["token_source"] for call in calls(run)] == ["partial"]  # that it was made is known
    with runcard.record(outputs, strict=True), pytest.raises(AttributeError, match="nothing of this name"):
        make("claude", server)
    assert len(server.asked) == 2  # the client takes it for no failure of its own, and does not try again


def test_a_call_that_cannot_be_recorded_raises_when_it_must_be(server: ModelServer, outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        pass
    with claude(server) as client:
        runcard.watch(client, run=run)
        server.says(replies.message())
        with pytest.raises(runcard.RuncardError, match=r"the run in .* is closed"):
            client.messages.create(**CLAUDE)
        server.says(BROKEN)
        with pytest.raises(anthropic.InternalServerError) as caught:
            client.messages.create(**CLAUDE)
        assert "runcard could not record this call: the run in" in caught.value.__notes__[0]
