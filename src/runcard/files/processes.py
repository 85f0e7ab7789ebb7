"""Identify this process, and tell whether another one is still alive.

A pid is not enough: it is reused, and other machines and containers have their own. So a process is identified by its pid,
host, boot of that host, pid namespace, and `start_ticks`: its start time in clock ticks after the boot, as on Linux.

It starts and ends no process and sends no signal.

Invariant: `is_alive` is False only for a process that is gone, provided that its host name identifies the machine.
"""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from runcard.encoding import JsonObject
from runcard.files.names import json_name

Process = Mapping[str, Any]

_PID_LIMIT = 1 << 31
_PAGE = 65_536  # larger than any of the files read here
_ENDED = {"Z", "X", "x"}  # a zombie has ended; only its exit code is kept
_STATE, _START = 0, 19  # fields of /proc/<pid>/stat, counted after the name of the program


def identity() -> JsonObject:
    """The identity of this process."""
    return dict(_identity(os.getpid()))


@lru_cache(maxsize=1)
def _identity(pid: int) -> JsonObject:
    return {
        "pid": pid,
        "host": _host(),
        "boot_id": _boot_id(),
        "start_ticks": start_ticks(pid),
        "pid_namespace": _pid_namespace(),
    }


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks after the boot; None if the system does not show it."""
    stat = _state_and_start(pid)
    return None if stat is None else stat[1]


def _same_ticks(process: Process, ticks: int) -> bool | None:
    stated = process.get("start_ticks")
    return stated == ticks if isinstance(stated, int) else None


def is_alive(
    process: Process, same_start: Callable[[Process, int], bool | None] = _same_ticks
) -> bool | None:
    """Whether the process with this identity is still alive; None if that is unknown.

    `same_start` compares its recorded start with the tick at which the process of this pid started.
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
        return None  # the pid is of another container
    stat = _state_and_start(pid)
    if stat is None:
        return None if _exists(pid) else False
    state, ticks = stat
    return False if state in _ENDED else same_start(process, ticks)


def _state_and_start(pid: int) -> tuple[str, int] | None:
    """The state of a process and its start tick; None if it does not exist, or the system does not show it."""
    text = system_text(f"/proc/{pid}/stat")
    if text is None:
        return None
    fields = text.rpartition(")")[
        2
    ].split()  # the program's name can contain anything, even spaces and brackets
    try:
        return fields[_STATE], int(fields[_START])
    except (IndexError, ValueError):
        return None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # signal 0 only checks
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
    """The number of the pid namespace; the system has it as `pid:[4026531836]`."""
    try:
        return int(os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]"))
    except (OSError, ValueError):
        return None


def _differ(stated: object, actual: object) -> bool:
    return stated is not None and actual is not None and stated != actual


def system_text(path: str) -> str | None:
    """The text of a file below /proc; None if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, _PAGE).decode("utf-8", "surrogateescape")
        finally:
            os.close(descriptor)
    except OSError:
        return None
