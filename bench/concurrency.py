"""Many recorders at once: 50 processes against one, and 1,000 threads. No run may be lost."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measuring import BenchError, environment, scratch
from bench.table import Row, Target, Times, faster

# Imports first; records when a line comes in. A run that cannot be recorded gives a warning only, as in any program.
_RECORDER = """
import sys, runcard
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    with runcard.record(sys.argv[1], model="m", provider="p"):
        pass
"""
_THREADS = """
import sys, threading, runcard
def record():
    with runcard.record(sys.argv[1], model="m", provider="p"):
        pass
threads = [threading.Thread(target=record) for _ in range(int(sys.argv[2]))]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def measure(*, quick: bool = False) -> Iterator[Row]:
    processes, runs, threads, rounds = (50, 4, 200, 2) if quick else (50, 20, 1_000, 2)
    one: list[float] = []
    many: list[float] = []
    lost = 0
    for _ in range(rounds):
        one.append(per_run(1, 4 * runs)[0])
        seconds, missing = per_run(processes, runs)
        many.append(seconds)
        lost += missing
    work = f"record {processes * runs:,} runs in {processes} processes, each run"
    yield Row(work, Times.of(many, 1e3), "one process", Times.of(one, 1e3), "ms", faster(1.5))
    none = Target("<=", 0, "runs")
    yield Row("lost by these processes", Times.once(lost), "", None, "runs", none)
    with scratch() as folder:
        subprocess.run(
            [sys.executable, "-c", _THREADS, folder, str(threads)],
            env=environment(),
            check=True,
            stderr=subprocess.DEVNULL,
        )
        missing = threads - closed(folder)
    yield Row(f"lost by {threads:,} threads", Times.once(missing), "", None, "runs", none)


def per_run(processes: int, runs: int) -> tuple[float, int]:
    """The seconds for each run, without the imports, and how many runs were lost."""
    with scratch() as folder:
        words = [sys.executable, "-c", _RECORDER, str(folder), str(runs)]
        recorders = [start(words) for _ in range(processes)]
        try:
            for recorder in recorders:
                if recorder.stdout is None or recorder.stdout.readline() != b"ready\n":
                    raise BenchError("a recorder did not start")
            began = time.perf_counter()
            for recorder in recorders:
                if recorder.stdin is not None:
                    recorder.stdin.close()
            codes = [recorder.wait() for recorder in recorders]
            if any(codes):
                raise BenchError("a recorder failed")
            seconds = time.perf_counter() - began
        finally:
            for recorder in recorders:
                recorder.kill()
                recorder.wait()
                if recorder.stdout is not None:
                    recorder.stdout.close()
        return seconds / (processes * runs), processes * runs - closed(folder)


def start(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
    )


def closed(store: Path) -> int:
    """How many runs are closed: those with checksums."""
    return sum(1 for _ in store.glob("2*/SHA256SUMS"))
