"""The clock of a run: the wall clock is read once; after that only a monotonic clock is used.

So setting the wall clock meanwhile, by hand or from the network, makes no duration negative and no event earlier than its
cause. In a forked child the clock goes on from the same start, and so it does while the machine sleeps: two runs on a laptop
agree on the time of a call.

Invariants: of one clock, a later `timestamp()` is never smaller; `Reading.timestamp` minus `started` is exactly
`Reading.elapsed`.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_MILLISECOND = timedelta(milliseconds=1)
_BOOT_TIME: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS: the latter counts sleep, too


def seconds_since_boot() -> float:
    """A clock that nobody sets."""
    return time.clock_gettime(_BOOT_TIME)


class Reading(NamedTuple):
    """One reading: the time as documents write it, and the matching seconds since the start."""

    timestamp: str
    elapsed: int | float


class Clock:
    """A clock that starts when it is made. `started` is in UTC and has whole milliseconds, as it is written."""

    __slots__ = ("_monotonic", "_start", "started")

    def __init__(
        self, *, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = seconds_since_boot
    ) -> None:
        now = datetime.fromtimestamp(wall(), UTC)
        self.started = now.replace(microsecond=now.microsecond // 1000 * 1000)
        self._monotonic = monotonic
        self._start = monotonic()

    def elapsed(self) -> float:
        """Seconds since the start, as exact as measured."""
        return max(0.0, self._monotonic() - self._start)

    def now(self) -> datetime:
        return self.started + timedelta(seconds=self.elapsed())

    def timestamp(self) -> str:
        """Now, as documents write it: `2026-11-15T10:15:00.123Z`."""
        return self.read().timestamp

    def duration(self) -> int | float:
        """Seconds since the start, as documents write them."""
        return self.read().elapsed

    def read(self) -> Reading:
        """Timestamp and elapsed seconds of the same moment."""
        milliseconds = round(self.elapsed() * 1000)
        return Reading(timestamp(self.started + milliseconds * _MILLISECOND), whole(milliseconds / 1000))


def timestamp(moment: datetime) -> str:
    """An aware time as text: UTC with `Z`, and always milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_before(age: timedelta) -> datetime:
    """The time so long before now; the first one of the calendar for an age beyond it."""
    now = datetime.now(UTC)
    return now - min(age, now - datetime.min.replace(tzinfo=UTC))


def whole(seconds: float) -> int | float:
    """The same number; an `int` when it is whole, so that JSON shows `135` and not `135.0`."""
    return int(seconds) if seconds == int(seconds) else seconds
