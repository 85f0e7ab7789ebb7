"""What a command and everything that it started used: processor time, and memory at its peak.

Processor time is what the system says when a process is waited for: it includes whatever that process has waited for. Those
that nobody waited for are this process's on Linux, where it adopts them (see `orphans`); what is still at work at the end
is counted as far as it got.

Memory is looked at from time to time, first often and then rarely: of one process its own peak (which the system keeps),
of several what they hold at that moment, shared pages counted once. In between, a short peak of several processes can be
missed. The system's own word at the end, the peak of the largest process, is added where it is about the command: it
starts with what the recorder held when it started the command, and below that it says nothing.

Invariant: what could not be seen is None; nothing here is a guess.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from runcard.encoding import JsonObject

if TYPE_CHECKING:
    from resource import struct_rusage

_FIRST, _LONGEST = 0.005, 1.0  # seconds between two looks, at the beginning and later
_SHARE = 50  # looking takes at most one part in so many of the time
_KIB = 1024
_UNIT = 1 if sys.platform == "darwin" else _KIB  # of ru_maxrss
_SLACK = 2 << 20  # bytes that a forked process needs before it is the command
_USER, _SYSTEM, _WAITED_USER, _WAITED_SYSTEM = 11, 12, 13, 14  # fields of /proc/<pid>/stat after the name


class ProcessTree:
    """A process and what comes from it, as long as this process looks on."""

    def __init__(self, root: int) -> None:
        """`root` was just forked by this process."""
        self._root = root
        self._before = set(_own_children())  # the root, and what is none of its business
        self._peak = 0
        self._seconds = 0.0
        self._waited = False
        self._inherited = (_memory(os.getpid(), "VmRSS") or _own_peak()) + _SLACK
        self._pause = _FIRST
        self.due = time.monotonic()  # when to look again

    def look(self) -> None:
        """See how much memory is in use now."""
        began = time.monotonic()
        first = _memory(self._root, "VmHWM") or 0  # before anything else: it may be gone in a moment
        found = list(_below(self._root))
        together = sum(_share(pid) for pid in found) if len(found) > 1 else 0
        self._peak = max(self._peak, first, together)
        ended = time.monotonic()
        self._pause = min(_LONGEST, max(2 * self._pause, _SHARE * (ended - began)))
        self.due = ended + self._pause

    def count(self, usage: "struct_rusage") -> None:
        """Add what the system says of a process that was waited for."""
        self._waited = True
        self._seconds += usage.ru_utime + usage.ru_stime
        peak = usage.ru_maxrss * _UNIT
        if peak > self._inherited:
            self._peak = max(self._peak, peak)

    def count_orphans(self) -> int:
        """Wait for those that ended after their parents, and add them; returns how many are still at work."""
        working = 0
        for pid in self._orphans():
            with contextlib.suppress(ChildProcessError):
                ended, _, usage = os.wait4(pid, os.WNOHANG)
                if ended:
                    self.count(usage)
                else:
                    working += 1
        return working

    def resources(self) -> JsonObject:
        """What was used, with what those that are still at work have used so far."""
        seconds = self._seconds + sum(_seconds(pid) for orphan in self._orphans() for pid in _below(orphan))
        return {
            "cpu_seconds": round(seconds, 6) if self._waited else None,
            "peak_memory_bytes": self._peak or None,
        }

    def _orphans(self) -> list[int]:
        """What has become a child of this process since the root was started."""
        return [pid for pid in _own_children() if pid not in self._before]


def _own_children() -> list[int]:
    """The children of the main thread, to which the system gives orphans; other threads start what they need."""
    return _children(os.getpid(), os.getpid())


def _own_peak() -> int:
    import resource  # noqa: PLC0415 - only where the system shows no more

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def _below(root: int) -> Iterator[int]:
    """A process and all that come from it, as far as they can be seen."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for thread in threads:
            waiting += _children(pid, int(thread))


def _children(pid: int, thread: int) -> list[int]:
    text = _text(f"/proc/{pid}/task/{thread}/children")
    return [int(word) for word in text.split()]


def _share(pid: int) -> int:
    """What a process holds, of shared pages its part; what it has in memory at all where the system does not say."""
    return _field(f"/proc/{pid}/smaps_rollup", "Pss") or _memory(pid, "VmRSS") or 0


def _memory(pid: int, name: str) -> int | None:
    return _field(f"/proc/{pid}/status", name)


def _field(path: str, name: str) -> int | None:
    for line in _text(path).splitlines():
        if line.startswith(f"{name}:") and line.endswith(" kB"):
            return int(line.split()[1]) * _KIB
    return None


def _seconds(pid: int) -> float:
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(fields) <= _WAITED_SYSTEM:
        return 0.0
    ticks = sum(int(fields[place]) for place in (_USER, _SYSTEM, _WAITED_USER, _WAITED_SYSTEM))
    return ticks / os.sysconf("SC_CLK_TCK")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
