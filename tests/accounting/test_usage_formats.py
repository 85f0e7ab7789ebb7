"""Usage of tools, gateways and further vendors: each in its own format, each with the right cost."""

import contextlib
from copy import deepcopy
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.replies import ANTHROPIC, CHAT, GEMINI, RESPONSE, Reply, changed
from accounting.wire_forms import (
    AI_MESSAGE,
    BEDROCK,
    CLAUDE_CODE,
    CODEX,
    CODEX_EVENT,
    CODEX_LAST,
    COHERE,
    COHERE_V1,
    GEMINI_CLI,
    GEMINI_CLI_JSON,
    GEMINI_CLI_STREAM,
    LANGCHAIN,
    LANGCHAIN_ANTHROPIC,
    LANGCHAIN_PRIORITY,
    LITELLM,
    OLLAMA,
    OPENROUTER,
)
from encoding.plain_data import values
from runcard.accounting import Charge, Prices, Tokens, read_usage
from runcard.errors import UsageError

AUTUMN = datetime(2026, 11, 1, tzinfo=UTC)


def charged(reply: object, model: str | None = None, provider: str | None = None) -> Decimal | None:
    return Prices.packaged().charge(read_usage(reply), provider, AUTUMN, model).cost


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (CODEX, Tokens(100_000, 1_000, 90_000, reasoning=500)),
        ({"type": "turn.completed", "usage": CODEX}, Tokens(100_000, 1_000, 90_000, reasoning=500)),
        (
            {"type": "turn.completed", "usage": {**CODEX, "cache_write_input_tokens": 7}},
            Tokens(100_000, 1_000, 90_000, 7, 0, 500),
        ),
        (CODEX_EVENT, Tokens(100_000, 1_000, 90_000, reasoning=500)),
        (CODEX_EVENT["payload"], Tokens(100_000, 1_000, 90_000, reasoning=500)),
        (CODEX_EVENT["payload"]["info"], Tokens(100_000, 1_000, 90_000, reasoning=500)),
        ({"last_token_usage": CODEX_LAST}, Tokens(20_000, 100, 19_000, reasoning=0)),
        (
            [
                {"type": "thread.started", "thread_id": "t"},
                {"type": "turn.started"},
                {"type": "turn.completed", "usage": CODEX},
            ],
            Tokens(100_000, 1_000, 90_000, reasoning=500),
        ),
        (LANGCHAIN, Tokens(2006, 300, 1920, reasoning=192, output_audio=0)),
        (LANGCHAIN_PRIORITY, Tokens(2006, 300, 1920, reasoning=192)),
        (LANGCHAIN_ANTHROPIC, Tokens(189_137, 393, 188_086, 30, 1000)),
        (LITELLM, Tokens(189_137, 393, 188_086, 30, 1000, 100, output_text=293)),
        (BEDROCK, Tokens(189_137, 393, 188_086, 30, 1000)),
        (BEDROCK["usage"], Tokens(189_137, 393, 188_086, 30, 1000)),
        ({"metadata": {"usage": BEDROCK["usage"], "metrics": {}}}, Tokens(189_137, 393, 188_086, 30, 1000)),
        ({"inputTokens": 4, "outputTokens": 3, "cacheWriteInputTokens": 5}, Tokens(9, 3, None, 5, 0)),
        (OLLAMA, Tokens(26, 298)),
        ({"model": "e", "embeddings": [[0.1]], "prompt_eval_count": 8}, Tokens(8, 0)),
        (COHERE, Tokens(71, 418, 0)),
        (COHERE["usage"], Tokens(71, 418, 0)),
        (COHERE_V1, Tokens(71, 418)),
        ({"embeddings": [[0.1]], "meta": {"billed_units": {"input_tokens": 4.0}}}, Tokens(4, 0)),
        (GEMINI_CLI, Tokens(3050, 1020, 2048, reasoning=900)),
        (GEMINI_CLI["tokens"], Tokens(3050, 1020, 2048, reasoning=900)),
        (GEMINI_CLI_JSON, Tokens(3050, 1020, 2048, reasoning=900)),
        (GEMINI_CLI_STREAM, Tokens(10, 1, 4)),
        (CLAUDE_CODE, Tokens(189_137, 393, 188_086, 30, 1000, 100)),
        (CLAUDE_CODE["modelUsage"], Tokens(189_137, 393, 188_086, 30, 1000, 100)),
        (OPENROUTER["usage"], Tokens(194, 2, 0, 0, 0, 0, output_image=0)),
        # Mistral, `UsageInfo` and `ConversationUsageInfo`; api-docs.deepseek.com; Moonshot.
        ({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}, Tokens(9, 5)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "prompt_cache_hit_tokens": 8,
                "prompt_cache_miss_tokens": 1,
            },
            Tokens(9, 5, 8),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 5, "cached_tokens": 8}, Tokens(9, 5, 8)),
        # `UsageMetrics` of CrewAI; Nova by InvokeModel.
        (
            {"prompt_tokens": 9, "cached_prompt_tokens": 8, "completion_tokens": 5, "successful_requests": 2},
            Tokens(9, 5, 8),
        ),
        ({"inputTokens": 4, "outputTokens": 3, "cacheReadInputTokenCount": 5}, Tokens(9, 3, 5)),
    ],
)
def test_all_input_and_all_output_are_counted_once(reply: object, expected: Tokens) -> None:
    found = read_usage(reply)
    assert (found.tokens, found.source, found.unknown) == (expected, "reported", ())


