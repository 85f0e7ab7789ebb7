"""`runcard experiment delete`: asked for, complete, and remembered."""

import contextlib
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import runcard
from conftest import Cli
from experiments.folders import config_of, metadata, record, tombstones
from runcard.digests import sha256_bytes
from runcard.operations.experiments.delete import delete_experiment

DIE = """
import os, shutil, sys
from runcard.operations.experiments import delete
from runcard.store import ledger

def die(*_, **__):
    os._exit(9)

if sys.argv[1] == "before the tombstones":
    ledger.Ledger.append = die
elif sys.argv[1] == "among the tombstones":
    append = ledger.Ledger.append
    def once(*arguments):
        append(*arguments)
        die()
    ledger.Ledger.append = once
elif sys.argv[1] == "behind the tombstones":
    os.rename = die
elif sys.argv[1] == "before the files":
    shutil.rmtree = die
else:
    os.rmdir = die
delete.delete_experiment("x")
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment with two runs, to be copied."""
    folder = tmp_path_factory.mktemp("made")
    with contextlib.chdir(folder):
        os.makedirs("experiments/x/data")
        Path("experiments/x/config.yaml").write_text("experiment_id: exp-mine\n")
        Path("experiments/x/data/a.txt").write_text("a")
        record("x")
        record("x")
    return folder


@pytest.fixture
def runs(made: Path, workplace: Path) -> list[Path]:
    shutil.copytree(made / "experiments", workplace / "experiments", symlinks=True)
    return sorted(Path("experiments/x/outputs").glob("2*"))


def expected(runs: list[Path]) -> set[tuple[str, str, str, str]]:
    """The kind, id, path and digest of each tombstone."""
    told = {
        (
            "run",
            metadata(run)["generation"]["run_id"],
            str(run.relative_to("experiments")),
            sha256_bytes((run / "metadata.json").read_bytes()).hex,
        )
        for run in runs
    }
    config = sha256_bytes(Path("experiments/x/config.yaml").read_bytes()).hex
    return told | {("experiment", "exp-mine", "x", config)}


def told() -> list[tuple[str, str, str, str]]:
    return [(stone["kind"], stone["id"], stone["path"], stone["sha256"]) for stone in tombstones()]


def test_everything_goes_and_the_tombstones_stay(cli: Cli, runs: list[Path]) -> None:
    stones = expected(runs)
    done = cli("experiment", "delete", "x", "--yes")
    assert (done.code, done.out, done.err) == (0, "deleted x and its 2 runs\n", "")
    assert os.listdir("experiments") == [".runcard"]
    assert [name for name in os.listdir("experiments/.runcard") if not name.startswith("ledger-")] == []
    assert set(told()) == stones
    assert len(told()) == len(stones)
    assert cli("verify", "experiments").code == 0
    assert cli("experiment", "delete", "x", "--yes").code == 1


def test_json(cli: Cli, runs: list[Path]) -> None:
    done = cli("experiment", "delete", "x", "--yes", "--json")
    assert json.loads(done.out) == {"name": "x", "deleted": True, "runs": len(runs)}


