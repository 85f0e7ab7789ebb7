"""A full disk and a failing one: the user's program goes on, and the store holds the old document or the new one."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from files.small_disk import small_disk
from runcard.errors import MachineError
from runcard.store.journal import JournalWriter, read_journal
from runs.harness import (
    assert_closed,
    assert_one_story,
    assert_tidy,
    close_all,
    document_of,
    environment,
    findings,
    harness,
    lines_of,
    runs_of,
    status_of,
    warnings_of,
)
from waiting import wait_until


@pytest.fixture
def small(place: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    with small_disk(place / "small", "256k") as target:
        yield target


def fill(folder: Path, *, leave: int = 0) -> Path:
    """Take all the room there is on a file system, but for some bytes; the file that holds it."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    if leave:
        os.truncate(path, path.stat().st_size - leave)
    return path


def log_much(run: runcard.Run, count: int) -> None:
    for number in range(count):
        run.log("much", text="x" * 5000, number=number)


def fill_and_log(folder: Path, run: runcard.Run) -> None:
    fill(folder)
    log_much(run, 50)


def append_for_ever(journal: JournalWriter, payload: str) -> None:
    while True:
        journal.append({"event": "e"}, payload)


def test_a_run_that_fills_the_disk_goes_on_and_is_closed_when_there_is_room(small: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with runcard.record(small / "outputs") as run:
            run.log("before")
            filler = fill(small)
            log_much(run, 50)
            reached = True
    assert reached
    assert len(caught) > 40
    assert {warning.category for warning in caught} == {runcard.RuncardWarning}
    assert all("No space left on device" in str(warning.message) for warning in caught)
    assert document_of(run.path)["generation"]["status"] == "running"  # the old document, whole
    assert status_of(run.path) == "interrupted"
    assert read_journal(str(run.path / "experiment.jsonl")).torn == b""
    filler.unlink()
    (closing,) = close_all(run.path)
    assert closing.closed
    assert_closed(small / "outputs", runs=1)
    assert "before" in [line["event"] for line in lines_of(run.path)]


def test_what_could_not_be_written_is_told_once_there_is_room_again(small: Path) -> None:
    with runcard.record(small / "outputs") as run:
        # It comes from a thread: after the disk was full, it would be the event before the warning.
        wait_until(lambda: "environment.observed" in (run.path / "experiment.jsonl").read_text(), "the event")
        filler = fill(small)
        with pytest.warns(runcard.RuncardWarning):
            log_much(run, 9)
        filler.unlink()
        run.log("kept")
    assert document_of(run.path)["generation"]["status"] == "completed"
    assert warnings_of(run.path) == ["events-lost"]
    events = [line["event"] for line in lines_of(run.path)]
    lost = 9 - events.count("much")
    assert document_of(run.path)["warnings"][0]["message"] == f"{lost} events could not be written"
    assert events.index("kept") == events.index("warning.added") - 1
    assert_closed(small / "outputs", runs=1)


@pytest.mark.parametrize("later", ["kept", None])
def test_calls_that_could_not_be_written_make_the_totals_incomplete(small: Path, later: str | None) -> None:
    with runcard.record(small / "outputs", model="claude-sonnet-4-5", provider="anthropic") as run:
        run.add_usage({"input": 1000, "output": 10})
        filler = fill(small)
        for _ in range(2):
            with pytest.warns(runcard.RuncardWarning, match="No space left"):
                run.add_usage({"input": 1000, "output": 10}, step="x" * 5000)
        filler.unlink()
        if later:
            run.log(later)
    document = document_of(run.path)
    (reason,) = document["token_usage"]["incomplete"]
    assert reason == {"reason": "2 calls could not be recorded", "hint": None, "calls": 2}
    assert document["costs"]["total_cost_usd"] is None
    assert document["costs"]["known_cost_usd"] == pytest.approx(0.00315)
    assert_closed(small / "outputs", runs=1)


def test_a_full_disk_is_an_error_for_who_wants_to_know(small: Path) -> None:
    full = pytest.raises(MachineError, match=r"cannot write the journal .*: No space left on device")
    with full, runcard.record(small / "outputs", strict=True) as run:
        fill_and_log(small, run)
    (small / "filler").unlink()
    close_all(*runs_of(small / "outputs"))
    assert_closed(small / "outputs", runs=1)


def test_a_disk_that_is_full_from_the_start_gives_a_temporary_directory(small: Path) -> None:
    fill(small)
    with (
        pytest.warns(runcard.RuncardWarning, match="this run is not recorded"),
        runcard.record(small / "o") as run,
    ):
        (run.path / "out.txt").write_text("made")
    assert not run.path.is_relative_to(small)
    shutil.rmtree(run.path)
    with (
        pytest.raises(MachineError, match="No space left on device"),
        runcard.record(small / "o", strict=True),
    ):
        pytest.fail("not reached")
    (small / "filler").unlink()
    with runcard.record(small / "o", strict=True):
        pass
    assert_closed(small / "o", runs=1)


def test_closing_on_a_full_disk_leaves_the_run_open_and_whole(small: Path) -> None:
    store = small / "outputs"
    with runcard.record(store, strict=True):
        pass
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with runcard.record(store) as run:
            (run.path / "out.txt").write_text("made" * 1000)
            filler = fill(small, leave=4096)  # room for the last event, not for all that closing writes
    assert [warning.category for warning in caught] == [runcard.RuncardWarning]
    assert status_of(run.path) == "interrupted"
    assert document_of(run.path)["generation"]["status"] == "running"
    assert [found for found in findings(store) if not found.startswith("open")] == []
    assert [path for path in run.path.iterdir() if path.name.endswith(".tmp")] == []
    filler.unlink()
    close_all(run.path)
    assert_closed(store, runs=2)
    assert document_of(run.path)["generation"]["status"] == "completed"  # its last event says so
    assert_one_story(run.path)


def test_a_line_that_does_not_fit_is_never_continued_by_the_next(small: Path) -> None:
    journal = JournalWriter(str(small / "journal"), "run-1", "w-1")
    filler = fill(small)
    for size in (1000, 9000, 10, 70_000, 300, 10):
        with pytest.raises(MachineError):
            append_for_ever(journal, "x" * size)
        assert read_journal(journal.path).torn == b""
    filler.unlink()
    journal.append({"event": "last"}, "")
    journal.close()
    found = read_journal(journal.path)
    assert not found.torn
    assert not found.damaged
    assert [entry.line["seq"] for entry in found.entries] == [*range(1, journal.head.count + 1)]


# Injected errors


def faults(place: Path, *how: str) -> Iterator[dict[str, Any]]:
    for case in harness("runs.harness_fault", place, *how):
        if "skip" in case:
            pytest.skip(f"NOT TESTED: failing system calls, since strace may not watch: {case['skip']}")
        yield case


RECORDS = """
import sys
import runcard
from runcard.files import sync
sync._bytes_waiting = lambda: int(sys.argv[2])
with runcard.record(sys.argv[1], strict=True) as run:
    (run.path / "inner").mkdir()
    for name in ("out.txt", "inner/deep.txt"):
        (run.path / name).write_text("made")
"""


def synced_before_the_document(store: Path, waiting: int) -> list[str]:
    """What is synced in the directory of a run, in order, before its final document gets its name."""
    log = store.with_suffix(".calls")
    command = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-y",
        "-e",
        "trace=fsync,syncfs,rename,renameat,renameat2",
        "-o",
        str(log),
    ]
    command += [sys.executable, "-c", RECORDS, str(store), str(waiting)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment(), timeout=60)
    if "ptrace" in done.stderr:
        pytest.skip(f"NOT TESTED: the order of system calls, since strace may not watch: {done.stderr}")
    assert done.returncode == 0, done.stderr
    (run,) = runs_of(store)
    calls = log.read_text().splitlines()
    (placed,) = (
        number for number, call in enumerate(calls) if call.endswith(f'"{run.name}", RENAME_NOREPLACE) = 0')
    )
    (ended,) = (
        number for number, call in enumerate(calls) if "rename" in call and '"metadata.json") = 0' in call
    )
    synced = [re.fullmatch(r"\d+ +(fsync|syncfs)\(\d+<(.*)>\) += 0", call) for call in calls[placed:ended]]
    paths = [("everything" if match[1] == "syncfs" else match[2]) for match in synced if match]
    return [os.path.relpath(path, run) if path.startswith(str(run)) else path for path in paths]