@pytest.mark.parametrize(
    ("reply", "model", "provider", "expected"),
    [
        (CODEX, "gpt-5", None, "0.03375"),  # 10,000 × 1.25 + 90,000 × 0.125 + 1,000 × 10
        (CODEX_EVENT, "gpt-5", None, "0.03375"),
        (LANGCHAIN, "gpt-5", None, "0.0033475"),
        (AI_MESSAGE, None, None, "0.0033475"),
        (LANGCHAIN_ANTHROPIC, "claude-sonnet-4-5", None, "0.0684963"),
        (LITELLM, "claude-sonnet-4-5", None, "0.0684963"),
        (BEDROCK, "claude-sonnet-4-5", "anthropic", "0.0684963"),
        (COHERE, "command-r-08-2024", "cohere", "0.00025155"),  # 5 × 0.15 + 418 × 0.6: what is billed
        (COHERE_V1, "command-r-08-2024", "cohere", "0.00025155"),
        (GEMINI_CLI, None, None, "0.0117085"),
        (OPENROUTER, None, None, "0.000612"),
        (CLAUDE_CODE, None, None, "0.0684963"),
    ],
)
def test_the_cost_is_that_of_the_call(
    reply: object, model: str | None, provider: str | None, expected: str
) -> None:
    assert charged(reply, model, provider) == Decimal(expected)


