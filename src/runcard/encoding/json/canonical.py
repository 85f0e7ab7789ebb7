"""Canonical JSON (RFC 8785), the form that is hashed.

One addition: integers from 2⁵³ up, which RFC 8785 refuses because other languages cannot represent them, are written as
strings of decimal digits.
"""

from typing import Any, NamedTuple

from runcard.encoding.json.fast_writer import compact_and_sorted, fast_encode
from runcard.encoding.json.writer import COMPACT, Layout, render, sorted_by_utf16, to_bytes

_EXACT = 2**53


def canonical_json(value: Any, *, is_plain: bool = False) -> bytes:  # noqa: ANN401
    """The one byte form of this data; raises EncodingError for data that JSON cannot represent.

    `is_plain` is what `decode_json_line` says about it, or about data that it is a part of.
    """
    text = fast_encode(value, sort_keys=True, is_plain=is_plain)
    return to_bytes(render(value, _CANONICAL) if text is None else text)


class EncodedForms(NamedTuple):
    """Data on one line: as it is stored, and as it is hashed."""

    compact: bytes
    canonical: bytes


def both_forms(value: Any) -> EncodedForms:  # noqa: ANN401
    """Both forms at once, which is faster; raises EncodingError for data that JSON cannot represent."""
    compact, canonical = compact_and_sorted(value) or (render(value, COMPACT), render(value, _CANONICAL))
    return EncodedForms(to_bytes(compact), to_bytes(canonical))


def _integer(value: int) -> str:
    return str(value) if -_EXACT < value < _EXACT else f'"{value}"'


def _real(value: float) -> str:
    """A number as ECMAScript prints it: the shortest digits that parse to the same number."""
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return ("-" if value < 0 else "") + _with_point(digits.rstrip("0"), point)


def _with_point(digits: str, point: int) -> str:
    """Digits with the decimal point after the first `point` of them, or with an exponent if that is far away."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+d}"


_CANONICAL = Layout(indent=None, comma=",", colon=":", integer=_integer, real=_real, keys=sorted_by_utf16)
