"""Values of documents of any quality, for the catalog. One of a wrong type is as if it were not there: None, or empty."""

import contextlib
from functools import lru_cache
from typing import Any

from runcard.documents.times import parse_time
from runcard.encoding import JsonObject

LONGEST_TEXT = 1000  # characters of a value
MOST_COUNT = 2**62
_LONGEST_TIME = 100  # characters


def as_object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: object) -> str | None:
    if type(value) is not str or not value:
        return None
    if len(value) <= LONGEST_TEXT and value.isascii() and "\0" not in value:
        return value
    return clean_text(value)[:LONGEST_TEXT]


def _is_clean(text: str) -> bool:
    return text.isascii() and "\0" not in text


def clean_text(text: str) -> str:
    """A text that a database can hold: without lone surrogates and NUL."""
    return text if _is_clean(text) else text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def as_number(value: object) -> float | int | None:
    """A number that a database can hold: an integer that is too large as a float."""
    if type(value) is float:
        return value
    if type(value) is not int:
        return None
    if abs(value) < MOST_COUNT:
        return value
    with contextlib.suppress(OverflowError):
        return float(value)
    return None


def as_integer(value: object) -> int | None:
    return value if type(value) is int and abs(value) < MOST_COUNT else None


def as_count(value: object) -> int | None:
    if value is None:
        return None
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < MOST_COUNT else None


@lru_cache(maxsize=256)
def _time_of(text: str) -> int | None:
    """The agents of a session often start and end together."""
    try:
        moment = parse_time(text)
        return None if moment is None else round(moment.timestamp() * 1000)
    except (OverflowError, ValueError):
        return None


def as_time(value: object) -> int | None:
    return _time_of(value) if type(value) is str and len(value) <= _LONGEST_TIME else None