@pytest.mark.parametrize(
    "reply",
    [
        AI_MESSAGE,
        SimpleNamespace(**AI_MESSAGE),
        {"type": "ai", "data": AI_MESSAGE},  # message_to_dict
        {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": AI_MESSAGE},  # to_json
    ],
    ids=["dict", "object", "message_to_dict", "to_json"],
)
def test_a_message_of_langchain_has_the_facts_of_its_vendor(reply: object) -> None:
    found = read_usage(reply)
    assert (found.model, found.provider, found.stop_reason) == ("gpt-5-2025-08-07", "openai", "stop")
    assert found.response_id == CHAT["id"]  # not LangChain's own: a watched call has the same
    assert (found.source, found.service_tier, found.tokens.reasoning) == ("reported", None, 192)


def message(usage: Reply | None, /, **metadata: object) -> Reply:
    return {
        "type": "ai",
        "content": "",
        "id": "msg_1",
        "usage_metadata": usage,
        "response_metadata": metadata,
    }


def test_a_message_of_langchain_without_counts_has_no_source() -> None:
    found = read_usage(message(None, model_name="m"))
    assert (found.tokens, found.source, found.model, found.response_id) == (Tokens(), None, "m", "msg_1")


@pytest.mark.parametrize(
    ("usage", "metadata", "expected"),
    [
        (LANGCHAIN_PRIORITY, {}, "priority"),
        (LANGCHAIN, {"service_tier": "flex"}, "flex"),
        (LANGCHAIN_ANTHROPIC, {"usage": {"service_tier": "batch"}}, "batch"),
        (LANGCHAIN_ANTHROPIC, {"usage": {"service_tier": "standard"}}, None),
    ],
)
def test_a_message_of_langchain_has_a_service_tier(usage: Reply, metadata: Reply, expected: str) -> None:
    assert read_usage(message(usage, **metadata)).service_tier == expected


def test_a_message_of_langchain_has_the_tools_that_its_vendor_bills() -> None:
    anthropic = message(LANGCHAIN, usage={"server_tool_use": {"web_search_requests": 2}})
    assert read_usage(anthropic).server_tools == {"web_search": 2}
    calls: Reply = {
        "content": [{"type": "tool_call", "name": "mine"}, {"type": "web_search_call", "id": "w"}]
    }
    assert read_usage(message(LANGCHAIN) | calls).server_tools == {"web_search": 1}
    blocks: Reply = {"content": [{"type": "server_tool_call", "name": "web_search", "id": "w"}]}
    assert read_usage(message(LANGCHAIN) | blocks).server_tools == {"web_search": 1}
    google = message(LANGCHAIN, grounding_metadata={"web_search_queries": ["a", "b"]})
    assert read_usage(google).server_tools == {"google_search": 2}


def test_chunks_of_langchain_are_added_up() -> None:
    first: Reply = {
        "type": "AIMessageChunk",
        "response_metadata": {"model_name": "claude-sonnet-4-5"},
        "usage_metadata": {
            "input_tokens": 5,
            "output_tokens": 0,
            "total_tokens": 5,
            "input_token_details": {"cache_read": 3},
        },
    }
    text: Reply = {"type": "AIMessageChunk", "response_metadata": {}, "usage_metadata": None}
    last: Reply = {
        "type": "AIMessageChunk",
        "response_metadata": {"stop_reason": "end_turn"},
        "usage_metadata": {"input_tokens": 0, "output_tokens": 7, "total_tokens": 7},
        "chunk_position": "last",
    }
    assert read_usage(first).source == "partial"
    found = read_usage([first, text, last])
    assert (found.tokens, found.source, found.model) == (Tokens(5, 7, 3), "reported", "claude-sonnet-4-5")
    assert read_usage([first, text]).source == "partial"


def test_audio_in_a_message_of_langchain_is_stated() -> None:
    usage = {
        **LANGCHAIN,
        "input_token_details": {"audio": 5},
        "output_token_details": {"audio": 9, "reasoning": 0},
    }
    tokens = read_usage(usage).tokens
    assert (tokens.input_audio, tokens.output_audio) == (5, 9)


def test_a_response_of_litellm_is_a_completion() -> None:
    reply = {**CHAT, "usage": LITELLM, "model": "claude-sonnet-4-5"}
    found = read_usage(reply)
    assert (found.tokens, found.response_id) == (read_usage(LITELLM).tokens, CHAT["id"])
    tools = {**LITELLM, "server_tool_use": {"web_search_requests": 2}}
    assert read_usage(tools).server_tools == {"web_search": 2}


def test_details_of_openai_realtime_are_not_those_of_langchain() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_token_details": {"cached_tokens": 4, "text_tokens": 10, "audio_tokens": 0},
        "output_token_details": {"text_tokens": 5, "audio_tokens": 0},
    }
    assert read_usage(usage).tokens.cache_read == 4


def test_a_reply_of_bedrock() -> None:
    found = read_usage(BEDROCK)
    assert (found.provider, found.response_id, found.stop_reason) == ("aws", "8d7f", "end_turn")
    assert found.service_tier is None
    tier = {"serviceTier": {"type": "flex"}, "performanceConfig": {"latency": "optimized"}}
    assert read_usage(BEDROCK | tier).service_tier == "flex+optimized"
    stream = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "Hi!"}, "contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": BEDROCK["usage"], "metrics": {"latencyMs": 551}}},
    ]
    assert (read_usage(stream).tokens, read_usage(stream).stop_reason) == (found.tokens, "end_turn")


