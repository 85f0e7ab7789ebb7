"""The process that records: which one it is, whether it is still there, and what it used.

What tells one process from another is in `runcard.files.processes`. A record keeps the start of the process twice:
`started` for people, and `start_ticks` because a time of day that is computed from ticks moves when the wall clock is
set. Without ticks, times that lie within `TOLERANCE` of each other are the same.

It starts and ends no process and sends no signal.

Invariant: `is_alive` says False only of a process that is gone, as far as its host name says which machine it is on.
"""

import os
import re
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from runcard.documents.times import format_time, parse_time
from runcard.encoding import JsonObject
from runcard.files import processes

TOLERANCE = timedelta(seconds=3)

_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE | re.ASCII)


def this_process() -> JsonObject:
    """What a record keeps to tell later whether this process is still there."""
    return dict(_described(os.getpid()))


@lru_cache(maxsize=1)
def _described(pid: int) -> JsonObject:
    identity = processes.identity()
    ticks = identity["start_ticks"]
    moment = None if ticks is None else _moment(ticks)
    return {"pid": pid, "started": None if moment is None else format_time(moment), **identity}


def is_alive(process: Mapping[str, Any]) -> bool | None:
    """Whether a process that `this_process` once described is still there; None when that cannot be told."""
    return processes.is_alive(process, _same_start)


def resources() -> JsonObject:
    """What this process and the children that it has waited for used up to now.

    `peak_memory_bytes` is that of the largest single process, since what many held at different times adds up to
    nothing. A child's peak is at least what this process held when it started it: the system counts it so.
    """
    import resource  # noqa: PLC0415 - few programs need it, and only at their end

    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    unit = 1 if sys.platform == "darwin" else 1024
    peak = max(_own_peak() or own.ru_maxrss * unit, children.ru_maxrss * unit)
    return {"cpu_seconds": round(cpu, 6), "peak_memory_bytes": peak or None}


def _same_start(process: Mapping[str, Any], ticks: int) -> bool | None:
    stated = process.get("start_ticks")
    if isinstance(stated, int):
        return stated == ticks
    started = process.get("started")
    then, now = parse_time(started) if isinstance(started, str) else None, _moment(ticks)
    if then is None or now is None:
        return None
    return abs(then - now) <= TOLERANCE


def _moment(ticks: int) -> datetime | None:
    """When a process started, rounded down to a second.

    It is counted back from now. The kernel's own `btime` would do as well, but containers are often shown a wrong one.
    """
    try:
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return datetime.fromtimestamp(int(time.time() - age), UTC)
    except (AttributeError, OSError, ValueError, OverflowError):
        return None


def _own_peak() -> int | None:
    """The peak of this program alone, in bytes. What `getrusage` says includes the program that started it."""
    found = _PEAK.search(processes.system_text("/proc/self/status") or "")
    return None if found is None else int(found[1]) * 1024
