"""The verbs of the command line in the library: typed results, nothing printed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import assert_type

import pytest

import runcard
from runcard.operations.archives.prune import PruneResult
from runcard.operations.archives.rm import DeletedRecord
from runcard.operations.catalog.export_table import TableExport
from runcard.operations.checks.show import ShownRun
from runcard.operations.checks.show_session import ShownInstance, ShownSession
from runcard.operations.runs.rerun import RerunResult
from runcard.recording.closing import CloseResult
from runcard.store.archives.bundles.result import BundleResult
from runcard.store.experiments import Experiment
from runs.runs import record_one
from sessions.build import AGENTS

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _silent(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Nothing is printed, but by a command that is run again."""
    yield
    assert capfd.readouterr() == ("", "")


def test_show_a_run_a_session_and_an_agent() -> None:
    with runcard.record(model="claude-sonnet-4-5", provider="anthropic") as run:
        run.add_usage({"input": 1000, "output": 200})
    shown = runcard.show(run.path)
    assert_type(shown, ShownRun | ShownSession)
    assert isinstance(shown, ShownRun)
    assert (shown.status, shown.document["costs"]["total_cost_usd"]) == ("completed", 0.006)
    runcard.collect({"team_session_id": "team-1", "instances": [dict(agent) for agent in AGENTS]})
    assert isinstance(runcard.show("team-1"), ShownSession)
    agent = runcard.show("team-1", instance=AGENTS[0]["name"])
    assert_type(agent, ShownInstance)
    assert agent.document["name"] == AGENTS[0]["name"]
    with pytest.raises(runcard.RuncardError, match="only sessions have instances"):
        runcard.show(run.path, instance="x")


def test_close_a_run_whose_process_died() -> None:
    code = "import os, runcard; runcard.start('outputs'); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    closed = runcard.close("@latest")
    assert_type(closed, list[CloseResult])
    assert [(one.status, one.closed) for one in closed] == [("interrupted", True)]
    assert runcard.close(store="outputs") == []


def test_rm_and_prune() -> None:
    first, second = record_one(Path("outputs")), record_one(Path("outputs"))
    removed = runcard.rm(first, reason="a test")
    assert_type(removed, DeletedRecord)
    assert (removed.kind, removed.paths) == ("run", (str(Path(first).absolute()),))
    assert not Path(first).exists()
    planned = runcard.prune(older_than=timedelta(0), dry_run=True)
    assert_type(planned, PruneResult)
    assert (len(planned.found.records), planned.deleted) == (1, ())
    assert Path(second).exists()
    (Path(second) / "new.txt").write_text("x")
    kept = runcard.prune(older_than=timedelta(0))
    assert [reason for _, reason in kept.kept] == ["new.txt: the file was not there when the run was closed"]
    assert not kept.deleted
    (Path(second) / "new.txt").unlink()
    assert len(runcard.prune(max_size=0).deleted) == 1
    assert not Path(second).exists()
    with pytest.raises(runcard.RuncardError, match="nothing to prune"):
        runcard.prune()


def test_diff_two_runs() -> None:
    paths = []
    for temperature in (0.2, 0.7):
        with runcard.record(config={"temperature": temperature}) as run:
            paths.append(run.path)
    assert runcard.diff(paths[0], paths[0]).identical
    assert not runcard.diff(*paths).identical


def test_export_a_bundle_and_a_table() -> None:
    run = record_one(Path("outputs"))
    bundle = runcard.export(run, output="run.tar.gz")
    assert_type(bundle, BundleResult)
    assert Path(bundle.path).is_file()
    table = runcard.export("runs", "csv", "runs.csv", status="completed")
    assert_type(table, TableExport)
    assert (table.rows, Path("runs.csv").read_text().count("\n")) == (1, 2)
    for wrong in ({"limit": 1}, {"including": ["x"]}):
        with pytest.raises(runcard.RuncardError):
            runcard.export("runs", "csv", "runs.csv", **wrong)
    with pytest.raises(TypeError, match="'colour' is not a filter"):
        runcard.export("runs", "csv", "runs.csv", colour="red")  # type: ignore[call-overload]


def test_experiments() -> None:
    made = runcard.create_experiment("personas", config={"temperature": 0.2})
    assert_type(made, Experiment)
    assert made.config == {"temperature": 0.2}
    assert "temperature: 0.2" in Path(made.path, "config.yaml").read_text()
    with runcard.record(made.outputs, experiment="personas"):
        pass
    [line] = runcard.list_experiments()
    assert (line.name, line.runs) == ("personas", 1)
    assert len(runcard.show_experiment("personas").runs) == 1
    assert runcard.delete_experiment("personas").runs == 1
    assert runcard.list_experiments() == []


def test_log_metric_belongs_to_a_recorded_command(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(runcard.RuncardError, match="not a recorded command"):
        runcard.log_metric("accuracy", 0.9)
    with runcard.record() as run:
        for name, value in run.environ.items():
            monkeypatch.setenv(name, value)
        code = "import runcard; runcard.log_metric('accuracy', 0.9); runcard.log_metric('accuracy', '1')"
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **run.environ})
    shown = runcard.show(run.path)
    assert shown.document["metrics"]["accuracy"]["count"] == 2


def test_rerun() -> None:
    code = "import runcard; r = runcard.rerun('@latest'); print(r.comparison.is_same, r.command.code)"
    subprocess.run([sys.executable, "-m", "runcard", "run", "-q", "--", "true"], check=True)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "True 0\n"


def test_a_foreign_command_is_run_only_if_it_is_trusted() -> None:
    subprocess.run([sys.executable, "-m", "runcard", "run", "-q", "--", "touch", "ran"], check=True)
    Path("ran").unlink()
    Path(runcard.open_record("@latest").path, "added.txt").write_text("x")
    with pytest.raises(runcard.RuncardError, match="is not run again") as refused:
        runcard.rerun("@latest")
    assert refused.value.hint == "look at its command, then pass trust=True"
    assert not Path("ran").exists()
    result = runcard.rerun("@latest", trust=True)
    assert_type(result, RerunResult)
    assert Path("ran").exists()
