"""A project with every kind of record: good, changed, archived, damaged in its archive, open, broken, and sessions."""

import json
import os
import shutil
from pathlib import Path

import runcard
from checks import samples
from sessions.build import AGENTS, make_session
from transcripts.session_files import assistant, claude, user


def make_project(folder: Path) -> None:
    """Make it here; records are in `outputs` and `artifacts`, older documents in `old`."""
    outputs = folder / "outputs"
    runs = [_run(outputs, number) for number in range(10)]
    (runs[1] / "out.txt").write_text("changed\n")
    (runs[2] / "out.txt").unlink()
    (runs[3] / "metadata.json").write_text("{broken")
    for run in runs[4:7]:
        runcard.archive(run)
    archives = sorted((outputs / "archive").glob("*/*.tar.gz"))
    data = bytearray(archives[0].read_bytes())
    data[len(data) // 2] ^= 1
    archives[0].write_bytes(data)
    shutil.copy(archives[1], archives[1].with_name("copy.tar.gz"))
    _leave_open(outputs)
    make_session(folder / "artifacts")
    spec = {"team_session_id": "team-2", "instances": [dict(agent) for agent in AGENTS]}
    runcard.collect(spec, artifacts=folder / "artifacts")
    _write_old(folder / "old")
    for number in range(6):
        call = f"m-{number % 5}"  # two files have the same call
        claude(folder / "transcripts" / str(number), user(), assistant(call, request=call))


def _run(outputs: Path, number: int) -> Path:
    with runcard.record(
        outputs, model="claude-sonnet-4-5", provider="anthropic", config={"number": number}, strict=True
    ) as run:
        run.add_usage({"input": 1001 + number, "output": 207}, step="only")
        (run.path / "out.txt").write_text(f"{number}\n" * 1000)
    return Path(run.path)


def _leave_open(outputs: Path) -> None:
    """A run whose process is gone, as it leaves its record."""
    child = os.fork()
    if not child:
        runcard.record(outputs, model="m", provider="p", strict=True).__enter__()
        os._exit(0)
    os.waitpid(child, 0)


def _write_old(folder: Path) -> None:
    folder.mkdir()
    for number in range(6):
        (folder / f"team-{number}.json").write_bytes(samples.written(samples.team()))
        (folder / f"run-{number}").mkdir()
        (folder / f"run-{number}" / "metadata.json").write_bytes(samples.written(samples.flat_0_1_0()))
    (folder / "broken.json").write_bytes(samples.written(samples.broken_team()))
    (folder / "rich.json").write_bytes(samples.written(samples.rich_team()))
    make_session(folder / "sessions", version="1.0.0")
    (folder / "text.json").write_text(json.dumps("no document"))
