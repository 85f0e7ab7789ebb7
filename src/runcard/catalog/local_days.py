"""The days of the local time zone in SQL: as numbers, counted from 1970-01-01."""

import time
from collections.abc import Iterator

_DAY = 86_400  # seconds
_FIRST = 946_684_800  # the year 2000: before it, and long after today, no change of the clocks is looked up


def local_day(sql: str, first: int, last: int) -> str:
    """The SQL of the day of a time in milliseconds, for times from `first` to `last`; null before 1970."""
    offsets = list(_offsets(max(first // 1000, _FIRST), min(last // 1000, int(time.time()) + 366 * _DAY)))
    changes = "".join(f" WHEN {sql} < {until * 1000} THEN {offset * 1000}" for until, offset in offsets[:-1])
    offset = offsets[-1][1] * 1000
    shift = f"CASE{changes} ELSE {offset} END" if changes else str(offset)
    return f"CASE WHEN {sql} >= 0 THEN ({sql} + {shift}) / {_DAY * 1000} END"


def day_changes(first: int, last: int) -> Iterator[int]:
    """How far from the beginning of a day in UTC local days begin, between two times; all in milliseconds."""
    for until, offset in _offsets(
        max(first // 1000, _FIRST), min(last // 1000, int(time.time()) + 366 * _DAY)
    ):
        yield -offset * 1000
        yield until % 3600 * 1000 if until < last // 1000 else 0


def _offsets(first: int, last: int) -> Iterator[tuple[int, int]]:
    """The offsets of local time from UTC, in seconds, each with the time at which it ends."""
    at, offset = first, _offset(first)
    while at < last:
        following = at + _DAY
        if (changed := _offset(following)) != offset:
            yield _change(at, following, offset), offset
            offset = changed
        at = following
    yield at, offset


def _change(before: int, after: int, offset: int) -> int:
    """The second at which the clocks change."""
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (middle, after) if _offset(middle) == offset else (before, middle)
    return after


def _offset(seconds: int) -> int:
    return time.localtime(seconds).tm_gmtoff