@pytest.mark.usefixtures("runs")
def test_without_a_terminal_it_needs_yes(cli: Cli) -> None:
    done = cli("experiment", "delete", "x")
    assert done.code == 64
    assert "--yes" in done.err
    assert Path("experiments/x/config.yaml").exists()
    assert not Path("experiments/.runcard").exists()


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 1), (b"\n", 1), (b"\x04", 1), (b"y\n", 0)])
def test_on_a_terminal_it_asks(answer: bytes, code: int) -> None:
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer)
        done = subprocess.run(
            [sys.executable, "-m", "runcard", "experiment", "delete", "x"],
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == code
    assert "Permanently delete experiments/x (2 runs, " in done.stderr
    assert Path("experiments/x").exists() == (code != 0)
    assert done.stderr.endswith("nothing was deleted\n") == (code != 0)
    assert "Error:" not in done.stderr


@pytest.mark.parametrize(
    "moment",
    [
        "before the tombstones",
        "among the tombstones",
        "behind the tombstones",
        "before the files",
        "among the files",
    ],
)
def test_one_that_was_killed_is_finished_by_the_next(cli: Cli, runs: list[Path], moment: str) -> None:
    stones = expected(runs)
    subprocess.run([sys.executable, "-c", DIE, moment], check=False, timeout=60)
    assert not Path("experiments/x").exists()  # nobody can begin a run in it any more
    listed = cli("experiment", "list")
    assert listed.code == 2
    assert "the deletion of x was interrupted" in listed.err
    done = cli("experiment", "delete", "x")  # it was agreed to before
    assert (done.code, done.err) == (0, "")
    assert sorted(told()) == sorted(stones)
    assert os.listdir("experiments") == [".runcard"]
    assert cli("experiment", "list").code == 0
    assert cli("verify", "experiments").code == 0


def test_one_that_was_killed_does_not_hinder_a_new_one_of_that_name(cli: Cli, runs: list[Path]) -> None:
    stones = expected(runs)
    subprocess.run([sys.executable, "-c", DIE, "before the tombstones"], check=False, timeout=60)
    cli("experiment", "create", "x")
    fresh = config_of("x")["experiment_id"]
    assert cli("experiment", "delete", "x", "--yes").code == 0
    assert stones < set(told())
    assert fresh in {stone["id"] for stone in tombstones()}
    assert len(tombstones()) == len(stones) + 1


def test_a_run_that_is_at_work_stops_it(cli: Cli, runs: list[Path]) -> None:
    with runcard.record("experiments/x/outputs", experiment="x", strict=True) as going:
        done = cli("experiment", "delete", "x", "--yes")
        assert done.code == 1
        assert f"{going.path.relative_to(Path.cwd())} is running" in done.err
    assert all(run.exists() for run in runs)
    assert cli("experiment", "delete", "x", "--yes").code == 0


def test_links_are_removed_and_what_they_lead_to_stays(cli: Cli, runs: list[Path], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree("experiments/x/outputs", outside)
    (tmp_path / "file").write_text("mine")
    Path("experiments/x/data/out").symlink_to(outside)
    Path("experiments/x/data/file").symlink_to(tmp_path / "file")
    (runs[0] / "loop").symlink_to("..")
    assert cli("experiment", "delete", "x", "--yes").code == 0
    assert sorted(path.name for path in outside.glob("2*")) == [run.name for run in runs]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.usefixtures("runs")
def test_runs_behind_a_link_stay_and_get_no_tombstone(cli: Cli, tmp_path: Path) -> None:
    shutil.move("experiments/x/outputs", tmp_path / "big")
    Path("experiments/x/outputs").symlink_to(tmp_path / "big")
    done = cli("experiment", "delete", "x", "--yes")
    assert (done.code, done.out) == (0, "deleted x\n")
    assert len(list((tmp_path / "big").glob("2*"))) == 2
    assert [stone["kind"] for stone in tombstones()] == ["experiment"]


def test_a_link_in_the_place_of_our_own_folder_is_not_followed(
    cli: Cli, runs: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "outside" / "deleted-y").mkdir(parents=True)
    Path("experiments/.runcard").symlink_to(tmp_path / "outside")
    done = cli("experiment", "delete", "x", "--yes")
    assert (done.code, "is a symbolic link" in done.err) == (1, True)
    assert (tmp_path / "outside" / "deleted-y").exists()
    assert all(run.exists() for run in runs)


@pytest.mark.usefixtures("runs")
def test_a_broken_config_is_no_reason_to_keep_it(cli: Cli) -> None:
    Path("experiments/x/config.yaml").write_text("a: [\n")
    assert cli("experiment", "delete", "x", "--yes").code == 0
    assert "id" not in tombstones()[-1]
    assert not Path("experiments/x").exists()


def test_a_run_that_its_ledger_alone_knows_gets_a_tombstone(runs: list[Path]) -> None:
    """It may have been archived, or removed by hand: it was a run of this experiment."""
    gone = metadata(runs[0])["generation"]["run_id"]
    stones = expected(runs)
    shutil.rmtree(runs[0])
    assert delete_experiment("x").runs == 2
    assert set(told()) == stones
    assert gone in {stone["id"] for stone in tombstones()}
