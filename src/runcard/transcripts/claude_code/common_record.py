"""A record of the common form: the answer of a model with all its ids, of which only the fields that count are decoded.

That takes a fifth of the time of decoding the whole line, and is done by msgspec. What it accepts is JSON, with every field of the
type that is stated here. Any other record, and each one where there is no build of msgspec, is decoded as a whole by the caller.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Literal, NamedTuple

from runcard.accounting.tokens import MAX_COUNT

MISSING = ...  # a value that no JSON has
_NAMES = (
    "agentId",
    "attributionAgent",
    "sessionId",
    "cwd",
    "gitBranch",
)  # of the agent, and of where it worked
_FACTS = ("service_tier", "speed", "inference_geo")
_BLOCKS = Literal["text", "thinking", "redacted_thinking", "tool_use"]  # without tools that the vendor bills


class NotCommonError(Exception):
    """The line is to be read in the general way."""


class CommonDecoder(NamedTuple):
    """Decodes a line, or raises one of `errors`. A field that is missing is None, or MISSING."""

    decode: Callable[[bytes], Any]
    errors: tuple[type[Exception], ...]


@cache
def common_decoder() -> CommonDecoder:
    """The decoder. Where msgspec is not installed, it refuses every line."""
    try:
        msgspec: Any = import_module("msgspec")
    except ImportError:
        return CommonDecoder(_refuse, (NotCommonError,))
    text = str | None
    struct, meta = msgspec.defstruct, msgspec.Meta
    count, name = Annotated[int, meta(ge=0, le=MAX_COUNT)], Annotated[str, meta(min_length=1)]
    time = Annotated[datetime, meta(tz=True)]
    split = struct(
        "CacheCreation",
        [("ephemeral_5m_input_tokens", count), ("ephemeral_1h_input_tokens", count)],
        forbid_unknown_fields=True,
    )
    counts = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    usage = struct(
        "PlainUsage",
        [
            *((field, count) for field in counts),
            ("cache_creation", split | None, None),
            ("server_tool_use", dict[str, Literal[0]] | None, None),
            ("iterations", Annotated[list[Any], meta(max_length=0)] | None, None),
            *((field, text, None) for field in _FACTS),
        ],
        forbid_unknown_fields=True,
    )
    block: Any = struct("Block", [("type", _BLOCKS)], gc=False)
    message = struct(
        "Message",
        [
            ("id", name),
            ("model", str),
            ("content", list[block]),
            ("usage", usage),
            ("stop_reason", text, None),
        ],
    )
    record = struct(
        "Record",
        [
            *(("type", Literal["assistant"]), ("message", message), ("requestId", str), ("timestamp", time)),
            *((field, text, None) for field in _NAMES),
            *(("isSidechain", bool | None, None), ("isApiErrorMessage", None, None)),
            ("forkedFrom", Any, MISSING),
        ],
    )
    errors = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
    return CommonDecoder(msgspec.json.Decoder(record).decode, errors)


def _refuse(_: bytes) -> object:
    raise NotCommonError
