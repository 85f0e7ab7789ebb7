"""Replies of the three vendors as their servers send them: whole, and as the events of a stream."""

from typing import Any

Json = dict[str, Any]

CLAUDE, GPT, GEMINI = "claude-sonnet-5", "gpt-5-2025-08-07", "gemini-2.5-pro"
WORDS = "The quick brown fox."

CLAUDE_USAGE: Json = {
    "input_tokens": 21,
    "cache_creation_input_tokens": 1030,
    "cache_read_input_tokens": 4000,
    "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 30},
    "output_tokens": 393,
    "output_tokens_details": {"thinking_tokens": 100},
    "service_tier": "standard",
}
CLAUDE_TOKENS = {
    "input": 5051,
    "output": 393,
    "cache_read": 4000,
    "cache_write_5m": 1000,
    "cache_write_1h": 30,
    "reasoning": 100,
}


def message(**changes: Any) -> Json:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": CLAUDE,
        "content": [{"type": "text", "text": WORDS}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": CLAUDE_USAGE,
        **changes,
    }


def tool_use() -> Json:
    block = {"type": "tool_use", "id": "toolu_01", "name": "weather", "input": {"city": "Paris"}}
    return message(id="msg_tool", content=[block], stop_reason="tool_use")


def message_events() -> list[Json]:
    """Thinking, words and a tool call; the counts of the beginning are a placeholder."""
    start = message(content=[], stop_reason=None, usage=CLAUDE_USAGE | {"output_tokens": 1})
    del start["usage"]["output_tokens_details"]
    deltas: list[tuple[Json, list[Json]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "c2ln"}],
        ),
        (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": "The quick "}, {"type": "text_delta", "text": "brown fox."}],
        ),
        (
            {"type": "tool_use", "id": "toolu_01", "name": "weather", "input": {}},
            [{"type": "input_json_delta", "partial_json": '{"city": "Pa'}, {"type": "input_json_delta", "partial_json": 'ris"}'}],
        ),
    ]  # fmt: skip
    events: list[Json] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, (block, pieces) in enumerate(deltas):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": piece} for piece in pieces]
        events.append({"type": "content_block_stop", "index": index})
    usage = {"output_tokens": 393, "output_tokens_details": {"thinking_tokens": 100}}
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]


CHAT_USAGE: Json = {
    "prompt_tokens": 2006,
    "completion_tokens": 300,
    "total_tokens": 2306,
    "prompt_tokens_details": {"cached_tokens": 1920},
    "completion_tokens_details": {"reasoning_tokens": 192},
}
CHAT_TOKENS = {"input": 2006, "output": 300, "cache_read": 1920, "reasoning": 192}


def completion(**changes: Any) -> Json:
    said = {"role": "assistant", "content": WORDS, "refusal": None}
    return {
        "id": "chatcmpl-01",
        "object": "chat.completion",
        "created": 1763200000,
        "model": GPT,
        "choices": [{"index": 0, "message": said, "finish_reason": "stop", "logprobs": None}],
        "usage": CHAT_USAGE,
        **changes,
    }


def chunks(*, usage: bool = True) -> list[Any]:
    call = {"index": 0, "id": "call_01", "type": "function", "function": {"name": "weather", "arguments": ""}}
    deltas: list[Json] = [
        {"role": "assistant", "content": ""},
        {"content": "The quick "},
        {"content": "brown fox."},
        {"tool_calls": [call]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"city": "Paris"}'}}]},
    ]
    head = {"id": "chatcmpl-01", "object": "chat.completion.chunk", "created": 1763200000, "model": GPT}
    events: list[Any] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None}
        for delta in deltas
    ]
    events.append(
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": None}
    )
    if usage:
        events.append({**head, "choices": [], "usage": CHAT_USAGE})
    return [*events, "[DONE]"]


RESPONSE_USAGE: Json = {
    "input_tokens": 2600,
    "input_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 0},
    "output_tokens": 1186,
    "output_tokens_details": {"reasoning_tokens": 1024},
    "total_tokens": 3786,
}
RESPONSE_TOKENS = {
    "input": 2600,
    "output": 1186,
    "cache_read": 2000,
    "cache_write_5m": 0,
    "cache_write_1h": 0,
    "reasoning": 1024,
}


def response(**changes: Any) -> Json:
    text = {"type": "output_text", "text": WORDS, "annotations": [], "logprobs": []}
    said = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]}
    return {
        "id": "resp_01",
        "object": "response",
        "created_at": 1763200000,
        "status": "completed",
        "model": GPT,
        "output": [said],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "usage": RESPONSE_USAGE,
        **changes,
    }


def response_events() -> list[Json]:
    begun = response(status="in_progress", output=[], usage=None)
    text = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    item = {"type": "message", "id": "msg_1", "status": "in_progress", "role": "assistant", "content": []}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **at, "part": text},
        {"type": "response.output_text.delta", **at, "delta": "The quick ", "logprobs": []},
        {"type": "response.output_text.delta", **at, "delta": "brown fox.", "logprobs": []},
        {"type": "response.output_text.done", **at, "text": WORDS, "logprobs": []},
        {"type": "response.completed", "response": response()},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def embeddings() -> Json:
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}],
        "model": "text-embedding-3-small",
        "usage": {"prompt_tokens": 8, "total_tokens": 8},
    }


GEMINI_USAGE: Json = {
    "promptTokenCount": 3000,
    "toolUsePromptTokenCount": 50,
    "cachedContentTokenCount": 2048,
    "candidatesTokenCount": 120,
    "thoughtsTokenCount": 900,
    "totalTokenCount": 4070,
}
GEMINI_TOKENS = {"input": 3050, "output": 1020, "cache_read": 2048, "reasoning": 900}


def generated(*parts: Json, reason: str | None = "STOP", **changes: Any) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": list(parts) or [{"text": WORDS}]}, "index": 0}
    return {
        "candidates": [candidate | ({"finishReason": reason} if reason else {})],
        "usageMetadata": GEMINI_USAGE,
        "modelVersion": GEMINI,
        "responseId": "gem-01",
        **changes,
    }


def generated_events() -> list[Json]:
    early = {"promptTokenCount": 3000, "totalTokenCount": 3000}
    return [
        generated({"text": "Hm.", "thought": True}, reason=None, usageMetadata=early),
        generated({"text": "The quick "}, reason=None, usageMetadata=early),
        generated({"text": "brown fox."}, reason=None, usageMetadata=early),
        generated({"functionCall": {"name": "weather", "args": {"city": "Paris"}}}),
    ]
