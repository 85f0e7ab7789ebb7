"""`read_usage`: the usage in a reply of any vendor.

A reply is the object of a vendor's library, the same as plain data, only its usage, or the list of a stream's events. The
vendors' modules recognize their formats; they are tried in the order of `_VENDORS`. An unknown format is an error, never a
guess, and so is an unknown count beside known ones.

Several vendors, and people, use the names `input_tokens` and `output_tokens`. The other fields decide; without any, the counts
are those of the caller: all input, all output.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from runcard.accounting.tokens import Tokens
from runcard.accounting.usage import Usage
from runcard.accounting.vendors import (
    anthropic,
    bedrock,
    claude_code,
    codex,
    cohere,
    gemini_cli,
    google,
    langchain,
    manual_counts,
    ollama,
    openai,
    opencode,
)
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.accounting.vendors.streams import join_events
from runcard.errors import UsageError
from runcard.files import printable

Reader = Callable[[ReplyFields, ReplyFields], Usage]


class _VendorReader(Protocol):
    """A vendor's module."""

    @property
    def USAGE(self) -> tuple[str, ...]: ...  # noqa: N802 - the fields of a reply that may hold its usage; none: all
    def is_reply(self, reply: ReplyFields) -> bool: ...
    def is_usage(self, usage: ReplyFields) -> bool: ...
    def read(self, reply: ReplyFields, usage: ReplyFields) -> Usage: ...


_USAGE = ("usage", *google.METADATA)
# Fields that hold the reply: of events of streams, of lines of session files, of serialized messages.
_WRAPPERS = ("message", "response", "metadata", "payload", "info", "data", "kwargs")
_VENDORS: tuple[_VendorReader, ...] = (
    claude_code,
    langchain,
    codex,
    opencode,
    gemini_cli,
    bedrock,
    cohere,
    ollama,
    google,
    anthropic,
    openai,
)
_MAX_DEPTH = 3  # of wrappers
_EMPTY = ReplyFields({})
_NO_TOKENS = Tokens()
_EXPECTED = (
    "a reply of Anthropic Messages, OpenAI, Gemini, Bedrock, Cohere, Mistral or Ollama; a message of LangChain; the usage object "
    'of one; or a mapping like {"input": 1200, "output": 350}'
)


def read_usage(reply: object, *, allow_unknown: bool = False) -> Usage:
    """The usage of a call, from its reply; raises UsageError for other objects, and for a field that is wrong.

    An unknown count is an error as well. With `allow_unknown` it is named in `unknown`, so that the cost stays unknown.
    """
    _refuse_unread(reply)
    stream = join_events(reply) if isinstance(reply, list | tuple) and reply else None
    data = stream.reply if stream else as_mapping(reply)
    if data is None:
        raise _unknown(f"a {type(reply).__name__}")
    usage = _read(_unwrapped(ReplyFields(data)))
    unknown = [name for call in usage.calls for name in call.unknown]
    if unknown and not allow_unknown:
        raise _unknown_counts(unknown)
    return replace(usage, source=None) if usage.tokens == _NO_TOKENS and not usage.also else usage


def _read(reply: ReplyFields) -> Usage:
    vendor = _vendor_of(reply)
    if vendor is not None:
        usage = _usage_part(reply, vendor.USAGE) if vendor.USAGE else reply
        return vendor.read(reply, usage) if usage.data else _without_counts(reply, vendor.read)
    if not reply.has(*_USAGE):
        return _reader(reply)(_EMPTY, reply)
    usage = _usage_part(reply, _USAGE)
    return _reader(usage)(reply, usage) if usage.data else _without_counts(reply, manual_counts.read)


def _vendor_of(reply: ReplyFields) -> _VendorReader | None:
    """The vendor of a reply, by its fields."""
    return next((vendor for vendor in _VENDORS if vendor.is_reply(reply)), None)


def _usage_part(reply: ReplyFields, names: tuple[str, ...]) -> ReplyFields:
    """The first of these fields that is not empty."""
    parts = (reply.part(name) for name in names)
    return next((part for part in parts if part.data), _EMPTY)


def _refuse_unread(reply: object) -> None:
    """Refuse an object that is not a complete reply yet: its counts would be missing, or those of its beginning."""
    kind = type(reply)
    name = kind.__name__
    if hasattr(kind, "__await__"):
        raise UsageError(f"a {name} is not a reply yet", hint="await it, and pass the result")
    if hasattr(kind, "__next__") or hasattr(kind, "__anext__"):
        raise UsageError(
            f"a {name} has no usage before it is read",
            hint="read it to its end, and pass its final message or the list of its events",
        )
    if hasattr(kind, "__enter__") or hasattr(kind, "__aenter__"):
        raise UsageError(
            f"a {name} has no usage before it is read", hint="open it with `with`, and pass its final message"
        )
    if hasattr(kind, "parse") and hasattr(kind, "http_request"):
        raise UsageError(f"a {name} is not a reply", hint="pass the result of its parse()")


def _unwrapped(reply: ReplyFields, depth: int = 0) -> ReplyFields:
    """The reply inside an event, a line or a serialized message."""
    if _is_recognized(reply) or depth == _MAX_DEPTH:
        return reply
    for name in _WRAPPERS:
        if (data := as_mapping(reply.get(name))) is not None:
            inside = _unwrapped(ReplyFields(data, name), depth + 1)
            if _is_recognized(inside):
                return inside
    return reply


def _is_recognized(reply: ReplyFields) -> bool:
    return reply.has(*_USAGE) or _vendor_of(reply) is not None


def _reader(usage: ReplyFields) -> Reader:
    """The reader for this usage, by the names of its counts."""
    for vendor in _VENDORS:
        if vendor.is_usage(usage):
            return vendor.read
    if manual_counts.is_usage(usage):
        return manual_counts.read
    raise _unknown_names(usage.data)


def _without_counts(reply: ReplyFields, reader: Reader) -> Usage:
    """A reply without counts: a response that still runs, a chunk of a stream."""
    return replace(reader(reply, _EMPTY), tokens=_NO_TOKENS, source=None)


def _unknown_counts(names: list[str]) -> UsageError:
    return UsageError(
        f"{', '.join(printable(name[:80]) for name in names[:5])}: unknown count in the usage, so the tokens may be incomplete",
        hint="update runcard, and report it if that does not help; meanwhile pass the counts that you know as a dict: "
        "run.add_usage({'input': …, 'output': …}, model=…)",
    )


def _unknown_names(data: Mapping[str, object]) -> UsageError:
    names = ", ".join(repr(str(name)[:40]) for name in list(data)[:6])
    return UsageError(
        f"no known token counts in the usage: it {f'has {names}' if names else 'is empty'}; "
        "expected input_tokens and output_tokens (or input and output)",
        hint=f"pass {_EXPECTED}",
    )


def _unknown(what: str) -> UsageError:
    return UsageError(f"cannot read usage from {what}", hint=f"pass {_EXPECTED}")
