"""Agents: their order, what each may write, and their reports."""

import json
from typing import Any

import pytest

import runcard
from conftest import Cli
from plans.projects import Fields, RubyProject
from runcard.errors import DocumentError, StoreError, UsageError
from runcard.plans.agents import AGENTS, SECTIONS, next_agent

ORDER = (
    "analyzer",
    "validator",
    "skeleton",
    "architect",
    "implementer",
    "factory-optimizer",
    "polisher",
    "reviewer",
)
WRITERS = ORDER[:-1]

# Who may write what, in words of the plan.
OWNERS: dict[str, set[str] | frozenset[str]] = {
    **dict.fromkeys(
        ("format_version", "analyzer", "test_level", "target", "characteristics", "factories_detected"),
        frozenset({"analyzer"}),
    ),
    "validation": {"validator"},
    "automation.factories_detected": {"analyzer"},
    "automation.validation_passed": {"validator"},
    "automation.skeleton_generated": {"skeleton"},
    "automation.skeleton_file": {"skeleton"},
    "automation.linter": {"polisher"},
    "automation.errors": set(WRITERS),
    "automation.warnings": set(WRITERS),
    "automation.factory_optimizer_notes": {"factory-optimizer"},
    **{f"automation.{name.replace('-', '_')}_version": {name} for name in WRITERS},
    "automation.reviewer_completed": set(),
    "automation.unknown": set(),
    "extra_section": set(),
}
VALUES: Fields = {
    "format_version": "1.3",
    "analyzer": {
        "completed": True,
        "timestamp": "2026-01-01T00:00:00Z",
        "source_file_mtime": 5,
        "version": "2",
    },
    "test_level": "e2e",
    "target": {"class": "A", "method": "b", "method_type": "class", "file": "a.rb"},
    "characteristics": [],
    "factories_detected": {},
    "validation": {"completed": True, "errors": [], "warnings": ["new"]},
    "automation.errors": ["x"],
    "automation.warnings": ["x"],
    "automation.skeleton_file": "spec/a_spec.rb",
    "automation.linter": "rubocop",
}


def test_the_order_is_the_documented_one() -> None:
    assert tuple(AGENTS) == ORDER
    assert SECTIONS[0] == "format_version"


@pytest.mark.parametrize("place", OWNERS)
def test_a_place_is_written_by_its_owners_and_by_nobody_else(project: RubyProject, place: str) -> None:
    for agent in ORDER:
        project.write()
        before = project.plan.read_bytes()
        plan = runcard.open_plan(project.source)
        data = plan.to_dict()
        section, _, key = place.partition(".")
        value: Any = VALUES.get(place, "1" if place.endswith("version") else True)
        data[section] = {**data[section], key: value} if key else value
        if agent in OWNERS[place]:
            plan.write(agent, data)
            assert project.plan.read_bytes() != before
        else:
            with pytest.raises(DocumentError, match="may not write"):
                plan.write(agent, data)
            assert project.plan.read_bytes() == before


def test_taking_something_out_is_writing_as_well(project: RubyProject) -> None:
    project.write()
    plan = runcard.open_plan(project.source)
    for section in ("characteristics", "automation"):
        data = plan.to_dict()
        del data[section]
        with pytest.raises(DocumentError, match="the architect may not write"):
            plan.write("architect", data)


def test_true_and_1_are_not_the_same(project: RubyProject) -> None:
    project.write()
    plan = runcard.open_plan(project.source)
    data = plan.to_dict()
    data["analyzer"]["completed"] = 1
    with pytest.raises(DocumentError, match="may not write analyzer"):
        plan.write("architect", data)


def test_an_agent_that_does_not_exist_is_wrong_usage(cli: Cli, project: RubyProject) -> None:
    project.write()
    with pytest.raises(UsageError, match="no such agent: tester"):
        runcard.open_plan(project.source).mark("tester")
    for command in (
        ("begin", "tester", project.source),
        ("mark", "tester", project.source),
        ("guide", "tester"),
    ):
        done = cli("plan", *command)
        assert (done.code, done.out) == (64, "")
        assert "factory-optimizer" in done.err


