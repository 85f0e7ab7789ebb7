"""runcard plan guide"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import agents_argument, many_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.guide import AgentGuide


@click.command("guide", short_help="Print the instructions for an agent.")
@agents_argument
@many_options("agents", "agent", with_progress=False)
def command(agents: tuple[str, ...], batch: "Batch") -> int:
    """Print what each AGENT reads, may write and must do, for its prompt.

    \b
    The agents in order: analyzer, validator, skeleton, architect,
    implementer, factory-optimizer, polisher, reviewer.

    Exit codes: 0 printed, 64 no such agent.
    """
    from runcard.operations.plans.guide import guide  # noqa: PLC0415
    from runcard.plans.agents import agent_named  # noqa: PLC0415

    for agent in agents:
        agent_named(agent)
    batch.each(agents, guide, lambda _, result: _show(result))
    return batch.finish()


def _show(guide: "AgentGuide") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    agent = guide.agent
    say(f"# {agent.name}")
    for title, lines in (
        ("Begin", _begin(guide)),
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


def _begin(guide: "AgentGuide") -> list[str]:
    command = f"`runcard plan begin {guide.agent.name} SRC` prints the path of the plan"
    if guide.after is None:
        return [
            f"{command}; you are the first",
            "`runcard plan status SRC` tells whether a new analysis is needed",
        ]
    return [f"{command}, or what is missing (exit code 1): the {guide.after} comes before you"]


def _report(guide: "AgentGuide") -> list[str]:
    if not guide.agent.writes:
        return ["report to the user; do not change the plan"]
    name = guide.agent.name
    return [
        f"done: `runcard plan mark {name} SRC --completed --version V`",
        f"nothing to do: `runcard plan mark {name} SRC --skipped REASON`",
        f"warning: `runcard plan mark {name} SRC --warning TEXT`",
        f"failed: `runcard plan mark {name} SRC --error TEXT`",
        f"next is the {guide.before}",
    ]
