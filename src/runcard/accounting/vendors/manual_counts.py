"""Counts that somebody writes down by hand: runcard's own names, with or without `_tokens` behind them.

`input` is all input here as well. A name that is not known is an error: it may be a count that would be lost.
"""

from runcard.accounting.tokens import CLASSES, Tokens, split_writes
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.errors import UsageError

_ONE = "cache_write"  # all that was written to a cache, for the usual time
_NAMES = {name: (name, f"{name}_tokens") for name in (*CLASSES, _ONE)}
_FACTS = ("model", "provider", "response_id", "stop_reason", "service_tier")
_KNOWN = {*_FACTS, *(alias for aliases in _NAMES.values() for alias in aliases)}


def is_usage(usage: ReplyFields) -> bool:
    return usage.has(*_NAMES["input"], *_NAMES["output"])


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """Counts, and the facts that may stand beside them or around them."""
    if unknown := sorted(set(map(str, usage.data)) - _KNOWN):
        raise UsageError(
            f"{', '.join(unknown[:5])}: no token count has this name",
            hint=f"the names are {', '.join(CLASSES)}",
        )
    model, provider, response_id, stop_reason, tier = (
        usage.text(name) or reply.text(name) for name in _FACTS
    )
    return Usage(_tokens(usage), provider, model, response_id, stop_reason, "given", tier)


def _tokens(usage: ReplyFields) -> Tokens:
    counts = {name: usage.count(*aliases) for name, aliases in _NAMES.items()}
    written, short, long = counts.pop(_ONE), counts.pop("cache_write_5m"), counts.pop("cache_write_1h")
    short, long = split_writes(written, short, long, _ONE)
    return Tokens(**counts, cache_write_5m=short, cache_write_1h=long)
