"""LangChain's messages: one form for all vendors, in which input includes what was cached and output includes reasoning.

A message has the facts that its vendor reports in `response_metadata`, under the vendor's names. Its `id` is often LangChain's
own. Details have the service tier before some names: `priority_cache_read`. Chunks are added up by LangChain, or in a list.
"""

from runcard.accounting.providers import canonical_name
from runcard.accounting.service_tiers import non_standard
from runcard.accounting.tokens import Tokens, split_writes
from runcard.accounting.usage import Source, Usage
from runcard.accounting.vendors import anthropic
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields, complete_output
from runcard.accounting.vendors.server_tools import anthropic_tools, google_tools, openai_tools

USAGE = ("usage_metadata",)
CHUNK = "AIMessageChunk"

_INPUTS, _OUTPUTS = "input_token_details", "output_token_details"
_TIERS = ("", "priority_", "flex_")
_READ = tuple(f"{tier}cache_read" for tier in _TIERS)
_WRITTEN = tuple(f"{tier}cache_creation" for tier in _TIERS)
_REASONING = tuple(f"{tier}reasoning" for tier in _TIERS)
_SHORT, _LONG = "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"
_MODALITIES = ("audio", "image", "video")
_PARTS = (*_MODALITIES, "text", "document", "priority", "flex")  # of all input, or all output
_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_TOOL_CALL = "server_tool_call"
_OWN_IDS = ("run-", "lc_", "lc-")
KNOWN = known_fields(
    "input_tokens",
    "output_tokens",
    "total_tokens",
    **{
        _INPUTS: known_fields(*_READ, *_WRITTEN, _SHORT, _LONG, *_PARTS),
        _OUTPUTS: known_fields(*_REASONING, *_PARTS),
    },
)


def is_reply(reply: ReplyFields) -> bool:
    return reply.has("response_metadata") and reply.text("type") in {"ai", CHUNK}


def is_usage(usage: ReplyFields) -> bool:
    """OpenAI's transcriptions have details of the same name, whose counts end in `_tokens`."""
    details = {*usage.part(_INPUTS).data, *usage.part(_OUTPUTS).data} - {_SHORT, _LONG}
    return usage.has(_INPUTS, _OUTPUTS) and not any(str(name).endswith("_tokens") for name in details)


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """An AIMessage or AIMessageChunk, or its `usage_metadata` alone."""
    facts = reply.part("response_metadata")
    provider = facts.text("model_provider")
    return Usage(
        tokens=_tokens(usage),
        provider=provider and canonical_name(provider),
        model=facts.text("model_name", "model", "model_id"),
        response_id=_response_id(reply, facts),
        stop_reason=facts.text(*_REASONS),
        source=_source(reply, facts),
        service_tier=_service_tier(facts, usage),
        server_tools=_server_tools(reply, facts),
        unknown=unknown_counts(usage, KNOWN),
    )


def _tokens(usage: ReplyFields) -> Tokens:
    inputs, outputs, sent = usage.part(_INPUTS), usage.part(_OUTPUTS), usage.count("input_tokens")
    short, long = inputs.count(_SHORT), inputs.count(_LONG)
    written = inputs.count(*_WRITTEN)
    if short or long:
        written = None  # it is 0 where the durations are known
    short, long = split_writes(written, short, long, _WRITTEN[0])
    return Tokens(
        input=sent,
        output=complete_output(usage.count("output_tokens"), sent, usage.count("total_tokens")),
        cache_read=inputs.count(*_READ),
        cache_write_5m=short,
        cache_write_1h=long,
        reasoning=outputs.count(*_REASONING),
        **{f"input_{kind}": inputs.count(kind) or None for kind in _MODALITIES},
        **{f"output_{kind}": outputs.count(kind) for kind in _MODALITIES},
    )


def _service_tier(facts: ReplyFields, usage: ReplyFields) -> str | None:
    """From OpenAI's facts, from Anthropic's usage among them, or from the names of the details."""
    if tier := facts.text("service_tier"):
        return non_standard(tier, "openai")
    if tier := anthropic.service_tier(facts.optional_part("usage")):
        return tier
    names = {*usage.part(_INPUTS).data, *usage.part(_OUTPUTS).data}
    return next((tier for tier in ("priority", "flex") if tier in names), None)


def _server_tools(reply: ReplyFields, facts: ReplyFields) -> dict[str, int]:
    """As each vendor reports them, or as LangChain's own blocks of a message."""
    outputs = reply.optional_part("additional_kwargs").optional_parts("tool_outputs")
    items = [
        {**item.data, "type": f"{item.text('name')}_call"} if item.text("type") == _TOOL_CALL else item.data
        for item in (*reply.optional_parts("content"), *outputs)
        if item.text("type") != "tool_call"  # the user's program carries it out
    ]
    return {
        **anthropic_tools(reply, facts.optional_part("usage")),
        **openai_tools(ReplyFields({"output": items})),
        **google_tools(ReplyFields({"candidates": [facts.data]}), ReplyFields({})),
    }


def _response_id(reply: ReplyFields, facts: ReplyFields) -> str | None:
    """The vendor's id, so that a call that was watched as well is recognized."""
    own = reply.text("id")
    return facts.text("id") or (None if own is None or own.startswith(_OWN_IDS) else own)


def _source(reply: ReplyFields, facts: ReplyFields) -> Source:
    if reply.text("type") != CHUNK or reply.text("chunk_position") == "last":
        return "reported"
    return "reported" if facts.text(*_REASONS) else "partial"
