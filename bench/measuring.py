"""How things are measured: in turns, in a scratch folder that is removed, whole commands in processes of their own."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.table import Times

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parent.parent
RUNCARD = str(BIN / "runcard")
MIB = 1024 * 1024
CORES = 2

Runner = Callable[[], float]  # does the work and returns the seconds it took
Command = Sequence[str | Path]

# Runs a command and prints what it cost. The peak of a process begins with that of the one that started it, so it is small.
_LAUNCHER = """
import json, os, resource, sys, time
began = time.perf_counter()
process = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
_, status = os.waitpid(process, 0)
seconds = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


class Cost(NamedTuple):
    """What a command took: wall time, processor time, and the peak memory of its largest process."""

    seconds: float
    processor_seconds: float
    megabytes: float


class BenchError(Exception):
    """A part cannot be measured; the message says why."""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed at the end, also after an error or Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="runcard-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextlib.contextmanager
def two_cores() -> Iterator[None]:
    """Everything that is started inside shares the same two cores."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:CORES])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)


def race(runners: Mapping[str, Runner], rounds: int, *, slowest: float | None = 5) -> dict[str, Times]:
    """The best and the median of each, in turns; each runs once before, to fill the page cache.

    A program that takes more than `slowest` times as long as the fastest gets only three turns.
    """
    warm = {name: run() for name, run in runners.items()}
    slow = {
        name
        for name, seconds in warm.items()
        if slowest is not None and seconds > slowest * min(warm.values())
    }
    times: dict[str, list[float]] = {name: [] for name in runners}
    for turn in range(rounds):
        for name, run in runners.items():
            if turn < 3 or name not in slow:
                times[name].append(run())
    return {name: Times.of(seconds) for name, seconds in times.items()}


def timed(work: Callable[..., object], *arguments: object, **options: object) -> float:
    began = time.perf_counter()
    work(*arguments, **options)
    return time.perf_counter() - began


def environment(**more: str) -> dict[str, str]:
    """The environment of commands: no settings of runcard, and compiled modules are kept."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RUNCARD_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | more


def call(*commands: Command, cwd: Path | None = None, accepted: tuple[int, ...] = (0,)) -> None:
    """Run commands, one after the other; their output is dropped."""
    for command in commands:
        done = subprocess.run(
            [*command], cwd=cwd, env=environment(), check=False, stdin=subprocess.DEVNULL, capture_output=True
        )
        if done.returncode not in accepted:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
            raise BenchError(
                f"{' '.join(map(str, command[:4]))} failed ({done.returncode}): {' '.join(last)}"
            )


def command(*words: str | Path, cwd: Path | None = None, accepted: tuple[int, ...] = (0,)) -> Runner:
    """A runner for one command, process start included."""
    return lambda: timed(call, words, cwd=cwd, accepted=accepted)


def cost(words: Command, *, cwd: Path | None = None, accepted: tuple[int, ...] = (0,)) -> Cost:
    """Run a command and measure its time and its peak memory."""
    launcher = [sys.executable, "-S", "-E", "-c", _LAUNCHER, *map(str, words)]
    done = subprocess.run(
        launcher, cwd=cwd, env=environment(), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    code, *numbers = json.loads(done.stdout)
    if code not in accepted:
        raise BenchError(f"{' '.join(map(str, words[:4]))} failed ({code})")
    return Cost(*numbers)
