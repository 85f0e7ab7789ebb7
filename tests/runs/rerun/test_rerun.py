"""A recorded command is run again: what has changed is said first, and what comes out is compared."""

import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

import runcard as library
from runs.rerun.projects import make_project, once, record, runcard
from runs.runs import read


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workshop")


@pytest.fixture
def project(workshop: Path) -> Path:
    """A new project, at the same place for all tests."""
    shutil.rmtree(workshop / "project", ignore_errors=True)
    make_project(workshop / "project")
    return workshop / "project"


@pytest.fixture
def first(project: Path) -> Path:
    """The run of a project."""
    once(project, "run", lambda: record(project))
    (run,) = runs(project)
    return run


def runs(project: Path) -> list[Path]:
    return sorted(path for path in (project / "outputs").iterdir() if path.name != ".runcard")


def test_the_same_again_is_identical_and_related(project: Path) -> None:
    first = record(project, "--set", "n=3", "--label", "team=ux")
    done = runcard(project, "rerun", str(first))
    assert (done.returncode, done.stderr) == (0, f"runcard: command: {sys.executable} make.py\n")
    assert done.stdout.startswith("printed 6\n")
    for line in ("  same     copy.txt", "  same     output.log", "  same     same.txt"):
        assert line in done.stdout.splitlines()
    again = read(runs(project)[1])
    before = read(first)
    assert again["relations"] == [
        {"type": "derived-from", "id": before["generation"]["run_id"], "sha256": _digest(first)}
    ]
    assert again["configuration"] == before["configuration"] | {"n": 3}
    assert again["generation"]["labels"] == {"team": "ux"}
    assert again["data_sources"]["files"] == before["data_sources"]["files"]


@pytest.mark.parametrize("given", ["persona=0.9.0", "pytest", None])
def test_the_program_is_given_again_as_it_was_given(project: Path, given: str | None) -> None:
    options = () if given is None else ("--application", given)
    before = read(record(project, *options))
    assert runcard(project, "rerun", str(runs(project)[0])).returncode == 0
    again = read(runs(project)[1])
    assert again["environment"] == before["environment"]
    assert again.get("reproduce", {}).get("application") == given


def _digest(run: Path) -> str:
    return sha256((run / "metadata.json").read_bytes()).hexdigest()


def test_a_changed_input_is_told_first_and_shows_in_the_outputs(project: Path, first: Path) -> None:
    (project / "in" / "a.md").write_text("hello world\n")
    done = runcard(project, "rerun", str(first))
    assert done.returncode == 2
    assert done.stderr.startswith("Warning: input in/a.md has changed (sha256 ")
    assert (
        "  differs  copy.txt\n    @@ -1,3 +1,3 @@\n     first\n    -hello\n    +hello world\n     last\n"
        in done.stdout
    )


def test_a_missing_input_is_told(project: Path, first: Path) -> None:
    (project / "in" / "a.md").unlink()
    done = runcard(project, "rerun", "--dry-run", str(first))
    assert (done.returncode, done.stderr) == (2, "Warning: input in/a.md is gone\n")


def test_another_commit_and_uncommitted_changes_are_told(project: Path) -> None:
    def git(*arguments: str) -> None:
        own = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *own, *arguments], cwd=project, check=True, capture_output=True)

    git("init")
    git("add", "make.py", "in")
    git("commit", "-m", "first")
    first = record(project)
    assert runcard(project, "rerun", "--dry-run", str(first)).returncode == 0
    with (project / "make.py").open("a") as file:
        file.write("# more\n")
    changed = runcard(project, "rerun", "--dry-run", str(first))
    assert changed.stderr.startswith("Warning: git changes was none, is ")
    git("commit", "-am", "second")
    moved = runcard(project, "rerun", "--dry-run", str(first))
    assert moved.stderr.startswith("Warning: git commit was ")


def test_packages_that_differ_are_told(project: Path, first: Path, tmp_path: Path) -> None:
    extra = tmp_path / "site" / "demo_package-1.2.dist-info"
    extra.mkdir(parents=True)
    (extra / "METADATA").write_text("Metadata-Version: 2.1\nName: demo-package\nVersion: 1.2\n")
    done = runcard(project, "rerun", "--dry-run", str(first), PYTHONPATH=str(extra.parent))
    assert done.stderr == "Warning: package demo-package is new: 1.2\n"


