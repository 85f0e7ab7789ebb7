"""Recording a run, compared with one durable write of a small document: write, fsync, rename, fsync of the directory.

The second row shows the share of the disk: a program writes the files of a finished record in the same order.
"""

import ctypes
import os
import sys
import tempfile
import time
from pathlib import Path

import runcard
from table import Row, print_table

_BODY = 0.05  # seconds of work in each run, so that facts about git and packages are gathered meanwhile
_USAGE = {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 1000, "output_tokens": 100}}


def measure(*, quick: bool = False) -> list[Row]:
    rounds = 20 if quick else 60
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        outputs = Path(folder) / "outputs"
        _record(outputs)  # the first in a process imports what it needs
        (Path(folder) / "bare/open").mkdir(parents=True)
        ours, theirs, bare = [], [], []
        for number in range(rounds):
            ours.append(_record(outputs))
            theirs.append(_durable_write(Path(folder) / f"{number}.json"))
            bare.append(_files_alone(f"{folder}/bare", number))
    best, least, files = (sorted(times)[rounds // 4] for times in (ours, theirs, bare))
    return [
        Row(
            work="record one run, durable",
            ours=best * 1e3,
            peer="one durable write",
            theirs=least * 1e3,
            unit="ms",
            target="<= 9 x",
            ok=best <= 9 * least,
        ),
        Row(
            work="record one run, durable",
            ours=best * 1e3,
            peer="its files alone",
            theirs=files * 1e3,
            unit="ms",
            target="<= 3 x",
            ok=best <= 3 * files,
        ),
    ]


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


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
