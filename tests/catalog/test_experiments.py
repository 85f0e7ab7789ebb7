"""Experiments in the catalog: also those without runs."""

import json
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an experiment without runs; the user is in another folder."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    runcard.create_experiment("empty", description="Nothing yet")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    return project


def experiments(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    outcome = cli("ls", "experiments", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    found: list[dict[str, Any]] = json.loads(outcome.out)["records"]
    return found


def test_one_without_runs_is_listed(cli: Cli, elsewhere: Path) -> None:
    [empty] = experiments(cli)
    assert (empty["name"], empty["runs"], empty["failed"]) == ("empty", 0, 0)
    assert (empty["started"], empty["calls"], empty["cost"], empty["known_cost"]) == (None,) * 4
    assert (empty["path"], empty["description"]) == (str(elsewhere / "experiments/empty"), "Nothing yet")
    assert not empty["at_least"]
    assert experiments(cli, "--where", "runs = 0") == [empty]
    assert experiments(cli, "--columns", "created")[0]["created"].startswith("20")


def test_with_its_first_run_it_stays_one_experiment(
    cli: Cli, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments(cli)
    monkeypatch.chdir(elsewhere)
    assert cli("run", "--quiet", "--experiment", "empty", "--", "true").code == 0
    [found] = experiments(cli)
    assert (found["runs"], found["description"]) == (1, "Nothing yet")
    assert found["path"] == str(elsewhere / "experiments/empty")


def test_one_that_is_only_a_name_has_no_folder(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with runcard.record(experiment="named"):
        pass
    [found] = experiments(cli)
    assert (found["name"], found["runs"], found["path"]) == ("named", 1, None)


def test_folders_made_by_hand_or_with_a_broken_configuration(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("experiments/hand").mkdir(parents=True)
    Path("experiments/broken").mkdir()
    Path("experiments/broken/config.yaml").write_text("experiment_id: [")
    assert [(row["name"], row["id"]) for row in experiments(cli, "--sort", "name")] == [
        ("broken", None),
        ("hand", None),
    ]
    Path("experiments/broken/config.yaml").write_text("experiment_id: exp-1\n")
    assert experiments(cli, "--sort", "name")[0]["id"] == "exp-1"


def test_a_deleted_one_is_gone(cli: Cli, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(elsewhere)
    cli("run", "--quiet", "--experiment", "empty", "--", "true")
    assert len(experiments(cli)) == 1
    assert runcard.delete_experiment("empty").runs == 1
    assert experiments(cli) == []
    assert json.loads(cli("ls", "--json").out)["records"] == []  # and no store that cannot be reached


def test_a_folder_that_was_removed_by_hand(cli: Cli, elsewhere: Path) -> None:
    experiments(cli)
    (elsewhere / "experiments/empty").rename(elsewhere / "away")
    assert json.loads(cli("ls", "experiments", "--json").out)["records"] == []
