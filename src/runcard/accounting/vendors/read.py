"""`read_usage`: the usage in a reply of any vendor.

A reply is the object of a vendor's library, the same as plain data, only its usage, or the list of a stream's events. The
vendors' modules recognize their formats; they are tried in the order of `_VENDORS`. An unknown format is an error, never a
guess.

Two vendors, and people, use the names `input_tokens` and `output_tokens`. The other fields decide; without any, the counts
are those of the caller: all input, all output.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from runcard.accounting.tokens import Tokens
from runcard.accounting.usage import Usage
from runcard.accounting.vendors import anthropic, google, manual_counts, openai
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.accounting.vendors.streams import join_events
from runcard.errors import UsageError

Reader = Callable[[ReplyFields, ReplyFields], Usage]


class _VendorReader(Protocol):
    """The functions of a vendor's module."""

    def is_reply(self, reply: ReplyFields) -> bool: ...
    def is_usage(self, usage: ReplyFields) -> bool: ...
    def read(self, reply: ReplyFields, usage: ReplyFields) -> Usage: ...


_USAGE = ("usage", *google.METADATA)
_WRAPPERS = ("message", "response")  # fields of a stream's event that hold the reply
_VENDORS: tuple[_VendorReader, ...] = (google, anthropic, openai)
_EMPTY = ReplyFields({})
_EXPECTED = (
    "a reply of Anthropic Messages, OpenAI Chat Completions or Responses, or Gemini; the usage object of one; or a "
    'mapping like {"input": 1200, "output": 350}'
)


def read_usage(reply: object) -> Usage:
    """The usage of a call, from its reply; raises UsageError for other objects, and for a field that is wrong."""
    _refuse_unread(reply)
    stream = join_events(reply) if isinstance(reply, list | tuple) and reply else None
    data = stream.reply if stream else as_mapping(reply)
    if data is None:
        raise _unknown(f"a {type(reply).__name__}")
    fields = _unwrapped(ReplyFields(data))
    usage = fields.part(*_USAGE)
    if usage.data:
        return _reader(fields, usage)(fields, usage)
    if fields.has(*_USAGE) or any(vendor.is_reply(fields) for vendor in _VENDORS):
        return _without_counts(fields)
    return _reader(_EMPTY, fields)(_EMPTY, fields)


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


def _unwrapped(reply: ReplyFields) -> ReplyFields:
    """The reply inside an event of a stream."""
    if not reply.has(*_USAGE):
        for name in _WRAPPERS:
            inside = as_mapping(reply.get(name))
            if inside is not None and ReplyFields(inside).has(*_USAGE):
                return ReplyFields(inside, name)
    return reply


def _reader(reply: ReplyFields, usage: ReplyFields) -> Reader:
    """The reader for this format: by the fields of the reply, else by the names of the counts."""
    for vendor in _VENDORS:
        if vendor.is_reply(reply):
            return vendor.read
    for vendor in _VENDORS:
        if vendor.is_usage(usage):
            return vendor.read
    if manual_counts.is_usage(usage):
        return manual_counts.read
    raise _unknown_names(usage.data)


def _without_counts(reply: ReplyFields) -> Usage:
    """A reply without counts: a response that still runs, a chunk of a stream."""
    usage = _reader(reply, ReplyFields({"input": None}))(reply, _EMPTY)
    return replace(usage, tokens=Tokens(), source=None)


def _unknown_names(data: Mapping[str, object]) -> UsageError:
    names = ", ".join(repr(str(name)[:40]) for name in list(data)[:6])
    return UsageError(
        f"no known token counts in the usage: it {f'has {names}' if names else 'is empty'}; "
        "expected input_tokens and output_tokens (or input and output)",
        hint=f"pass {_EXPECTED}",
    )


def _unknown(what: str) -> UsageError:
    return UsageError(f"cannot read usage from {what}", hint=f"pass {_EXPECTED}")