def test_a_stream_of_ollama_has_its_counts_at_the_end() -> None:
    chunk = {"model": "llama3.2", "created_at": "…", "message": {"content": "H"}, "done": False}
    assert (read_usage(chunk).source, read_usage(chunk).model) == (None, "llama3.2")
    found = read_usage([chunk, chunk, OLLAMA])
    assert (found.tokens, found.source, found.stop_reason) == (Tokens(26, 298), "reported", "stop")
    assert read_usage([chunk]).source is None


def test_a_prompt_that_ollama_had_in_its_cache_is_not_counted_as_nothing() -> None:
    reply = {name: value for name, value in OLLAMA.items() if name != "prompt_eval_count"}
    assert read_usage(reply).tokens == Tokens(None, 298)


def test_cohere_charges_for_less_than_it_used() -> None:
    found = read_usage(COHERE)
    assert (found.tokens.input, found.billed) == (71, Tokens(5, 418, 0))
    assert (found.response_id, found.stop_reason) == ("c14c80c3", "COMPLETE")
    tokens = read_usage({"usage": {"tokens": {"input_tokens": 71, "output_tokens": 4}}})
    assert (tokens.tokens, tokens.billed) == (Tokens(71, 4), None)


def test_what_cohere_bills_beside_tokens_is_named() -> None:
    meta = {**COHERE_V1["meta"], "billed_units": {"input_tokens": 5, "output_tokens": 418, "search_units": 1}}
    reply = {**COHERE_V1, "meta": meta}
    charge = Prices.packaged().charge(read_usage(reply), "cohere", AUTUMN, "command-r-08-2024")
    assert (charge.cost, charge.unpriced) == (None, ("search_units",))
    cached = changed(COHERE, {"cached_tokens": 60.0})  # more than what is billed
    assert charged(cached, "command-r-08-2024", "cohere") is None


def test_streams_of_cohere() -> None:
    v2 = [
        {"type": "message-start", "id": "c14c80c3", "delta": {"message": {"role": "assistant"}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Hi!"}}}},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": COHERE["usage"]}},
    ]
    assert read_usage(v2) == read_usage(COHERE)
    v1 = [
        {"event_type": "text-generation", "text": "Hi!"},
        {"event_type": "stream-end", "response": COHERE_V1},
    ]
    assert read_usage(v1) == read_usage(COHERE_V1)


class Unset:
    """What the fields of Mistral's objects hold when the reply does not have them."""


class Modelled(SimpleNamespace):
    """Looks like a pydantic model."""

    __pydantic_fields_set__: frozenset[str] = frozenset()


def test_a_reply_of_mistral_is_a_completion() -> None:
    usage = Modelled(
        prompt_tokens=9,
        completion_tokens=5,
        total_tokens=14,
        prompt_audio_seconds=Unset(),
        service_tier=Unset(),
    )
    reply = Modelled(**{**CHAT, "model": "mistral-large-latest", "usage": usage})
    assert read_usage(reply).tokens == Tokens(9, 5)
    priority = {**vars(usage), "service_tier": "priority", "prompt_audio_seconds": 3}
    found = read_usage(priority)
    assert (found.service_tier, found.server_tools) == ("priority", {"prompt_audio_seconds": 3})


def test_connectors_of_mistral_are_billed_beside_tokens() -> None:
    usage = {
        "prompt_tokens": 128,
        "completion_tokens": 92,
        "total_tokens": 406,
        "connector_tokens": 186,
        "connectors": {"web_search": 1},
    }
    charge = Prices.packaged().charge(read_usage(usage), None, AUTUMN, "mistral-large-latest")
    assert charge.cost is None
    assert set(charge.unpriced) == {"connector_tokens", "web_search"}


def test_gemini_cli_counts_each_model() -> None:
    found = read_usage(GEMINI_CLI_JSON)
    assert [(call.model, call.tokens.input) for call in found.calls] == [
        ("gemini-2.5-pro", 3050),
        ("gemini-2.5-flash", 10),
    ]
    message = read_usage(GEMINI_CLI)
    assert (message.model, message.response_id, message.tokens) == ("gemini-2.5-pro", "m-1", found.tokens)


