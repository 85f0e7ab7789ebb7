"""OpenAI's Chat Completions and Responses: input includes what was cached, output includes reasoning.

Many servers speak the first of the two. Where a total shows that reasoning stands beside the output instead of within it
(xAI), it is added; where the output is left out (embeddings), the total says what it was.
"""

from runcard.accounting.tokens import Tokens, split_writes
from runcard.accounting.usage import Source, Usage
from runcard.accounting.vendors.reply_fields import ReplyFields

_UNFINISHED = {"in_progress", "queued", "cancelled"}
_USUAL = {"default", "standard", "on_demand"}


def is_reply(reply: ReplyFields) -> bool:
    kind = reply.text("object") or ""
    return reply.has("choices") or kind == "response" or kind.startswith("chat.completion")


def is_usage(usage: ReplyFields) -> bool:
    """`total_tokens` and the details tell OpenAI's input_tokens from Anthropic's, which never has them."""
    return usage.has("prompt_tokens", "input_tokens_details") or (
        usage.has("input_tokens")
        and (usage.has("total_tokens") or usage.part("output_tokens_details").has("reasoning_tokens"))
    )


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A completion, a response, the last chunk of a stream, embeddings, or usage alone."""
    tier = reply.text("service_tier")
    return Usage(
        tokens=_tokens(usage),
        provider="openai",
        model=reply.text("model"),
        response_id=reply.text("id"),
        stop_reason=_stop_reason(reply),
        source=_source(reply),
        service_tier=None if tier in _USUAL else tier,
    )


def _tokens(usage: ReplyFields) -> Tokens:
    inputs = usage.part("prompt_tokens_details", "input_tokens_details")
    outputs = usage.part("completion_tokens_details", "output_tokens_details")
    short, long = _writes(inputs)
    return Tokens(
        input=usage.count("prompt_tokens", "input_tokens"),
        output=_output(usage, outputs.count("reasoning_tokens")),
        cache_read=inputs.count("cached_tokens"),
        cache_write_5m=short,
        cache_write_1h=long,
        reasoning=outputs.count("reasoning_tokens"),
    )


def _output(usage: ReplyFields, reasoning: int | None) -> int | None:
    sent = usage.count("prompt_tokens", "input_tokens")
    output, total = usage.count("completion_tokens", "output_tokens"), usage.count("total_tokens")
    if sent is None or total is None:
        return output
    if output is None:
        return total - sent if total >= sent else None
    return output + reasoning if reasoning and total == sent + output + reasoning else output


def _writes(inputs: ReplyFields) -> tuple[int | None, int | None]:
    """What was written to the cache for the usual time, and for longer."""
    name, split = "cache_write_tokens", inputs.part("cache_write_tokens_details")
    short, long = split.count("ttl_30m_tokens"), split.count("ttl_12h_tokens")
    return split_writes(inputs.count(name), short, long, name)


def _stop_reason(reply: ReplyFields) -> str | None:
    reasons = [choice.text("finish_reason") for choice in reply.parts("choices")]
    said = next(filter(None, reasons), None)
    return said or reply.part("incomplete_details").text("reason") or reply.text("status")


def _source(reply: ReplyFields) -> Source:
    choices = reply.parts("choices")
    running = any(choice.text("finish_reason") is None for choice in choices)
    return "partial" if running or reply.text("status") in _UNFINISHED else "reported"
