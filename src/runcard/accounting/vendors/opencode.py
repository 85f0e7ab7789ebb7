"""OpenCode: the `tokens` of an assistant message, in its database and in the files of older versions.

`input` excludes the cache, so `cache.read` and `cache.write` are added. Since `total` is there, `output` excludes `reasoning`, which is
added; in older versions it includes it. The total decides; without one, reasoning that is larger than the output is not in it.

`cost` is OpenCode's own, from list prices; 0 also means that it has no price for a model, so a 0 is no cost.
"""

from runcard.accounting.tokens import Tokens, split_writes
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping

USAGE = ("tokens",)

KNOWN = known_fields("input", "output", "reasoning", "total", cache=known_fields("read", "write"))


def is_reply(reply: ReplyFields) -> bool:
    return as_mapping(reply.get("tokens")) is not None and is_usage(reply.part("tokens"))


def is_usage(usage: ReplyFields) -> bool:
    return usage.has("input") and usage.has("output") and as_mapping(usage.get("cache")) is not None


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """An assistant message, or its tokens alone."""
    cache = usage.part("cache")
    uncached, cached = usage.count("input"), cache.count("read")
    short, long = split_writes(cache.count("write"), None, None, "cache.write")
    sent = None if uncached is None else uncached + (cached or 0) + (short or 0) + (long or 0)
    model = reply.optional_part("model")
    return Usage(
        tokens=Tokens(
            input=sent,
            output=_output(usage, sent),
            cache_read=cached,
            cache_write_5m=short,
            cache_write_1h=long,
            reasoning=usage.count("reasoning"),
        ),
        provider=reply.text("providerID") or model.text("providerID"),
        model=reply.text("modelID") or model.text("modelID", "id"),
        response_id=reply.text("id"),
        stop_reason=reply.text("finish"),
        source="reported",
        reported_cost=reply.amount("cost") or None,
        unknown=unknown_counts(usage, KNOWN),
    )


def _output(usage: ReplyFields, sent: int | None) -> int | None:
    output, reasoning, total = (usage.count(name) for name in ("output", "reasoning", "total"))
    if output is None or not reasoning:
        return output
    if sent is not None and total is not None:
        is_apart = total == sent + output + reasoning
    else:
        is_apart = reasoning > output
    return output + reasoning if is_apart or reasoning > output else output
