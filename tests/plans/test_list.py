"""`runcard plan list`: all plans of a project."""

import json
import os

import pytest

from conftest import Cli
from plans.projects import SOURCE, RubyProject
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import BOM, Limits, encode_json
from runcard.encoding.yaml import encode_yaml
from runcard.operations.plans.open import open_plan


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
    said = "no plans yet; how to make one: runcard plan pipeline --help\n"
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


def test_a_valid_plan_is_read_once_and_not_searched_for_positions(
    cli: Cli, project: RubyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its warnings are not printed, and `'200'` in quotes is no number."""
    data = project.plan_of()
    del data["validation"]
    data["characteristics"][0]["states"][2] = "200"
    project.write(data)
    decoded: list[bytes] = []
    decode = TestPlan.decode

    def counted(source: bytes, limits: Limits) -> object:
        decoded.append(source)
        return decode(source, limits)

    monkeypatch.setattr(TestPlan, "decode", staticmethod(counted))
    monkeypatch.setattr("runcard.encoding.yaml.composer.compose", None)
    (plan,) = json.loads(cli("plan", "list", "--json", "--root", project.root).out)["plans"]
    assert (plan["state"], len(decoded)) == ("fresh", 1)


@pytest.mark.parametrize(
    "change",
    [
        (b"", b""),
        (b"analyzer:", b"# a comment\nanalyzer:"),
        (b"level: 1", b"level: 7"),
        (b"vip]", b"no]"),
        (b"vip]", b"'no']"),
        (b"vip]", b"!!str 200]"),
        (b"vip]", b"200]"),
        (b"vip]", b"'200']"),
        (b"vip]", b"0777]"),
        (b"analyzer:", b"format_version: '9.0'\nanalyzer:"),
        (b"analyzer:", b"format_version: '2.9'\nanalyzer:"),
        (b"analyzer:", BOM + b"analyzer:"),
        (b"analyzer:", b"analyzer: ["),
    ],
    ids=repr,
)
def test_the_errors_of_a_plan_are_those_of_its_report(
    project: RubyProject, change: tuple[bytes, bytes]
) -> None:
    plan = open_plan(project.write(encode_yaml(project.plan_of()).replace(*change, 1)))
    assert plan.errors == open_plan(project.plan).report.errors
    as_json = project.write(encode_json(project.plan_of()))
    assert open_plan(as_json).errors == open_plan(as_json).report.errors == []
