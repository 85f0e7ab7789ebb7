"""OpenAI's Codex: totals of a session, a turn or a call; input includes what was cached, output includes reasoning.

`codex exec --json` has them in its event `turn.completed`. A session file has them in its `token_count` events, as
`info.total_token_usage` of the session so far and `last_token_usage` of the last call: the total is read.
"""

from runcard.accounting.tokens import Tokens, split_writes
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields, complete_output

USAGE = ("total_token_usage", "last_token_usage", "usage")

_OWN_FIELDS = ("cached_input_tokens", "cache_write_input_tokens", "reasoning_output_tokens")
KNOWN = known_fields("input_tokens", "output_tokens", "total_tokens", *_OWN_FIELDS)


def is_reply(reply: ReplyFields) -> bool:
    return reply.has(*USAGE[:2]) or reply.text("type") == "turn.completed"


def is_usage(usage: ReplyFields) -> bool:
    return usage.has(*_OWN_FIELDS)


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A `turn.completed` or `token_count` event, a `token_usage_record`, or usage alone."""
    response_id = reply.text("response_id")
    name, sent = "cache_write_input_tokens", usage.count("input_tokens")
    short, long = split_writes(usage.count(name), None, None, name)
    return Usage(
        tokens=Tokens(
            input=sent,
            output=complete_output(usage.count("output_tokens"), sent, usage.count("total_tokens")),
            cache_read=usage.count("cached_input_tokens"),
            cache_write_5m=short,
            cache_write_1h=long,
            reasoning=usage.count("reasoning_output_tokens"),
        ),
        provider="openai",
        model=reply.text("model"),
        response_id=response_id,
        source="reported",
        unknown=unknown_counts(usage, KNOWN),
        is_total=response_id is None and not usage.path.endswith("last_token_usage"),
    )
