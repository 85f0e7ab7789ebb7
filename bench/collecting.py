"""Copying a workspace, compared with `cp -r`, which does not hash or filter.

runcard does everything that `collect` does with a workspace: walk, filter, copy, hash. Both programs sync small files in
one step at the end. Every copy goes to a new directory, and nothing is deleted before the end, because creating files is
slow on a disk where many have just been deleted.

Text is searched for secrets and binary data is not, so both are measured. The text is this project's source code.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import runcard
from hashing import MIB, Runner, race, timed, two_cores
from runcard.files import sync_filesystem
from runcard.masking.secret_scanner import secret_in
from runcard.store.sessions.copying import CopyRules, copy_workspace
from table import Row, print_table


def measure(*, quick: bool = False) -> list[Row]:
    number, mebibytes, rounds = (2_000, 256, 3) if quick else (10_000, 1024, 5)
    with two_cores(), tempfile.TemporaryDirectory(prefix="runcard-bench-") as folder:
        return [
            row
            for kind, data in (("binary", os.urandom(MIB)), ("text", text(MIB)))
            for row in (
                *small_files(Path(folder, kind), kind, data, number, rounds=rounds),
                *large_files(Path(folder, kind), kind, data, mebibytes, rounds=rounds),
            )
        ]


def text(size: int) -> bytes:
    """Source code of this many bytes, without secrets."""
    pages = (path.read_bytes() for path in sorted(Path(runcard.__file__).parent.rglob("*.py")))
    data = b"".join(page for page in pages if secret_in(page) is None)
    return (data * (size // len(data) + 1))[:size]


def small_files(folder: Path, kind: str, data: bytes, number: int, *, rounds: int) -> Iterator[Row]:
    source = folder / "small"
    for first in range(0, number, 100):
        (source / f"{first:06d}").mkdir(parents=True)
        for file in range(first, first + 100):
            at = file * 4096 % (len(data) - 4096)
            (source / f"{first:06d}" / f"{file:06d}.txt").write_bytes(data[at : at + 4096])
    best = race(runners(source, durable=True), rounds)
    each = {name: seconds / number * 1e6 for name, seconds in best.items()}
    work = f"collect {number:,} {kind} files of 4 KiB"
    yield row(work, each["ours"], "cp -r; sync -f", each["cp"], "µs/file", 1.5)


def large_files(folder: Path, kind: str, data: bytes, mebibytes: int, *, rounds: int) -> Iterator[Row]:
    source = folder / "large"
    source.mkdir()
    for name in "abcd":
        with (source / name).open("wb") as file:
            file.writelines(name.encode() + data[1:] for _ in range(mebibytes // 4))
    best = race(runners(source, durable=False), rounds)
    work = f"collect {mebibytes:,} MiB in 4 {kind} files"
    yield row(work, best["ours"], "cp -r", best["cp"], "s", 1.8)


def runners(source: Path, *, durable: bool) -> dict[str, Runner]:
    numbers = count()

    def fresh() -> Path:
        os.sync()  # so that one program does not wait for the other's writes
        return source.with_name(f"{source.name}-{next(numbers)}")

    return {
        "ours": lambda: timed(partial(collect, durable=durable), source, fresh()),
        "cp": lambda: timed(partial(cp, durable=durable), source, fresh()),
    }


def collect(source: Path, target: Path, *, durable: bool) -> None:
    copy_workspace(source, target, rules=CopyRules())
    if durable:
        sync_filesystem(target)


def cp(source: Path, target: Path, *, durable: bool) -> None:
    subprocess.run(["cp", "-r", source, target], check=True)
    if durable:
        subprocess.run(["sync", "-f", target], check=True)


def row(work: str, ours: float, peer: str, theirs: float, unit: str, most: float) -> Row:
    return Row(work, ours, peer, theirs, unit, target=f"<= {most:g} x", ok=ours <= most * theirs)


if __name__ == "__main__":
    print_table(measure(quick="--quick" in sys.argv))
