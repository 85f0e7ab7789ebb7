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

    for line in guide.lines():
        say(line)
    say("")
