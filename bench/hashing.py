"""Hashing a directory, compared with the usual tools.

runcard makes a whole listing: it walks, hashes, and writes SHA256SUMS. All programs use two cores and files in the page
cache, and take turns; the best round counts.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import bagit

from runcard import checksums
from runcard.checksums.comparison import compare
from table import Row, print_table

MIB = 1024 * 1024
CORES = 2

Runner = Callable[[], float]  # does the work and returns the seconds it took


def measure(*, quick: bool = False) -> list[Row]:
    with two_cores(), tempfile.TemporaryDirectory(prefix="runcard-bench-") as folder:
        return [
            *large_files(Path(folder), 256 if quick else 2048, rounds=5),
            *small_files(Path(folder), 10_000 if quick else 50_000, rounds=5),
        ]


def large_files(folder: Path, mebibytes: int, *, rounds: int) -> Iterator[Row]:
    root = folder / "large"
    root.mkdir()
    block = os.urandom(MIB)
    for name in "abcd":
        with (root / name).open("wb") as file:
            file.writelines(name.encode() + block[1:] for _ in range(mebibytes // 4))
    best = race(
        {
            "ours": partial(timed, make_listing, root),
            "openssl": partial(timed, shell, root, "xargs -0 -n 1 -P 2 openssl dgst -sha256"),
            "sha256sum": partial(timed, shell, root, "xargs -0 -n 1 -P 2 sha256sum"),
        },
        rounds,
    )
    work = f"hash {mebibytes:,} MiB in 4 files"
    yield row(work, best["ours"], "openssl dgst, 2 processes", best["openssl"], "s", 0.95)
    yield row(work, best["ours"], "sha256sum, 2 processes", best["sha256sum"], "s", 5)


def small_files(folder: Path, count: int, *, rounds: int) -> Iterator[Row]:
    root = folder / "small"
    for number in range(0, count, 100):
        (root / f"{number:06d}").mkdir(parents=True)
        for file in range(number, number + 100):
            (root / f"{number:06d}" / f"{file:06d}.txt").write_bytes(os.urandom(4096))
    listing = make_listing(root)
    bag = linked_copy(root, folder / "bag")
    bagit.make_bag(str(bag), checksums=["sha256"])
    best = race(
        {
            "make": partial(timed, make_listing, root),
            "compare": partial(timed, check_listing, root, listing),
            "sha256sum": partial(timed, shell, root, "xargs -0 -P 2 sha256sum"),
            "bagit make, 1 process": partial(make_bag, root, processes=1),
            "bagit make, 2 processes": partial(make_bag, root, processes=2),
            "bagit validate, 1 process": partial(timed, check_bag, bag, processes=1),
            "bagit validate, 2 processes": partial(timed, check_bag, bag, processes=2),
        },
        rounds,
    )
    each = {name: seconds / count * 1e6 for name, seconds in best.items()}
    listed, checked = f"list {count:,} files of 4 KiB", f"check {count:,} files of 4 KiB"
    yield row(listed, each["make"], "sha256sum, 2 processes", each["sha256sum"], "µs/file", 2)
    for work, ours, peer in ((listed, "make", "bagit make"), (checked, "compare", "bagit validate")):
        fastest = min((name for name in each if name.startswith(peer)), key=each.__getitem__)
        yield row(work, each[ours], fastest, each[fastest], "µs/file", 7)


def row(work: str, ours: float, peer: str, theirs: float, unit: str, least: float) -> Row:
    return Row(work, ours, peer, theirs, unit, target=f">= {least:g} x", ok=theirs >= least * ours)


def race(runners: Mapping[str, Runner], rounds: int) -> dict[str, float]:
    """The best time of each, in turns; the first one runs once before, to fill the page cache.

    A program that takes more than five times as long as the fastest gets only two turns.
    """
    next(iter(runners.values()))()
    best = {name: run() for name, run in runners.items()}
    for number in range(1, rounds):
        for name, run in runners.items():
            if number < 2 or best[name] < 5 * min(best.values()):
                best[name] = min(best[name], run())
    return best


def timed(work: Callable[..., object], *arguments: object, **options: object) -> float:
    began = time.perf_counter()
    work(*arguments, **options)
    return time.perf_counter() - began


def make_listing(root: Path) -> bytes:
    return checksums.make(root).listing.to_bytes()


def check_listing(root: Path, listing: bytes) -> None:
    compare(root, checksums.read(listing))


def make_bag(root: Path, *, processes: int) -> float:
    """Making a bag moves the files, so each round works on a copy, which is not timed."""
    copy = linked_copy(root, root.with_name("copy"))
    seconds = timed(bagit.make_bag, str(copy), checksums=["sha256"], processes=processes)
    shutil.rmtree(copy)
    return seconds


def check_bag(bag: Path, *, processes: int) -> None:
    bagit.Bag(str(bag)).validate(processes=processes)


def linked_copy(root: Path, copy: Path) -> Path:
    subprocess.run(["cp", "--archive", "--link", root, copy], check=True)
    return copy


def shell(root: Path, command: str) -> None:
    pipe = f"find . -type f -print0 | {command}"
    subprocess.run(pipe, shell=True, cwd=root, check=True, stdout=subprocess.DEVNULL)  # noqa: S602 - ours


@contextlib.contextmanager
def two_cores() -> Iterator[None]:
    """Everything that is started inside shares the same two cores."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:CORES])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
