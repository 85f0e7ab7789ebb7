"""Google's Gemini, in camelCase as in the API and in snake_case as in its Python library; and its Interactions.

The prompt includes cached input; tool input is added to it. Candidates exclude thoughts, which are output as well. Counts
of zero are missing in a reply, so missing candidates are computed from the total. A candidate without a finish reason belongs
to a stream that goes on; a prompt that was refused has no candidates. The details state the modalities; a document is charged
as an image, and what has no modality is text.
"""

from runcard.accounting.service_tiers import non_standard
from runcard.accounting.tokens import Tokens
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields, complete_output
from runcard.accounting.vendors.server_tools import google_tools
from runcard.errors import UsageError

METADATA = ("usageMetadata", "usage_metadata")
USAGE = (*METADATA, "usage")

_PROMPT = ("promptTokenCount", "prompt_token_count", "total_input_tokens")  # the last one is of Interactions
_TOOLS = ("toolUsePromptTokenCount", "tool_use_prompt_token_count", "total_tool_use_tokens")
_CACHED = ("cachedContentTokenCount", "cached_content_token_count", "total_cached_tokens")
_CANDIDATES = (
    "candidatesTokenCount",
    "candidates_token_count",
    "responseTokenCount",  # of the Live API
    "response_token_count",
    "total_output_tokens",
)
_THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count", "total_thought_tokens")
_TOTAL = ("totalTokenCount", "total_token_count", "total_tokens")  # the last one is of Interactions
_DETAILS = {
    "input": (
        *("promptTokensDetails", "prompt_tokens_details", "input_tokens_by_modality"),
        *("toolUsePromptTokensDetails", "tool_use_prompt_tokens_details", "tool_use_tokens_by_modality"),
    ),
    "cache_read": ("cacheTokensDetails", "cache_tokens_details", "cached_tokens_by_modality"),
    "output": (
        *("candidatesTokensDetails", "candidates_tokens_details", "output_tokens_by_modality"),
        *("responseTokensDetails", "response_tokens_details"),
    ),
}
_MODALITIES = {
    "": "text",
    "modality_unspecified": "text",
    "text": "text",
    "audio": "audio",
    "image": "image",
    "video": "video",
    "document": "image",
}
_TRAFFIC = ("trafficType", "traffic_type")
_TIER = ("serviceTier", "service_tier")
_BY_MODALITY = known_fields("modality", "tokenCount", "token_count", "tokens")
KNOWN = known_fields(
    *_PROMPT,
    *_TOOLS,
    *_CACHED,
    *_CANDIDATES,
    *_THOUGHTS,
    *_TOTAL,
    *_TRAFFIC,
    *_TIER,
    "initial_input_tokens",  # a part of the input
    "billablePromptUsage",  # the input in characters
    "billable_prompt_usage",
    "grounding_tool_count",
    "groundingToolCount",
    **{name: _BY_MODALITY for names in _DETAILS.values() for name in names},
)


def is_reply(reply: ReplyFields) -> bool:
    if reply.has("candidates") or reply.text("object") == "interaction":
        return True
    metadata = reply.part(*METADATA)  # LangChain uses one of the names for its own counts
    return reply.has(*METADATA) and (not metadata.data or is_usage(metadata))


def is_usage(usage: ReplyFields) -> bool:
    """Two names of Interactions are common, so one of the others is needed to recognize them."""
    return usage.has(*_PROMPT[:2], *_TOTAL[:2], *_CANDIDATES[:4], _CACHED[2], _TOOLS[2], _THOUGHTS[2])


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A reply, a chunk of a stream, an interaction, or usage alone."""
    candidates = reply.parts("candidates")
    reasons = [candidate.text("finishReason", "finish_reason") for candidate in candidates]
    refused = reply.part("promptFeedback", "prompt_feedback").text("blockReason", "block_reason")
    return Usage(
        tokens=_tokens(usage),
        provider="google",
        model=reply.text("modelVersion", "model_version", "model"),
        response_id=reply.text("responseId", "response_id", "id"),
        stop_reason=next(filter(None, reasons), refused or reply.text("status")),
        source="partial" if None in reasons or reply.text("status") == "in_progress" else "reported",
        service_tier=_service_tier(usage),
        server_tools=google_tools(reply, usage),
        unknown=unknown_counts(usage, KNOWN),
    )


def _tokens(usage: ReplyFields) -> Tokens:
    prompt, tools, thoughts = usage.count(*_PROMPT), usage.count(*_TOOLS), usage.count(*_THOUGHTS)
    sent = None if prompt is None else prompt + (tools or 0)
    return Tokens(
        input=sent,
        output=_output(usage, sent, thoughts),
        cache_read=usage.count(*_CACHED),
        reasoning=thoughts,
        **_modalities(usage),
    )


def _modalities(usage: ReplyFields) -> dict[str, int]:
    counts: dict[str, int] = {}
    for whole, names in _DETAILS.items():
        for detail in [detail for name in names for detail in usage.parts(name)]:
            kind = (detail.text("modality") or "").lower()
            kind = _MODALITIES.get(kind, kind)
            if kind == "text" and whole != "output":
                continue
            if kind not in _MODALITIES.values():
                raise UsageError(
                    f"{detail.path}: {kind[:40]!r} is an unknown modality",
                    hint="use a newer version of runcard",
                )
            name = f"{whole}_{kind}"
            counts[name] = counts.get(name, 0) + (detail.count("tokenCount", "token_count", "tokens") or 0)
    return counts


def _output(usage: ReplyFields, sent: int | None, thoughts: int | None) -> int | None:
    candidates, total = usage.count(*_CANDIDATES), usage.count(*_TOTAL)
    if candidates is not None:
        return complete_output(candidates + (thoughts or 0), sent, total)
    return None if sent is None or total is None or total < sent else total - sent


def _service_tier(usage: ReplyFields) -> str | None:
    name = (usage.text(*_TIER) or usage.text(*_TRAFFIC) or "").lower()
    tier = non_standard(name, "google")
    return tier and (tier.removeprefix("on_demand_") or None)
