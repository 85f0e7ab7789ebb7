"""`runcard plan skeleton`: the written file and exit codes."""

import json
import os
from pathlib import Path

import pytest

from conftest import Cli
from plans.projects import RubyProject
from plans.specs.skeletons import complaints

SPEC = "spec/models/billing/invoice_spec.rb"


def test_the_spec_is_written_where_it_belongs_and_the_plan_says_so(cli: Cli, project: RubyProject) -> None:
    before = project.plan_of()
    project.write(before)
    done = cli("plan", "skeleton", project.source)
    assert (done.code, done.out, done.err) == (0, f"{project.root / SPEC}\n", "")
    after = project.read()
    said = {"skeleton_generated": True, "skeleton_completed": True, "skeleton_file": SPEC}
    assert after == before | {"automation": before.get("automation", {}) | said}
    assert "RSpec.describe Billing::Invoice do" in (project.root / SPEC).read_text()
    assert cli("plan", "begin", "architect", project.source).code == 0


def test_the_plan_itself_can_be_named_and_the_result_is_json(cli: Cli, project: RubyProject) -> None:
    done = cli("plan", "skeleton", project.write(), "--json")
    assert done.code == 0
    said = json.loads(done.out)
    assert said["path"] == said["metadata_path"] == str(project.plan)
    assert (said["spec"], said["skeleton_file"]) == (str(project.root / SPEC), SPEC)
    written = (project.root / SPEC).read_text()
    assert (said["contexts"], said["examples"]) == (written.count(" context '"), written.count(" it '"))
    assert (said["written"], said["next"], said["warnings"]) == (True, "architect", [])


def test_a_spec_that_is_there_is_extended_and_replaced_only_by_force(cli: Cli, project: RubyProject) -> None:
    project.write()
    spec = project.add(SPEC, b"# mine\n")
    assert cli("plan", "skeleton", project.source).code == 0
    extended = spec.read_bytes()
    assert extended.startswith(
        b"# mine\n\nrequire_relative '../../../app/models/billing/invoice'\n\nRSpec.describe "
    )
    assert cli("plan", "skeleton", project.source, "--merge").code == 0
    assert spec.read_bytes() == extended
    assert cli("plan", "skeleton", project.source, "--force").code == 0
    assert spec.read_bytes().startswith(b"# frozen_string_literal")
    done = cli("plan", "skeleton", project.source, "--force", "--missing")
    assert (done.code, done.err.splitlines()[0]) == (
        64,
        "Error: --merge, --missing and --force exclude each other",
    )


@pytest.mark.parametrize("kind", ["directory", "link to nowhere"])
def test_nothing_that_has_the_name_is_replaced(cli: Cli, project: RubyProject, kind: str) -> None:
    project.write()
    spec = project.root / SPEC
    spec.parent.mkdir(parents=True)
    if kind == "directory":
        spec.mkdir()
    else:
        spec.symlink_to(project.root / "nowhere")
    assert cli("plan", "skeleton", project.source).code == 1
    assert not (project.root / "nowhere").exists()


def test_the_same_skeleton_again_changes_nothing(cli: Cli, project: RubyProject) -> None:
    project.write()
    cli("plan", "skeleton", project.source)
    stamps = [os.stat(path).st_mtime_ns for path in (project.plan, project.root / SPEC)]
    done = cli("plan", "skeleton", project.source, "--json")
    assert (done.code, json.loads(done.out)["written"]) == (0, False)
    assert [os.stat(path).st_mtime_ns for path in (project.plan, project.root / SPEC)] == stamps