def test_the_events_of_gemini_cli_hide_thoughts() -> None:
    """Only their total shows that there were some; whether they were input of tools or thoughts is unknown."""
    stats = {"total_tokens": 4070, "input_tokens": 3000, "output_tokens": 120, "cached": 2048, "input": 952}
    result = {**GEMINI_CLI_STREAM, "stats": {**stats, "models": {"gemini-2.5-pro": stats}}}
    for reply in (result, [{"type": "init", "model": "gemini-2.5-pro"}, result]):
        assert read_usage(reply).tokens == Tokens(cache_read=2048)
        assert charged(reply) is None


def test_claude_code_counts_each_model_once() -> None:
    """`usage` has the main agent's calls again: they are not added to those of `modelUsage`."""
    found = read_usage(CLAUDE_CODE)
    assert [(call.model, call.tokens.input, call.reported_cost) for call in found.calls] == [
        ("claude-sonnet-4-5-20250929", 189_137, Decimal("0.0684963")),
        ("claude-haiku-4-5-20251001", 500, Decimal("0.001")),
    ]
    assert sum(call.reported_cost or 0 for call in found.calls) == Decimal(str(CLAUDE_CODE["total_cost_usd"]))
    assert (found.response_id, found.stop_reason) == ("0b6e", "end_turn")
    events = [{"type": "system", "subtype": "init"}, {"type": "assistant", "message": ANTHROPIC}, CLAUDE_CODE]
    assert read_usage(events) == found
    sdk = SimpleNamespace(  # ResultMessage of the Agent SDK for Python
        subtype="success",
        is_error=False,
        total_cost_usd=0.0694963,
        stop_reason="end_turn",
        uuid="0b6e",
        session_id="5a1c",
        usage=CLAUDE_CODE["usage"],
        model_usage=CLAUDE_CODE["modelUsage"],
    )
    assert read_usage(sdk) == found


def test_claude_code_without_models_has_the_counts_of_the_main_agent_and_the_cost_of_all() -> None:
    empty: list[Reply | None] = [None, {}]
    for models in empty:
        found = read_usage({**CLAUDE_CODE, "modelUsage": models})
        assert (found.tokens.input, found.also) == (189_137, ())
        assert found.reported_cost == Decimal("0.0694963")


def test_a_cost_that_claude_code_guesses_is_not_used() -> None:
    (name, usage), _ = CLAUDE_CODE["modelUsage"].items()
    found = read_usage({name: {**usage, "costBasis": "unknown"}})
    assert found.reported_cost is None
    assert charged({name: {**usage, "costBasis": "unknown", "costUSD": 99}}) == Decimal("0.0684963")


def test_zeros_of_a_claude_code_that_crashed_are_no_counts() -> None:
    zeros = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0}
    crash = {
        "type": "result",
        "is_error": True,
        "subtype": "error_during_execution",
        "total_cost_usd": 0,
        "usage": zeros,
        "modelUsage": {},
    }
    found = read_usage(crash)
    assert (found.tokens, found.source, found.reported_cost) == (Tokens(), None, None)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"cost": 0.95}, "0.95"),
        ({"cost": 0}, "0"),
        # Not one's own key: the upstream cost is in the cost.
        ({"cost": 0.95, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.95}}, "0.95"),
        # One's own key: OpenRouter's fee, and what the provider charges.
        ({"cost": 0.95, "is_byok": True, "cost_details": {"upstream_inference_cost": 19}}, "19.95"),
        ({"cost": 0.95, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, None),
        ({"cost": None}, None),
        # docs.x.ai, "Cost Tracking": 10,000,000,000 ticks are a dollar.
        ({"cost_in_usd_ticks": 37_756_000, "num_sources_used": 2}, "0.0037756"),
        # docs.perplexity.ai, "Chat Completions"
        (
            {
                "cost": {"input_tokens_cost": 0.001, "request_cost": 0.005, "total_cost": 0.006},
                "citation_tokens": 3,
            },
            "0.006",
        ),
    ],
)
def test_a_cost_in_the_reply_is_the_cost(usage: Reply, expected: str | None) -> None:
    found = read_usage({"prompt_tokens": 194, "completion_tokens": 2, "total_tokens": 196, **usage})
    assert found.reported_cost == (None if expected is None else Decimal(expected))
    charge = Prices.packaged().charge(found, "openai", AUTUMN, "gpt-5")
    if expected is not None:
        assert charge == Charge(Decimal(expected), None, source="reported")
    else:
        assert charge.source == "priced"


