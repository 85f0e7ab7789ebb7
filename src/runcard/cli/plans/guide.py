"""runcard plan guide"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import agent_names, many_options, root_option, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.guide import AgentGuide
    from runcard.plans.plan_files import MethodRef


@click.command("guide", short_help="Print the instructions for an agent.")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT... [SRC]", shell_complete=agent_names)
@target_options()
@root_option
@many_options("agents", "agent", with_progress=False)
def command(agents: tuple[str, ...], method_ref: "MethodRef", root: str | None, batch: "Batch") -> int:
    """Print what each AGENT reads, may write and must do, for its prompt.

    With the source SRC of a plan, also print what the agent needs for this plan: the paths of plan and spec, the
    placeholders, the command that runs the spec, and the commands to report with.

    \b
    The agents in order: analyzer, validator, skeleton, architect,
    implementer, factory-optimizer, polisher, reviewer.

    Exit codes: 0 printed, 1 no plan for SRC, 2 printed, with warnings, 64 no such agent.
    """
    from runcard.operations.plans.guide import guide  # noqa: PLC0415
    from runcard.plans.agents import AGENTS, agent_named  # noqa: PLC0415

    source = agents[-1] if len(agents) > 1 and agents[-1] not in AGENTS and _is_path(agents[-1]) else None
    names = agents[:-1] if source else agents
    for agent in names:
        agent_named(agent)
    batch.each(
        names, lambda agent: guide(agent, source, root=root, method_ref=method_ref), lambda _, it: _show(it)
    )
    return batch.finish()


def _is_path(text: str) -> bool:
    return "." in text or "/" in text


def _show(guide: "AgentGuide") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    agent = guide.agent
    say(f"# {agent.name}")
    for title, lines in (
        ("Begin", _begin(guide)),
        *_task(guide),
        ("Read", list(agent.reads)),
        ("Do", list(agent.duty)),
        ("Write only these parts of the plan", list(agent.writable) or ["nothing"]),
        ("Report", _report(guide)),
    ):
        say("")
        say(f"## {title}")
        say("")
        for line in lines:
            say(f"- {line}")
    say("")


def _task(guide: "AgentGuide") -> list[tuple[str, list[str]]]:
    """The sections about the plan of one source."""
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.plans.guide import PLACEHOLDERS  # noqa: PLC0415

    task = guide.task
    if task is None:
        return []
    location = task.plan.location
    paths = [
        f"method: {task.target} in `{printable(location.file)}`",
        f"project, where all commands run: `{printable(location.project.root)}`",
        f"plan: `{printable(task.plan.path)}`; never edit it, report with the commands below",
        f"spec: `{printable(task.spec)}`",
        f"run the spec: `{task.test_command}`; it must pass, with no pending example left",
    ]
    marks = [f"`{mark}`: {meaning}" for mark, meaning in PLACEHOLDERS.items()]
    marks += [
        "each is in a comment; delete the comment when it is done",
        "delete `skip 'no expectation yet'` from each example that has an expectation",
        "keep every context: each is a state of the plan",
    ]
    return [("This task", paths), ("Placeholders in the spec", marks)]


def _begin(guide: "AgentGuide") -> list[str]:
    command = f"`runcard plan begin {guide.agent.name} {guide.reference}` prints the path of the plan"
    if guide.after is None:
        return [
            f"{command}; you are the first",
            "`runcard plan status SRC` tells whether a new analysis is needed",
        ]
    return [f"{command}, or what is missing (exit code 1): the {guide.after} comes before you"]


def _report(guide: "AgentGuide") -> list[str]:
    if not guide.agent.writes:
        return ["report to the user; do not change the plan"]
    name, source = guide.agent.name, guide.reference
    return [
        f"done: `runcard plan mark {name} {source} --completed --version V`",
        f"nothing to do: `runcard plan mark {name} {source} --skipped REASON`",
        f"warning: `runcard plan mark {name} {source} --warning TEXT`",
        f"failed: `runcard plan mark {name} {source} --error TEXT`",
        f"next is the {guide.before}",
    ]
