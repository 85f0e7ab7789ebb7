"""Recording a run by the library: durable, beside a busy neighbour, and compared with other recorders.

The unit of a durable record is a full durable write of a small document: write, fsync, rename, fsync of the directory.
The second row shows the share of the disk: a program writes the files of a finished record in the same order. MLflow,
sacred and aim record the same model, provider and tokens, by their libraries; none of them waits for the disk.
"""

import contextlib
import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import runcard
from bench import peers
from bench.measuring import race, scratch
from bench.table import Row, Times, at_most, faster

_BODY = 0.05  # seconds of work in each run, so that facts about git and packages are gathered meanwhile
_USAGE = {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 1000, "output_tokens": 100}}
_RECORDERS = {"mlflow": "MLflow, SQLite", "sacred": "sacred, files", "aim": "aim"}
_NEIGHBOUR = """
import sys, time
block = bytes(1_500_000)
with open(sys.argv[1], "wb", buffering=0) as file:
    began = time.monotonic()
    for number in range(10**9):
        if number % 700 == 0:
            file.seek(0)
        file.write(block)
        time.sleep(max(0, began + number / 100 - time.monotonic()))
"""


def measure(*, quick: bool = False) -> Iterator[Row]:
    with scratch() as folder:
        yield from _durable(folder, 20 if quick else 60)
        yield from _recorders(folder, 10 if quick else 30)
        yield _neighbour(folder, *((2, 10) if quick else (4, 20)))


def _durable(folder: Path, rounds: int) -> Iterator[Row]:
    (folder / "bare/open").mkdir(parents=True)
    numbers = count()
    times = race(
        {
            "ours": lambda: _record(folder / "outputs"),
            "write": lambda: _durable_write(folder / f"{next(numbers)}.json"),
            "files": lambda: _files_alone(f"{folder}/bare", next(numbers)),
        },
        rounds,
        slowest=None,
    )
    each = {name: seconds.scaled(1e3) for name, seconds in times.items()}
    work = "record one run, durable"
    yield Row(work, each["ours"], "one durable write", each["write"], "ms", at_most(9))
    yield Row(work, each["ours"], "its files alone", each["files"], "ms", at_most(3))


def _recorders(folder: Path, rounds: int) -> Iterator[Row]:
    with contextlib.ExitStack() as stack:
        runners = {
            peer: stack.enter_context(peers.PeerProcess(peer, folder))
            for peer in _RECORDERS
            if not peers.unavailable(peer)
        }
        times = race({"ours": lambda: _record(folder / "outputs"), **runners}, rounds, slowest=None)
    each = {name: seconds.scaled(1e3) for name, seconds in times.items()}
    for peer, name in _RECORDERS.items():
        label = peers.unavailable(peer) or name
        target = None if peer == "sacred" else faster(2)  # sacred: plain files, without checks
        yield Row("record one run", each["ours"], label, each.get(peer), "ms", target)


def _neighbour(folder: Path, turns: int, rounds: int) -> Row:
    """Records beside a program that writes 150 MB/s to the same disk, and without it, in turns."""
    quiet: list[float] = []
    busy: list[float] = []
    for _ in range(turns):
        os.sync()
        quiet += [_record(folder / "outputs") for _ in range(rounds)]
        neighbour = subprocess.Popen([sys.executable, "-c", _NEIGHBOUR, folder / "neighbour"])
        try:
            time.sleep(2)
            busy += [_record(folder / "outputs") for _ in range(rounds)]
        finally:
            neighbour.kill()
            neighbour.wait()
    work = "record one run while a neighbour writes 150 MB/s"
    return Row(
        work,
        Times.of(busy, 1e3),
        "without the neighbour",
        Times.of(quiet, 1e3),
        "ms",
        at_most(2, judged="median"),
    )


def _record(outputs: Path) -> float:
    began = time.perf_counter()
    with runcard.record(outputs, model="claude-sonnet-4-5", provider="anthropic", strict=True) as run:
        run.add_usage(_USAGE)
        busy = time.perf_counter()
        (run.path / "answer.txt").write_text("42\n")  # as the user's program does with or without a record
        time.sleep(_BODY)
        worked = time.perf_counter() - busy
    return time.perf_counter() - began - worked


def _durable_write(path: Path) -> float:
    """Write a file so that it is complete, or not there, after a power cut: what each document of a record costs."""
    temporary = f"{path}.tmp"
    began = time.perf_counter()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(descriptor, b"x" * 4096)
    os.fsync(descriptor)
    os.close(descriptor)
    os.rename(temporary, path)
    _sync_folder(str(path.parent))
    return time.perf_counter() - began


def _files_alone(store: str, number: int) -> float:
    aside, run = f"{store}/new-{number}", f"{store}/{number}"
    began = time.perf_counter()
    os.mkdir(aside)
    journal = _write(f"{aside}/experiment.jsonl", 1500)
    first = _write(f"{aside}/metadata.json", 1400)
    os.fsync(first)
    os.close(first)
    _sync_folder(aside)
    os.link(f"{aside}/experiment.jsonl", f"{store}/open/{number}")
    os.rename(aside, run)
    _sync_folder(store)
    os.write(journal, bytes(4000))
    idle = time.perf_counter()
    time.sleep(_BODY)
    slept = time.perf_counter() - idle
    for name, size in (("README.md", 900), ("SHA256SUMS", 240)):
        os.close(_write(f"{run}/.{name}", size))
        os.rename(f"{run}/.{name}", f"{run}/{name}")
    final = _write(f"{run}/.metadata.json", 5400)
    ctypes.CDLL(None).syncfs(final)
    os.close(final)
    os.rename(f"{run}/.metadata.json", f"{run}/metadata.json")
    _sync_folder(run)
    ledger = os.open(f"{store}/ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(ledger, bytes(560))
    os.fsync(ledger)
    os.close(ledger)
    os.unlink(f"{store}/open/{number}")
    os.close(journal)
    return time.perf_counter() - began - slept


def _write(path: str, size: int) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(descriptor, bytes(size))
    return descriptor


def _sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
