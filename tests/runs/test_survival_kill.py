"""`kill -9` at every step of recording and closing: nothing is torn, and whoever comes next finishes the work."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.recording import start_run
from runs.harness import (
    assert_closed,
    assert_nothing_open,
    assert_one_story,
    assert_readable,
    assert_tidy,
    close_all,
    document_of,
    harness,
    in_memory,
    python,
    runs_of,
    warnings_of,
)

# A recorder that dies with everything odd that a run can hold: see `harness_kill.record` for the ordinary.
DIES = """
import os, signal, sys
from pathlib import Path
import runcard

def joined(run, text, torn):
    if os.fork() == 0:
        run.log(text)
        (journal,) = (path for path in run.path.glob("experiment.*.jsonl") if text in path.read_text())
        journal.write_bytes(journal.read_bytes() + torn)
        os._exit(0)
    os.wait()

with runcard.record(sys.argv[1], model="m", provider="p", strict=True) as run:
    run.log("begun")
    (run.path / "out.txt").write_text("made")
    (run.path / "latest").symlink_to("out.txt")
    joined(run, "first", b"")
    joined(run, "second", b'{"seq":2,"timest')
    for name in sys.argv[2:]:
        (run.path / name).write_text("the user's own " + name)
    run.log("last")
    os.kill(os.getpid(), signal.SIGKILL)
"""
TAKEN = (
    *("README.md", "RUNCARD.md", "SHA256SUMS", "metadata.json", "amendments.jsonl", "metadata.json.sig"),
    "experiment.w-1.jsonl",
)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with in_memory() as path:
        monkeypatch.chdir(path)  # which lies in no repository: asking git takes longer than all the rest
        yield path


@pytest.fixture
def dead(place: Path) -> Path:
    """A store with one run that is closed, one whose recorder was killed, and remains of others that never had a name."""
    store = place / "template"
    with runcard.record(store, strict=True) as run:
        (run.path / "a").write_text("a")
    assert python(DIES, store).returncode == -9
    (dead,) = (store / ".runcard" / "open").iterdir()
    os.link(dead, store / ".runcard" / "open" / "2026-01-01_000000")
    for name in ("new-run-1", "new-run-2"):
        (store / ".runcard" / name).mkdir()
    os.link(dead, store / ".runcard" / "new-run-2" / "experiment.jsonl")
    (store / ".runcard" / ".experiment.0123abcd.tmp").write_text("exp-")
    return store


def record_next(store: Path) -> None:
    """Record a run in another process, as far as looking for dead runs is concerned."""
    start_run._looked_at.clear()
    with runcard.record(store, strict=True) as run:
        (run.path / "next").write_text("next")


@pytest.mark.parametrize("moment", ["within", pytest.param("before", marks=pytest.mark.long)])
def test_a_recorder_killed_at_any_step_leaves_a_run_that_close_can_close(place: Path, moment: str) -> None:
    steps, number = [], 0
    for number, step in enumerate(harness("runs.harness_kill", "record", moment, "", place), 1):
        steps.append(step)
        store = place / str(number)
        print(moment, number, step)  # noqa: T201 - pytest shows it for the one that fails
        assert_readable(store)
        close_all(*runs_of(store))
        assert_nothing_open(store)
        record_next(store)
        assert_closed(store)
        assert_tidy(store)
    assert number > 12
    assert ("syncfs" in steps) is (moment == "before")


@pytest.mark.long
def test_a_recorder_killed_after_any_step_leaves_a_store_where_the_next_recording_closes_all(
    place: Path, dead: Path
) -> None:
    steps = []
    for number, step in enumerate(harness("runs.harness_kill", "record", "after", dead, place), 1):
        store = place / str(number)
        print(number, step)  # noqa: T201
        steps.append(step)
        assert_readable(store)
        record_next(store)
        assert_closed(store)
        assert_tidy(store)
        for run in runs_of(store):
            assert_one_story(run)
    assert {"renameat2", "fsync", "pwrite"} <= set(steps)
    assert "syncfs" not in steps


@pytest.mark.parametrize("moment", ["within", pytest.param("before", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "names", [(), pytest.param(TAKEN, marks=pytest.mark.long)], ids=["plain", "names-taken"]
)
def test_closing_that_was_killed_at_any_step_ends_as_if_it_had_not(
    place: Path, names: tuple[str, ...], moment: str
) -> None:
    template = place / "template"
    record_next(template)
    assert python(DIES, template, *names).returncode == -9
    undisturbed = copied(template, place / "undisturbed")
    close_all(*runs_of(undisturbed))
    assert_closed(undisturbed, runs=2)
    expected = final_bytes(undisturbed)
    number = 0
    for number, step in enumerate(harness("runs.harness_kill", "close", moment, template, place), 1):
        store = place / str(number)
        print(number, step)  # noqa: T201
        close_all(*runs_of(store))
        assert_closed(store, runs=2)
        assert final_bytes(store) == expected
        assert_tidy(store)
    assert number > 4


def test_closing_twice_from_copies_gives_the_same_record(place: Path) -> None:
    """The fold is pure: also what the closing itself has to say is the same, whoever closes."""
    template = place / "template"
    assert python(DIES, template, *TAKEN).returncode == -9
    one, two = (copied(template, place / name) for name in ("one", "two"))
    for store in (one, two):
        close_all(*runs_of(store))
        (run,) = runs_of(store)
        assert sorted(warnings_of(run)) == ["name-taken"] * 6 + ["torn-tail"]
        assert {path.name for path in (run / "user").iterdir()} == set(TAKEN) - {"README.md"}
        assert (run / "README.md").read_text() == "the user's own README.md"
    assert final_bytes(one) == final_bytes(two)
    assert subprocess.run(["diff", "-r", one, two, "-x", ".runcard"], check=False).returncode == 0


def copied(store: Path, target: Path) -> Path:
    """A copy in which files with two names still are one file."""
    subprocess.run(["cp", "-a", store, target], check=True)
    return target


def final_bytes(store: Path) -> list[Any]:
    """The metadata documents, byte by byte but for the ledger head, and every file beside them."""
    found: list[Any] = []
    for run in runs_of(store):
        document = document_of(run)
        document.pop("ledger_head")
        files = {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}
        files["metadata.json"] = json.dumps(document).encode()
        found.append(files)
    return found


def test_a_run_that_was_removed_by_hand_does_not_stop_the_next_recording(dead: Path) -> None:
    shutil.rmtree(runs_of(dead)[-1])
    record_next(dead)
    assert_closed(dead, runs=2)
    assert_tidy(dead)


@pytest.mark.parametrize("names", [("metadata.json", "experiment.jsonl"), ()], ids=["spoilt", "empty"])
def test_a_run_that_cannot_be_closed_does_not_stop_the_next_recording(
    dead: Path, names: tuple[str, ...]
) -> None:
    run = runs_of(dead)[-1]
    os.truncate(run / "experiment.jsonl", 0)
    shutil.rmtree(run)
    run.mkdir()
    for name in names:
        (run / name).write_text("the user's own\n")
    with pytest.warns(runcard.RuncardWarning, match="an earlier run could not be closed"):
        record_next(dead)
    assert sorted(path.name for path in run.iterdir()) == sorted(names)
