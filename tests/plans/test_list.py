"""`runcard plan list`: all plans of a project."""

import json
import os

import pytest

from conftest import Cli
from plans.projects import SOURCE, RubyProject


@pytest.fixture
def full(project: RubyProject) -> RubyProject:
    project.write()
    for name in ("stale", "broken", "gone"):
        project.add(f"app/{name}.rb")
        project.write(project.plan_of(f"app/{name}.rb"), f"metadata_app_{name}.yml")
    os.utime(project.root / "app" / "stale.rb", (1, 1))
    (project.root / "app" / "gone.rb").unlink()
    project.write(b"analyzer: [", "metadata_app_broken.yml")
    project.write(b"no plan", "notes.txt")
    return project


def test_fresh_stale_and_invalid_plans_and_who_is_next(cli: Cli, full: RubyProject) -> None:
    done = cli("plan", "list", "--json", full.root / "app")
    assert (done.code, done.err) == (0, "")
    said = json.loads(done.out)
    assert said["root"] == str(full.root)
    assert [(plan["state"], plan["next"], plan["file"]) for plan in said["plans"]] == [
        ("invalid", "analyzer", ""),
        ("stale", "skeleton", "app/gone.rb"),
        ("fresh", "skeleton", SOURCE),
        ("stale", "skeleton", "app/stale.rb"),
    ]
    assert said["plans"][2]["target"] == "Billing::Invoice#total"
    assert [plan["reason"] is None for plan in said["plans"]] == [False, False, True, False]


def test_for_people_it_is_a_table(cli: Cli, full: RubyProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(full.root)
    lines = cli("plan", "list").out.splitlines()
    assert lines[2] == f"fresh    skeleton  Billing::Invoice#total  {SOURCE}"
    assert lines[3].startswith("stale    skeleton  Billing::Invoice#total  app/stale.rb")
    assert lines[3].endswith("source file modified")


def test_a_plan_that_breaks_a_rule_is_invalid(cli: Cli, project: RubyProject) -> None:
    data = project.plan_of()
    data["characteristics"][1]["level"] = 7
    project.write(data)
    (plan,) = json.loads(cli("plan", "list", "--json", "--root", project.root).out)["plans"]
    assert (plan["state"], "[mistake.level]" in plan["reason"]) == ("invalid", True)


def test_a_project_without_plans_has_none(cli: Cli, project: RubyProject) -> None:
    done = cli("plan", "list", project.root)
    said = "no plans yet: runcard plan pipeline SRC --method NAME\n"
    assert (done.code, done.out, done.err) == (0, "", said)
    assert cli("plan", "list", project.root, "--quiet").err == ""
    assert cli("plan", "list", project.root, "--json").err == ""


def test_what_is_no_directory_is_an_error(cli: Cli, project: RubyProject) -> None:
    assert cli("plan", "list", project.source).code == 1


def test_what_cannot_be_read_does_not_hide_the_others(cli: Cli, project: RubyProject) -> None:
    project.write()
    (project.folder / "metadata_a.yml").mkdir()
    (project.folder / "metadata_b.yml").symlink_to("metadata_b.yml")
    done = cli("plan", "list", "--json", project.root)
    said = json.loads(done.out)["plans"]
    assert [one["state"] for one in said] == ["invalid", "fresh", "invalid"]
    assert said[0]["reason"].endswith("is a directory")
    assert (done.code, done.err) == (0, "")
