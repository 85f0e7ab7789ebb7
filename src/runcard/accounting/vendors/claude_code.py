"""The result of Claude Code (`claude -p --output-format json`, the Agent SDK): the totals of each model.

`modelUsage` has every call, and `usage` only those of the main agent: they are never added. Input excludes the cache. The cost is
Claude Code's own, from list prices; where it has no price for a model, its guess is not used.
"""

from dataclasses import replace

from runcard.accounting.tokens import Tokens, split_writes
from runcard.accounting.usage import Usage
from runcard.accounting.vendors import anthropic
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping

USAGE = ("modelUsage", "model_usage", "usage")

_INPUT, _READ, _WRITTEN = "inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"
_SHORT, _LONG = "cacheCreationEphemeral5mInputTokens", "cacheCreationEphemeral1hInputTokens"
KNOWN = known_fields(
    _INPUT,
    _READ,
    _WRITTEN,
    _SHORT,
    _LONG,
    "outputTokens",
    "thinkingTokens",
    "webSearchRequests",  # part of the cost
    "costUSD",
    "contextWindow",
    "maxOutputTokens",
    "canonicalModel",
    "provider",
    "costBasis",
)


def is_reply(reply: ReplyFields) -> bool:
    is_result = reply.has("total_cost_usd") and reply.has(*USAGE)
    return is_result or any(
        as_mapping(reply.get(name)) is not None and is_usage(reply.part(name)) for name in USAGE[:2]
    )


def is_usage(usage: ReplyFields) -> bool:
    """Models by name, each with its totals."""
    totals = [as_mapping(value) for value in usage.data.values()]
    return bool(totals) and all(
        total is not None and _INPUT in total and "costUSD" in total for total in totals
    )


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A result, or its `modelUsage` alone; the first call is that of the first model."""
    if is_usage(usage):
        first, *others = (_read_model(name, usage.part(name)) for name in usage.data)
        call = replace(first, also=tuple(others))
    else:  # of an older version: the counts of the main agent, and the cost of all
        call = anthropic.read(ReplyFields({}), usage)
        call = replace(call, reported_cost=reply.amount("total_cost_usd"), is_total=True)
    if reply.get("is_error") is True and not any(part.tokens.output for part in call.calls):
        call = Usage(Tokens(), "anthropic")  # a crash leaves zeros
    return replace(
        call,
        response_id=reply.text("uuid"),
        stop_reason=reply.text("stop_reason", "subtype"),
        session=reply.text("session_id"),
    )


def _read_model(name: str, usage: ReplyFields) -> Usage:
    uncached, read = usage.count(_INPUT), usage.count(_READ)
    short, long = split_writes(usage.count(_WRITTEN), usage.count(_SHORT), usage.count(_LONG), _WRITTEN)
    searches = usage.count("webSearchRequests")
    is_guess = usage.text("costBasis") == "unknown"
    return Usage(
        tokens=Tokens(
            input=None if uncached is None else uncached + (read or 0) + (short or 0) + (long or 0),
            output=usage.count("outputTokens"),
            cache_read=read,
            cache_write_5m=short,
            cache_write_1h=long,
            reasoning=usage.count("thinkingTokens"),
        ),
        provider="anthropic",
        model=name,
        source="reported",
        reported_cost=None if is_guess else usage.amount("costUSD"),
        server_tools={"web_search": searches} if searches else {},
        unknown=unknown_counts(usage, KNOWN),
        is_total=True,
    )