def test_a_dry_run_changes_nothing_and_says_what_it_would_do(project: Path, first: Path) -> None:
    done = runcard(project, "rerun", "--dry-run", str(first))
    assert done.returncode == 0
    assert f"would run   {sys.executable} make.py" in done.stdout.splitlines()
    assert len(runs(project)) == 1
    plan = json.loads(runcard(project, "rerun", "--dry-run", "--json", str(first)).stdout)
    assert plan["command"] == [sys.executable, "make.py"]
    assert (plan["inputs"], plan["differences"]) == (["in/a.md"], [])
    assert (plan["trusted"], plan["own"], plan["damage"]) == (True, True, None)


def test_json_is_alone_on_stdout(project: Path, first: Path) -> None:
    (project / "in" / "a.md").write_text("other\n")
    done = runcard(project, "rerun", "--json", str(first))
    told = json.loads(done.stdout)
    assert told["identical"] is False
    assert told["outputs"]["same"] == ["output.log", "same.txt"]
    assert told["outputs"]["differing"][0]["path"] == "copy.txt"
    assert told["moved"]["exit_code"] == {"before": 0, "now": 0}
    assert [difference["kind"] for difference in told["differences"]] == ["input"]
    assert "printed 6" in done.stderr


def test_a_run_that_fails_now_and_did_not_before_is_an_error(project: Path, first: Path) -> None:
    assert runcard(project, "rerun", str(first), FAIL="3").returncode == 1
    failed = record(project, FAIL="3")
    assert runcard(project, "rerun", str(failed), FAIL="3").returncode == 0
    mended = runcard(project, "rerun", str(failed))
    assert mended.returncode == 2
    assert "  exit code" in mended.stdout


def test_the_new_run_can_go_elsewhere(project: Path, first: Path) -> None:
    runcard(project, "rerun", "--outputs", "again", str(first))
    assert len(runs(project)) == 1
    assert len([path for path in (project / "again").iterdir() if path.name != ".runcard"]) == 1


def test_a_command_whose_secret_was_masked_cannot_be_run_again(project: Path) -> None:
    key = "sk-ant-" + "api03-" + "Zq8vJ2mX7tLw4RbN9cKd3HfG6pSyE1uA"
    runcard(project, "run", "--", "echo", key)
    done = runcard(project, "rerun", str(runs(project)[0]))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: the command of ")


def test_what_is_no_closed_run_is_an_error(project: Path) -> None:
    assert runcard(project, "rerun", "nowhere").stderr.startswith("Error: nowhere does not exist")
    with library.record(project / "outputs", strict=True) as run:
        done = runcard(project, "rerun", str(run.path))
        assert done.stderr.startswith(f"Error: {run.path} is still running")


def test_a_document_without_a_command_says_so(project: Path, first: Path) -> None:
    document = json.loads((first / "metadata.json").read_text())
    document["generation"]["command"] = None
    shutil.rmtree(first)
    first.mkdir()
    (first / "metadata.json").write_text(json.dumps(document))
    assert "has no command" in runcard(project, "rerun", str(first)).stderr


CALLS = """
import os, runcard
run = runcard.current_run()
run.set_config(written="by the program " + os.environ["MODEL"])
run.set_labels(made_by=os.environ["MODEL"])
run.add_usage({"input_tokens": 1, "output_tokens": 1}, model=os.environ["MODEL"])
"""


def test_what_the_program_adds_is_not_given_to_it_again(project: Path) -> None:
    """The model that was called last time is no setting of the new run."""
    (project / "make.py").write_text(CALLS)
    first = record(project, "--set", "n=3", MODEL="gpt-4o-mini")
    done = runcard(project, "rerun", str(first), MODEL="gpt-4o")
    assert done.returncode == 2, done.stderr
    assert "  models called: gpt-4o-mini → gpt-4o" in done.stdout.splitlines()
    start = json.loads((runs(project)[1] / "experiment.jsonl").read_text().splitlines()[0])["payload"]
    assert start["configuration"] == {"model": None, "provider": None, "n": 3}
    assert start["generation"]["labels"] == {}
