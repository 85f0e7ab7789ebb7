"""Replies of all vendors as their APIs send them, with the content cut short."""

from typing import Any

Reply = dict[str, Any]

ANTHROPIC: Reply = {
    "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5-20250929",
    "content": [{"type": "text", "text": "Hi!"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 21,
        "cache_creation_input_tokens": 1030,
        "cache_read_input_tokens": 188086,
        "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 1000},
        "output_tokens": 393,
        "output_tokens_details": {"thinking_tokens": 100},
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "inference_geo": "not_available",
    },
}

CHAT: Reply = {
    "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
    "object": "chat.completion",
    "created": 1741569952,
    "model": "gpt-5-2025-08-07",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi!"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 2006,
        "completion_tokens": 300,
        "total_tokens": 2306,
        "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 192,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    },
    "service_tier": "default",
}

RESPONSE: Reply = {
    "id": "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
    "object": "response",
    "created_at": 1741476542,
    "status": "completed",
    "incomplete_details": None,
    "model": "gpt-5.6-sol",
    "output": [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": []}],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "service_tier": "default",
    "usage": {
        "input_tokens": 2600,
        "input_tokens_details": {
            "cached_tokens": 2000,
            "cache_write_tokens": 400,
            "cache_write_tokens_details": {"ttl_30m_tokens": 400, "ttl_12h_tokens": 0},
        },
        "output_tokens": 1186,
        "output_tokens_details": {"reasoning_tokens": 1024},
        "total_tokens": 3786,
    },
}

GEMINI: Reply = {
    "candidates": [
        {"content": {"parts": [{"text": "Hi!"}], "role": "model"}, "finishReason": "STOP", "index": 0}
    ],
    "usageMetadata": {
        "promptTokenCount": 3000,
        "cachedContentTokenCount": 2048,
        "candidatesTokenCount": 120,
        "thoughtsTokenCount": 900,
        "toolUsePromptTokenCount": 50,
        "totalTokenCount": 4070,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 3000}],
        "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 2048}],
    },
    "modelVersion": "gemini-2.5-pro",
    "responseId": "mAitaLmkHPPlz7IPvtfUqQ4",
}

GEMINI_SNAKE: Reply = {
    "candidates": [{"content": {"parts": [{"text": "Hi!"}]}, "finish_reason": "STOP"}],
    "usage_metadata": {
        "prompt_token_count": 3000,
        "cached_content_token_count": 2048,
        "candidates_token_count": 120,
        "thoughts_token_count": 900,
        "tool_use_prompt_token_count": 50,
        "total_token_count": 4070,
        "prompt_tokens_details": [{"modality": "TEXT", "token_count": 3000}],
        "traffic_type": "ON_DEMAND",
    },
    "model_version": "gemini-2.5-pro",
    "response_id": "mAitaLmkHPPlz7IPvtfUqQ4",
}


def changed(reply: Reply, usage: Reply | None = None, **fields: object) -> Reply:
    """A reply with other fields, and other fields in its usage."""
    key = next(name for name in ("usage", "usageMetadata", "usage_metadata") if name in reply)
    return {**reply, key: {**reply[key], **(usage or {})}, **fields}
