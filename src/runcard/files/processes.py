"""Which process this is, and whether another one is still there.

A pid alone says little: it is used again, and other machines and containers have their own. So a process is known by
its pid together with its host, the boot of that host, its pid namespace, and `start_ticks`: when it started, in clock
ticks after the boot, as Linux counts them.

It starts and ends no process and sends no signal.

Invariant: `is_alive` says False only of a process that is gone, as far as its host name says which machine it is on.
"""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from runcard.encoding import JsonObject
from runcard.files.names import json_name

Process = Mapping[str, Any]

_PID_LIMIT = 1 << 31
_PAGE = 65_536  # more than any of the files here has, which come in one piece
_ENDED = {"Z", "X", "x"}  # a zombie has ended; only its exit code waits to be fetched
_STATE, _START = 0, 19  # fields of /proc/<pid>/stat, counted after the name of the program


def identity() -> JsonObject:
    """What tells this process from every other one."""
    return dict(_identity(os.getpid()))


@lru_cache(maxsize=1)
def _identity(pid: int) -> JsonObject:
    seen = _look(pid)
    return {
        "pid": pid,
        "host": _host(),
        "boot_id": _boot_id(),
        "start_ticks": None if seen is None else seen[1],
        "pid_namespace": _pid_namespace(),
    }


def _same_ticks(process: Process, ticks: int) -> bool | None:
    stated = process.get("start_ticks")
    return stated == ticks if isinstance(stated, int) else None


def is_alive(
    process: Process, same_start: Callable[[Process, int], bool | None] = _same_ticks
) -> bool | None:
    """Whether a process that `identity` once described is still there; None when that cannot be told.

    `same_start` compares the start that was stated with the tick at which the process of this pid started.
    """
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
    return False if state in _ENDED else same_start(process, ticks)


def _look(pid: int) -> tuple[str, int] | None:
    """The state of a process and the tick it started at; None when it is not there, or the system does not show it."""
    text = system_text(f"/proc/{pid}/stat")
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


def _host() -> str | None:
    name = os.uname().nodename
    return json_name(name).text if name else None


def _boot_id() -> str | None:
    return (system_text("/proc/sys/kernel/random/boot_id") or "").strip() or None


def _pid_namespace() -> int | None:
    """The number of the pid namespace; `pid:[4026531836]` is what the system says."""
    try:
        return int(os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]"))
    except (OSError, ValueError):
        return None


def _differ(stated: object, actual: object) -> bool:
    return stated is not None and actual is not None and stated != actual


def system_text(path: str) -> str | None:
    """The text of a file below /proc; None where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, _PAGE).decode("utf-8", "surrogateescape")
        finally:
            os.close(descriptor)
    except OSError:
        return None
