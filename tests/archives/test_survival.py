"""Killed at every step, a full disk, several at once: a record is always whole in one of its two places."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import runcard
from archives import harness_kill
from archives.records import archives, events, index, judged, make_run, state
from files.small_disk import small_disk
from runcard.errors import RuncardError
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runs.harness import environment, harness, in_memory

PROGRAM = """
import sys
from runcard.errors import RuncardError
from runcard.operations.archives.{job} import {job}
try:
    {job}(sys.argv[1])
except RuncardError as error:
    print(error.message)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    with in_memory() as path:
        yield path


def small_run(store: Path) -> Path:
    with runcard.record(store, model="m", provider="p", strict=True) as run:
        (run.path / "sub").mkdir()
        (run.path / "sub" / "b.txt").write_text("made\n")
        (run.path / "latest").symlink_to("sub")
    return Path(run.path)


def sound(store: Path) -> bool:
    """Whether nothing is missing or changed; a torn last entry of the ledger is only something to know."""
    verdict = judged(store)
    return bool(verdict["intact"] and verdict["complete"])


def tidy(store: Path) -> bool:
    """Whether nobody's work lies about in a store."""
    own = {path.name for path in (store / ".runcard").iterdir()} - {"experiment", "heartbeats", "open"}
    return all(name.startswith("ledger-") for name in own) and not list((store / "archive").glob("*/.*"))


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "within"])
@pytest.mark.parametrize("job", ["archive", "restore"])
def test_killed_at_any_step_the_record_is_whole_in_one_place(place: Path, job: str, moment: str) -> None:
    record = small_run(place / "template")
    before = state(record)
    if job == "restore":
        archive(record)
    done = []
    for number, step in enumerate(
        harness("archives.harness_kill", job, moment, place / "template", place), 1
    ):
        print(job, moment, number, step)  # noqa: T201 - pytest shows it for the one that fails
        done.append(step)
        store = place / str(number)
        here = store / record.name
        if here.exists():
            assert state(here) == before
        else:
            (packed,) = archives(store)
            assert judged(packed)["findings"] == []
        assert sound(store), number
        if job == "archive":
            archive(here)  # also when it is gone already
        elif "restored_at" not in index(store)["archived_runs"][0]:
            restore(*archives(store))
        assert here.exists() == (job == "restore")
        assert judged(store)["findings"] == []
        assert events(store)[-1] == f"record.{job}d"
        if job == "archive":
            assert tidy(store)
            restore(*archives(store))
        assert state(here) == before
        shutil.rmtree(store)
    assert moment == "within" or {"fsync", "mkdir", "unlink" if job == "archive" else "symlink"} <= set(done)


@pytest.mark.long
def test_a_prune_killed_at_any_step_leaves_a_tombstone_or_the_record(place: Path) -> None:
    first, second = small_run(place / "template"), small_run(place / "template")
    archive(first)
    for number, step in enumerate(
        harness("archives.harness_kill", "prune", "before", place / "template", place), 1
    ):
        print(number, step)  # noqa: T201
        store = place / str(number)
        assert sound(store), step
        harness_kill.prune_all(store)
        assert judged(store)["findings"] == []
        assert archives(store) == []
        assert not (store / second.name).exists()
        assert tidy(store)
        assert events(store).count("record.deleted") >= 2
        shutil.rmtree(store)


@pytest.fixture
def small(here: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    with small_disk(here / "small", "1m") as target:
        yield target


def test_whatever_room_is_left_on_the_disk_nothing_is_lost(small: Path) -> None:
    store, filler = small / "outputs", small / "filler"
    record = small_run(store)
    before, refused = state(record), 0
    for job in (lambda: archive(record), lambda: restore(record)):
        for kilobytes in range(0, 60, 4):
            free = os.statvfs(small).f_bavail * os.statvfs(small).f_frsize
            filler.write_bytes(bytes(max(0, free - kilobytes * 1024)))
            try:
                job()
            except RuncardError:
                refused += 1
            filler.unlink()
            assert sound(store)
            if record.exists():
                assert state(record) == before
    assert refused > 4
    assert state(record) == before
    assert len(archives(store)) == 1
    assert tidy(store)


def together(job: str, target: Path, number: int = 3) -> list[str]:
    command = [sys.executable, "-c", PROGRAM.format(job=job), str(target)]
    crowd = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )
        for _ in range(number)
    ]
    said = [process.communicate(timeout=240) for process in crowd]
    assert [process.returncode for process in crowd] == [0] * number, said
    return [out for out, _ in said]


def test_several_at_once_archive_a_record_once(here: Path) -> None:
    record = make_run(here / "outputs")
    before = state(record)
    assert together("archive", record) == ["", "", ""]
    assert not record.exists()
    assert judged(record.parent)["findings"] == []
    assert tidy(record.parent)
    (packed,) = archives(record.parent)
    told = together("restore", packed)
    assert "" in told
    assert state(record) == before
    assert judged(record.parent)["findings"] == []


def test_several_records_are_archived_at_once(here: Path) -> None:
    records = [small_run(here / "outputs") for _ in range(3)]
    program = PROGRAM.format(job="archive")
    crowd = [
        subprocess.Popen([sys.executable, "-c", program, str(one)], env=environment()) for one in records
    ]
    assert [process.wait(240) for process in crowd] == [0, 0, 0]
    assert len(archives(here / "outputs")) == 3
    assert judged(here / "outputs")["findings"] == []
    assert len(judged(here / "outputs")["records"]) == 3