@pytest.mark.needs("strace")
def test_every_file_is_on_disk_before_the_final_document_and_no_other_data_is_waited_for(place: Path) -> None:
    synced = synced_before_the_document(place / "outputs", 1 << 40)
    assert "everything" not in synced
    files = {"out.txt", "inner/deep.txt", "README.md", "SHA256SUMS", "experiment.jsonl"}
    assert {*files, "inner", "."} <= {*synced}
    assert any(re.fullmatch(r"\.metadata\.json\.[0-9a-f]{8}\.tmp", path) for path in synced)


@pytest.mark.needs("strace")
def test_a_disk_on_which_little_is_waiting_is_synced_in_one_step(place: Path) -> None:
    synced = synced_before_the_document(place / "outputs", 0)
    assert "everything" in synced
    assert "out.txt" not in synced


@pytest.mark.needs("strace")
@pytest.mark.parametrize(
    ("error", "lasting"),
    [
        ("ENOSPC", "lasting"),
        pytest.param("EIO", "once", marks=pytest.mark.long),
        pytest.param("EDQUOT", "lasting", marks=pytest.mark.long),
    ],
)
def test_an_error_at_any_call_of_the_recorder_leaves_the_old_document_or_the_new(
    place: Path, error: str, lasting: str
) -> None:
    calls = set()
    for case in faults(place, error, lasting, "lenient"):
        print(case["call"], case["number"])  # noqa: T201 - pytest shows it for the one that fails
        calls.add(case["call"])
        assert case["exit"] == 0
        assert case["reached"]
        assert_recovers(Path(case["store"]))
    assert {"write", "pwrite64", "fsync", "renameat", "renameat2", "syncfs"} <= calls


@pytest.mark.needs("strace")
@pytest.mark.long
def test_an_error_at_any_call_raises_for_who_wants_to_know_or_does_no_harm(place: Path) -> None:
    codes = set()
    for case in faults(place, "EIO", "once", "strict"):
        print(case["call"], case["number"])  # noqa: T201
        codes.add(case["exit"])
        store = Path(case["store"])
        if case["exit"] == 0:
            assert case["said"] == ""
            assert_closed(store, runs=1)
        else:
            assert case["exit"] == 1
            assert "runcard.errors.MachineError: cannot" in case["said"]
            assert_recovers(store)
    assert 1 in codes


def assert_recovers(store: Path) -> None:
    """Every document is whole, and what is open can be closed; the next recording finds nothing in its way."""
    for run in runs_of(store):
        status = document_of(run)["generation"]["status"]
        assert status in ("running", "completed", "failed")
        assert runcard.load(run / "metadata.json").warnings == () or status == "running"
        assert status != "running" or status_of(run) == "interrupted"
    close_all(*runs_of(store))
    with runcard.record(store, strict=True):
        pass
    assert_closed(store, limits=True)
    assert_tidy(store)
