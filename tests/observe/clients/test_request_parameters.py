"""A call keeps the parameters of its request, and nothing of its prompt."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import runcard
from observe.clients import replies
from observe.clients.clients import (
    CHAT,
    CLAUDE,
    GEMINI,
    GENERATED,
    GENERATED_EVENTS,
    MESSAGE,
    RESPONSES,
    TOOL,
    anthropic,
    async_gemini,
    claude,
    collected,
    gemini,
    genai,
    gpt,
    openai,
)
from observe.clients.conftest import calls
from observe.clients.server import Answer, ModelServer
from runcard.observe.clients.request_parameters import request_parameters

SECRET = "sk-ant-api03-" + "Zq7" * 31
PRIVATE = "PRIVATE-TEXT"
SCHEMA = {"type": "object", "properties": {}, "title": PRIVATE, "description": PRIVATE}
CHAT_TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": PRIVATE, "parameters": SCHEMA},
}


def the_request(run: runcard.Run) -> dict[str, Any]:
    """What the only call of a run asked for; nothing of it may be private."""
    assert PRIVATE not in (run.path / "experiment.jsonl").read_text()
    (call,) = calls(run)
    found: dict[str, Any] = call["request"]
    return found


def test_parameters_of_anthropic(server: ModelServer, run: runcard.Run) -> None:
    server.says(MESSAGE)
    with claude(server) as client:
        client.messages.create(
            model="claude-latest",
            max_tokens=1024,
            messages=[{"role": "user", "content": PRIVATE}],
            system=PRIVATE,
            stop_sequences=["END"],
            thinking={"type": "enabled", "budget_tokens": 512},
            output_config={"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
            tools=[TOOL | {"description": PRIVATE}, {"type": "web_search_20250305", "name": "web_search"}],
            tool_choice={"type": "tool", "name": "weather"},
            service_tier="auto",
            metadata={"user_id": PRIVATE},
            extra_body={"temperature": 0.2, "top_p": 0.9, "top_k": 40},
        )
    assert the_request(run) == {
        "temperature": 0.2,
        "top_p": 0.9,
        "top_k": 40,
        "max_tokens": 1024,
        "stop_sequences": ["END"],
        "thinking": "enabled",
        "thinking_budget": 512,
        "reasoning_effort": "low",
        "response_format": "json_schema",
        "tools": ["weather", "web_search"],
        "tool_choice": "weather",
        "service_tier": "auto",
    }


def test_parameters_of_chat_completions(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer(replies.completion()))
    with gpt(server) as client:
        client.chat.completions.with_raw_response.create(
            model="gpt-latest",
            messages=[{"role": "developer", "content": PRIVATE}, {"role": "user", "content": PRIVATE}],
            temperature=0,
            top_p=0.5,
            seed=7,
            max_completion_tokens=99,
            stop="END",
            frequency_penalty=-0.5,
            presence_penalty=0.5,
            n=2,
            reasoning_effort="low",
            verbosity="low",
            response_format={"type": "json_schema", "json_schema": {"name": "p", "schema": SCHEMA}},
            tools=[CHAT_TOOL],
            tool_choice="auto",
            logit_bias=openai.NOT_GIVEN,
            user=PRIVATE,
            prediction={"type": "content", "content": PRIVATE},
        )
    assert the_request(run) == {
        "temperature": 0,
        "top_p": 0.5,
        "seed": 7,
        "max_tokens": 99,
        "stop_sequences": ["END"],
        "frequency_penalty": -0.5,
        "presence_penalty": 0.5,
        "choice_count": 2,
        "reasoning_effort": "low",
        "verbosity": "low",
        "response_format": "json_schema",
        "tools": ["weather"],
        "tool_choice": "auto",
    }


def test_parameters_of_responses(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer(events=replies.response_events()))
    with gpt(server) as client:
        stream = client.responses.create(
            model="gpt-latest",
            input=PRIVATE,
            instructions=PRIVATE,
            temperature=1,
            max_output_tokens=99,
            reasoning={"effort": "high", "summary": "auto"},
            text={"format": {"type": "json_schema", "name": "p", "schema": SCHEMA}, "verbosity": "high"},
            tools=[{"type": "web_search"}, {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}],
            tool_choice={"type": "function", "name": "weather"},
            stream=True,
        )  # fmt: skip
        list(stream)
    assert the_request(run) == {
        "temperature": 1,
        "max_tokens": 99,
        "reasoning_effort": "high",
        "verbosity": "high",
        "response_format": "json_schema",
        "tools": ["web_search", "weather"],
        "tool_choice": "weather",
    }


def test_parameters_of_embeddings(server: ModelServer, run: runcard.Run) -> None:
    vector = {"object": "embedding", "index": 0, "embedding": [0.5]}
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    server.says({"object": "list", "data": [vector], "model": "text-embedding-3-small", "usage": usage})
    with gpt(server) as client:
        client.embeddings.create(model="e", input=PRIVATE, encoding_format="float", dimensions=64)
    assert the_request(run) == {"encoding_formats": ["float"], "dimensions": 64}


def weather(city: str) -> str:
    """PRIVATE-TEXT"""
    return city


def _gemini_config(kind: str) -> Any:
    plain = {
        "temperature": 0.2,
        "top_p": 0.9,
        "top_k": 40,
        "seed": 3,
        "max_output_tokens": 99,
        "stop_sequences": ["END"],
        "candidate_count": 1,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "system_instruction": PRIVATE,
        "thinking_config": {"thinking_budget": 100, "include_thoughts": True},
        "response_mime_type": "application/json",
        "response_json_schema": SCHEMA,
        "tools": [{"google_search": {}}, weather],
        "tool_config": {"function_calling_config": {"mode": "NONE"}},
        "automatic_function_calling": {"disable": True},
    }
    return genai.types.GenerateContentConfig(**plain) if kind == "object" else plain


GEMINI_PARAMETERS = {
    "temperature": 0.2,
    "top_p": 0.9,
    "top_k": 40,
    "seed": 3,
    "max_tokens": 99,
    "stop_sequences": ["END"],
    "choice_count": 1,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.2,
    "thinking_budget": 100,
    "response_format": "application/json",
    "tools": ["googleSearch", "weather"],
    "tool_choice": "NONE",
}


@pytest.mark.parametrize("kind", ["object", "dict"])
def test_parameters_of_gemini(kind: str, server: ModelServer, run: runcard.Run) -> None:
    server.says(GENERATED)
    asked = {**GEMINI, "contents": PRIVATE, "config": _gemini_config(kind)}
    with gemini(server) as client:
        client.models.generate_content(**asked)
    assert the_request(run) == GEMINI_PARAMETERS


def test_parameters_of_an_async_stream_of_gemini(server: ModelServer, run: runcard.Run) -> None:
    server.says(GENERATED_EVENTS)

    async def main() -> None:
        async with async_gemini(server) as client:
            asked = {**GEMINI, "contents": PRIVATE, "config": _gemini_config("object")}
            await collected(await client.models.generate_content_stream(**asked))

    asyncio.run(main())
    assert the_request(run) == GEMINI_PARAMETERS


def test_parameters_of_an_interaction(server: ModelServer, run: runcard.Run) -> None:
    from observe.clients.test_interactions import interaction  # noqa: PLC0415 - skipped with older versions

    server.says(interaction())
    with gemini(server) as client:
        client.interactions.create(
            model="gemini-latest",
            input=PRIVATE,
            system_instruction=PRIVATE,
            generation_config={"seed": 1, "thinking_level": "low", "max_output_tokens": 3, "stop_sequences": ["a"]},
            response_format={"type": "text", "mime_type": "application/json", "schema": SCHEMA},
            tools=[{"type": "google_search"}, {"type": "function", "name": "weather", "parameters": SCHEMA}],
        )  # fmt: skip
    assert the_request(run) == {
        "seed": 1,
        "reasoning_effort": "low",
        "max_tokens": 3,
        "stop_sequences": ["a"],
        "response_format": "application/json",
        "tools": ["google_search", "weather"],
    }


def test_a_request_without_parameters_says_so(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer(replies.completion()))
    with gpt(server) as client:
        client.chat.completions.create(**CHAT)
    assert the_request(run) == {}


def test_a_call_that_fails_keeps_its_parameters(server: ModelServer, run: runcard.Run) -> None:
    server.says(Answer({"error": {"message": "no"}}, status=400))
    with claude(server) as client, pytest.raises(anthropic.BadRequestError):
        client.messages.create(**CLAUDE)
    assert the_request(run) == {"max_tokens": 99}


def test_secrets_in_parameters_are_masked(server: ModelServer, outputs: Path) -> None:
    server.says(MESSAGE)
    tool = {"name": f"key-{SECRET}", "input_schema": {"type": "object"}}
    with runcard.record(outputs, strict=True) as run, claude(server) as client:
        client.messages.create(**CLAUDE, stop_sequences=["END", SECRET], tools=[tool])
    (call,) = calls(run)
    assert call["request"]["stop_sequences"] == ["END", "[masked:anthropic-key]"]
    assert all(SECRET not in path.read_text() for path in run.path.iterdir())


def test_what_a_request_can_hold_does_no_harm(server: ModelServer, outputs: Path) -> None:
    server.says(Answer(replies.completion()))
    body: dict[str, Any] = {
        "temperature": "hot",
        "seed": 10**400,
        "max_tokens": True,
        "stop": ["END", 3, None, ["nested"]],
        "tools": [CHAT_TOOL, "weather", 3, None, [], {}, {"name": {"a": 1}}],
        "response_format": ["json", PRIVATE * 20],
        "reasoning_effort": PRIVATE * 20,
        "n": {"a": [{}] * 50},
        "functions": PRIVATE,
    }
    with runcard.record(outputs, strict=True) as run, gpt(server) as client:
        client.chat.completions.create(**CHAT, extra_body=body)
    expected = {
        "stop_sequences": ["END"],
        "tools": ["weather", "weather", "name"],
        "response_format": "json",
    }
    assert the_request(run) == expected
    assert (
        request_parameters(body | {"top_p": float("nan"), "temperature": float("inf")})["tools"]
        == expected["tools"]
    )


def test_very_many_tools_fit_into_an_event(server: ModelServer, outputs: Path) -> None:
    server.says(MESSAGE)
    tools = [{"name": f"tool_{number:05}" * 8, "input_schema": {}} for number in range(20_000)]
    with runcard.record(outputs) as run, claude(server) as client:
        client.messages.create(**CLAUDE, tools=tools)
    (call,) = calls(run)
    assert call["tokens"] == replies.CLAUDE_TOKENS  # the figures are never cut
    assert call["request"]["tools"][0] == "tool_00000" * 8
    document = json.loads((run.path / "metadata.json").read_text())
    assert [warning["type"] for warning in document["warnings"]] == ["truncated"]
    assert next(runcard.verify(run.path)).verdict.findings == ()


def test_parameters_can_be_given_without_watching(outputs: Path) -> None:
    config = genai.types.GenerateContentConfig(temperature=0.5, system_instruction=PRIVATE)
    counts = {"input": 10, "output": 1}
    asked: list[dict[str, Any]] = [
        {"temperature": 0.2, "max_tokens": 1024, "tools": ["search"]},
        {**CLAUDE, "system": PRIVATE, "temperature": anthropic.NOT_GIVEN},
        {**RESPONSES, "input": PRIVATE, "reasoning": {"effort": "low"}},
        {"model": "gemini-latest", "contents": PRIVATE, "config": config},
    ]
    with runcard.record(outputs, strict=True) as run:
        for request in asked:
            run.add_usage(counts, request=request, latency=1)
        run.add_usage(counts)
    assert PRIVATE not in (run.path / "experiment.jsonl").read_text()
    assert [call.get("request") for call in calls(run)] == [
        {"temperature": 0.2, "max_tokens": 1024, "tools": ["search"]},
        {"max_tokens": 99},
        {"reasoning_effort": "low"},
        {"temperature": 0.5},
        None,
    ]
    models = [None, "claude-latest", "gpt-latest", "gemini-latest", None]
    assert [call["requested_model"] for call in calls(run)] == models


def test_objects_of_the_user_that_are_no_parameters_are_left_out() -> None:
    class Connection:
        def __init__(self) -> None:
            self.password = PRIVATE

    class Answered(dict[str, Any]):
        pass

    request = {
        "tools": [Connection(), weather, Connection],
        "response_format": Answered,
        "stop": Connection(),
    }
    assert request_parameters(request) == {
        "tools": ["weather", "Connection"],
        "response_format": "json_schema",
    }
