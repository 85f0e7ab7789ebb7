"""Ollama's own API (`/api/chat`, `/api/generate`, `/api/embed`): counts stand in the last part of a reply.

Output includes reasoning. A count that is missing stays unknown: Ollama omits the prompt's when it was cached.
"""

from runcard.accounting.tokens import Tokens
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields

USAGE = ()  # the counts are fields of the reply

_COUNTS = ("prompt_eval_count", "eval_count")
_DURATIONS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
KNOWN = known_fields(
    *_COUNTS,
    *_DURATIONS,
    "model",
    "remote_model",
    "remote_host",
    "created_at",
    "done",
    "done_reason",
    "message",
    "response",
    "thinking",
    "context",
    "embeddings",
    "logprobs",
    "image",
)


def is_reply(reply: ReplyFields) -> bool:
    is_native = reply.has(*_COUNTS) or (reply.has("done") and reply.has("model"))
    return is_native and not reply.has("usage")


def is_usage(usage: ReplyFields) -> bool:
    return usage.has(*_COUNTS)


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A reply, or the last part of a stream."""
    output = usage.count("eval_count")
    return Usage(
        tokens=Tokens(
            input=usage.count("prompt_eval_count"),
            output=0 if output is None and usage.get("embeddings") is not None else output,
        ),
        provider="ollama",
        model=reply.text("model"),
        stop_reason=reply.text("done_reason"),
        source="partial" if reply.get("done") is False else "reported",
        unknown=unknown_counts(usage, KNOWN),
    )
