"""Decode the documents of many records, fast.

msgspec takes a fifth of the time of the strict reader, and accepts what that one refuses: a key that occurs twice. So the keys
in the text are counted. A document that may be wrong in any way, and each one where msgspec is not installed, is left to
the strict reader. The results are the same.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from runcard.encoding import Limits, decode_json

_LONGEST = 1 << 20  # bytes: longer ones are few
_MOST_DIGITS = 4300  # of an integer that msgspec reads
_COLONS = (b"\\u003a", b"\\u003A")  # that are written as themselves


def decode_document(data: bytes, limits: Limits) -> Any:  # noqa: ANN401 - JSON is any plain data
    """Read a JSON document; raises EncodingError with rule, line and column."""
    if len(data) > min(_LONGEST, limits.size) or limits.digits < _MOST_DIGITS:
        return decode_json(data, limits)
    try:
        value, written = _read_and_write()(data.decode())
    except (ValueError, RecursionError, OverflowError):  # it is wrong, or has integers that are too long
        return decode_json(data, limits)
    # Each key has a colon. Of a key that occurs twice one is written; other texts have as many colons as before.
    is_same = data.count(b":") == written.count(b":")
    if not is_same or (b"\\" in data and any(colon in data for colon in _COLONS)):
        return decode_json(data, limits)
    containers = written.count(b"{") + written.count(b"[")  # at most so deep is the document
    return value if containers <= limits.depth else decode_json(data, limits)


@cache
def _read_and_write() -> Callable[[str], tuple[Any, bytes]]:
    """Decodes a text, and encodes the value again."""
    try:
        msgspec: Any = import_module("msgspec")
    except ImportError:

        def refuse(_: str) -> tuple[Any, bytes]:
            raise ValueError

        return refuse
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode

    def read_and_write(text: str) -> tuple[Any, bytes]:
        value = decode(text)
        return value, encode(value)

    return read_and_write
