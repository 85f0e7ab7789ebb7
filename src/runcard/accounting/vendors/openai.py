"""OpenAI's Chat Completions and Responses: input includes what was cached, output includes reasoning.

Many servers use the format of Chat Completions, and add fields of their own: LiteLLM and DeepSeek for the cache, Perplexity
for searches, OpenRouter, Perplexity and xAI for the cost. Where the total shows that reasoning is not included in the output
(xAI), it is added; where the total has more than input and output (thoughts of Gemini, through gateways), the output is
unknown; where the output is missing (embeddings), it is computed from the total. The details state audio, image and
video tokens. The usage of an image may have that of another model beside it, which wrote an SVG.
"""

from decimal import Decimal

from runcard.accounting.price_rows import EXACT
from runcard.accounting.service_tiers import non_standard
from runcard.accounting.tokens import Tokens, split_writes
from runcard.accounting.usage import Source, Usage
from runcard.accounting.vendors import anthropic
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping, complete_output
from runcard.accounting.vendors.server_tools import openai_tools

USAGE = ("usage",)

_UNFINISHED = {"in_progress", "queued", "cancelled"}
_INPUT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_MODALITIES = ("text_tokens", "audio_tokens", "image_tokens", "video_tokens")
_REALTIME = ("cached_tokens", *_MODALITIES)  # in `input_token_details`, which LangChain has too
_CACHED = (
    "cached_tokens",
    "num_cached_tokens",
    "prompt_cache_hit_tokens",  # DeepSeek
    "cache_read_input_tokens",  # LiteLLM
    "cached_prompt_tokens",  # CrewAI
)
_REQUESTS = ("requests", "successful_requests")  # Agents SDK, CrewAI: the counts are of several calls
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
_WRITTEN_DETAILS = ("cache_write_tokens_details", "cache_creation_token_details", "cache_creation")
_SHORT = ("ttl_30m_tokens", "ephemeral_5m_input_tokens")
_LONG = ("ttl_12h_tokens", "ephemeral_1h_input_tokens")
_BILLED_APART = (
    "citation_tokens",  # Perplexity
    "num_search_queries",
    "num_sources_used",  # xAI
    "num_server_side_tools_used",
    "connector_tokens",  # Mistral
    "prompt_audio_seconds",
)
_BILLED_APART_INPUT = (  # LiteLLM
    "google_maps_grounding_requests",
    "image_count",
    "character_count",
    "query_count",
)
_OLLAMA = "fp_ollama"  # the fingerprint of its endpoints with OpenAI's format
_TICKS = Decimal(10) ** 10  # of xAI, in a dollar

_KNOWN_INPUT = known_fields(
    *_REALTIME,
    *_WRITTEN,
    "cached_tokens_details",
    "tool_use_tokens",
    "web_search_requests",
    *_BILLED_APART_INPUT,
    "video_length_seconds",
    "audio_length_seconds",
    **dict.fromkeys(_WRITTEN_DETAILS, known_fields(*_SHORT, *_LONG)),
)
_KNOWN_OUTPUT = known_fields(
    *_MODALITIES, "reasoning_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"
)
KNOWN = known_fields(
    *_INPUT,
    *_OUTPUT,
    *_CACHED,
    *_WRITTEN,
    *_BILLED_APART,
    *_REQUESTS,
    "request_usage_entries",
    "total_tokens",
    "prompt_cache_miss_tokens",  # DeepSeek: the rest of the input
    "reasoning_tokens",
    "cost",
    "cost_details",
    "cost_in_usd_ticks",
    "is_byok",
    "service_tier",
    "model",
    "type",
    "server_tool_use",
    "server_side_tool_usage_details",
    "connectors",
    **dict.fromkeys(_INPUT_DETAILS, _KNOWN_INPUT),
    **dict.fromkeys(_OUTPUT_DETAILS, _KNOWN_OUTPUT),
)


def is_reply(reply: ReplyFields) -> bool:
    kind = reply.text("object") or ""
    return reply.has("choices") or kind == "response" or kind.startswith("chat.completion")


