"""runcard plan guide"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import agent_names, many_options, root_option, target_options
from runcard.errors import UsageError

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.guide import AgentGuide
    from runcard.plans.plan_files import MethodRef


@click.command("guide", short_help="Print the instructions for an agent.")
@click.argument("agents", nargs=-1, metavar="AGENT... [SRC]", shell_complete=agent_names)
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

    if not agents:
        raise UsageError("no agent is named", hint=f"name one of {', '.join(AGENTS)}")
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

    for line in guide.lines():
        say(line)
    say("")
