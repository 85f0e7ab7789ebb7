"""runcard plan mark"""

from typing import TYPE_CHECKING, Any

import click

from runcard.cli.options import TEXT
from runcard.cli.plans.options import (
    agent_argument,
    many_options,
    root_option,
    sources_argument,
    target_options,
)

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.plans.plan_files import MethodRef


@click.command("mark", short_help="Write an agent's report into a plan.")
@agent_argument
@sources_argument
@click.option(
    "--completed",
    is_flag=True,
    help="The work is done (default, unless other options than --version are given).",
)
@click.option("--version", metavar="V", type=TEXT, help="The version of the agent.")
@click.option(
    "--skipped",
    metavar="REASON",
    type=TEXT,
    help="There was nothing to do; the next agent may begin.",
)
@click.option(
    "--warning", "warnings", multiple=True, metavar="TEXT", type=TEXT, help="Add a warning. Repeatable."
)
@click.option(
    "--error",
    "errors",
    multiple=True,
    metavar="TEXT",
    type=TEXT,
    help="Add an error; without --completed, the work counts as not done. Repeatable.",
)
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="KEY=VALUE",
    type=TEXT,
    help="Set a key of the plan's automation to JSON, or else to text. Repeatable.",
)
@target_options()
@root_option
@many_options("plans", "source")
def command(  # noqa: PLR0913, PLR0917 - an option is an argument
    agent: str,
    sources: tuple[str, ...],
    completed: bool,
    version: str | None,
    skipped: str | None,
    warnings: tuple[str, ...],
    errors: tuple[str, ...],
    values: tuple[str, ...],
    method_ref: "MethodRef",
    root: str | None,
    batch: "Batch",
) -> int:
    """Write the report of AGENT into the plan of each source SRC. An agent can only write its own keys.

    Exit codes: 0 success, 1 refused, 2 written, but the previous agent has not reported yet.
    """
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.operations.plans.mark import mark  # noqa: PLC0415
    from runcard.plans.agent_reports import AgentReport  # noqa: PLC0415
    from runcard.plans.agents import agent_named  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    agent_named(agent)
    report = AgentReport(
        completed=completed or None,
        version=version,
        skipped=skipped,
        warnings=warnings,
        errors=errors,
        values=dict(map(_pair, values)),
    )
    limits = read_settings().limits
    batch.each(
        sources,
        lambda source: mark(source, agent, report, root=root, method_ref=method_ref, limits=limits),
        lambda source, marked: say(f"{source}: {agent} marked in {marked.plan.path}"),
    )
    return batch.finish()


def _pair(text: str) -> tuple[str, Any]:
    from runcard.encoding import decode_json  # noqa: PLC0415
    from runcard.errors import EncodingError, UsageError  # noqa: PLC0415

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--set {text}: not KEY=VALUE", hint="for example --set linter=rubocop")
    try:
        return key, decode_json(value.encode("utf-8", "surrogateescape"))
    except EncodingError:
        return key, value
