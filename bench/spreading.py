"""Spreading work: `verify` of many archives by two workers of a cluster against one, without the time to start them.

The archives are on the disk, and in object storage. The server there is a process on this machine, too, and takes a core for itself.

Two figures: the wall time, which other programs on the machine disturb, and the processor time of the process that was busiest. The latter is
what the wall time is on a machine with a core for each process: no worker waits for another one.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.measuring import BenchError, environment, scratch, two_cores
from bench.remote import new_bucket, server
from bench.table import Row, Times, faster
from runcard.operations.checks.verify import verify
from runcard.parallel.cluster import WorkerCluster
from runcard.parallel.current_cluster import CURRENT

_ARCHIVE = """
import os, sys, runcard
store, number, size, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] or None
noise = os.urandom(size // 2)
for each in range(number):
    with runcard.record(store, model="m", provider="p", strict=True) as run:
        (run.path / "answer.bin").write_bytes(noise + b"%d" % each)
        (run.path / "answer.txt").write_text(f"line {each}\\n" * (size // 20))
    runcard.archive(run.path, to=target)
"""


class SpreadTime(NamedTuple):
    """What it took: the wall time, and the processor time of the busiest process."""

    seconds: float
    busiest: float


def measure(*, quick: bool = False) -> Iterator[Row]:
    number, rounds = (200, 3) if quick else (2_000, 5)
    with two_cores(), scratch() as folder:
        make_archives(folder / "store", number, 200_000)
        yield from compare(folder / "store" / "archive", "archives", number, rounds)
        with server(folder) as port, new_bucket(port) as bucket:
            make_archives(folder / "remote", number, 200_000, f"s3://{bucket}/runs")
            yield from compare(f"s3://{bucket}/runs", "remote archives", number, rounds)


def make_archives(store: Path, number: int, size: int, target: str = "") -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ARCHIVE, store, str(number), str(size), target],
        env=environment(),
        check=False,
    )
    if done.returncode:
        raise BenchError("the archives were not made")


def compare(folder: Path | str, what: str, number: int, rounds: int) -> Iterator[Row]:
    with ExitStack() as stack:
        clusters = {count: stack.enter_context(workers(count)) for count in (1, 2)}
        for cluster in clusters.values():
            spread_verify(cluster, folder, number)
        times: dict[int, list[SpreadTime]] = {count: [] for count in clusters}
        for _ in range(rounds):
            for count, cluster in clusters.items():
                times[count].append(spread_verify(cluster, folder, number))
    for figure, target in (("seconds", None), ("busiest", faster(1.7))):
        one, two = (Times.of([getattr(each, figure) for each in times[count]]) for count in (1, 2))
        how = "wall time" if figure == "seconds" else "processor time of the busiest process"
        work = f"runcard verify, {number:,} {what}, 2 workers: {how}"
        yield Row(work, two, "1 worker", one, "s", target)


@contextmanager
def workers(count: int) -> Iterator[WorkerCluster]:
    """Workers that are started, and have loaded everything."""
    cluster = WorkerCluster(count, None)
    try:
        cluster.connect()
        yield cluster
    finally:
        cluster.close()


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def spread_verify(cluster: WorkerCluster, folder: Path | str, number: int) -> SpreadTime:
    client = cluster.connect()
    token = CURRENT.set(cluster)
    try:
        before, own = client.run(processor_time), processor_time()
        began = time.perf_counter()
        found = sum(result.verdict.records for result in verify(folder))
        seconds = time.perf_counter() - began
        after = client.run(processor_time)
    finally:
        CURRENT.reset(token)
    if found != number:
        raise BenchError(f"{found} of {number} archives were verified")
    busy = [after[worker] - before[worker] for worker in after]
    return SpreadTime(seconds, max(*busy, processor_time() - own))
