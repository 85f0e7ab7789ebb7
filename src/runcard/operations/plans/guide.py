"""What an agent of the pipeline reads, may write and must do; for a source, with its paths and commands."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from runcard.encoding import JsonObject
from runcard.files import json_name, printable
from runcard.plans.agents import Agent, agent_named, predecessor, successors
from runcard.plans.freshness import stale_warnings
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef, check_one_plan
from runcard.plans.project import has_minitest_only
from runcard.plans.spec_paths import spec_of
from runcard.plans.spec_skeleton import method_name

PLACEHOLDERS = {
    "TODO: pass": "a value for a parameter: replace nil in the let",
    "TODO: set up": "the setup of a state: a let, a trait or a stub that puts the object into this state",
    "TODO: call": "a call of a public method that leads to a private one: replace nil in the subject",
    "TODO: request": "a request: replace its method and its path by those of the route",
    "TODO: describe the expected result": "what happens: an expectation, and a name for the example that says it",
}


@dataclass(frozen=True, slots=True)
class AgentTask:
    """The work of an agent on one plan."""

    plan: Plan
    reference: str  # the source and the options that select its plan, for commands

    @property
    def spec(self) -> str:
        return spec_of(self.plan)

    @property
    def target(self) -> str:
        target = self.plan.to_dict()["target"]
        return f"{target['class']}{method_name(target)}"

    @property
    def group(self) -> str:
        """The description of the method's group in the spec."""
        return method_name(self.plan.to_dict()["target"])

    @property
    def test_command(self) -> str:
        """The command that runs the spec, in the root of the project."""
        root = self.plan.location.project.root
        runner = "bin/rspec" if os.path.isfile(os.path.join(root, "bin", "rspec")) else "rspec"
        has_gemfile = os.path.isfile(os.path.join(root, "Gemfile"))
        prefix = "bundle exec " if runner == "rspec" and has_gemfile else ""
        return f"{prefix}{runner} {quote(self.spec)}"

    def to_dict(self) -> JsonObject:
        return {
            "source": json_name(self.plan.location.file).text,
            "target": self.target,
            "metadata_path": json_name(self.plan.path).text,
            "spec": json_name(self.spec).text,
            "group": self.group,
            "spec_exists": os.path.lexists(os.path.join(self.plan.location.project.root, self.spec)),
            "root": json_name(self.plan.location.project.root).text,
            "placeholders": PLACEHOLDERS,
            "run": self.test_command,
        }


@dataclass(frozen=True, slots=True)
class AgentGuide:
    """The guide for an agent."""

    agent: Agent
    task: AgentTask | None = None

    @property
    def after(self) -> str | None:
        before = predecessor(self.agent)
        return before.name if before else None

    @property
    def before(self) -> str | None:
        later = successors(self.agent)
        return later[0].name if later else None

    @property
    def reference(self) -> str:
        """The source in commands; `SRC` without one."""
        return self.task.reference if self.task else "SRC"

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.task is None:
            return ()
        location = self.task.plan.location
        minitest = ["the project has tests for Minitest (test/) and none for RSpec"]
        return (
            *location.warnings,
            *stale_warnings(location),
            *(minitest if has_minitest_only(location.project) else ()),
        )

    def lines(self) -> Iterator[str]:
        """The guide as Markdown, for a prompt."""
        agent = self.agent
        yield f"# {agent.name}"
        for title, lines in (
            ("Begin", self._begin()),
            *self._task(),
            ("Read", list(agent.reads)),
            ("Do", list(agent.duty)),
            ("Write only these parts of the plan", list(agent.writable) or ["nothing"]),
            ("Report", self._report()),
        ):
            yield from ("", f"## {title}", "", *(f"- {line}" for line in lines))

    def _task(self) -> list[tuple[str, list[str]]]:
        """The sections about the plan of one source."""
        task = self.task
        if task is None:
            return []
        location = task.plan.location
        paths = [
            f"method: {task.target} in `{printable(location.file)}`",
            f"project, where all commands run: `{printable(location.project.root)}`",
            f"plan: `{printable(task.plan.path)}`; never edit it, report with the commands below",
            f"spec: `{printable(task.spec)}`; it has all methods of the class, yours is in `describe '{task.group}'`",
            f"run the spec: `{task.test_command}`; it must pass, with no pending example left in this group",
        ]
        marks = [f"`{mark}`: {meaning}" for mark, meaning in PLACEHOLDERS.items()]
        marks += [
            "each is in a comment; delete the comment when it is done",
            "delete `skip 'no expectation yet'` from each example that has an expectation",
            "keep every context and its tag `plan: '<characteristic>:<state>'`: each is a state of the plan",
            "a characteristic with `repeats` is the copy of another for one more state of its parent; tags name the original",
            "change nothing outside of this group; `runcard plan skeleton` adds what is missing and keeps the rest",
        ]
        return [("This task", paths), ("Placeholders in the spec", marks)]

    def _begin(self) -> list[str]:
        command = f"`runcard plan begin {self.agent.name} {self.reference}` prints the path of the plan"
        if self.after is None:
            return [
                f"{command}; you are the first",
                "`runcard plan status SRC` tells whether a new analysis is needed",
            ]
        return [f"{command}, or what is missing (exit code 1): the {self.after} comes before you"]

    def _report(self) -> list[str]:
        if not self.agent.writes:
            return ["report to the user; do not change the plan"]
        name, source = self.agent.name, self.reference
        return [
            f"done: `runcard plan mark {name} {source} --completed --version V`",
            f"nothing to do: `runcard plan mark {name} {source} --skipped REASON`",
            f"warning: `runcard plan mark {name} {source} --warning TEXT`",
            f"failed: `runcard plan mark {name} {source} --error TEXT`",
            f"next is the {self.before}",
        ]

    def to_dict(self) -> JsonObject:
        guide: JsonObject = {
            "agent": self.agent.name,
            "after": self.after,
            "before": self.before,
            "reads": list(self.agent.reads),
            "writes": list(self.agent.writable),
            "must": list(self.agent.duty),
        }
        return guide if self.task is None else guide | {"task": self.task.to_dict()}


def guide(
    agent: str, path: str | None = None, *, root: str | None = None, method_ref: MethodRef | None = None
) -> AgentGuide:
    """The guide for an agent; with a source, also what it needs to work on the plan of this source."""
    named = agent_named(agent)
    if path is None:
        return AgentGuide(named)
    plan = find_plan(path, root=root, method_ref=method_ref)
    check_one_plan(plan.location, path, method_ref)
    plan.check_exists()
    plan.check_valid()
    target = plan.to_dict()["target"]
    words = [
        quote(printable(path)),
        f"--method {quote(target['method'])}",
        f"--class {quote(target['class'])}",
    ]
    words += ["--type class"] if target["method_type"] == "class" else []
    return AgentGuide(named, AgentTask(plan, " ".join(words)))
