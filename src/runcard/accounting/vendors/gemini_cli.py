"""Google's Gemini CLI: the `tokens` of a message in a session file, and the `stats` of `--output-format json`.

They are the API's counts with shorter names. In a message `input` is the whole prompt, cached or not; in stats that is `prompt`, and
`input` is the rest. Tool input is added to the prompt, and thoughts to the output. The stats of `stream-json` have neither: where
their total shows that something is missing, input and output are unknown.
"""

from dataclasses import replace

from runcard.accounting.tokens import Tokens
from runcard.accounting.usage import Usage
from runcard.accounting.vendors.known_fields import known_fields, unknown_counts
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping, complete_output

USAGE = ("stats", "tokens")

_MODELS = "models"
# Of a message, or of stats.
KNOWN = known_fields("input", "output", "prompt", "candidates", "cached", "thoughts", "tool", "total")
_KNOWN_STREAM = known_fields("total_tokens", "input_tokens", "output_tokens", "cached", "input")


def is_reply(reply: ReplyFields) -> bool:
    return any(as_mapping(reply.get(name)) is not None and is_usage(reply.part(name)) for name in USAGE)


def is_usage(usage: ReplyFields) -> bool:
    is_message = usage.has("input", "prompt") and usage.has("cached", "thoughts", "tool")
    return is_message or as_mapping(usage.get(_MODELS)) is not None


def read(reply: ReplyFields, usage: ReplyFields) -> Usage:
    """A message of a session file, the output of a command, or the counts of one alone."""
    models = usage.part(_MODELS)
    if not models.data:
        return Usage(
            tokens=_tokens(usage),
            provider="google",
            model=reply.text("model"),
            response_id=reply.text("id"),
            source="reported",
            unknown=unknown_counts(usage, KNOWN),
        )
    first, *others = (_read_model(name, models.part(name)) for name in models.data)
    return replace(first, stop_reason=reply.text("status"), also=tuple(others))


def _read_model(name: str, model: ReplyFields) -> Usage:
    """The totals of one model."""
    counts = model.part("tokens")
    is_stream = not counts.data
    counts = model if is_stream else counts
    return Usage(
        tokens=_stream_tokens(counts) if is_stream else _tokens(counts),
        provider="google",
        model=name,
        source="reported",
        unknown=unknown_counts(counts, _KNOWN_STREAM if is_stream else KNOWN),
        is_total=True,
    )


def _tokens(usage: ReplyFields) -> Tokens:
    prompt = usage.count("prompt", "input")  # `input` beside `prompt` is a part of it
    sent = None if prompt is None else prompt + (usage.count("tool") or 0)
    output, thoughts = usage.count("candidates", "output"), usage.count("thoughts")
    output = None if output is None else output + (thoughts or 0)
    return Tokens(
        input=sent,
        output=complete_output(output, sent, usage.count("total")),
        cache_read=usage.count("cached"),
        reasoning=thoughts,
    )


def _stream_tokens(usage: ReplyFields) -> Tokens:
    sent, output, total = (usage.count(f"{name}_tokens") for name in ("input", "output", "total"))
    if sent is None or output is None or total != sent + output:
        return Tokens(cache_read=usage.count("cached"))
    return Tokens(input=sent, output=output, cache_read=usage.count("cached"))
