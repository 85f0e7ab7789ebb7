"""The clock of a run: the wall clock is read once, and from then on only a monotonic clock counts.

So a wall clock that is set meanwhile, by a person or by the network, makes nothing negative and puts no event before its
cause. A clock goes on in a forked child: both count from the same start. It does not count the time in which the
machine slept.

Invariants: of one clock, a later `timestamp()` is never smaller; `Reading.timestamp` minus `started` is exactly
`Reading.elapsed`.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_MILLISECOND = timedelta(milliseconds=1)


class Reading(NamedTuple):
    """One look at the clock: the time as documents write it, and the seconds since the start that belong to it."""

    timestamp: str
    elapsed: int | float


class Clock:
    """A clock that starts when it is made. `started` is in UTC and has whole milliseconds, as it is written."""

    __slots__ = ("_begun", "_monotonic", "started")

    def __init__(
        self, *, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        now = datetime.fromtimestamp(wall(), UTC)
        self.started = now.replace(microsecond=now.microsecond // 1000 * 1000)
        self._monotonic = monotonic
        self._begun = monotonic()

    def elapsed(self) -> float:
        """Seconds since the start, as exactly as they can be measured."""
        return max(0.0, self._monotonic() - self._begun)

    def now(self) -> datetime:
        return self.started + timedelta(seconds=self.elapsed())

    def timestamp(self) -> str:
        """Now, as documents write it: `2026-11-15T10:15:00.123Z`."""
        return self.read().timestamp

    def duration(self) -> int | float:
        """Seconds since the start, as documents write them."""
        return self.read().elapsed

    def read(self) -> Reading:
        """Both of one moment, so that they agree."""
        milliseconds = round(self.elapsed() * 1000)
        return Reading(timestamp(self.started + milliseconds * _MILLISECOND), whole(milliseconds / 1000))


def timestamp(moment: datetime) -> str:
    """A time that has a zone as text: UTC with Z, and always three digits of a second."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def long_ago(age: timedelta) -> datetime:
    """The moment so long ago; the first one of the calendar where the age goes beyond it."""
    now = datetime.now(UTC)
    return now - min(age, now - datetime.min.replace(tzinfo=UTC))


def whole(seconds: float) -> int | float:
    """The same number; an `int` when it is whole, so that JSON shows `135` and not `135.0`."""
    return int(seconds) if seconds == int(seconds) else seconds
