"""runcard plan guide"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import agents_argument, many_options

if TYPE_CHECKING:
    from runcard.cli.many import Many
    from runcard.operations.plans.guide import AgentGuide


@click.command("guide", short_help="Print what an agent reads, may write and must do.")
@agents_argument
@many_options("agents", "agent", with_progress=False)
def command(agents: tuple[str, ...], many: "Many") -> int:
    """Print what each AGENT reads, may write and must do, to be put into its prompt.

    \b
    The agents, in their order: analyzer, validator, skeleton, architect,
    implementer, factory-optimizer, polisher, reviewer.

    Exit codes: 0 printed, 64 no such agent.
    """
    from runcard.operations.plans.guide import guide  # noqa: PLC0415
    from runcard.plans.agents import agent_named  # noqa: PLC0415

    for agent in agents:
        agent_named(agent)
    many.each(agents, guide, lambda _, told: _show(told))
    return many.finish()


def _show(told: "AgentGuide") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    agent = told.agent
    say(f"# {agent.name}")
    for title, lines in (
        ("Begin", _begin(told)),
        ("Read", list(agent.reads)),
        ("Do", list(agent.duty)),
        ("Write, in the plan and nowhere else in it", list(agent.places) or ["nothing"]),
        ("Report", _report(told)),
    ):
        say("")
        say(f"## {title}")
        say("")
        for line in lines:
            say(f"- {line}")
    say("")


def _begin(told: "AgentGuide") -> list[str]:
    command = f"`runcard plan begin {told.agent.name} SRC` prints the path of the plan"
    if told.after is None:
        return [
            f"{command}; you are the first",
            "`runcard plan status SRC` says whether a new analysis is needed",
        ]
    return [f"{command}, or says what is missing (exit code 1): the {told.after} comes before you"]


def _report(told: "AgentGuide") -> list[str]:
    if not told.agent.writes:
        return ["tell the user; the plan stays as it is"]
    name = told.agent.name
    return [
        f"done: `runcard plan mark {name} SRC --completed --version V`",
        f"nothing to do: `runcard plan mark {name} SRC --skipped REASON`",
        f"something to know: `runcard plan mark {name} SRC --warning TEXT`",
        f"it went wrong: `runcard plan mark {name} SRC --error TEXT`",
        f"then comes the {told.before}",
    ]
