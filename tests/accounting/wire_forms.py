"""Usage as tools and gateways write it, each from its package or its documentation, with the content cut short.

The packages are too large to install for tests; `read_usage` was run with their own objects for these versions: langchain-core
1.7, langchain-openai 1.7, langchain-anthropic 1.7, litellm 1.106, ollama 0.6, cohere 7.3, mistralai 3.7, botocore 1.44 (service
model of `bedrock-runtime`), @openai/codex-sdk 0.163, @google/gemini-cli-core 0.61, @anthropic-ai/claude-agent-sdk 0.3.325.
"""

from accounting.replies import Reply

# codex-sdk: `Usage`; a session file has `total_tokens` as well.
CODEX: Reply = {
    "input_tokens": 100_000,
    "cached_input_tokens": 90_000,
    "output_tokens": 1_000,
    "reasoning_output_tokens": 500,
    "total_tokens": 101_000,
}
CODEX_LAST: Reply = {
    "input_tokens": 20_000,
    "cached_input_tokens": 19_000,
    "output_tokens": 100,
    "reasoning_output_tokens": 0,
    "total_tokens": 20_100,
}
CODEX_EVENT: Reply = {
    "timestamp": "2026-11-15T10:15:00.123Z",
    "type": "event_msg",
    "payload": {
        "type": "token_count",
        "info": {
            "total_token_usage": CODEX,
            "last_token_usage": CODEX_LAST,
            "model_context_window": 272_000,
        },
        "rate_limits": {"primary": {"used_percent": 3.0, "window_minutes": 300}},
    },
}

# langchain-core: `UsageMetadata`, as langchain-openai and langchain-anthropic fill it in.
LANGCHAIN: Reply = {
    "input_tokens": 2006,
    "output_tokens": 300,
    "total_tokens": 2306,
    "input_token_details": {"audio": 0, "cache_read": 1920},
    "output_token_details": {"audio": 0, "reasoning": 192},
}
LANGCHAIN_PRIORITY: Reply = {
    "input_tokens": 2006,
    "output_tokens": 300,
    "total_tokens": 2306,
    "input_token_details": {"priority_cache_read": 1920, "priority": 86},
    "output_token_details": {"priority_reasoning": 192, "priority": 108},
}
LANGCHAIN_ANTHROPIC: Reply = {
    "input_tokens": 189_137,
    "output_tokens": 393,
    "total_tokens": 189_530,
    "input_token_details": {
        "cache_read": 188_086,
        "cache_creation": 0,
        "ephemeral_5m_input_tokens": 30,
        "ephemeral_1h_input_tokens": 1000,
    },
}
AI_MESSAGE: Reply = {
    "content": "Hi!",
    "additional_kwargs": {"refusal": None},
    "response_metadata": {
        "token_usage": {"prompt_tokens": 2006, "completion_tokens": 300, "total_tokens": 2306},
        "model_provider": "openai",
        "model_name": "gpt-5-2025-08-07",
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "service_tier": "default",
        "finish_reason": "stop",
    },
    "type": "ai",
    "name": None,
    "id": "lc_run--019a8f2e-0",
    "tool_calls": [],
    "invalid_tool_calls": [],
    "usage_metadata": LANGCHAIN,
}

# litellm: `Usage` of a call of Anthropic; input includes the cache.
LITELLM: Reply = {
    "prompt_tokens": 189_137,
    "completion_tokens": 393,
    "total_tokens": 189_530,
    "completion_tokens_details": {"reasoning_tokens": 100, "text_tokens": 293},
    "prompt_tokens_details": {
        "cached_tokens": 188_086,
        "text_tokens": 21,
        "cache_write_tokens": 1030,
        "cache_creation_tokens": 1030,
        "cache_creation_token_details": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 1000},
    },
    "cache_creation_input_tokens": 1030,
    "cache_read_input_tokens": 188_086,
}

# botocore: `ConverseResponse`; prompt caching in the user guide: inputTokens has what is not cached.
BEDROCK: Reply = {
    "ResponseMetadata": {"RequestId": "8d7f", "HTTPStatusCode": 200, "RetryAttempts": 0},
    "output": {"message": {"role": "assistant", "content": [{"text": "Hi!"}]}},
    "stopReason": "end_turn",
    "usage": {
        "inputTokens": 21,
        "outputTokens": 393,
        "totalTokens": 189_530,
        "cacheReadInputTokens": 188_086,
        "cacheWriteInputTokens": 1030,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 1000}, {"ttl": "5m", "inputTokens": 30}],
    },
    "metrics": {"latencyMs": 551},
}

# ollama: `ChatResponse`, docs/api.md.
OLLAMA: Reply = {
    "model": "llama3.2",
    "created_at": "2026-11-15T10:15:00.123Z",
    "message": {"role": "assistant", "content": "Hi!"},
    "done_reason": "stop",
    "done": True,
    "total_duration": 5_191_566_416,
    "load_duration": 2_154_458,
    "prompt_eval_count": 26,
    "prompt_eval_duration": 383_809_000,
    "eval_count": 298,
    "eval_duration": 4_799_921_000,
}