class TestPipeline:
    def test_every_agent_begins_when_the_one_before_has_marked(self, cli: Cli, project: RubyProject) -> None:
        data = project.plan_of()
        del data["validation"]
        project.write(data | {"automation": {}})
        for agent in ORDER[1:]:
            done = cli("plan", "begin", agent, project.source)
            assert (done.code, done.out, done.err) == (0, f"{project.plan}\n", "")
            for later in ORDER[ORDER.index(agent) + 1 :]:
                refused = cli("plan", "begin", later, project.source)
                assert (refused.code, refused.out) == (1, "")
                assert refused.err.startswith("Error: ")
                assert "has not reported yet\n  hint: " in refused.err
            assert next_agent(project.read()).name == agent
            if agent == "validator":
                assert cli("plan", "validate", project.source).code == 0
            elif agent != "reviewer":
                assert cli("plan", "mark", agent, project.source, "--completed", "--version", "1.0").code == 0

    def test_a_mark_before_its_turn_is_written_with_a_warning(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        done = cli("plan", "mark", "implementer", project.source, "--completed")
        assert done.code == 2
        assert done.err.startswith(f"Warning: {project.source}: the architect")
        assert project.read()["automation"]["implementer_completed"] is True

    def test_the_analyzer_may_always_begin(self, cli: Cli, project: RubyProject) -> None:
        assert cli("plan", "begin", "analyzer", project.source).code == 0
        done = cli("plan", "begin", "validator", project.source)
        assert (done.code, "no plan yet" in done.err) == (1, True)

    def test_begin_says_everything_that_is_missing(self, cli: Cli, project: RubyProject) -> None:
        data = project.plan_of()
        data["characteristics"][1]["level"] = 7
        data["test_level"] = "units"
        project.write(data)
        done = cli("plan", "begin", "architect", "--json", project.source)
        said = json.loads(done.out)
        assert (done.code, said["ready"], said["agent"]) == (1, False, "architect")
        assert len(said["missing"]) == 3
        assert "[mistake.level]" in "".join(said["missing"])
        errors = cli("plan", "begin", "architect", project.source).err.splitlines()
        assert len(errors) == 2
        assert errors[0].endswith("(and 1 more)")
        assert errors[1] == f"  hint: to see all errors: runcard plan validate {project.source}"

    def test_an_invalid_plan_is_not_handed_on(self, cli: Cli, project: RubyProject) -> None:
        data = project.plan_of()
        data["characteristics"][1]["level"] = 7
        project.write(data | {"automation": {"skeleton_generated": True}})
        before = project.plan.read_bytes()
        assert cli("plan", "begin", "architect", project.source).code == 1
        assert cli("plan", "begin", "validator", project.source).code == 0
        for how in (("--completed",), ("--skipped", "no reason")):
            done = cli("plan", "mark", "architect", project.source, *how)
            assert (done.code, done.out) == (1, "")
        assert project.plan.read_bytes() == before
        assert cli("plan", "mark", "architect", project.source, "--error", "it is not valid").code == 0
        assert project.read()["automation"]["errors"] == ["it is not valid"]

    def test_a_plan_that_failed_its_validation_is_not_handed_on(self, cli: Cli, project: RubyProject) -> None:
        failed = {"completed": False, "errors": ["x"], "warnings": []}
        project.write(project.plan_of() | {"validation": failed})
        assert cli("plan", "begin", "skeleton", project.source).code == 1

    def test_the_signs_of_other_tools_are_understood(self, cli: Cli, project: RubyProject) -> None:
        data = project.plan_of()
        del data["validation"]
        project.write(data | {"automation": {"validation_passed": True}})
        assert cli("plan", "begin", "skeleton", project.source).code == 0
        project.write(data | {"automation": {"validation_passed": False}})
        assert cli("plan", "begin", "skeleton", project.source).code == 1

    def test_begin_writes_nothing(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        before = project.plan.stat().st_mtime_ns, project.plan.read_bytes()
        cli("plan", "begin", "skeleton", project.source)
        assert (project.plan.stat().st_mtime_ns, project.plan.read_bytes()) == before


class TestMarks:
    def test_nothing_said_means_completed(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        assert cli("plan", "mark", "skeleton", project.source).code == 0
        automation = project.read()["automation"]
        assert (automation["skeleton_generated"], automation["skeleton_completed"]) == (True, True)

    def test_all_that_can_be_said(self, cli: Cli, project: RubyProject) -> None:
        project.write(
            project.plan_of() | {"automation": {"factory_optimizer_completed": True, "errors": ["old"]}}
        )
        done = cli(
            *("plan", "mark", "polisher", project.source, "--completed", "--version", "1.0"),
            *("--warning", "one: 1", "--warning", "two", "--error", "new", "--set", "linter=rubocop"),
            *(
                "--set",
                'polisher_offenses={"fixed": 2}',
                "--set",
                "polisher_word=yes",
                "--set",
                "polisher_none=null",
            ),
            "--json",
        )
        assert (done.code, done.err) == (0, "")
        automation = {
            "factory_optimizer_completed": True,
            "errors": ["old", "new"],
            "polisher_completed": True,
            "polisher_version": "1.0",
            "warnings": ["one: 1", "two"],
            "linter": "rubocop",
            "polisher_offenses": {"fixed": 2},
            "polisher_word": "yes",
            "polisher_none": None,
        }
        assert project.read()["automation"] == automation
        assert json.loads(done.out)["automation"] == automation

    def test_secrets_are_masked_and_the_rule_is_named(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        secret = "ghp_" + "a1B2" * 9
        said = ("--error", f"401 {secret}", "--warning", secret, "--set", f"skeleton_note={secret}")
        inside = ("--set", f'skeleton_calls=[{{"answer": ["{secret}"]}}]')
        done = cli("plan", "mark", "skeleton", project.source, *said, *inside)
        assert done.code == 2
        assert f"Warning: {project.source}: a secret was masked: github-token\n" in done.err
        assert "the skeleton is not marked as completed; pass --completed when it is done" in done.err
        assert secret not in project.plan.read_text()
        assert project.read()["automation"]["errors"] == ["401 [masked:github-token]"]
        runcard.open_plan(project.source).mark("skeleton", skipped=secret)
        assert secret not in project.plan.read_text()

    def test_a_skipped_agent_satisfies_the_next(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        for agent in ("skeleton", "architect"):
            assert cli("plan", "mark", agent, project.source, "--skipped", "there are specs").code == 0
        automation = project.read()["automation"]
        assert automation["architect_completed"] is True
        assert automation["architect_skipped"] is True
        assert automation["architect_skip_reason"] == "there are specs"
        assert cli("plan", "begin", "implementer", project.source).code == 0
        assert cli("plan", "mark", "architect", project.source, "--completed").code == 0
        assert "architect_skipped" not in project.read()["automation"]

    def test_an_error_takes_the_mark_back(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        cli("plan", "mark", "skeleton", project.source)
        assert cli("plan", "mark", "skeleton", project.source, "--error", "no templates").code == 0
        assert project.read()["automation"]["skeleton_generated"] is False
        assert cli("plan", "begin", "architect", project.source).code == 1

    @pytest.mark.parametrize(
        ("agent", "said"),
        [
            ("reviewer", ("--completed",)),
            ("reviewer", ("--warning", "x")),
            ("architect", ("--set", "linter=x")),
            ("architect", ("--set", "implementer_completed=true")),
            ("architect", ("--set", "characteristics=[]")),
            ("architect", ("--set", "architect_completed=5")),
            ("analyzer", ("--set", "validation_passed=true")),
        ],
    )
    def test_what_is_not_the_agents_is_refused(
        self, cli: Cli, project: RubyProject, agent: str, said: tuple[str, ...]
    ) -> None:
        project.write()
        before = project.plan.read_bytes()
        done = cli("plan", "mark", agent, project.source, *said)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("Error: ")
        assert project.plan.read_bytes() == before

    @pytest.mark.parametrize("said", [("--set", "x"), ("--set", "=x"), ("--completed", "--skipped", "x")])
    def test_wrong_usage(self, cli: Cli, project: RubyProject, said: tuple[str, ...]) -> None:
        project.write()
        done = cli("plan", "mark", "architect", project.source, *said)
        assert (done.code, done.out) == (64, "")

    def test_no_plan(self, cli: Cli, project: RubyProject) -> None:
        done = cli("plan", "mark", "architect", project.source)
        assert (done.code, done.err.startswith("Error: there is no plan for")) == (1, True)
        with pytest.raises(StoreError):
            runcard.open_plan(project.source).mark("architect")

    def test_many_sources_the_good_ones_are_marked(self, cli: Cli, project: RubyProject) -> None:
        project.write()
        other = project.add("app/other.rb")
        done = cli("plan", "mark", "skeleton", other, project.source)
        assert (done.code, done.out.count("\n")) == (1, 1)
        assert project.read()["automation"]["skeleton_generated"]


LATER: Fields = {
    "validation_passed": True,
    "skeleton_generated": True,
    "skeleton_file": "spec/x_spec.rb",
    "architect_completed": True,
    "architect_version": "1.0",
    "implementer_completed": True,
    "implementer_skipped": True,
    "implementer_skip_reason": "x",
    "warnings": ["kept"],
}
LEFT: Fields = {"skeleton_file": "spec/x_spec.rb", "architect_version": "1.0", "warnings": ["kept"]}


class TestNewAnalysis:
    def test_it_clears_later_marks(self, project: RubyProject) -> None:
        project.write(project.plan_of() | {"automation": LATER})
        plan = runcard.open_plan(project.source)
        data = plan.to_dict()
        data["characteristics"][0]["states"].append("staff")
        written = plan.write("analyzer", data).to_dict()
        assert written["automation"] == LEFT
        assert "validation" not in written

    def test_so_does_the_analyzers_mark(self, cli: Cli, project: RubyProject) -> None:
        project.write(project.plan_of() | {"automation": LATER})
        assert cli("plan", "mark", "analyzer", project.source, "--completed").code == 0
        assert project.read()["automation"] == LEFT | {"analyzer_completed": True}
        assert cli("plan", "begin", "skeleton", project.source).code == 1

    def test_a_remark_of_the_analyzer_clears_nothing(self, cli: Cli, project: RubyProject) -> None:
        project.write(project.plan_of() | {"automation": LATER})
        cli("plan", "mark", "analyzer", project.source, "--warning", "slow")
        assert project.read()["automation"]["architect_completed"]


@pytest.mark.parametrize("agent", ORDER)
def test_the_guide_says_what_an_agent_reads_writes_and_does(cli: Cli, agent: str) -> None:
    said = json.loads(cli("plan", "guide", "--json", agent).out)
    assert said["agent"] == agent
    assert said["writes"] == list(AGENTS[agent].writable)
    assert (said["after"], said["before"]) == (
        ORDER[ORDER.index(agent) - 1] if agent != "analyzer" else None,
        ORDER[ORDER.index(agent) + 1] if agent != "reviewer" else None,
    )
    text = cli("plan", "guide", agent).out
    assert text.startswith(f"# {agent}\n")
    for line in (*said["reads"], *said["must"], *said["writes"]):
        assert f"- {line}\n" in text
    assert ("plan mark" in text) == (agent != "reviewer")
