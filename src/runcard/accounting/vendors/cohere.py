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
    billed = _part(usage, _BILLED)
    used = _part(usage, _TOKENS) or billed
    cached = _whole(usage.data).get("cached_tokens")
    is_embedding = reply.has("embeddings")
    tokens = _tokens(used, cached, is_embedding=is_embedding)
    apart = ReplyFields(billed, _BILLED)
    return Usage(
        tokens=tokens,
        provider="cohere",
        response_id=reply.text("response_id", "id", "generation_id"),
        stop_reason=reply.text("finish_reason"),
        source="reported",
        billed=_tokens(billed, None, is_embedding=is_embedding) if billed and billed != used else None,
        unpriced=(
            *(f"{_BILLED}.{name}" for name in _BILLED_APART if apart.count(name)),
            *(["cached_tokens"] if cached and billed and billed != used else []),  # at which price?
        ),
        unknown=unknown_counts(usage, KNOWN),
    )


def _part(usage: ReplyFields, name: str) -> Mapping[str, Any]:
    return _whole(usage.part(name).data)


def _whole(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data, with floats that are whole numbers as integers."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in data.items()
    }


def _tokens(counts: Mapping[str, Any], cached: int | None, *, is_embedding: bool) -> Tokens:
    fields = ReplyFields(counts, _TOKENS)
    output = fields.count("output_tokens")
    return Tokens(
        input=fields.count("input_tokens"),
        output=0 if output is None and is_embedding else output,
        cache_read=cached,
    )
