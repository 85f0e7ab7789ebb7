"""Counts in a usage that no reader knows: they may be tokens that would be lost, so they are named and never ignored.

Each vendor's module lists the fields of its usage. A name that is not listed is a count if it has a whole number (written as a
float or in a text only where the name mentions tokens), also deeper inside. Zero, null, other texts, times and rates are not counts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Optional

from runcard.accounting.vendors.reply_fields import ReplyFields, as_mapping

KnownFields = Mapping[str, Optional["KnownFields"]]  # None: everything inside is known

_TIMES = re.compile(
    r"(^|_)(ms|ns|at|sec|seconds|time|timestamp|duration|latency|rate)$"
    r"|(Ms|Time|Duration|Latency|Rate)$|per_sec|time_to_"
)
_MAX_DEPTH = 4  # of a usage; deeper ones have no counts


def known_fields(*names: str, **parts: KnownFields) -> KnownFields:
    """Fields by name; of the fields in `parts`, the inner ones are listed too."""
    return {**dict.fromkeys(names), **parts}


def unknown_counts(usage: ReplyFields, known: KnownFields) -> tuple[str, ...]:
    """The paths of the counts in a usage that are not listed in `known`."""
    return tuple(_unlisted_counts(usage.data, known, f"{usage.path}." if usage.path else "", 0))


def _unlisted_counts(
    data: Mapping[str, object], known: KnownFields, prefix: str, depth: int
) -> Iterator[str]:
    for name, value in data.items():
        path = f"{prefix}{name}"
        if name not in known:
            if _has_count(str(name), value, depth):
                yield path
        elif (inner := known[name]) is not None:
            for part in value if isinstance(value, list | tuple) else [value]:
                if (fields := as_mapping(part)) is not None:
                    yield from _unlisted_counts(fields, inner, f"{path}.", depth + 1)


def _has_count(name: str, value: object, depth: int) -> bool:
    if isinstance(value, bool) or _TIMES.search(name):
        return False
    if isinstance(value, int):
        return value != 0
    if isinstance(value, str):
        return "token" in name.lower() and value.strip().strip("0").isdecimal()
    if isinstance(value, float):
        return value != 0 and value.is_integer() and "token" in name.lower()
    if depth >= _MAX_DEPTH:
        return False
    if isinstance(value, list | tuple):
        return any(_has_count(name, part, depth + 1) for part in value)
    fields = as_mapping(value)
    return fields is not None and any(_has_count(str(key), part, depth + 1) for key, part in fields.items())
