"""The file that keeps the id of a store's experiment: empty, garbage or no file at all, it stops no run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import runcard as library
from attacks.command_server import runcard
from runs.harness import assert_closed, document_of, environment, runs_of, warnings_of

RACE = """
import sys, runcard
sys.stdin.read()
with runcard.record("outputs", strict=True):
    pass
"""


def experiment_file(place: Path) -> Path:
    path = place / "outputs" / ".runcard" / "experiment"
    path.parent.mkdir(parents=True)
    return path


def run(place: Path) -> "subprocess.CompletedProcess[str]":
    done = runcard(place, "run", "--quiet", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3, done.stderr
    return done


def experiment_ids(place: Path) -> set[str | None]:
    return {document_of(run)["generation"]["experiment_id"] for run in runs_of(place / "outputs")}


@pytest.mark.parametrize("data", [b"", b"\0" * 24, b"\n"])
def test_a_file_that_a_crash_left_empty_is_made_again(place: Path, data: bytes) -> None:
    path = experiment_file(place)
    path.write_bytes(data)
    assert run(place).stderr == ""
    run(place)
    assert experiment_ids(place) == {path.read_text().strip()}
    assert_closed(place / "outputs", runs=2)


@pytest.mark.parametrize("data", [b"<<<<<<< HEAD\nexp-1\n", b"../../etc", b"\xff\xfe", b"x" * 5000])
def test_garbage_is_replaced_with_a_warning(place: Path, data: bytes) -> None:
    path = experiment_file(place)
    path.write_bytes(data)
    done = run(place)
    assert done.stderr == f"Warning: {path} held no id: it was replaced by {path.read_text().strip()}\n"
    assert run(place).stderr == ""
    assert experiment_ids(place) == {path.read_text().strip()}
    assert sorted(kind for recorded in runs_of(place / "outputs") for kind in warnings_of(recorded)) == [
        "experiment"
    ]
    assert_closed(place / "outputs", runs=2)


@pytest.mark.parametrize("kind", ["directory", "link", "fifo"])
def test_what_is_not_a_file_is_left_alone_with_a_warning(place: Path, kind: str) -> None:
    path = experiment_file(place)
    mine = place / "mine"
    mine.write_text("exp-mine")
    if kind == "directory":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(mine)
    else:
        os.mkfifo(path)
    done = run(place)
    assert done.stderr == (f"Warning: {path} is not a regular file: the experiment of the run is unknown\n")
    with pytest.warns(library.RuncardWarning, match="is not a regular file"), library.record("outputs"):
        pass
    assert experiment_ids(place) == {None}
    assert mine.read_text() == "exp-mine"
    assert_closed(place / "outputs", runs=2)


def test_processes_that_come_at_once_agree_on_one_id(place: Path) -> None:
    path = experiment_file(place)
    path.touch()
    crowd = [
        subprocess.Popen([sys.executable, "-c", RACE], cwd=place, env=environment(), stdin=subprocess.PIPE)
        for _ in range(6)
    ]
    for process in crowd:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait(60) for process in crowd] == [0] * 6
    assert experiment_ids(place) == {path.read_text().strip()}
    assert_closed(place / "outputs", runs=6)
