"""The command is at home in its run's directory: whatever it does there, the record stays true and others unharmed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import runcard
from child_process.commands import RUNCARD, Runner, document, environment, is_intact, runs
from runs.harness import close_all

OURS = ("metadata.json", "experiment.jsonl", "SHA256SUMS", "output.log")


@pytest.mark.parametrize(
    "how", ["echo mine > $f", "rm -f $f; echo mine > $f", "rm -f $f; mkdir $f; echo mine > $f/x"]
)
def test_files_under_our_names_are_kept_and_the_record_is_true(runner: Runner, how: str) -> None:
    script = (
        f"echo before; cd $RUNCARD_RUN_DIR; for f in {' '.join(OURS)}; do {how}; done; echo after; exit 3"
    )
    done = runner("--", "sh", "-c", script)
    assert done.code == 3
    assert done.log == b"before\nafter\n"
    assert done.document["generation"]["exit_code"] == 3
    assert done.warnings.count("name-taken") == len(OURS)
    for name in OURS:
        kept = done.run / "user" / name
        text = (kept / "x" if kept.is_dir() else kept).read_text()
        assert text.startswith("mine\n") if name == "experiment.jsonl" else text == "mine\n", name
    assert b"Warning: output.log is a name of runcard's own files" in done.err
    assert (
        is_intact(done.run) or how == "echo mine > $f"
    )  # what was overwritten in the journal is gone, and said to be


def test_a_log_that_was_removed_is_written_again(runner: Runner) -> None:
    done = runner("--", "sh", "-c", "echo before; sleep 0.1; rm $RUNCARD_RUN_DIR/output.log; echo after")
    assert done.log == b"before\nafter\n"
    assert done.warnings == ["output-log"]
    assert is_intact(done.run)


def test_a_directory_that_was_removed_is_made_again(runner: Runner) -> None:
    done = runner("--", "sh", "-c", "echo before; rm -rf $RUNCARD_RUN_DIR; echo after; exit 3")
    assert done.code == 3
    assert done.log == b"before\nafter\n"
    assert done.document["generation"]["exit_code"] == 3
    assert done.warnings[0] == "directory"
    assert is_intact(done.run)


def test_where_a_link_leads_nothing_is_touched(runner: Runner) -> None:
    other = runner.place / "other"
    other.mkdir()
    (other / "precious").write_text("precious")
    done = runner(
        "--", "sh", "-c", "rm -rf $RUNCARD_RUN_DIR; ln -s $PWD/other $RUNCARD_RUN_DIR; echo said; exit 3"
    )
    assert done.code == 3
    assert [path.name for path in other.iterdir()] == ["precious"]
    assert (other / "precious").read_text() == "precious"
    assert not done.run.is_symlink()
    assert os.readlink(done.run / "user" / done.run.name) == str(other)
    assert done.log == b"said\n"
    assert done.warnings[0] == "directory"
    assert is_intact(done.run)


def test_another_directory_in_its_place_is_the_run(runner: Runner) -> None:
    script = "rm -rf $RUNCARD_RUN_DIR; mkdir $RUNCARD_RUN_DIR; echo new > $RUNCARD_RUN_DIR/new.txt"
    done = runner("--", "sh", "-c", script)
    assert (done.code, (done.run / "new.txt").read_text()) == (0, "new\n")
    assert is_intact(done.run)


def test_a_store_that_was_removed_cannot_be_closed_and_that_is_said(runner: Runner) -> None:
    done = runner("--", "sh", "-c", "rm -rf outputs")
    assert done.code == 125
    assert b"Error: " in done.err
    assert runner("--", "sh", "-c", "rm -rf outputs; exit 3").code == 3


def test_a_command_that_takes_runcard_away_leaves_a_run_that_can_be_closed(runner: Runner) -> None:
    library = runner.place / "library"
    shutil.copytree(Path(runcard.__file__).parent, library / "runcard")
    script = (
        "rm -r library/runcard/checksums/large_files.py; head -c 1000000 /dev/zero > $RUNCARD_RUN_DIR/big"
    )
    done = runner("--", "sh", "-c", script, PYTHONPATH=str(library), PYTHONDONTWRITEBYTECODE="1")
    assert done.code == 125
    assert b"a part of runcard is gone: No module named 'runcard.checksums.large_files'" in done.err
    assert b"hint: install it again, then run `runcard close`" in done.err
    (closing,) = close_all(done.run)
    assert closing.status == "completed"
    assert is_intact(done.run)


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    return place


def test_a_full_disk_changes_no_exit_code_and_the_run_can_be_closed_later(small_disk: Path) -> None:
    runner = Runner(small_disk)
    try:
        fill = "echo begun; dd if=/dev/zero of=$RUNCARD_RUN_DIR/big 2>/dev/null; echo full; exit 3"
        done = runner("--", "sh", "-c", fill)
        assert done.code == 3
        assert done.out == b"begun\nfull\n"
        assert b"Error: " in done.err
        (run,) = runs(small_disk)
        (run / "big").unlink()
        closed = subprocess.run(
            [*RUNCARD[:-1], "close"],
            cwd=small_disk,
            env=environment(small_disk),
            check=True,
            capture_output=True,
        )
        assert b"closed" in closed.stdout
        assert document(run)["generation"]["status"] in {"failed", "interrupted"}
        assert is_intact(run)
    finally:
        subprocess.run(["umount", "--lazy", small_disk], check=True)
        shutil.rmtree(small_disk)
