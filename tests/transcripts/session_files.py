"""Session files of agent tools, written by hand, and an independent counter of Claude Code's calls: slow and simple."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from runcard.transcripts.calls import Call
from runcard.transcripts.reading import TranscriptCalls, read_files
from runcard.transcripts.sources import find_files

Json = dict[str, Any]
OPUS, SONNET = "claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929"


def usage(
    sent: int = 10, output: int = 20, read: int = 300, short: int = 40, long: int = 5, **more: Any
) -> Json:
    """The usage of an Anthropic message."""
    return {
        "input_tokens": sent,
        "cache_creation_input_tokens": short + long,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
        "output_tokens": output,
        "service_tier": "standard",
        **more,
    }


def assistant(
    call: str = "msg_1",
    counts: Json | None = None,
    *,
    request: str | None = "req_1",
    model: str = SONNET,
    stop: str | None = "end_turn",
    time: str | None = "2026-11-02T10:00:00.000Z",
    content: Sequence[Json] = ({"type": "text", "text": 'a "quoted" text\n'},),
    **fields: Any,
) -> Json:
    """A line of Claude Code for one block of a reply."""
    record: Json = {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/home/u/shop",
        "sessionId": "s-1",
        "gitBranch": "main",
        "message": {
            "id": call,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": list(content),
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage() if counts is None else counts,
        },
        "requestId": request,
        "type": "assistant",
        "uuid": f"u-{call}-{request}",
        "timestamp": time,
        **fields,
    }
    return {name: value for name, value in record.items() if value is not None or name == "parentUuid"}


def user(text: str = "hello") -> Json:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": "u",
        "sessionId": "s-1",
    }


def lines(records: Iterable[Json | bytes]) -> bytes:
    texts = (
        record if isinstance(record, bytes) else json.dumps(record, separators=(",", ":")).encode()
        for record in records
    )
    return b"".join(text + b"\n" for text in texts)


def write(path: Path, *records: Json | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(records))
    return path


def claude(folder: Path, *records: Json | bytes, name: str = "s-1.jsonl") -> Path:
    """A file of Claude Code, in the folder of its project."""
    return write(folder / "projects" / "-home-u-shop" / name, *records)


def read(tool: str, *paths: Path) -> TranscriptCalls:
    files, left_out = find_files([tool], [str(path) for path in paths])
    found = read_files(files)
    found.unread[:0] = left_out
    return found


def calls(tool: str, *paths: Path) -> list[Call]:
    return list(read(tool, *paths).table)


def sums(found: Iterable[Call]) -> tuple[int, ...]:
    """The number of calls, and the sum of each class of tokens: all input, output, the cache, reasoning."""
    all_calls = list(found)
    return (len(all_calls), *(sum(call.counts[column] for call in all_calls) for column in range(6)))


def slow_sums(files: Iterable[bytes]) -> tuple[int, ...]:
    """The same for Claude Code, counted again: decode every line, and keep the largest usage of each call."""
    best: dict[tuple[str, str], Json] = {}
    for data in files:
        for line in data.split(b"\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            inner = record.get("data", {}).get("message", {}) if record.get("type") == "progress" else record
            message = inner.get("message", {})
            counts = message.get("usage")
            if inner.get("type") != "assistant" or not counts or message["model"] == "<synthetic>":
                continue
            key = (message["id"], inner["requestId"])
            if key not in best or _size(counts) > _size(best[key]):
                best[key] = counts
    parts = [
        (
            _size(counts) - counts["output_tokens"],
            counts["output_tokens"],
            counts["cache_read_input_tokens"],
            counts["cache_creation"]["ephemeral_5m_input_tokens"],
            counts["cache_creation"]["ephemeral_1h_input_tokens"],
            0,
        )
        for counts in best.values()
    ]
    return (len(parts), *(sum(part[column] for part in parts) for column in range(6)))


def _size(counts: Json) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return sum(counts[name] for name in names)


def token_counts(sent: int, output: int, cached: int = 0, reasoning: int = 0) -> Json:
    """A usage of Codex."""
    return {
        "input_tokens": sent,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": sent + output,
    }


def rollout(kind: str, payload: Json, time: str = "2026-11-02T10:00:00.000Z") -> Json:
    """A line of Codex."""
    return {"timestamp": time, "type": kind, "payload": payload}


def meta(name: str = "t-1", time: str = "2026-11-02T10:00:00.000Z", **fields: Any) -> Json:
    payload = {
        "id": name,
        "cwd": "/home/u/shop",
        "model_provider": "openai",
        "git": {"branch": "main"},
        **fields,
    }
    return rollout("session_meta", payload, time)


def turn(model: str = "gpt-5") -> Json:
    return rollout("turn_context", {"model": model, "cwd": "/home/u/shop"})


def event(total: Json | None, last: Json | None, time: str = "2026-11-02T10:00:05.000Z") -> Json:
    info = None if total is None and last is None else {"total_token_usage": total, "last_token_usage": last}
    return rollout("event_msg", {"type": "token_count", "info": info, "rate_limits": None}, time)
