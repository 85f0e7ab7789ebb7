"""Test plans in the catalog: `runcard ls plans`."""

import csv
import io
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import runcard
from conftest import Cli
from plans.projects import SOURCE, RubyProject
from runcard.operations.catalog.index import index
from runcard.plans.known_projects import forget_project, known_projects
from runs.runs import record_one


@pytest.fixture
def project(tmp_path: Path) -> RubyProject:
    return RubyProject(tmp_path / "shop")


def plans(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    outcome = cli("ls", "plans", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    found: list[dict[str, Any]] = json.loads(outcome.out)["records"]
    return found


def test_plans_of_projects_elsewhere_are_listed(cli: Cli, project: RubyProject) -> None:
    project.write()
    assert plans(cli) == []  # nobody has seen the project yet
    assert cli("index", project.root).code == 0
    [plan] = plans(cli)
    assert (plan["source"], plan["class"], plan["method"]) == (SOURCE, "Billing::Invoice", "total")
    assert (plan["status"], plan["reason"], plan["next"]) == ("fresh", None, "skeleton")
    assert (plan["valid"], plan["errors"], plan["project"]) == (True, 0, str(project.root))
    assert plan["path"] == str(project.plan)


def test_a_project_is_noted_when_a_plan_is_written(cli: Cli, project: RubyProject) -> None:
    project.write()
    assert known_projects() == []
    assert cli("plan", "mark", "skeleton", project.source).code == 0
    assert [known.root for known in known_projects()] == [str(project.root)]
    assert [plan["next"] for plan in plans(cli)] == ["architect"]
    assert forget_project(str(project.root))
    assert plans(cli) == plans(cli, "--where", f"project = '{project.root}'")


def test_writing_a_plan_never_fails_because_it_cannot_be_noted(
    cli: Cli, project: RubyProject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project.write()
    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a file"))
    outcome = cli("plan", "mark", "skeleton", project.source)
    assert (outcome.code, outcome.err) == (0, "")


def test_changes_of_plans_and_sources_are_seen_at_once(cli: Cli, project: RubyProject) -> None:
    project.write()
    cli("index", project.root)
    os.utime(project.source, (1, 1))
    assert [(plan["status"], plan["reason"]) for plan in plans(cli)] == [("stale", "source file modified")]
    project.write(b"analyzer: [")
    assert [(plan["status"], plan["valid"], plan["errors"]) for plan in plans(cli)] == [("invalid", False, 1)]
    project.add("app/new.rb")
    project.write(project.plan_of("app/new.rb"), "metadata_app_new.yml")
    assert [plan["source"] for plan in plans(cli)] == ["app/new.rb", None]
    project.plan.unlink()
    assert [plan["source"] for plan in plans(cli)] == ["app/new.rb"]


def test_nothing_is_read_again_while_nothing_changes(cli: Cli, project: RubyProject) -> None:
    project.write()
    assert json.loads(cli("index", project.root, "--json").out)["projects"] == [
        {"path": str(project.root), "plans": 1, "read": 1, "removed": 0, "reachable": True}
    ]
    assert json.loads(cli("index", "--json").out)["projects"][0]["read"] == 0
    before = plans(cli)
    assert cli("index", "--rebuild").code == 0
    assert plans(cli) == before


def test_filters_words_and_columns(cli: Cli, project: RubyProject) -> None:
    project.write()
    project.add("app/stale.rb")
    project.write(project.plan_of("app/stale.rb"), "metadata_app_stale.yml")
    os.utime(project.root / "app/stale.rb", (1, 1))
    cli("index", project.root)
    assert [plan["source"] for plan in plans(cli, "--status", "stale")] == ["app/stale.rb"]
    assert [plan["source"] for plan in plans(cli, "--where", "source ~ BILLING and valid = true")] == [SOURCE]
    assert [plan["source"] for plan in plans(cli, "--text", "STALE invoice")] == ["app/stale.rb"]
    assert plans(cli, "--text", "stale nowhere") == []
    assert len(plans(cli, "--since", "1h", "--limit", "1")) == 1
    rows = list(csv.DictReader(io.StringIO(cli("ls", "plans", "--csv").out)))
    assert [row["next"] for row in rows] == ["skeleton", "skeleton"]
    table = cli("ls", "plans", "--columns", "status,method,source", "--sort", "-source").out.splitlines()
    assert [line.split() for line in table] == [
        ["status", "method", "source"],
        ["stale", "total", "app/stale.rb"],
        ["fresh", "total", SOURCE],
    ]
    sql = "SELECT source, status, valid FROM v1_plans ORDER BY 1"
    assert json.loads(cli("query", sql, "--json").out)["rows"][1] == ["app/stale.rb", "stale", 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--experiment", "personas"), "plans have no experiments and no tags"),
        (("--tag", "good"), "plans have no experiments and no tags"),
        (("--model", "haiku"), "there is no column 'model'"),
        (("--columns", "config.x"), "there is no column 'config.x'"),
    ],
)
def test_what_plans_do_not_have(cli: Cli, arguments: tuple[str, str], message: str) -> None:
    outcome = cli("ls", "plans", *arguments)
    assert outcome.code == 64
    assert message in outcome.err
    assert "config.NAME" not in outcome.err


def test_a_project_that_is_gone_keeps_its_plans(cli: Cli, project: RubyProject, tmp_path: Path) -> None:
    project.write()
    cli("index", project.root)
    project.root.rename(tmp_path / "away")
    outcome = cli("ls", "plans", "--json")
    assert outcome.code == 2
    assert f"{project.root} cannot be reached: its plans are listed as they were" in outcome.err
    found = json.loads(outcome.out)
    assert (found["total"], found["unreachable_projects"]) == (1, [str(project.root)])
    (tmp_path / "away").rename(project.root)
    assert len(plans(cli)) == 1
    shutil.rmtree(project.folder)
    assert plans(cli) == []


def test_a_folder_behind_a_link_out_of_the_project_is_not_read(
    cli: Cli, project: RubyProject, tmp_path: Path
) -> None:
    project.write()
    cli("index", project.root)
    project.folder.rename(tmp_path / "elsewhere")
    project.folder.symlink_to(tmp_path / "elsewhere")
    assert cli("ls", "plans").code == 2


def test_a_search_in_records_mentions_plans(cli: Cli, project: RubyProject, tmp_path: Path) -> None:
    project.write()
    cli("index", project.root)
    record_one(tmp_path / "outputs", labels={"about": "invoice"})
    outcome = cli("ls", "--text", "invoice")
    assert outcome.code == 0
    assert "1 plan found, too: runcard ls plans --text invoice" in outcome.err
    assert json.loads(cli("ls", "--text", "invoice", "--json").out)["plans"] == 1


def test_plans_in_the_library(project: RubyProject) -> None:
    project.write()
    assert list(index([str(project.root)]))
    [plan] = runcard.Catalog().plans(text="invoice", columns=["findings"])
    assert (plan.path, plan.project, plan.class_) == (project.plan, project.root, "Billing::Invoice")
    assert (plan.status, plan.next, plan.valid) == ("fresh", "skeleton", True)
    assert plan.values == {"findings": plan.errors + plan.warnings}
    assert plan.changed is not None


def test_hostile_plans(cli: Cli, project: RubyProject) -> None:
    data = project.plan_of()
    data["target"] |= {
        "class": "\x1b[31mX\u202e",
        "method": "=HYPERLINK(1)\n|",
        "file": "../../../etc/passwd",
    }
    project.write(data)
    project.write(b"\xff\xfe", "metadata_\udcff.yml")
    os.mkfifo(project.folder / "metadata_pipe.yml")
    (project.folder / "metadata_deep.yml").write_bytes(b"a: " + b"[" * 100_000)
    cli("index", project.root)
    found = plans(cli)
    assert [plan["status"] for plan in found] == ["invalid"] * 4
    assert "\x1b" not in cli("ls", "plans").out
    cells = [row["method"] for row in csv.DictReader(io.StringIO(cli("ls", "plans", "--csv").out))]
    assert not any(cell.startswith("=") for cell in cells)


@pytest.mark.file_only
def test_a_catalog_that_is_locked_or_damaged(
    cli: Cli, project: RubyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write()
    cli("index", project.root)
    path = Path(os.environ["XDG_DATA_HOME"]) / "runcard/catalog.db"
    path.write_bytes(b"damaged" * 1000)
    assert len(plans(cli)) == 1
    os.utime(project.source, (1, 1))
    monkeypatch.setattr("runcard.catalog.sqlite_engine._BUSY", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        outcome = cli("ls", "plans", "--json")
        other.execute("ROLLBACK")
    assert outcome.code == 2
    assert "this may not be the newest" in outcome.err
    assert json.loads(outcome.out)["records"][0]["status"] == "fresh"
