"""The recording process: its identity, whether it is still alive, and its resources.

The identity of a process is in `runcard.files.processes`. A record keeps the start of the process twice: `started` for
people, and `start_ticks` because a time that is computed from ticks moves when the wall clock is set. Without ticks, times
within `TOLERANCE` of each other are the same. A worker of `multiprocessing` also names the process that started it, so that
all runs of one program can be found.

Nothing here starts or ends a process or sends a signal.

Invariant: `is_alive` is False only for a process that is gone, as far as its host name identifies its machine.
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
    """What a record keeps, so that `is_alive` can be asked later."""
    return dict(_description(os.getpid()))


@lru_cache(maxsize=1)
def _description(pid: int) -> JsonObject:
    identity = processes.identity()
    ticks = identity["start_ticks"]
    moment = None if ticks is None else _moment(ticks)
    description = {"pid": pid, "started": None if moment is None else format_time(moment), **identity}
    return description | ({"worker_of": parent} if (parent := _worker_of()) else {})


def _worker_of() -> JsonObject | None:
    """The process that started this one as a worker of `multiprocessing`; None for all others."""
    module = sys.modules.get("multiprocessing.process")
    parent = module.parent_process() if module is not None else None
    if parent is None or parent.pid is None:
        return None
    return {"pid": parent.pid, "start_ticks": processes.start_ticks(parent.pid)}


def is_alive(process: Mapping[str, Any]) -> bool | None:
    """Whether a process that `this_process` described is still there; None when that is unknown."""
    return processes.is_alive(process, _same_start)


def resources() -> JsonObject:
    """The resources of this process and of the children that it has waited for, up to now.

    `peak_memory_bytes` is that of the largest single process, since peaks at different times do not add up. A child's peak
    is at least what this process held when it started it: the system counts it so.
    """
    import resource  # noqa: PLC0415 - few programs need it, and only at their end

    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    unit = 1 if sys.platform == "darwin" else 1024
    peak = max(_own_peak() or own.ru_maxrss * unit, children.ru_maxrss * unit)
    return {"cpu_seconds": round(cpu, 6), "peak_memory_bytes": peak or None}


def _same_start(process: Mapping[str, Any], ticks: int) -> bool | None:
    recorded = process.get("start_ticks")
    if isinstance(recorded, int):
        return recorded == ticks
    started = process.get("started")
    then, now = parse_time(started) if isinstance(started, str) else None, _moment(ticks)
    if then is None or now is None:
        return None
    return abs(then - now) <= TOLERANCE


def _moment(ticks: int) -> datetime | None:
    """When a process started, rounded down to a second.

    It is counted back from now: the kernel's `btime` is often wrong in containers.
    """
    try:
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return datetime.fromtimestamp(int(time.time() - age), UTC)
    except (AttributeError, OSError, ValueError, OverflowError):
        return None


def _own_peak() -> int | None:
    """The peak of this program alone, in bytes; `getrusage` includes the program that started it."""
    match = _PEAK.search(processes.system_text("/proc/self/status") or "")
    return None if match is None else int(match[1]) * 1024
