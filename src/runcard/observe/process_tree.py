"""The resources of a command and of all processes that it started: processor time and peak memory.

Processor time is what the system reports when a process is waited for; it includes the children that this process waited
for. On Linux this process adopts orphans and waits for them; processes that still run at the end count as far as they got.

Memory is sampled, first often and then rarely: of one process its own peak (which the system keeps), of several what they
hold at that moment, shared pages counted once. A short peak of several processes between two samples can be missed. At the
end, the system's peak of the largest process is used too, if it is above what the recorder held when it started the command:
the system counts from there.

Invariant: what could not be observed is None; nothing is guessed.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from runcard.encoding import JsonObject
from runcard.observe.meter.adapters import MARKS

if TYPE_CHECKING:
    from resource import struct_rusage

_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 1.0  # seconds between two samples, at the beginning and later
_SHARE = 50  # sampling takes at most 1/50 of the time
_KIB = 1024
_UNIT = 1 if sys.platform == "darwin" else _KIB  # of ru_maxrss
_MOST_AGENTS = 100
_IMPORT = ("runcard", "hook", "--catch-up")  # words of the command
_SLACK = 2 << 20  # bytes that a forked process needs before it is the command
_USER, _SYSTEM, _WAITED_USER, _WAITED_SYSTEM = 11, 12, 13, 14  # fields of /proc/<pid>/stat after the name


class ProcessTree:
    """A process and its descendants, while this process watches them."""

    def __init__(self, root: int) -> None:
        """`root` was just forked by this process."""
        self._root = root
        self._before = set(_own_children())  # the root, and processes that are not its descendants
        self._peak = 0
        self._seconds = 0.0
        self._waited = False
        self._inherited = (_memory(os.getpid(), "VmRSS") or _own_peak()) + _SLACK
        self._pause = _FIRST_PAUSE
        self.agents: set[tuple[str, str]] = set()  # agent tools that were seen, and their folders
        self.due = time.monotonic()  # when to sample again

    def sample(self) -> None:
        """Measure how much memory is in use now."""
        began = time.monotonic()
        first = _memory(self._root, "VmHWM") or 0  # first, because it may be gone in a moment
        pids = list(_descendants(self._root))
        if len(self.agents) < _MOST_AGENTS:
            self.agents.update(agent for pid in pids if (agent := _agent(pid)) is not None)
        together = sum(_share(pid) for pid in pids) if len(pids) > 1 else 0
        self._peak = max(self._peak, first, together)
        ended = time.monotonic()
        self._pause = min(_LONGEST_PAUSE, max(2 * self._pause, _SHARE * (ended - began)))
        self.due = ended + self._pause

    def count(self, usage: "struct_rusage") -> None:
        """Add what the system reports of a process that was waited for."""
        self._waited = True
        self._seconds += usage.ru_utime + usage.ru_stime
        peak = usage.ru_maxrss * _UNIT
        if peak > self._inherited:
            self._peak = max(self._peak, peak)

    def count_orphans(self) -> int:
        """Wait for processes that ended after their parents, and add them; returns how many still run.

        Imports that hooks of agent tools have started are runcard's own, and end by themselves: they do not count.
        """
        running = 0
        for pid in self._orphans():
            with contextlib.suppress(ChildProcessError):
                ended, _, usage = os.wait4(pid, os.WNOHANG)
                if ended:
                    self.count(usage)
                else:
                    running += not _is_import(pid)
        return running

    def resources(self) -> JsonObject:
        """What was used, including what processes that still run have used so far."""
        seconds = self._seconds + sum(
            _seconds(pid) for orphan in self._orphans() for pid in _descendants(orphan)
        )
        return {
            "cpu_seconds": round(seconds, 6) if self._waited else None,
            "peak_memory_bytes": self._peak or None,
        }

    def _orphans(self) -> list[int]:
        """The children that this process adopted since the root was started."""
        return [pid for pid in _own_children() if pid not in self._before]


def _own_children() -> list[int]:
    """The children of the main thread, which adopts orphans; other threads start their own."""
    return _children(os.getpid(), os.getpid())


def _own_peak() -> int:
    import resource  # noqa: PLC0415 - only where the system shows no more

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def _descendants(root: int) -> Iterator[int]:
    """A process and all its descendants, as far as they are visible."""
    pending = [root]
    while pending:
        pid = pending.pop()
        yield pid
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for thread in threads:
            pending += _children(pid, int(thread))


def _children(pid: int, thread: int) -> list[int]:
    text = _text(f"/proc/{pid}/task/{thread}/children")
    return [int(word) for word in text.split()]


def _share(pid: int) -> int:
    """The memory of a process, with its share of shared pages; its resident memory where that is unknown."""
    return _field(f"/proc/{pid}/smaps_rollup", "Pss") or _memory(pid, "VmRSS") or 0


def _memory(pid: int, name: str) -> int | None:
    return _field(f"/proc/{pid}/status", name)


def _is_import(pid: int) -> bool:
    """Whether a process is the import of a session that a hook has started, or becomes it."""
    words = _text(f"/proc/{pid}/cmdline").split("\0")
    is_hook = any(word.endswith("/agent_setup/hook_note.py") for word in words)
    return is_hook or any(
        following == _IMPORT for following in zip(words, words[1:], words[2:], strict=False)
    )


def _agent(pid: int) -> tuple[str, str] | None:
    """The agent tool that a process is, and its folder; None for any other process."""
    text = _text(f"/proc/{pid}/cmdline")
    if not any(mark in text for mark in MARKS):
        return None
    from runcard.observe.meter.adapters.known_programs import client_of  # noqa: PLC0415 - few commands run one

    client = client_of(text.rstrip("\0").split("\0"))
    try:
        return None if client is None else (client, os.readlink(f"/proc/{pid}/cwd"))
    except OSError:
        return None


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
