"""Archiving a record: time and size, compared with `tar czf`, which does not read back; and extracting one file.

The record has many small text files, like the workspaces of agents: pieces of this project's sources. All programs use two
cores and files in the page cache, and take turns; the best round counts. `runcard archive` and `runcard restore` are whole
commands, which verify, sync and remove; with `tar` this takes two or three.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import runcard
from hashing import race, timed, two_cores
from runcard.store.archives.member_index import MemberOffsets
from runcard.store.archives.pack import pack
from runcard.store.archives.read_files import read_archived
from runcard.store.archives.scan import scan
from table import Row, print_table

ROOT = Path(__file__).parent.parent
RUNCARD = str(Path(sys.executable).with_name("runcard"))
PIECE = 4096


def measure(*, quick: bool = False) -> list[Row]:
    with two_cores(), tempfile.TemporaryDirectory(prefix="runcard-bench-") as folder:
        record = Path(folder) / "record"
        small_files(record, 5_000 if quick else 20_000)
        rows = [*packing(record, rounds=3 if quick else 5), *one_file(record, rounds=5)]
        for number in (50, 1_000):
            rows += commands(Path(folder) / str(number), number, rounds=5 if quick else 15)
        return rows


def small_files(record: Path, number: int) -> None:
    sources = sorted(path for part in ("src", "docs", "tests") for path in (ROOT / part).rglob("*.[pm][yd]"))
    text = b"".join(path.read_bytes() for path in sources)
    for file in range(number):
        path = record / f"{file // 100:04d}" / f"{file:06d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = file * PIECE * 7 % (len(text) - PIECE)
        path.write_bytes(text[start : start + PIECE])


def packing(record: Path, *, rounds: int) -> Iterator[Row]:
    numbers = count()

    def fresh() -> Path:
        return record.with_name(f"{next(numbers)}.tar.gz")

    runners = {
        "ours": lambda: timed(archive, record, fresh()),
        "with read-back": lambda: timed(partial(archive, back=True), record, fresh()),
        "tar": lambda: timed(tar, record, fresh(), "czf"),
    }
    if shutil.which("pigz"):
        runners["pigz"] = lambda: timed(tar, record, fresh(), "--use-compress-program=pigz -cf")
    best = race(runners, rounds)
    ours, theirs = record.with_name("ours.tar.gz"), record.with_name("theirs.tar.gz")
    archive(record, ours)
    tar(record, theirs, "czf")
    work = f"archive {sum(1 for _ in record.rglob('*.txt')):,} text files of 4 KiB"
    yield faster(work, best["ours"], "tar czf", best["tar"], 5)
    yield faster(f"{work}, read back", best["with read-back"], "tar czf", best["tar"], 3)
    if "pigz" in best:
        yield faster(work, best["ours"], "tar with pigz", best["pigz"], 1)
    sizes = [path.stat().st_size / 1e6 for path in (ours, theirs)]
    yield Row(
        "size of that archive", sizes[0], "tar czf", sizes[1], "MB", "<= 1.2 x", ok=sizes[0] <= 1.2 * sizes[1]
    )


def one_file(record: Path, *, rounds: int) -> Iterator[Row]:
    packed = record.with_name("ours.tar.gz")
    places = MemberOffsets.of(scan(str(packed)))
    path = max(str(file.relative_to(record)) for file in record.rglob("*.txt"))
    best = race(
        {
            "ours": lambda: timed(read_archived, str(packed), places, path),
            "tar": lambda: timed(take_out, packed, f"{record.name}/{path}"),
        },
        rounds,
    )
    yield faster(
        "one file out of it", best["ours"] * 1000, "tar xzf ARCHIVE FILE", best["tar"] * 1000, 10, "ms"
    )


def commands(folder: Path, number: int, *, rounds: int) -> Iterator[Row]:
    """Archive a run and restore it, again and again."""
    times: dict[str, list[float]] = {}
    with runcard.record(folder / "template", model="m", provider="p", strict=True) as run:
        small_files(run.path, number)
    for turn in range(rounds + 1):  # the first one fills the page cache
        for step, seconds in (*our_commands(folder, run.path), *tar_commands(folder, run.path)):
            if turn:
                times.setdefault(step, []).append(seconds)
    best = {step: min(seconds) for step, seconds in times.items()}
    work = f"{number:,} files of 4 KiB"
    yield faster(f"runcard archive, {work}", best["archive"], "tar czf; sync; rm -r", best["tar and rm"], 1)
    if number > 50:
        ratio = best["restore"] / best["untar"]
        yield Row(
            f"runcard restore, {work}",
            best["restore"],
            "tar xzf; sync",
            best["untar"],
            "s",
            "<= 2 x",
            ok=ratio <= 2,
        )


def our_commands(folder: Path, record: Path) -> Iterator[tuple[str, float]]:
    store = fresh_copy(folder)
    yield "archive", timed(call, [RUNCARD, "archive", store / record.name])
    (packed,) = store.glob("archive/*/*.tar.gz")
    os.sync()
    yield "restore", timed(call, [RUNCARD, "restore", packed])
    shutil.rmtree(store)


def tar_commands(folder: Path, record: Path) -> Iterator[tuple[str, float]]:
    store = fresh_copy(folder)
    packed = store / "x.tar.gz"
    remove = ["rm", "-r", store / record.name]
    yield "tar and rm", timed(call, ["tar", "czf", packed, "-C", store, record.name], ["sync"], remove)
    os.sync()
    yield "untar", timed(call, ["tar", "xzf", packed, "-C", store], ["sync"])
    shutil.rmtree(store)


def fresh_copy(folder: Path) -> Path:
    """A copy of the store, with nothing left to write to the disk."""
    store = folder / "copy"
    call(["cp", "-a", folder / "template", store])
    os.sync()
    return store


def call(*programs: list[str | Path]) -> None:
    for program in programs:
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL)


def archive(record: Path, target: Path, *, back: bool = False) -> None:
    descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        packed = pack(str(record), record.name, descriptor)
    finally:
        os.close(descriptor)
    if back and scan(str(target)).tar_sha256 != packed.tar_sha256:
        raise RuntimeError("the archive is not what was written")


def tar(record: Path, target: Path, how: str) -> None:
    subprocess.run(["tar", *how.split(), target, "-C", record.parent, record.name], check=True)


def take_out(packed: Path, path: str) -> None:
    subprocess.run(["tar", "xzf", packed, "-O", path], check=True, stdout=subprocess.DEVNULL)


def faster(work: str, ours: float, peer: str, theirs: float, times: float, unit: str = "s") -> Row:
    return Row(work, ours, peer, theirs, unit, target=f">= {times:g} x", ok=theirs >= times * ours)


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
