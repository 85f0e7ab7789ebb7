"""Tools that run at the vendor are billed beside tokens: priced, or named."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message
from google.genai.types import GenerateContentResponse
from openai.types.responses import Response

from runcard.accounting import Charge, Prices, read_usage
from runcard.errors import DocumentError, UsageError

AUTUMN = datetime(2026, 11, 1, 12, tzinfo=UTC)
PACKAGED = Prices.packaged()


def charge(reply: object, **more: Any) -> Charge:
    return PACKAGED.charge(read_usage(reply), when=AUTUMN, **more)


def message(tools: dict[str, int] | None, *blocks: str) -> Message:
    content = [{"type": "server_tool_use", "id": "s1", "name": name, "input": {}} for name in blocks]
    usage = {"input_tokens": 1000, "output_tokens": 100, "server_tool_use": tools}
    data: dict[str, Any] = {"id": "msg_1", "type": "message", "model": "claude-sonnet-4-5-20250929"}
    return Message.construct(**data, stop_reason="end_turn", content=content, usage=usage)


def response(*items: dict[str, Any], tools: tuple[str, ...] = ()) -> Response:
    usage = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
    data: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-5",
        "status": "completed",
        "usage": usage,
    }
    return Response.construct(**data, output=list(items), tools=[{"type": name} for name in tools])


SONNET, GPT = Decimal("0.0045"), Decimal("0.00225")  # the tokens of these replies


def test_web_searches_of_anthropic_cost_ten_dollars_for_a_thousand() -> None:
    found = charge(message({"web_search_requests": 3, "web_fetch_requests": 2}, "web_search", "web_fetch"))
    assert found.cost == SONNET + Decimal("0.03")
    assert found.row is not None
    assert found.row.to_dict()["usd_per_thousand"] == {"web_search": 10}


def test_a_call_without_tools_records_no_price_of_tools() -> None:
    for tools in (None, {}, {"web_search_requests": 0, "web_fetch_requests": 4}):
        found = charge(message(tools))
        assert (found.cost, found.unpriced) == (SONNET, ())
        assert found.row is not None
        assert "usd_per_thousand" not in found.row.to_dict()


def test_code_execution_of_anthropic_is_named_as_unpriced() -> None:
    found = charge(
        message({"web_search_requests": 0, "web_fetch_requests": 0}, "bash_code_execution", "code_execution")
    )
    assert (found.cost, found.known_cost, found.unpriced) == (None, SONNET, ("code_execution",))


def test_code_execution_is_free_for_a_message_that_searches() -> None:
    found = charge(
        message({"web_search_requests": 1, "web_fetch_requests": 0}, "web_search", "code_execution")
    )
    assert found.cost == SONNET + Decimal("0.01")


def test_the_tools_of_a_stream_count() -> None:
    start = {"id": "msg_1", "type": "message", "model": "claude-sonnet-4-5", "usage": {"input_tokens": 1000}}
    block = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}}
    events = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_start", "index": 1, "content_block": block},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 100}},
        {"type": "message_stop"},
    ]
    assert dict(read_usage(events).server_tools) == {"code_execution": 1}
    grounding = {"webSearchQueries": ["a", "b"]}
    chunks: list[dict[str, Any]] = [
        {"candidates": [{"index": 0, "groundingMetadata": grounding}], "modelVersion": "gemini-2.5-flash"},
        {
            "candidates": [
                {"index": 0, "finishReason": "STOP", "groundingMetadata": {"groundingChunks": []}}
            ],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        },
    ]
    assert dict(read_usage(chunks).server_tools) == {"google_search": 2}


def test_the_items_of_a_response_count() -> None:
    search = {
        "type": "web_search_call",
        "id": "w",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    opened = search | {"action": {"type": "open_page", "url": "https://a.example"}}
    files = {"type": "file_search_call", "id": "f", "queries": ["x"], "status": "completed"}
    free = [{"type": "function_call", "name": "web_search_call"}, {"type": "mcp_call"}, {"type": "message"}]
    found = charge(response(search, opened, search, files, *free, tools=("web_search",)))
    assert found.cost == GPT + Decimal("0.02") + Decimal("0.0025")
    assert found.row is not None
    assert found.row.to_dict()["usd_per_thousand"] == {"web_search": 10, "file_search": 2.5}
    preview = charge(response(search, tools=("web_search_preview_2025_03_11",)))
    assert (preview.cost, preview.known_cost, preview.unpriced) == (None, GPT, ("web_search_preview",))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("code_interpreter_call", "code_interpreter"),
        ("image_generation_call", "image_generation"),
        ("mind_reading_call", "mind_reading"),
    ],
)
def test_a_tool_without_a_price_is_named(kind: str, name: str) -> None:
    found = charge(response({"type": kind, "id": "x"}, {"type": kind, "id": "y"}))
    assert (found.cost, found.known_cost, found.unpriced) == (None, GPT, (name,))


def test_a_search_model_of_chat_completions_searches_with_every_call() -> None:
    reply = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-4o-mini-search-preview-2025-03-11",
        "choices": [{"finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
    }
    assert charge(reply).cost is None
    assert dict(read_usage(reply).server_tools) == {"web_search_preview": 1}


def test_the_searches_of_gemini_are_named() -> None:
    candidate = {
        "content": {"parts": []},
        "finishReason": "STOP",
        "groundingMetadata": {
            "webSearchQueries": ["what", "is", "it"],
            "groundingChunks": [
                {"web": {"uri": "https://a.example"}},
                {"maps": {"uri": "https://b.example"}},
            ],
        },
    }
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 100, "totalTokenCount": 1100}
    data = {"modelVersion": "gemini-2.5-flash", "candidates": [candidate], "usageMetadata": usage}
    found = charge(GenerateContentResponse.model_validate(data))
    assert found.cost is None
    assert found.known_cost == Decimal("0.00055")
    assert found.unpriced == ("google_search", "google_maps")


def test_the_tools_of_an_interaction() -> None:
    usage = {"total_input_tokens": 10, "total_output_tokens": 5, "total_cached_tokens": 0}
    counts = [{"type": "google_search", "count": 2}, {"type": "url_context", "count": 1}]
    reply = {
        "object": "interaction",
        "status": "completed",
        "usage": usage | {"grounding_tool_count": counts},
    }
    assert dict(read_usage(reply).server_tools) == {"google_search": 2}


def test_a_price_file_may_have_prices_of_tools(tmp_path: Path) -> None:
    price = {"usd_per_million": {"input": 1, "output": 1}, "usd_per_thousand": {"code_interpreter": 30}}
    table = {
        "source": "ours",
        "as_of": "2026-11-01",
        "providers": {"openai": {"charged_as_text": ["image"], "models": [{"model": "gpt-5", **price}]}},
    }
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(table))
    prices = Prices.with_file(path)
    usage = {"input": 1000, "output": 0, "input_image": 400, "server_tools": {"code_interpreter": 2}}
    found = prices.charge(read_usage(usage), "openai", model="gpt-5")
    assert found.cost == Decimal("0.061")
    for wrong in (table["providers"] | {"openai": {"charged_as_text": ["smell"], "models": []}},):  # type: ignore[operator]
        path.write_text(json.dumps(table | {"providers": wrong}))
        with pytest.raises(DocumentError, match="audio, image, video"):
            Prices.with_file(path)


@pytest.mark.parametrize(
    "tools", [{"web_search": -1}, {"web_search": "3"}, {"web_search": 1.5}, "web_search"]
)
def test_wrong_numbers_of_tools_are_errors(tools: object) -> None:
    with pytest.raises(UsageError):
        read_usage({"input": 1, "output": 1, "server_tools": tools})


@pytest.mark.parametrize(
    "odd",
    [
        {"output": "text", "tools": 7},
        {"output": [None, 3, "x", {"type": 9}, {"type": "_call" * 1000, "action": []}]},
        {"output": [{"type": "web_search_call", "action": "search"}]},
        {"output": [{"type": f"x{n}_call"} for n in range(1_000)]},
    ],
)
def test_odd_items_do_not_stop_the_reading(odd: dict[str, Any]) -> None:
    reply = {"object": "response", "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}, **odd}
    tools = read_usage(reply).server_tools
    assert len(tools) <= 21
    assert all(len(name) <= 64 for name in tools)