def test_another_file_can_be_named(cli: Cli, project: RubyProject, tmp_path: Path) -> None:
    project.write()
    inside = project.root / "spec" / "new" / "a_spec.rb"
    assert cli("plan", "skeleton", project.source, "--output", inside).code == 0
    assert project.read()["automation"]["skeleton_file"] == "spec/new/a_spec.rb"
    assert not (project.root / SPEC).exists()
    done = cli("plan", "skeleton", project.source, "--output", tmp_path / "b_spec.rb")
    assert done.code == 2
    assert f"{tmp_path / 'b_spec.rb'} is not recorded in the plan: it is outside of the project" in done.err
    own, outside = inside.read_text().splitlines(), (tmp_path / "b_spec.rb").read_text().splitlines()
    assert [line for line in own if line not in outside] == [
        "require_relative '../../app/models/billing/invoice'"
    ]


def test_a_name_that_no_plan_can_hold_is_a_warning(cli: Cli, project: RubyProject) -> None:
    project.write()
    spec = project.root / "caf\udce9_spec.rb"
    done = cli("plan", "skeleton", project.source, "--output", spec)
    assert (done.code, spec.exists()) == (2, True)
    assert "its name is not UTF-8" in done.err
    assert project.read()["automation"]["skeleton_generated"] is True


def test_an_invalid_plan_is_not_handed_on(cli: Cli, project: RubyProject) -> None:
    plan = project.plan_of()
    plan["characteristics"][0]["states"] = ["one"]
    project.write(plan)
    done = cli("plan", "skeleton", project.source)
    assert (done.code, done.out) == (1, "")
    assert "'customer' has 1 state" in done.err
    assert not (project.root / "spec").exists()


def test_a_plan_that_is_not_validated_or_old_is_a_warning(cli: Cli, project: RubyProject) -> None:
    plan = project.plan_of()
    del plan["validation"]
    project.write(plan)
    project.source.write_text("class Other; end")
    os.utime(project.source, (1, 1))
    done = cli("plan", "skeleton", project.source)
    assert (done.code, done.out) == (2, f"{project.root / SPEC}\n")
    assert "Warning: " in done.err
    assert "the validator has not reported yet" in done.err
    assert "the plan needs a new analysis: source file modified" in done.err


def test_what_depends_on_a_terminal_state_has_no_context_and_is_named(cli: Cli, project: RubyProject) -> None:
    plan = project.plan_of()
    plan["characteristics"][0]["terminal_states"] = ["premium"]
    project.write(plan)
    done = cli("plan", "skeleton", project.source)
    assert done.code == 2
    assert done.err.endswith(": discount has no context: nothing follows a terminal state\n")


def test_a_source_without_a_plan_is_an_error(cli: Cli, project: RubyProject) -> None:
    done = cli("plan", "skeleton", project.source)
    assert (done.code, done.out) == (1, "")
    assert "there is no plan for" in done.err
    project.write()
    done = cli("plan", "skeleton", project.source, "--method", "other")
    assert (done.code, done.out) == (1, "")
    assert "has no plan for this method" in done.err


def test_many_paths_print_the_good_ones(cli: Cli, project: RubyProject) -> None:
    project.write()
    done = cli("plan", "skeleton", "none.yml", project.source, "--root", project.root, "--json")
    assert done.code == 1
    bad, good = map(json.loads, done.out.splitlines())
    assert bad["error"] == "none.yml does not exist"
    assert good["skeleton_file"] == SPEC
    assert cli("plan", "skeleton", "a.yml", "b.yml", "--output", "c.rb").code == 64


@pytest.mark.needs("ruby")
def test_the_parameters_are_those_of_the_source(cli: Cli, project: RubyProject, tmp_path: Path) -> None:
    project.source.write_text(
        "class Billing::Invoice\n"
        "  def initialize(customer, (a, b), date: nil, rate:)\n  end\n"
        "  def total(amount, tax = 0, *rest, currency:, **more, &block)\n  end\nend\n"
    )
    project.write(project.plan_of())
    cli("plan", "skeleton", project.source)
    written = (project.root / SPEC).read_text()
    assert "{ instance.total(amount, currency: currency) }" in written
    assert "{ described_class.new(customer, argument_4, rate: rate) }" in written
    assert complaints([written], tmp_path) == [None]
