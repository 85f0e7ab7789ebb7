"""runcard plan begin"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import json_option
from runcard.cli.plan.options import progress_option, root_option, target_options

if TYPE_CHECKING:
    from runcard.operations.plans.handing import Begun


@click.command("begin", short_help="Check whether an agent may begin.")
@click.argument("agent", metavar="AGENT")
@click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=click.Path())
@target_options
@root_option
@json_option
@progress_option
def command(
    agent: str,
    sources: tuple[str, ...],
    class_name: str | None,
    method: str | None,
    method_type: str | None,
    root: str | None,
    as_json: bool,
    shows_progress: bool,
) -> int:
    """Check what AGENT needs before it works on the plan of each source SRC, and print the plan's path.

    Its predecessor must have left its marker, and the plan must be valid. Nothing is written.

    Exit codes: 0 it may begin, 1 it may not, and what is missing, 2 good with warnings.
    """
    from runcard.cli.plan.many import Many  # noqa: PLC0415
    from runcard.operations.plans.handing import begin  # noqa: PLC0415
    from runcard.plans.agents import agent_named  # noqa: PLC0415
    from runcard.plans.places import Asked  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    agent_named(agent)
    asked = Asked(class_name, method, method_type)
    limits = read_settings().limits
    many = Many("sources", "source", as_json=as_json, shows_progress=shows_progress)

    def work(source: str) -> "Begun":
        begun = begin(source, agent, root=root, asked=asked, limits=limits)
        for what in begun.missing:
            many.complain(f"{source}: the {agent} cannot begin: {what}")
        return begun

    many.each(sources, work, lambda _, begun: _show(begun))
    return many.finish()


def _show(begun: "Begun") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    if begun.ready:
        say(begun.plan.path)
