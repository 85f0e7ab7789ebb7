"""Parse JSON: a fast path for valid documents, and a strict parser that reports where an invalid one is wrong.

The fast path is the standard library's scanner with hooks. A text that it refuses is parsed again by `strict_parser`, whose
errors have a line and a column.
"""

import json
import math
import re
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from runcard.encoding.json.fast_writer import is_simple_number
from runcard.encoding.json.positions import position
from runcard.encoding.json.types import JsonObject
from runcard.encoding.limits import DEFAULT, Limits
from runcard.errors import EncodingError

BOM = b"\xef\xbb\xbf"

_ENDS = frozenset({"", "\n"})
_PLAIN_DIGITS = 15  # and a sign: below 2⁵³
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class _FastPathError(ValueError):
    """The fast path found something that only the strict parser can decide."""


def decode_json(data: bytes, limits: Limits = DEFAULT) -> Any:  # noqa: ANN401 - JSON is any plain data
    """Read a JSON document; raises EncodingError with rule, line and column."""
    text = as_text(data, limits)
    if not _SURROGATE_ESCAPE.search(text):
        try:
            value = _fast_decode(text, _fast_decoder(limits))
        except (ValueError, RecursionError):
            pass  # the strict parser reports what and where
        else:
            if text.count("[") + text.count("{") <= limits.depth or _depth(value) <= limits.depth:
                return value
    from runcard.encoding.json.strict_parser import StrictParser  # noqa: PLC0415 - most documents are right

    return StrictParser(text, limits).read()


class DecodedJson(NamedTuple):
    """Data, and whether it is surely plain: `canonical_json` need not look at each value of plain data."""

    value: Any
    is_plain: bool


def decode_json_line(data: bytes, limits: Limits = DEFAULT) -> DecodedJson:
    """The same for data that will be hashed."""
    text = as_text(data, limits)
    if text.isascii() and "\\u" not in text:
        try:
            value = _fast_decode(text, _PLAIN_DECODER)
        except (ValueError, RecursionError):
            pass  # it is not plain, or wrong
        else:
            if text.count("[") + text.count("{") <= limits.depth:
                return DecodedJson(value, is_plain=True)
    return DecodedJson(decode_json(data, limits), is_plain=False)


def _fast_decode(text: str, decoder: json.JSONDecoder) -> Any:  # noqa: ANN401
    """Mostly nothing is before the value, and at most a newline after it: then the patterns of the library are not needed."""
    if text.startswith("{"):
        value, end = decoder.raw_decode(text)
        if text[end:] in _ENDS:
            return value
    return decoder.decode(text)


def as_text(data: bytes, limits: Limits = DEFAULT) -> str:
    """The text of a document without its byte order mark; raises EncodingError if it is too large or not UTF-8."""
    if len(data) > limits.size:
        raise EncodingError(
            "encoding.too-big",
            f"the document has more than {limits.size:,} bytes, which is the limit",
            hint="keep large data in separate files and name them in the document",
        )
    data = data.removeprefix(BOM)
    if data[:2].count(0) == 1:  # ASCII in UTF-16 is UTF-8 as well, and never JSON
        raise _not_utf8(data, 0)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(data, error.start) from None


def _not_utf8(data: bytes, offset: int) -> EncodingError:
    if data.startswith(_UTF16) or data[:2].count(0) == 1:
        what = "the document is UTF-16, not UTF-8"
    elif b"\0" in data[:1024]:
        what = "the document is binary data, not text"
    else:
        what = f"byte 0x{data[offset]:02x} is not UTF-8"
    before = data[:offset].decode()
    at = position(before, len(before))
    return EncodingError(
        "encoding.utf-8", what, line=at.line, column=at.column, hint="save the file as UTF-8"
    )


@lru_cache(maxsize=8)
def _fast_decoder(limits: Limits) -> json.JSONDecoder:
    def integer(digits: str) -> int:
        if len(digits) > limits.digits:
            raise _FastPathError
        return int(digits)

    return json.JSONDecoder(
        object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=integer
    )


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _FastPathError
    return value


def _refuse(_: str) -> NoReturn:
    raise _FastPathError


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _FastPathError
    return value


def _plain_integer(digits: str) -> int:
    if len(digits) > _PLAIN_DIGITS:
        raise _FastPathError
    return int(digits)


def _plain_real(digits: str) -> float:
    value = float(digits)
    if not is_simple_number(value):
        raise _FastPathError
    return value


_PLAIN_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_plain_real, parse_int=_plain_integer
)


def _depth(value: object) -> int:
    """The nesting depth of lists and objects."""
    depth, level = 0, [value]
    while level := [v for v in level if isinstance(v, dict | list)]:
        depth += 1
        level = [child for v in level for child in (v.values() if isinstance(v, dict) else v)]
    return depth
