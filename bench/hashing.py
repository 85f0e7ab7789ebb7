"""Hashing a directory, compared with the usual tools.

runcard makes a whole listing by its library: it walks, hashes, and writes SHA256SUMS. All programs use two cores and files in the page
cache, and take turns.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import bagit

from bench.measuring import MIB, race, scratch, timed, two_cores
from bench.table import Row, faster
from runcard import checksums
from runcard.checksums.comparison import compare


def measure(*, quick: bool = False) -> Iterator[Row]:
    with two_cores(), scratch() as folder:
        yield from large_files(folder, 256 if quick else 2048, rounds=5)
        yield from small_files(folder, 10_000 if quick else 50_000, rounds=5)


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
    yield Row(work, best["ours"], "openssl dgst, 2 processes", best["openssl"], "s", faster(0.95))
    yield Row(work, best["ours"], "sha256sum, 2 processes", best["sha256sum"], "s", faster(5))


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
    each = {name: seconds.scaled(1e6 / count) for name, seconds in best.items()}
    listed, checked = f"list {count:,} files of 4 KiB", f"check {count:,} files of 4 KiB"
    yield Row(listed, each["make"], "sha256sum, 2 processes", each["sha256sum"], "µs/file", faster(2))
    for work, ours, peer in ((listed, "make", "bagit make"), (checked, "compare", "bagit validate")):
        fastest = min((name for name in each if name.startswith(peer)), key=each.__getitem__)
        yield Row(work, each[ours], fastest, each[fastest], "µs/file", faster(7))


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
