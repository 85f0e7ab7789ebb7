"""Collecting a workspace, compared with `cp -r` and `rsync -a`, which do not hash or filter.

Whole commands, and the copies are durable: `runcard collect` walks, filters, copies, hashes, writes the documents of the
session and syncs. Every copy goes to a new directory, and nothing is deleted before the end, because creating files is slow
on a disk where many have just been deleted.

Text is searched for secrets and binary data is not, so both are measured. The text is this project's source code.
"""

import json
import os
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import runcard
from bench.measuring import MIB, RUNCARD, Runner, call, cost, race, scratch, timed, two_cores
from bench.table import Row, Target, Times, at_most, faster
from runcard.masking.secret_scanner import secret_in


def measure(*, quick: bool = False) -> Iterator[Row]:
    number, mebibytes, rounds = (2_000, 256, 3) if quick else (10_000, 512, 4)
    for kind in ("binary", "text"):
        with two_cores(), scratch() as folder:
            data = os.urandom(MIB) if kind == "binary" else text(MIB)
            yield from small_files(folder, kind, data, number, rounds=rounds)
            yield from large_files(folder, kind, data, mebibytes, rounds=rounds)
    with scratch() as folder:
        yield memory(folder, 10_000 if quick else 100_000)


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
    yield from rows(source, f"runcard collect, {number:,} {kind} files of 4 KiB", rounds, 1.5)


def large_files(folder: Path, kind: str, data: bytes, mebibytes: int, *, rounds: int) -> Iterator[Row]:
    source = folder / "large"
    source.mkdir()
    for name in "abcd":
        with (source / name).open("wb") as file:
            file.writelines(name.encode() + data[1:] for _ in range(mebibytes // 4))
    yield from rows(source, f"runcard collect, {mebibytes:,} MiB in 4 {kind} files", rounds, 1.8)


def rows(source: Path, work: str, rounds: int, most: float) -> Iterator[Row]:
    times = race(runners(source), rounds)
    yield Row(work, times["ours"], "cp -r; sync -f", times["cp"], "s", at_most(most))
    label = "rsync -a; sync -f" if "rsync" in times else "not measured: rsync is not installed"
    yield Row(work, times["ours"], label, times.get("rsync"), "s", faster(1))


def runners(source: Path) -> dict[str, Runner]:
    numbers = count()

    def fresh() -> Path:
        os.sync()  # so that one program does not wait for the other's writes
        return source.with_name(f"{source.name}-{next(numbers)}")

    def ours() -> float:
        target = fresh()
        spec = written_spec(source, target.with_suffix(".json"))
        return timed(call, [RUNCARD, "collect", spec, "--artifacts", target])

    def copied(*words: str) -> Runner:
        def run() -> float:
            target = fresh()
            return timed(call, [*words, f"{source}/", target], ["sync", "-f", target])

        return run

    made = {"ours": ours, "cp": copied("cp", "-r")}
    return made | ({"rsync": copied("rsync", "-a")} if shutil.which("rsync") else {})


def written_spec(workspace: Path, path: Path) -> Path:
    """A session of one agent with this workspace."""
    agent = {
        "name": "coder",
        "model": "claude-sonnet-4-5",
        "status": "completed",
        "workspace": str(workspace),
    }
    agent |= {"created_at": "2026-01-01T00:00:00Z", "terminated_at": "2026-01-01T01:00:00Z"}
    usage = {"usage": {"input": 1000, "output": 100}}
    path.write_text(json.dumps({"team_session_id": path.stem, "instances": [agent | usage]}))
    return path


def memory(folder: Path, number: int) -> Row:
    for first in range(0, number, 1000):
        (folder / "workspace" / str(first)).mkdir(parents=True)
        for file in range(first, first + 1000):
            (folder / "workspace" / str(first) / f"file-{file:07}.txt").touch()
    spec = written_spec(folder / "workspace", folder / "many.json")
    peak = cost([RUNCARD, "collect", spec, "--artifacts", folder / "artifacts"]).megabytes
    work = f"memory of runcard collect, {number:,} files"
    return Row(work, Times.once(peak), "", None, "MB", Target("<=", 100, "MB"))
