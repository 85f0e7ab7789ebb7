"""Anthropic's Messages: `input_tokens` excludes cached input, so the three input counts are added.

A message without a `stop_reason` is the start of a stream: its output count is a placeholder. Compaction and advisors are
separate calls, which the counts of the message do not include. A message that used the vendor's tools is the total of several
iterations.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from runcard.accounting.service_tiers import non_standard
from runcard.accounting.tokens import MAX_COUNT, Tokens, split_writes
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.accounting.vendors.server_tools import anthropic_tools

USAGE = ("usage",)

_USAGE_FIELDS = (
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cache_creation",
    "server_tool_use",
    "inference_geo",
)
_NESTED_CALLS = ("compaction", "advisor_message")
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
_FACTS = ("service_tier", "speed", "inference_geo", "fallback_credit", "model", "type")
_WRITTEN = "cache_creation_input_tokens"
_SHORT, _LONG = "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"
_DURATIONS = known_fields(_SHORT, _LONG)
_OUTPUT = known_fields("thinking_tokens")
_TOOLS = known_fields(
    "web_search_requests", "web_fetch_requests", "code_execution_requests", "tool_search_requests"
)
_ITERATION = known_fields(*_COUNTS, *_FACTS, cache_creation=_DURATIONS, output_tokens_details=_OUTPUT)
KNOWN = known_fields(
    *_COUNTS,
    *_FACTS,
    "active_seconds",  # of managed agents
    "list_cost",
    cache_creation=_DURATIONS,
    output_tokens_details=_OUTPUT,
    server_tool_use=_TOOLS,
    iterations=_ITERATION,
)


_PLAIN_FIELDS = frozenset({*_COUNTS, "cache_creation", "server_tool_use", "iterations", *_FACTS[:3]})


def is_reply(reply: ReplyFields) -> bool:
    return reply.text("type") in {"message", "message_delta"}


def is_usage(usage: ReplyFields) -> bool:
    if usage.has("prompt_tokens"):  # LiteLLM: OpenAI's counts, with Anthropic's beside them
        return False
    return usage.has(*_USAGE_FIELDS) or usage.part("output_tokens_details").has("thinking_tokens")


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A message, the `message_delta` that ends a stream, or usage alone."""
    stop_reason = reply.text("stop_reason") or reply.part("delta").text("stop_reason")
    return Usage(
        tokens=_tokens(usage),
        provider="anthropic",
        model=reply.text("model"),
        response_id=reply.text("id"),
        stop_reason=stop_reason,
        source="partial" if is_reply(reply) and stop_reason is None else "reported",
        service_tier=service_tier(usage),
        server_tools=anthropic_tools(reply, usage) | _declined_attempts(usage),
        also=tuple(_nested_calls(reply, usage)),
        unknown=unknown_counts(usage, KNOWN),
        is_total=sum(part.text("type") not in _NESTED_CALLS for part in usage.parts("iterations")) > 1,
    )


def _tokens(usage: ReplyFields) -> Tokens:
    uncached, read = usage.count("input_tokens"), usage.count("cache_read_input_tokens")
    short, long = _writes(usage)
    return Tokens(
        input=None if uncached is None else uncached + (read or 0) + (short or 0) + (long or 0),
        output=usage.count("output_tokens"),
        cache_read=read,
        cache_write_5m=short,
        cache_write_1h=long,
        reasoning=usage.part("output_tokens_details").count("thinking_tokens"),
    )


def _writes(usage: ReplyFields) -> tuple[int | None, int | None]:
    """Tokens written to the cache for five minutes and for an hour; five minutes where the reply does not say."""
    name, split = "cache_creation_input_tokens", usage.part("cache_creation")
    short, long = split.count(_SHORT), split.count(_LONG)
    return split_writes(usage.count(name), short, long, name)


def service_tier(usage: ReplyFields) -> str | None:
    """Batch or priority, fast mode, a chosen region: each has its own price."""
    names = (usage.text("service_tier"), usage.text("speed"), usage.text("inference_geo"))
    return "+".join(tier for name in names if (tier := non_standard(name, "anthropic"))) or None


def _declined_attempts(usage: ReplyFields) -> dict[str, int]:
    """Attempts of another model that declined, before the fallback that answered: their charge is not known."""
    parts = [(part.text("type"), part.text("model")) for part in usage.parts("iterations")]
    served = {model for kind, model in parts if kind == "fallback_message"}
    declined = [model for kind, model in parts if kind == "message" and model not in served]
    return {"declined_attempt": len(declined)} if served and declined else {}


def _nested_calls(reply: ReplyFields, usage: ReplyFields) -> list[Usage]:
    return [
        Usage(
            tokens=_tokens(call),
            provider="anthropic",
            model=call.text("model") or reply.text("model"),
            source="reported",
            service_tier=service_tier(usage),
        )
        for call in usage.parts("iterations")
        if call.text("type") in _NESTED_CALLS
    ]


def plain_counts(usage: Mapping[str, Any]) -> tuple[int, int, int, int, int] | None:
    """What `read` gives for a usage of the common form, in a twentieth of the time; None for any other form.

    The counts are those of input, output, cache_read, cache_write_5m and cache_write_1h. The form has all counts, tools that
    were not used, and no nested calls. For session files, which have a million of them.
    """
    try:
        sent, output, read = usage["input_tokens"], usage["output_tokens"], usage["cache_read_input_tokens"]
        written, split, tools = usage[_WRITTEN], usage.get("cache_creation"), usage.get("server_tool_use")
        short, long = (split[_SHORT], split[_LONG]) if split else (written, 0)
        if not type(sent) is type(output) is type(read) is type(written) is type(short) is type(long) is int:
            return None
        whole = sent + read + written
        is_plain = (
            sent >= 0 <= output
            and read >= 0 <= written
            and short >= 0 <= long
            and short + long <= written
            and whole <= MAX_COUNT >= output
            and usage.get("iterations") in (None, [])
            and (tools is None or all(type(count) is int and not count for count in tools.values()))
            and usage.keys() <= _PLAIN_FIELDS
            and (split is None or (type(split) is dict and len(split) in {0, 2}))
        )
    except (KeyError, TypeError, AttributeError):
        return None
    return (whole, output, read, written - long, long) if is_plain else None


def plain_tier(usage: Mapping[str, Any]) -> str | None:
    """The service tier of a usage for which `plain_counts` has counts."""
    try:
        return _tier(usage.get("service_tier"), usage.get("speed"), usage.get("inference_geo"))
    except TypeError:  # a list in place of a text
        return service_tier(ReplyFields(usage))


@cache
def _tier(*names: object) -> str | None:
    return service_tier(ReplyFields(dict(zip(_FACTS, names, strict=False))))
