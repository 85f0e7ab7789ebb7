"""Verifying stores: many small runs against bagit on the same files, and one run in a large store against a small one."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measuring import (
    BIN,
    RUNCARD,
    BenchError,
    call,
    command,
    cost,
    environment,
    race,
    scratch,
    two_cores,
)
from bench.table import Row, Target, Times, at_most

_RECORD = """
import sys, runcard
for number in range(int(sys.argv[2])):
    with runcard.record(sys.argv[1], model="m", provider="p", strict=True) as run:
        (run.path / "answer.txt").write_text(f"{number}\\n")
"""


def measure(*, quick: bool = False) -> Iterator[Row]:
    number, many, rounds = (200, 500, 3) if quick else (1_000, 10_000, 5)
    with two_cores(), scratch() as folder:
        small, large = folder / "small", folder / "large"
        record(small, 10)
        record(large, number)
        yield against_bagit(folder, large, number, rounds)
        record(large, many - number)
        yield one_run(small, large, many, 2 * rounds)
        peak = cost([RUNCARD, "verify", "--quiet", large]).megabytes
        work = f"memory of runcard verify, {many:,} runs"
        yield Row(work, Times.once(peak), "", None, "MB", Target("<=", 100, "MB"))


def record(store: Path, number: int) -> None:
    """Record this many runs, in two processes."""
    halves = (number // 2, number - number // 2)
    processes = [
        subprocess.Popen([sys.executable, "-c", _RECORD, store, str(half)], env=environment())
        for half in halves
    ]
    try:
        if any(process.wait() for process in processes):
            raise BenchError("the runs were not recorded")
    finally:
        for process in processes:
            process.kill()


def against_bagit(folder: Path, store: Path, number: int, rounds: int) -> Row:
    """The same files as a bag: `bagit.py --validate`, with one process and with two; the faster one counts."""
    bag = folder / "bag"
    call(["cp", "-a", store, bag], [BIN / "bagit.py", "--quiet", "--sha256", bag])
    validate: list[str | Path] = [BIN / "bagit.py", "--quiet", "--validate", "--processes"]
    peers = {
        f"bagit.py --validate, {n} process{'es'[: 2 * n - 2]}": command(*validate, str(n), bag)
        for n in (1, 2)
    }
    times = race({"ours": command(RUNCARD, "verify", "--quiet", store), **peers}, rounds)
    peer = min(peers, key=lambda name: times[name].best)
    work = f"runcard verify, a store of {number:,} runs"
    return Row(work, times["ours"], peer, times[peer], "s", at_most(1.2))


def one_run(small: Path, large: Path, many: int, rounds: int) -> Row:
    runs = {name: max(store.glob("2*")) for name, store in (("small", small), ("large", large))}
    times = race({name: command(RUNCARD, "verify", run) for name, run in runs.items()}, rounds)
    work = f"runcard verify, one run of {many:,}"
    return Row(work, times["large"], "one run of 10", times["small"], "s", at_most(1.2))
