"""The estimated end of a run that was killed.

No event tells when it ended, so its last sign of life is taken: its last event, its last heartbeat (which is an event too, added
when the run is closed), or its newest file, whichever is latest. The document marks such values as estimated.
"""

from collections.abc import Iterable

from runcard.documents.times import parse_time
from runcard.encoding import JsonObject

_ESTIMATED = ("/generation/timestamp_end", "/generation/duration_seconds")


def estimated_end(timestamp_start: str | None, times: Iterable[object]) -> JsonObject:
    """The fields of `generation` that describe the end of a run without a recorded end."""
    end = _latest([timestamp_start, *times])
    return {
        "status": "interrupted",
        "timestamp_end": end,
        "duration_seconds": _seconds_between(timestamp_start, end),
        "estimated": list(_ESTIMATED),
    }


def _latest(times: Iterable[object]) -> str | None:
    moments = {moment: time for time in times if isinstance(time, str) and (moment := parse_time(time))}
    return moments[max(moments)] if moments else None


def _seconds_between(timestamp_start: str | None, timestamp_end: str | None) -> float | None:
    start, end = parse_time(timestamp_start), parse_time(timestamp_end)
    if start is None or end is None:
        return None
    seconds = max(0.0, (end - start).total_seconds())
    return int(seconds) if seconds == int(seconds) else seconds