@pytest.mark.parametrize("cost", [-1, float("nan"), float("inf"), 1e300])
def test_an_impossible_cost_is_refused_by_its_name(cost: float) -> None:
    with pytest.raises(UsageError, match=r"^usage\.cost is not a possible amount of money"):
        read_usage(changed(OPENROUTER, {"cost": cost}))


@pytest.mark.parametrize("cost", [True, "0.5", [1]])
def test_what_is_no_number_is_no_cost(cost: object) -> None:
    assert read_usage(changed(OPENROUTER, {"cost": cost})).reported_cost is None


def test_searches_of_perplexity_without_a_cost_are_named_as_unpriced() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "citation_tokens": 3,
        "num_search_queries": 2,
        "reasoning_tokens": 900,
    }
    found = read_usage(usage)
    assert found.tokens == Tokens(10, 5)
    assert found.server_tools == {"citation_tokens": 3, "num_search_queries": 2, "reasoning_tokens": 900}


UNKNOWN: list[tuple[Any, str]] = [
    (changed(ANTHROPIC, {"foo_tokens": 12}), "usage.foo_tokens"),
    (
        changed(ANTHROPIC, {"cache_creation": {"ephemeral_9h_input_tokens": 5}}),
        "usage.cache_creation.ephemeral_9h",
    ),
    (changed(CHAT, {"foo_tokens": 12}), "usage.foo_tokens"),
    (changed(CHAT, {"prompt_tokens_details": {"foo_tokens": 12}}), "usage.prompt_tokens_details.foo_tokens"),
    (changed(RESPONSE, {"foo": {"bar": [{"baz": 1}]}}), "usage.foo"),
    (changed(GEMINI, {"fooTokenCount": 12}), "usageMetadata.fooTokenCount"),
    ({**CODEX, "foo_tokens": 12}, "foo_tokens"),
    ({**LANGCHAIN, "foo_tokens": 12}, "foo_tokens"),
    ({**LANGCHAIN, "input_token_details": {"foo": 12}}, "input_token_details.foo"),
    ({**LITELLM, "foo_tokens": 12}, "foo_tokens"),
    (changed(BEDROCK, {"fooTokens": 12}), "usage.fooTokens"),
    ({**OLLAMA, "foo_count": 12}, "foo_count"),
    (changed(COHERE, {"foo_tokens": 12.0}), "usage.foo_tokens"),
    ({**GEMINI_CLI["tokens"], "foo": 12}, "foo"),
    ({"m": {**CLAUDE_CODE["modelUsage"]["claude-haiku-4-5-20251001"], "fooTokens": 12}}, "m.fooTokens"),
    # A count of the Vercel AI SDK, whose input includes it: read as Bedrock's, it would be lost.
    ({"inputTokens": 5, "outputTokens": 3, "totalTokens": 8, "cachedInputTokens": 4}, "cachedInputTokens"),
    ({"input_tokens": 5, "output_tokens": 3, "foo_tokens": 12}, "foo_tokens"),
]


