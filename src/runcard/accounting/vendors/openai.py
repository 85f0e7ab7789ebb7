"""OpenAI's Chat Completions and Responses: input includes what was cached, output includes reasoning.

Many servers use the format of Chat Completions. Where the total shows that reasoning is not included in the output (xAI), it
is added; where the output is missing (embeddings), it is computed from the total. The details state audio, image and video
tokens. The usage of an image may have that of another model beside it, which wrote an SVG.
"""

from runcard.accounting.service_tiers import non_standard
from runcard.accounting.tokens import Tokens, split_writes
from runcard.accounting.usage import Source, Usage
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.accounting.vendors.server_tools import openai_tools

_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_UNFINISHED = {"in_progress", "queued", "cancelled"}


def is_reply(reply: ReplyFields) -> bool:
    kind = reply.text("object") or ""
    return reply.has("choices") or kind == "response" or kind.startswith("chat.completion")


def is_usage(usage: ReplyFields) -> bool:
    """`total_tokens` and the details distinguish OpenAI's input_tokens from Anthropic's, which never has them."""
    return usage.has("prompt_tokens", "input_tokens_details") or (
        usage.has("input_tokens")
        and (usage.has("total_tokens") or usage.part("output_tokens_details").has("reasoning_tokens"))
    )


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A completion, a response, the last chunk of a stream, embeddings, or usage alone."""
    return Usage(
        tokens=_tokens(usage),
        provider="openai",
        model=reply.text("model"),
        response_id=reply.text("id"),
        stop_reason=_stop_reason(reply),
        source=_source(reply),
        service_tier=non_standard(reply.text("service_tier"), "openai"),
        server_tools=openai_tools(reply),
        also=tuple(_svg_author(reply)),
    )


def _tokens(usage: ReplyFields) -> Tokens:
    inputs = usage.part(*_INPUT_DETAILS)
    outputs = usage.part(*_OUTPUT_DETAILS)
    short, long = _writes(inputs)
    return Tokens(
        input=usage.count("prompt_tokens", "input_tokens"),
        output=_output(usage, outputs.count("reasoning_tokens")),
        cache_read=inputs.count("cached_tokens"),
        cache_write_5m=short,
        cache_write_1h=long,
        reasoning=outputs.count("reasoning_tokens"),
        **_modalities(inputs, outputs),
    )


def _modalities(inputs: ReplyFields, outputs: ReplyFields) -> dict[str, int | None]:
    """Audio, images and video; an input of zero is left out, an output of zero says that the output is text."""
    cached = inputs.part("cached_tokens_details")
    counts: dict[str, int | None] = {"output_text": outputs.count("text_tokens")}
    for kind in ("audio", "image", "video"):
        counts[f"input_{kind}"] = inputs.count(f"{kind}_tokens") or None
        counts[f"cache_read_{kind}"] = cached.count(f"{kind}_tokens") if counts[f"input_{kind}"] else None
        counts[f"output_{kind}"] = outputs.count(f"{kind}_tokens")
    return counts


def _svg_author(reply: ReplyFields) -> list[Usage]:
    svg = reply.optional_part("svg_usage")
    if not svg.data:
        return []
    tokens = Tokens(
        svg.count("input_tokens"), svg.count("output_tokens"), reasoning=svg.count("reasoning_tokens")
    )
    return [Usage(tokens, provider="openai", model=svg.text("model"), source="reported")]


def _output(usage: ReplyFields, reasoning: int | None) -> int | None:
    sent = usage.count("prompt_tokens", "input_tokens")
    output, total = usage.count("completion_tokens", "output_tokens"), usage.count("total_tokens")
    if sent is None or total is None:
        return output
    if output is None:
        return total - sent if total >= sent else None
    return output + reasoning if reasoning and total == sent + output + reasoning else output


def _writes(inputs: ReplyFields) -> tuple[int | None, int | None]:
    """Tokens written to the cache for the standard time, and for longer."""
    name, split = "cache_write_tokens", inputs.part("cache_write_tokens_details")
    short, long = split.count("ttl_30m_tokens"), split.count("ttl_12h_tokens")
    return split_writes(inputs.count(name), short, long, name)


def _stop_reason(reply: ReplyFields) -> str | None:
    reasons = [choice.text("finish_reason") for choice in reply.parts("choices")]
    reason = next(filter(None, reasons), None)
    return reason or reply.part("incomplete_details").text("reason") or reply.text("status")


def _source(reply: ReplyFields) -> Source:
    choices = reply.parts("choices")
    running = any(choice.text("finish_reason") is None for choice in choices)
    return "partial" if running or reply.text("status") in _UNFINISHED else "reported"
