"""Amazon Bedrock's Converse and ConverseStream: `inputTokens` excludes the cache, so the three input counts are added.

`cacheDetails` has the duration of what was written to the cache; without it, five minutes. A reply does not name its model.
"""

from runcard.accounting.service_tiers import non_standard
from runcard.accounting.tokens import Tokens, split_writes
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields, complete_output

USAGE = ("usage",)

# Some replies, as those of Nova to InvokeModel, have the second names, or both.
_READ = ("cacheReadInputTokens", "cacheReadInputTokenCount")
_WRITTEN = ("cacheWriteInputTokens", "cacheWriteInputTokenCount")
KNOWN = known_fields(
    "inputTokens",
    "outputTokens",
    "totalTokens",
    *_READ,
    *_WRITTEN,
    cacheDetails=known_fields("ttl", "inputTokens"),
)


def is_reply(reply: ReplyFields) -> bool:
    return reply.has("usage") and reply.has("stopReason", "metrics") and is_usage(reply.part("usage"))


def is_usage(usage: ReplyFields) -> bool:
    return usage.has("inputTokens", "outputTokens")


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """The response of Converse, the `metadata` event that ends a stream, or usage alone."""
    return Usage(
        tokens=_tokens(usage),
        provider="aws",
        response_id=reply.part("ResponseMetadata").text("RequestId"),
        stop_reason=reply.text("stopReason"),
        source="reported",
        service_tier=_service_tier(reply),
        unknown=unknown_counts(usage, KNOWN) + _unknown_durations(usage),
    )


def _tokens(usage: ReplyFields) -> Tokens:
    uncached, read = usage.count("inputTokens"), usage.count(*_READ)
    written = {"5m": 0, "1h": 0}
    for part in usage.parts("cacheDetails"):
        duration = part.text("ttl") or ""
        written[duration] = written.get(duration, 0) + (part.count("inputTokens") or 0)
    total = usage.count(*_WRITTEN)
    short, long = split_writes(total, written["5m"] or None, written["1h"] or None, _WRITTEN[0])
    sent = None if uncached is None else uncached + (read or 0) + (short or 0) + (long or 0)
    return Tokens(
        input=sent,
        output=complete_output(usage.count("outputTokens"), sent, usage.count("totalTokens")),
        cache_read=read,
        cache_write_5m=short,
        cache_write_1h=long,
    )


def _unknown_durations(usage: ReplyFields) -> tuple[str, ...]:
    """What was written to the cache for a time that has no known price."""
    parts = [(part.text("ttl"), part) for part in usage.parts("cacheDetails")]
    return tuple(f"{part.path} ({ttl})" for ttl, part in parts if ttl not in {None, "5m", "1h"})


def _service_tier(reply: ReplyFields) -> str | None:
    """Priority or flex, and latency-optimized inference: each has its own price."""
    tier = non_standard(reply.part("serviceTier").text("type"), "aws")
    latency = non_standard(reply.part("performanceConfig").text("latency"), "aws")
    return "+".join(filter(None, (tier, latency))) or None