def is_usage(usage: ReplyFields) -> bool:
    """`total_tokens` and the details distinguish OpenAI's input_tokens from Anthropic's, which never has them."""
    return usage.has("prompt_tokens", "input_tokens_details") or (
        usage.has("input_tokens")
        and (
            usage.has("total_tokens")
            or usage.part("input_token_details").has(*_REALTIME)
            or usage.part("output_tokens_details").has("reasoning_tokens")
        )
    )


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A completion, a response, the last chunk of a stream, embeddings, or usage alone."""
    tier = non_standard(reply.text("service_tier"), "openai") or anthropic.service_tier(usage)
    return Usage(
        tokens=_tokens(usage),
        provider="ollama" if reply.text("system_fingerprint") == _OLLAMA else "openai",
        model=reply.text("model") or usage.text("model"),
        response_id=reply.text("id"),
        stop_reason=_stop_reason(reply),
        source=_source(reply),
        service_tier=non_standard(tier, "openai"),
        server_tools=openai_tools(reply) | _billed_apart(usage),
        also=tuple(_svg_author(reply)),
        reported_cost=_reported_cost(usage),
        unknown=unknown_counts(usage, KNOWN),
        is_total=(usage.count(*_REQUESTS) or 0) > 1,
    )


def _tokens(usage: ReplyFields) -> Tokens:
    inputs, outputs = usage.part(*_INPUT_DETAILS), usage.part(*_OUTPUT_DETAILS)
    read = inputs.count("cached_tokens")
    reasoning = outputs.count("reasoning_tokens")
    if reasoning is None and not _is_apart(usage):
        reasoning = usage.count("reasoning_tokens")
    short, long = _writes(inputs, usage)
    return Tokens(
        input=usage.count(*_INPUT),
        output=_output(usage, reasoning),
        cache_read=usage.count(*_CACHED) if read is None else read,
        cache_write_5m=short,
        cache_write_1h=long,
        reasoning=reasoning,
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
    sent = usage.count(*_INPUT)
    output, total = usage.count(*_OUTPUT), usage.count("total_tokens")
    if sent is None or total is None:
        return output
    if output is None:
        return total - sent if total >= sent else None
    if reasoning and total == sent + output + reasoning:
        return output + reasoning
    apart = sum(usage.count(name) or 0 for name in ("citation_tokens", "connector_tokens"))
    return complete_output(output, sent, total - apart)


def _writes(inputs: ReplyFields, usage: ReplyFields) -> tuple[int | None, int | None]:
    """Tokens written to the cache for the standard time, and for longer."""
    split, written = inputs.part(*_WRITTEN_DETAILS), inputs.count(*_WRITTEN)
    written = usage.count(*_WRITTEN) if written is None else written
    return split_writes(written, split.count(*_SHORT), split.count(*_LONG), _WRITTEN[0])


def _is_apart(usage: ReplyFields) -> bool:
    """Whether `reasoning_tokens` beside the details, or without them, is neither in the output nor in the total."""
    reasoning, total = usage.count("reasoning_tokens") or 0, usage.count("total_tokens") or 0
    sent, output = usage.count(*_INPUT) or 0, usage.count(*_OUTPUT) or 0
    is_part = reasoning <= output and total == sent + output
    return bool(reasoning) and not is_part and total != sent + output + reasoning


def _billed_apart(usage: ReplyFields) -> dict[str, int]:
    """What is billed beside the tokens: tools that a gateway counts, and counts of its own."""
    inputs, tools = usage.part(*_INPUT_DETAILS), usage.optional_part("server_tool_use", "connectors")
    counts = {"web_search": inputs.count("web_search_requests")}
    counts |= {name.removesuffix("_requests"): tools.count(name) for name in map(str, tools.data)}
    counts |= {name: usage.count(name) for name in _BILLED_APART}
    counts |= {name: inputs.count(name) for name in _BILLED_APART_INPUT}
    if usage.get("is_byok") is True and _reported_cost(usage) is None:
        counts["byok_fee"] = int(bool(usage.amount("cost")))
    is_detailed = usage.part(*_OUTPUT_DETAILS).count("reasoning_tokens") is not None
    if _is_apart(usage) and not is_detailed:
        counts["reasoning_tokens"] = usage.count("reasoning_tokens")
    return {name: count for name, count in counts.items() if count}


def _reported_cost(usage: ReplyFields) -> Decimal | None:
    """The cost that OpenRouter, Perplexity or xAI charge, in US dollars.

    With a key of one's own (`is_byok`), OpenRouter's `cost` is its fee, and the provider charges the rest.
    """
    if (ticks := usage.count("cost_in_usd_ticks")) is not None:
        return EXACT.divide(Decimal(ticks), _TICKS)
    if as_mapping(usage.get("cost")) is not None:
        return usage.part("cost").amount("total_cost")
    cost = usage.amount("cost")
    if cost is None or usage.get("is_byok") is not True:
        return cost
    upstream = usage.part("cost_details").amount("upstream_inference_cost")
    return None if upstream is None else EXACT.add(cost, upstream)


def _stop_reason(reply: ReplyFields) -> str | None:
    reasons = [choice.text("finish_reason") for choice in reply.parts("choices")]
    reason = next(filter(None, reasons), None)
    return reason or reply.part("incomplete_details").text("reason") or reply.text("status")


def _source(reply: ReplyFields) -> Source:
    choices = reply.parts("choices")
    running = any(choice.text("finish_reason") is None for choice in choices)
    return "partial" if running or reply.text("status") in _UNFINISHED else "reported"
