"""Replies of all vendors, read into one shape.

A reply is what a vendor's library returns, the same as plain data, only its usage, or the list of a stream's events. The
rules that tell the shapes apart stand in `vendors`; here is the order in which they are asked. What no rule knows is an
error, never a guess.

The names `input_tokens` and `output_tokens` are used by two vendors and by people. What stands beside them decides;
where nothing does, the counts are taken as they are, as given by the caller: all input, all output.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from runcard.accounting.tokens import Tokens
from runcard.accounting.usage import Usage
from runcard.accounting.vendors import anthropic, google, manual_counts, openai
from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping
from runcard.accounting.vendors.streams import joined
from runcard.errors import UsageError

Reader = Callable[[ReplyFields, ReplyFields], Usage]


class _VendorReader(Protocol):
    """What a module of `vendors` has."""

    def is_reply(self, reply: ReplyFields) -> bool: ...
    def is_usage(self, usage: ReplyFields) -> bool: ...
    def read(self, reply: ReplyFields, usage: ReplyFields) -> Usage: ...


_USAGE = ("usage", *google.METADATA)
_WRAPPED = ("message", "response")  # events of a stream hold the reply under these names
_VENDORS: tuple[_VendorReader, ...] = (google, anthropic, openai)
_NOTHING = ReplyFields({})
_EXPECTED = (
    "a reply of Anthropic Messages, OpenAI Chat Completions or Responses, or Gemini; the usage object of one; or a "
    'mapping like {"input": 1200, "output": 350}'
)


def read_usage(reply: object) -> Usage:
    """What a call used, as its reply says; raises UsageError for what is no reply, naming the field at fault."""
    _refuse_unread(reply)
    stream = joined(reply) if isinstance(reply, list | tuple) and reply else None
    data = stream.reply if stream else as_mapping(reply)
    if data is None:
        raise _unknown(f"a {type(reply).__name__}")
    whole = _unwrapped(ReplyFields(data))
    usage = whole.part(*_USAGE)
    if usage.data:
        return _reader(whole, usage)(whole, usage)
    if whole.has(*_USAGE) or any(vendor.is_reply(whole) for vendor in _VENDORS):
        return _unsaid(whole)
    return _reader(_NOTHING, whole)(_NOTHING, whole)


def _refuse_unread(reply: object) -> None:
    """Something that will be a reply, but is none yet: its counts would be missing, or those of its beginning."""
    kind = type(reply)
    name = kind.__name__
    if hasattr(kind, "__await__"):
        raise UsageError(f"a {name} is no reply yet", hint="await it, and pass what it gives")
    if hasattr(kind, "__next__") or hasattr(kind, "__anext__"):
        raise UsageError(
            f"a {name} carries no usage before it was read",
            hint="read it to its end, and pass its final message or the list of its events",
        )
    if hasattr(kind, "__enter__") or hasattr(kind, "__aenter__"):
        raise UsageError(
            f"a {name} carries no usage before it was read", hint="open it with `with`, and pass what it gave"
        )
    if hasattr(kind, "parse") and hasattr(kind, "http_request"):
        raise UsageError(f"a {name} is not a reply but holds one", hint="pass what its parse() returns")


def _unwrapped(reply: ReplyFields) -> ReplyFields:
    """The reply inside an event of a stream."""
    if not reply.has(*_USAGE):
        for name in _WRAPPED:
            inside = as_mapping(reply.get(name))
            if inside is not None and ReplyFields(inside).has(*_USAGE):
                return ReplyFields(inside, name)
    return reply


def _reader(reply: ReplyFields, usage: ReplyFields) -> Reader:
    """Who can read this: by what the reply says of itself, else by the names of the counts."""
    for vendor in _VENDORS:
        if vendor.is_reply(reply):
            return vendor.read
    for vendor in _VENDORS:
        if vendor.is_usage(usage):
            return vendor.read
    if manual_counts.is_usage(usage):
        return manual_counts.read
    raise _unknown(_described(usage.data))


def _unsaid(reply: ReplyFields) -> Usage:
    """A reply without counts: a response that still runs, a chunk of a stream. All that is known is what it is."""
    said = _reader(reply, ReplyFields({"input": None}))(reply, _NOTHING)
    return replace(said, tokens=Tokens(), source=None)


def _described(data: Mapping[str, object]) -> str:
    names = [str(name)[:40] for name in list(data)[:6]]
    return f"an object with {', '.join(names)}" if names else "an empty object"


def _unknown(what: str) -> UsageError:
    return UsageError(f"no usage can be read from {what}", hint=f"expected {_EXPECTED}")
