"""Cohere's Chat, version 1 (`meta`) and 2 (`usage`), and Embed: the tokens used, and those that are billed.

`tokens` includes what Cohere adds to a prompt and does not charge; `billed_units` is what it charges. Its Python library has the
counts as floats. Searches, images and pages are billed beside tokens.
"""

from collections.abc import Mapping
from typing import Any

from runcard.accounting.tokens import Tokens
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping

USAGE = ("usage", "meta")

_TOKENS, _BILLED = "tokens", "billed_units"
_BILLED_APART = ("search_units", "classifications", "images", "pages", "image_tokens")
KNOWN = known_fields(
    "cached_tokens",
    "api_version",
    "warnings",
    tokens=known_fields("input_tokens", "output_tokens"),
    billed_units=known_fields("input_tokens", "output_tokens", "text_tokens", *_BILLED_APART),
)


def is_reply(reply: ReplyFields) -> bool:
    return any(as_mapping(reply.get(name)) is not None and is_usage(reply.part(name)) for name in USAGE)


def is_usage(usage: ReplyFields) -> bool:
    return any(as_mapping(usage.get(name)) is not None for name in (_TOKENS, _BILLED))


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A reply of Chat or Embed, the end of a stream, or usage alone."""
    cached = ReplyFields(_whole(usage.data), usage.path).count("cached_tokens")
    billed = _part(usage, _BILLED)
    used = _part(usage, _TOKENS) if usage.get(_TOKENS) is not None else billed
    is_embedding = reply.has("embeddings")
    tools = {name: count for name in _BILLED_APART if (count := billed.count(name))}
    is_charged = cached is None or not billed.data or cached <= (billed.count("input_tokens") or 0)
    if not is_charged:  # how much of it is billed?
        tools["cached_tokens"] = cached or 0
    return Usage(
        tokens=_tokens(used, cached, is_embedding=is_embedding),
        provider="cohere",
        response_id=reply.text("response_id", "id", "generation_id"),
        stop_reason=reply.text("finish_reason"),
        source="reported",
        billed=_tokens(billed, cached if is_charged else None, is_embedding=is_embedding)
        if billed.data
        else None,
        server_tools=tools,
        unknown=unknown_counts(usage, KNOWN),
    )


def _part(usage: ReplyFields, name: str) -> ReplyFields:
    part = usage.part(name)
    return ReplyFields(_whole(part.data), part.path)


def _whole(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data, with floats that are whole numbers as integers."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in data.items()
    }


def _tokens(counts: ReplyFields, cached: int | None, *, is_embedding: bool) -> Tokens:
    output = counts.count("output_tokens")
    return Tokens(
        input=counts.count("input_tokens"),
        output=0 if output is None and is_embedding else output,
        cache_read=cached,
    )