# cohere: `V2ChatResponse` with floats, as the library has them; `NonStreamedChatResponse` of version 1.
COHERE: Reply = {
    "id": "c14c80c3",
    "finish_reason": "COMPLETE",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi!"}]},
    "usage": {
        "billed_units": {"input_tokens": 5.0, "output_tokens": 418.0},
        "tokens": {"input_tokens": 71.0, "output_tokens": 418.0},
        "cached_tokens": 0.0,
    },
}
COHERE_V1: Reply = {
    "text": "Hi!",
    "generation_id": "g-1",
    "response_id": "r-1",
    "finish_reason": "COMPLETE",
    "meta": {
        "api_version": {"version": "1"},
        "billed_units": {"input_tokens": 5, "output_tokens": 418},
        "tokens": {"input_tokens": 71, "output_tokens": 418},
    },
}

# gemini-cli-core: `TokensSummary` in session files, `SessionMetrics` in `--output-format json`, `StreamStats`.
GEMINI_CLI: Reply = {
    "id": "m-1",
    "timestamp": "2026-11-15T10:15:00.123Z",
    "type": "gemini",
    "content": "Hi!",
    "thoughts": [],
    "tokens": {"input": 3000, "output": 120, "cached": 2048, "thoughts": 900, "tool": 50, "total": 4070},
    "model": "gemini-2.5-pro",
}
GEMINI_CLI_JSON: Reply = {
    "session_id": "s-1",
    "response": "Hi!",
    "stats": {
        "models": {
            "gemini-2.5-pro": {
                "api": {"totalRequests": 2, "totalErrors": 0, "totalLatencyMs": 5053},
                "tokens": {
                    "input": 952,
                    "prompt": 3000,
                    "candidates": 120,
                    "total": 4070,
                    "cached": 2048,
                    "thoughts": 900,
                    "tool": 50,
                },
                "roles": {},
            },
            "gemini-2.5-flash": {
                "api": {"totalRequests": 1, "totalErrors": 0, "totalLatencyMs": 879},
                "tokens": {
                    "input": 10,
                    "prompt": 10,
                    "candidates": 1,
                    "total": 11,
                    "cached": 0,
                    "thoughts": 0,
                    "tool": 0,
                },
            },
        },
        "tools": {"totalCalls": 1},
        "files": {"totalLinesAdded": 0, "totalLinesRemoved": 0},
    },
}
GEMINI_CLI_STREAM: Reply = {
    "type": "result",
    "timestamp": "2026-11-15T10:15:00.123Z",
    "status": "success",
    "stats": {
        "total_tokens": 11,
        "input_tokens": 10,
        "output_tokens": 1,
        "cached": 4,
        "input": 6,
        "duration_ms": 879,
        "tool_calls": 0,
        "models": {
            "gemini-2.5-flash": {
                "total_tokens": 11,
                "input_tokens": 10,
                "output_tokens": 1,
                "cached": 4,
                "input": 6,
            }
        },
    },
}

# claude-agent-sdk: `SDKResultSuccess`, the output of `claude -p --output-format json`.
CLAUDE_CODE: Reply = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "duration_ms": 2133,
    "num_turns": 2,
    "result": "Hi!",
    "stop_reason": "end_turn",
    "session_id": "5a1c",
    "uuid": "0b6e",
    "total_cost_usd": 0.0694963,
    "usage": {
        "input_tokens": 21,
        "cache_creation_input_tokens": 1030,
        "cache_read_input_tokens": 188_086,
        "output_tokens": 393,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 1000, "ephemeral_5m_input_tokens": 30},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    },
    "modelUsage": {
        "claude-sonnet-4-5-20250929": {
            "inputTokens": 21,
            "outputTokens": 393,
            "thinkingTokens": 100,
            "cacheReadInputTokens": 188_086,
            "cacheCreationInputTokens": 1030,
            "cacheCreationEphemeral5mInputTokens": 30,
            "cacheCreationEphemeral1hInputTokens": 1000,
            "webSearchRequests": 0,
            "costUSD": 0.0684963,
            "contextWindow": 200_000,
            "maxOutputTokens": 64_000,
            "canonicalModel": "claude-sonnet-4-5",
            "provider": "firstParty",
            "costBasis": "list",
        },
        "claude-haiku-4-5-20251001": {
            "inputTokens": 500,
            "outputTokens": 100,
            "cacheReadInputTokens": 0,
            "cacheCreationInputTokens": 0,
            "webSearchRequests": 0,
            "costUSD": 0.001,
            "contextWindow": 200_000,
            "maxOutputTokens": 64_000,
        },
    },
    "permission_denials": [],
}

# openrouter.ai/docs, "Usage Accounting".
OPENROUTER: Reply = {
    "id": "gen-1763201700",
    "provider": "Anthropic",
    "model": "anthropic/claude-sonnet-4.5",
    "object": "chat.completion",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi!"}}],
    "usage": {
        "prompt_tokens": 194,
        "completion_tokens": 2,
        "total_tokens": 196,
        "cost": 0.000612,
        "is_byok": False,
        "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0, "audio_tokens": 0},
        "cost_details": {
            "upstream_inference_cost": 0.000612,
            "upstream_inference_prompt_cost": 0.000582,
            "upstream_inference_completions_cost": 0.00003,
        },
        "completion_tokens_details": {"reasoning_tokens": 0, "image_tokens": 0},
    },
}