@pytest.mark.parametrize(("reply", "name"), UNKNOWN, ids=[name for _, name in UNKNOWN])
def test_an_unknown_count_beside_known_ones_is_an_error_that_names_it(reply: object, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_usage(reply)
    assert caught.value.message.startswith(name)


@pytest.mark.parametrize("usage", [CHAT, ANTHROPIC, BEDROCK])
def test_an_unknown_count_that_is_allowed_leaves_the_cost_unknown(usage: Reply) -> None:
    found = read_usage(changed(usage, {"foo_tokens": 12}), allow_unknown=True)
    assert (found.tokens, found.unknown) == (read_usage(usage).tokens, ("usage.foo_tokens",))
    charge = Prices.packaged().charge(found, None, AUTUMN, "claude-sonnet-4-5")
    assert (charge.cost, charge.unpriced) == (None, ("usage.foo_tokens",))
    assert charge.known_cost == charged(usage, "claude-sonnet-4-5")


@pytest.mark.parametrize(
    "fields",
    [
        {"foo_tokens": 0},
        {"foo_tokens": None},
        {"foo_tokens": 0.0},
        {"foo": "12"},
        {"foo_tokens": "00"},
        {"foo_tokens": "many"},
        {"foo": True},
        {"foo": {"bar": 0}},
        {"foo": []},
        {"queue_time": 0.03, "prompt_time": 1, "total_latency_ms": 12},  # Groq
        {"completion_tokens_per_sec": 400.0, "time_to_first_token": 1, "acceptance_rate": 4.5},  # SambaNova
    ],
)
def test_what_is_no_count_does_no_harm(fields: Reply) -> None:
    assert read_usage(changed(CHAT, fields)) == read_usage(CHAT)


def test_totals_of_many_calls_may_have_large_calls_which_cost_more() -> None:
    def charge(prompt: int) -> Charge:
        stats = {"tokens": {"prompt": prompt, "candidates": 0, "total": prompt, "cached": 0}}
        usage = read_usage({"stats": {"models": {"gemini-2.5-pro": stats}}})
        return Prices.packaged().charge(usage, when=AUTUMN)

    assert charge(200_000).cost == Decimal("0.25")  # none of the calls can be above the limit
    large = charge(300_000)
    assert (large.cost, large.known_cost) == (None, Decimal("0.375"))
    assert large.unpriced == ("calls above 200000 input tokens",)
    several = {
        "requests": 4,
        "input_tokens": 300_000,
        "output_tokens": 0,
        "total_tokens": 300_000,
    }  # Agents SDK
    assert Prices.packaged().charge(read_usage(several), None, AUTUMN, "gemini-2.5-pro")[1:] == large[1:]
    assert charged({"promptTokenCount": 300_000, "candidatesTokenCount": 0}, "gemini-2.5-pro") == Decimal(
        "0.75"
    )


def test_a_message_that_used_tools_of_the_vendor_is_the_total_of_its_iterations() -> None:
    usage = {"input_tokens": 300_000, "output_tokens": 0, "cache_read_input_tokens": 0}
    once, twice = ([{"type": "message", "input_tokens": 300_000 // n}] * n for n in (1, 2))
    model = "claude-sonnet-4-5"
    assert charged({**usage, "iterations": once}, model) == charged(usage, model) == Decimal("1.8")
    charge = Prices.packaged().charge(read_usage({**usage, "iterations": twice}), None, AUTUMN, model)
    assert (charge.cost, charge.known_cost) == (None, Decimal("0.9"))


def test_the_charge_for_a_model_that_declined_before_the_fallback_is_not_known() -> None:
    declined = {"type": "message", "model": "claude-fable-5", "input_tokens": 10, "output_tokens": 1}
    served = {"type": "fallback_message", "model": "claude-opus-4-5", "input_tokens": 10, "output_tokens": 5}
    reply = changed(ANTHROPIC, {"iterations": [declined, served]})
    assert read_usage(reply).server_tools == {"declined_attempt": 1}
    assert charged(reply) is None
    assert read_usage(changed(ANTHROPIC, {"iterations": [served]})).server_tools == {}


@pytest.mark.parametrize(
    ("reply", "model"),
    [
        (changed(CHAT, {"total_tokens": 9_999_999}), None),  # Gemini's thoughts, through a gateway
        (changed(RESPONSE, {"total_tokens": 9_999_999}), None),
        ({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 500}, "gemini-2.5-flash"),
        ({"input": 10, "output": 5, "cached": 0, "thoughts": 1, "total": 500}, "gemini-2.5-flash"),
        ({**LANGCHAIN, "total_tokens": 9_999_999}, "gpt-5"),
        ({**CODEX, "total_tokens": 9_999_999}, "gpt-5"),
        ({"inputTokens": 10, "outputTokens": 5, "totalTokens": 500}, "claude-sonnet-4-5"),
    ],
)
def test_output_is_unknown_where_the_total_has_more_tokens(reply: Reply, model: str | None) -> None:
    usage = read_usage(reply)
    assert usage.tokens.output is None
    charge = Prices.packaged().charge(usage, None, AUTUMN, model)
    assert (charge.cost, charge.unpriced) == (None, ("output",))
    assert charge.known_cost


def test_a_cache_of_an_unknown_duration_is_an_error() -> None:
    usage = {**BEDROCK["usage"], "cacheDetails": [{"ttl": "24h", "inputTokens": 1}]}
    with pytest.raises(UsageError, match=r"cacheDetails\[0\] \(24h\)"):
        read_usage(usage)


def test_a_total_includes_what_is_billed_apart() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "citation_tokens": 100, "total_tokens": 115}
    assert read_usage(usage).tokens == Tokens(10, 5)


@pytest.mark.parametrize("model", ["deepseek-r1:8b", "command-r", "mistral-nemo", "kimi-k2"])
def test_a_local_model_does_not_have_the_price_of_its_vendor(model: str) -> None:
    assert charged({**OLLAMA, "model": model}) is None
    compatible = changed(CHAT, model=model, system_fingerprint="fp_ollama")
    assert charged(compatible) is None
    assert charged([{**compatible, "object": "chat.completion.chunk"}]) is None
    facts = {"model_provider": "ollama", "model_name": model, "done_reason": "stop"}
    message = {**AI_MESSAGE, "response_metadata": facts}
    assert charged(message) is None


def test_gateways_and_libraries_pass_on_the_speed_and_region_of_anthropic() -> None:
    special = {"speed": "fast", "inference_geo": "us"}
    assert read_usage(LITELLM | special).service_tier == "fast+us"
    facts = {"model_name": "claude-sonnet-4-5", "usage": {**special, "service_tier": "standard"}}
    assert read_usage({**AI_MESSAGE, "response_metadata": facts}).service_tier == "fast+us"


def test_the_fee_of_openrouter_without_the_charge_of_the_provider_is_not_the_cost() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.01, "is_byok": True}
    charge = Prices.packaged().charge(read_usage(usage), "openai", AUTUMN, "gpt-5")
    assert (charge.cost, charge.unpriced) == (None, ("byok_fee",))


def test_a_field_of_a_tool_among_counts_does_not_hide_them() -> None:
    with pytest.raises(UsageError, match="total_cost_usd: unknown name of a token count"):
        read_usage({"input_tokens": 5, "output_tokens": 3, "total_cost_usd": 0.1})
    usage = {"prompt_tokens": 9, "completion_tokens": 5}
    assert read_usage({"model": "m", "done": True, "eval_count": 1, "usage": usage}).tokens == Tokens(9, 5)


@pytest.mark.parametrize("deep", [{"a": 1}, [{"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}]])
def test_data_of_any_depth_is_read(deep: Any) -> None:
    for _ in range(2000):
        deep = {"message": deep, "data": deep}
    with pytest.raises(UsageError, match="no known token counts"):
        read_usage(deep)


FORMS = [
    *(AI_MESSAGE, BEDROCK, CLAUDE_CODE, CODEX_EVENT, COHERE, COHERE_V1, GEMINI_CLI, GEMINI_CLI_JSON),
    *(GEMINI_CLI_STREAM, LITELLM, OLLAMA, OPENROUTER, ANTHROPIC, CHAT, GEMINI, RESPONSE),
]


def places(data: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for key, value in items for place in ((*path, key), *places(value, (*path, key)))]


@given(st.sampled_from(FORMS), st.randoms(use_true_random=False), values)
def test_a_reply_with_anything_in_it_is_read_or_refused(form: Reply, random: Random, value: object) -> None:
    reply = deepcopy(form)
    *path, last = random.choice(places(reply))
    part: Any = reply
    for key in path:
        part = part[key]
    part[last] = value
    for data in (reply, [reply]):
        with contextlib.suppress(UsageError):
            for call in read_usage(data, allow_unknown=True).calls:
                Prices.packaged().charge(call, None, AUTUMN, "gpt-5")
