"""runcard plan begin"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import (
    agent_argument,
    many_options,
    root_option,
    sources_argument,
    target_options,
)

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.begin import BeginCheck
    from runcard.plans.plan_files import MethodRef

_AGENT_COMMANDS = {"validator": "validate", "skeleton": "skeleton"}  # agents that are commands of runcard


@click.command("begin", short_help="Check whether an agent may begin.")
@agent_argument
@sources_argument
@target_options()
@root_option
@many_options("sources", "source")
def command(
    agent: str, sources: tuple[str, ...], method_ref: "MethodRef", root: str | None, batch: "Batch"
) -> int:
    """Check whether AGENT may work on the plan of each source SRC, and print the path of the plan.

    Its predecessor must have reported, and the plan must be valid. Nothing is written.

    Exit codes: 0 it may begin, 1 it may not, 2 it may, with warnings.
    """
    from runcard.operations.plans.begin import begin  # noqa: PLC0415
    from runcard.plans.agents import agent_named  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    agent_named(agent)
    limits = read_settings().limits

    def work(source: str) -> "BeginCheck":
        check = begin(source, agent, root=root, method_ref=method_ref, limits=limits)
        for reason in check.reasons:
            batch.complain(f"{source}: the {agent} cannot begin: {reason}", _hint(check, source))
        return check

    batch.each(sources, work, lambda _, check: _show(check))
    return batch.finish()


def _hint(check: "BeginCheck", source: str) -> str | None:
    from runcard.files import printable  # noqa: PLC0415

    if check.plan.errors and not check.ready:
        return f"to see all errors: runcard plan validate {printable(source)}"
    if check.waits_for is None:
        return None
    if check.waits_for in _AGENT_COMMANDS:
        return f"run `runcard plan {_AGENT_COMMANDS[check.waits_for]} {printable(source)}`"
    return f"when it is done: runcard plan mark {check.waits_for} {printable(source)}"


def _show(check: "BeginCheck") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    if check.ready:
        say(check.plan.path)
