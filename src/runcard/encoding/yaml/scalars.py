"""The meaning of an unquoted scalar: in YAML 1.2, as it is read here, and in YAML 1.1, as others may read it.

If the two disagree about a number (`0777` is 777 or 511), it stays text.
"""

import math
import re

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MANY_DIGITS = 20
_BASES = {"x": 16, "o": 8, "b": 2}

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*+)")
_BASED = re.compile(r"[-+]?0(?:x[0-9a-fA-F]++|o[0-7]++|b[01]++)")
_REAL = re.compile(r"[-+]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]++")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

# YAML 1.1 and, where Ruby goes further, as Ruby reads it (commas in numbers, colons before symbols).
_YAML_1_1_TYPES = (
    ("null", re.compile(r"~?|null", re.IGNORECASE)),
    ("boolean", re.compile(r"y|n|yes|no|on|off|true|false", re.IGNORECASE)),
    ("octal", re.compile(r"[-+]?0[0-7_,]+")),
    ("integer", re.compile(r"[-+]?(?:[0-9][0-9_,]*|0[bB][01_,]+|0[xX][0-9a-fA-F_,]+|0o[0-7_,]+)")),
    ("sexagesimal", re.compile(r"[-+]?[0-9][0-9_]*+(?::[0-5]?[0-9])++(?:\.[0-9_]*+)?")),
    (
        "number",
        re.compile(
            r"[-+]?(?:[0-9][0-9_,]*+\.?[0-9_]*+|\.[0-9][0-9_]*+)(?:[eE][-+]?[0-9]++)?"
            r"|[-+]?\.inf|\.nan",
            re.IGNORECASE,
        ),
    ),
    ("date", re.compile(r"-?[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")),
    (
        "timestamp",
        re.compile(
            r"-?[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
            r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?"
        ),
    ),
    ("symbol", re.compile(r":.+", re.DOTALL)),
    ("merge", re.compile(r"<<|=")),
)


class NotFiniteError(ValueError):
    """A number that plain data cannot represent."""


class TooManyDigitsError(ValueError):
    """An integer longer than the limit."""


def read_plain(text: str, digits: int) -> str | float | bool | None:
    """The value of an unquoted scalar; `digits` is the limit of an integer."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        if len(text.lstrip("+-")) > digits:
            raise TooManyDigitsError
        return int(text)
    if _BASED.fullmatch(text):
        return _based(text, digits)
    if _NOT_FINITE.fullmatch(text):
        raise NotFiniteError
    if _REAL.fullmatch(text) and not _LEADING_ZERO.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise NotFiniteError
        return value
    return text


def plain_value(text: str) -> str | float | bool | None:
    """The value of an unquoted text; None for a number that is refused."""
    try:
        return read_plain(text, _MANY_DIGITS)
    except ValueError:
        return None


def _based(text: str, digits: int) -> int:
    unsigned = text.lstrip("+-")
    if len(unsigned) > digits * 4:  # not even binary digits could be that many
        raise TooManyDigitsError
    value = int(unsigned[2:], _BASES[unsigned[1]])
    if value.bit_length() > digits * 3 and value >= 10**digits:
        raise TooManyDigitsError
    return -value if text[0] == "-" else value


def yaml_1_1_type(text: str) -> str:
    """The type of an unquoted scalar in YAML 1.1: `text`, or `boolean`, `null`, `date` and so on."""
    for kind, pattern in _YAML_1_1_TYPES:
        if pattern.fullmatch(text):
            return kind
    return "text"
