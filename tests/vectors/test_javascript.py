"""The verifier in JavaScript finds the same as runcard, for the vectors and for runs that were recorded."""

import json
import subprocess
from pathlib import Path

import pytest
import run_vectors

import runcard

FOLDER = Path(run_vectors.__file__).parent
PROGRAMS = FOLDER.parent / "examples" / "verify-run"
VERIFIER = str(PROGRAMS / "verify_run.mjs")

pytestmark = pytest.mark.needs("npm")


def node(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", *map(str, arguments)], check=False, capture_output=True, text=True, timeout=100
    )


@pytest.mark.long
def test_all_vectors_of_runs() -> None:
    done = node(PROGRAMS / "run_vectors.mjs")
    total = len(run_vectors.vectors("run"))
    assert (done.stdout, done.stderr, done.returncode) == (
        f"verify_run.mjs: {total} of {total} verdicts are as expected\n",
        "",
        0,
    )


def test_a_run_that_was_recorded(tmp_path: Path) -> None:
    with runcard.record(
        tmp_path / "outputs", strict=True, config={"seed": 2**60}, labels={"team": "ux"}
    ) as run:
        run.log("page.read", ratio=0.1, text="é\u2028")
        run.add_warning("the tone is off")
        (run.path / "notes.txt").write_text("notes\n")
    record = Path(run.path)
    good = node(VERIFIER, record)
    assert good.returncode == 0, good.stdout
    report = json.loads(good.stdout)
    assert (report["intact"], report["complete"], report["signed"], report["details"]) == (
        True,
        True,
        None,
        [],
    )
    (record / "notes.txt").write_text("better\n")
    bad = node(VERIFIER, record)
    assert (bad.returncode, json.loads(bad.stdout)["findings"]) == (1, ["changed"])


def test_the_runner_in_python_runs_other_verifiers() -> None:
    """A verifier is a command that prints its verdict as JSON."""
    command = run_vectors.by_command(["node", VERIFIER])
    some = [
        vector
        for vector in run_vectors.vectors("run")
        if vector["name"] in {"good", "file-changed", "signed"}
    ]
    for vector in some:
        record = FOLDER / "records" / vector["path"]
        assert command(vector, record) == run_vectors.expected(vector, with_trust=False)
    assert "failed" in run_vectors.by_command(["node", "--version"])(some[0], FOLDER)


def test_no_record(tmp_path: Path) -> None:
    assert node(VERIFIER, tmp_path / "nowhere").returncode == 64
    empty = node(VERIFIER, tmp_path)
    assert (empty.returncode, json.loads(empty.stdout)["complete"]) == (1, False)
