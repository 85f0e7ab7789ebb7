"""Token counts that the caller writes by hand: runcard's own names, with or without `_tokens` at the end.

`input` is all input here as well; `server_tools` has the uses of tools that the vendor bills apart. An unknown name is an error: it may be a count that would be lost.
"""

from runcard.accounting.tokens import CLASSES, MODALITIES, Tokens, split_writes
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.accounting.vendors.server_tools import given_tools
from runcard.errors import UsageError

_CACHE_WRITE = "cache_write"  # all tokens written to a cache, for the standard time
_NAMES = {name: (name, f"{name}_tokens") for name in (*CLASSES, *MODALITIES, _CACHE_WRITE)}
_FACTS = ("model", "provider", "response_id", "stop_reason", "service_tier")
_KNOWN = {*_FACTS, "server_tools", *(alias for aliases in _NAMES.values() for alias in aliases)}


def is_usage(usage: ReplyFields) -> bool:
    return usage.has(*_NAMES["input"], *_NAMES["output"])


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """Counts, and the facts beside them or around them."""
    if unknown := sorted(set(map(str, usage.data)) - _KNOWN):
        raise UsageError(
            f"{', '.join(unknown[:5])}: unknown name of a token count",
            hint=f"use {', '.join(CLASSES)}",
        )
    model, provider, response_id, stop_reason, tier = (
        usage.text(name) or reply.text(name) for name in _FACTS
    )
    tools = given_tools(usage)
    return Usage(_tokens(usage), provider, model, response_id, stop_reason, "given", tier, tools)


def _tokens(usage: ReplyFields) -> Tokens:
    counts = {name: usage.count(*aliases) for name, aliases in _NAMES.items()}
    written, short, long = (
        counts.pop(_CACHE_WRITE),
        counts.pop("cache_write_5m"),
        counts.pop("cache_write_1h"),
    )
    short, long = split_writes(written, short, long, _CACHE_WRITE)
    return Tokens(**counts, cache_write_5m=short, cache_write_1h=long)
