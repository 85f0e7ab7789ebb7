"""Archiving a record, compared with `tar`: time and size; restoring it, and extracting one file.

The record has small text files, like the workspaces of agents: pieces of this project's sources. All are whole commands on
two cores, with files in the page cache, in turns. `runcard archive` and `runcard restore` verify, sync and remove; with
`tar` this takes two or three commands, and nothing is verified.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import runcard
from bench.measuring import ROOT, RUNCARD, call, race, scratch, timed, two_cores
from bench.table import Row, Times, at_most, faster

PIECE = 4096
_TAR = {"tar czf": ["tar", "czf"], "pigz": ["tar", "-Ipigz", "-cf"], "zstd": ["tar", "-Izstd -T2", "-cf"]}


def measure(*, quick: bool = False) -> Iterator[Row]:
    many = 5_000 if quick else 20_000
    with two_cores(), scratch() as folder:
        for number, rounds in ((50, 5 if quick else 15), (1_000, 5 if quick else 10), (many, 3)):
            yield from commands(folder / str(number), number, rounds=rounds, last=number == many)


def small_files(record: Path, number: int) -> None:
    sources = sorted(path for part in ("src", "docs", "tests") for path in (ROOT / part).rglob("*.[pm][yd]"))
    text = b"".join(path.read_bytes() for path in sources)
    for file in range(number):
        path = record / f"{file // 100:04d}" / f"{file:06d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = file * PIECE * 7 % (len(text) - PIECE)
        path.write_bytes(text[start : start + PIECE])


def commands(folder: Path, number: int, *, rounds: int, last: bool) -> Iterator[Row]:
    """Archive a run and restore it, again and again."""
    with runcard.record(folder / "template", model="m", provider="p", strict=True) as run:
        small_files(run.path, number)
    peers = [name for name in _TAR if name == "tar czf" or (last and shutil.which(name))]
    rows: dict[str, list[float]] = {}
    sizes: dict[str, float] = {}
    for turn in range(rounds + 1):  # the first one fills the page cache
        steps = [*our_commands(folder, run.path, sizes)]
        for peer in peers:
            steps += tar_commands(folder, run.path, peer, sizes)
        for step, seconds in steps:
            rows.setdefault(step, []).extend([seconds] if turn else [])
    times = {step: Times.of(seconds) for step, seconds in rows.items()}
    files = f"{number:,} files of 4 KiB"
    for peer in _TAR if last else peers:
        least = 3 if last and peer == "tar czf" else 1
        label = f"{peer if peer == 'tar czf' else f'tar with {peer}'}; sync; rm -r"
        if peer not in peers:
            label = f"not measured: {peer} is not installed"
        target = faster(least) if peer != "zstd" else None
        yield Row(
            f"runcard archive, {files}",
            times["archive"],
            label,
            times.get(peer),
            "s",
            target,
        )
    if number > 50:
        work = f"runcard restore, {files}"
        yield Row(work, times["restore"], "tar xzf; sync", times["untar"], "s", at_most(2))
    if last:
        ours, theirs = Times.once(sizes["ours"]), Times.once(sizes["tar czf"])
        yield Row("size of that archive", ours, "tar czf", theirs, "MB", at_most(1.2))
        yield one_file(folder, run.path, rounds)


def our_commands(folder: Path, record: Path, sizes: dict[str, float]) -> Iterator[tuple[str, float]]:
    store = fresh_copy(folder)
    yield "archive", timed(call, [RUNCARD, "archive", store / record.name])
    (packed,) = store.glob("archive/*/*.tar.gz")
    sizes["ours"] = packed.stat().st_size / 1e6
    os.sync()
    yield "restore", timed(call, [RUNCARD, "restore", packed])
    shutil.rmtree(store)


def tar_commands(
    folder: Path, record: Path, peer: str, sizes: dict[str, float]
) -> Iterator[tuple[str, float]]:
    store = fresh_copy(folder)
    packed = store / "x.tar.gz"
    remove = ["rm", "-r", store / record.name]
    yield peer, timed(call, [*_TAR[peer], packed, "-C", store, record.name], ["sync"], remove)
    sizes[peer] = packed.stat().st_size / 1e6
    if peer == "tar czf":
        os.sync()
        yield "untar", timed(call, ["tar", "xzf", packed, "-C", store], ["sync"])
    shutil.rmtree(store)


def one_file(folder: Path, record: Path, rounds: int) -> Row:
    """The last file out of an archive."""
    store = fresh_copy(folder)
    call([RUNCARD, "archive", store / record.name])
    (packed,) = store.glob("archive/*/*.tar.gz")
    path = max(str(file.relative_to(record)) for file in record.rglob("[0-9]*.txt"))

    def extract() -> float:
        shutil.rmtree(store / "out", ignore_errors=True)
        return timed(call, [RUNCARD, "extract", packed, path, "-o", store / "out"])

    def untar() -> float:
        return timed(call, ["tar", "xzf", packed, "-O", f"{record.name}/{path}"])

    times = race({"ours": extract, "tar": untar}, rounds)
    shutil.rmtree(store)
    work = "runcard extract, one file out of it"
    return Row(work, times["ours"], "tar xzf ARCHIVE FILE", times["tar"], "s", faster(2))


def fresh_copy(folder: Path) -> Path:
    """A copy of the store, with nothing left to write to the disk."""
    store = folder / "copy"
    call(["cp", "-a", folder / "template", store])
    os.sync()
    return store
