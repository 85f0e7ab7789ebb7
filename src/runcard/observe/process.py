"""The process that records: which one it is, whether it is still there, and what it used.

A pid alone says little: it is used again, and other machines and containers have their own. So a process is known by
its pid together with its host, the boot of that host, its pid namespace and the moment it started. That moment is kept
twice: `started` for people, and `start_ticks` (clock ticks after the boot, as Linux counts them) because a time of day
that is computed from ticks moves when the wall clock is set. Without ticks, times that lie within `TOLERANCE` of each
other are the same.

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

from runcard.documents.times import instant, written
from runcard.files import json_name

TOLERANCE = timedelta(seconds=3)

_PID_LIMIT = 1 << 31
_PAGE = 65_536  # more than any of the files here has, which come in one piece
_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE | re.ASCII)
_ENDED = {"Z", "X", "x"}  # a zombie has ended; only its exit code waits to be fetched
_STATE, _START = 0, 19  # fields of /proc/<pid>/stat, counted after the name of the program


def this_process() -> dict[str, Any]:
    """What a record keeps to tell later whether this process is still there."""
    return dict(_described(os.getpid()))


@lru_cache(maxsize=1)
def _described(pid: int) -> dict[str, Any]:
    seen = _look(pid)
    ticks = None if seen is None else seen[1]
    moment = None if ticks is None else _moment(ticks)
    return {
        "pid": pid,
        "started": None if moment is None else written(moment),
        "host": _host(),
        "boot_id": _boot_id(),
        "start_ticks": ticks,
        "pid_namespace": _pid_namespace(),
    }


def is_alive(process: Mapping[str, Any]) -> bool | None:
    """Whether a process that `this_process` once described is still there; None when that cannot be told."""
    pid = process.get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool) or not 0 < pid < _PID_LIMIT:
        return None
    host = _host()
    if host is None or process.get("host") != host:
        return None
    if _differ(process.get("boot_id"), _boot_id()):
        return False
    if _differ(process.get("pid_namespace"), _pid_namespace()):
        return None  # the pid counts in another container
    seen = _look(pid)
    if seen is None:
        return None if _exists(pid) else False
    state, ticks = seen
    return False if state in _ENDED else _same_start(process, ticks)


def resources() -> dict[str, Any]:
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


def _look(pid: int) -> tuple[str, int] | None:
    """The state of a process and the tick it started at; None when it is not there, or the system does not show it."""
    text = _text(f"/proc/{pid}/stat")
    if text is None:
        return None
    fields = text.rpartition(")")[2].split()  # the program's name can hold anything, also blanks and brackets
    try:
        return fields[_STATE], int(fields[_START])
    except (IndexError, ValueError):
        return None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # signal 0 only asks
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _same_start(process: Mapping[str, Any], ticks: int) -> bool | None:
    stated = process.get("start_ticks")
    if isinstance(stated, int):
        return stated == ticks
    started = process.get("started")
    then, now = instant(started) if isinstance(started, str) else None, _moment(ticks)
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


def _host() -> str | None:
    name = os.uname().nodename
    return json_name(name).text if name else None


def _boot_id() -> str | None:
    return (_text("/proc/sys/kernel/random/boot_id") or "").strip() or None


def _pid_namespace() -> int | None:
    """The number of the pid namespace; `pid:[4026531836]` is what the system says."""
    try:
        return int(os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]"))
    except (OSError, ValueError):
        return None


def _own_peak() -> int | None:
    """The peak of this program alone, in bytes. What `getrusage` says includes the program that started it."""
    found = _PEAK.search(_text("/proc/self/status") or "")
    return None if found is None else int(found[1]) * 1024


def _differ(stated: object, actual: object) -> bool:
    return stated is not None and actual is not None and stated != actual


def _text(path: str) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, _PAGE).decode("utf-8", "surrogateescape")
        finally:
            os.close(descriptor)
    except OSError:
        return None
