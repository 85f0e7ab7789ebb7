"""runcard plan mark"""

from typing import Any

import click

from runcard.cli.options import json_option
from runcard.cli.plan.options import progress_option, root_option, target_options


@click.command("mark", short_help="Write what an agent reports about its work.")
@click.argument("agent", metavar="AGENT")
@click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=click.Path())
@click.option(
    "--completed", is_flag=True, help="The work is done; meant when nothing but the version is said."
)
@click.option("--version", metavar="V", help="The version of the agent.")
@click.option(
    "--skipped", metavar="REASON", help="There was nothing to do, and why; the next agent may begin."
)
@click.option("--warning", "warnings", multiple=True, metavar="TEXT", help="Add a warning; may be repeated.")
@click.option(
    "--error",
    "errors",
    multiple=True,
    metavar="TEXT",
    help="Add an error, and unless --completed the work is not done.",
)
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="K=V",
    help="Set a key of automation; V is JSON where it can be.",
)
@target_options
@root_option
@json_option
@progress_option
def command(  # noqa: PLR0913, PLR0917 - an option is an argument
    agent: str,
    sources: tuple[str, ...],
    completed: bool,
    version: str | None,
    skipped: str | None,
    warnings: tuple[str, ...],
    errors: tuple[str, ...],
    values: tuple[str, ...],
    class_name: str | None,
    method: str | None,
    method_type: str | None,
    root: str | None,
    as_json: bool,
    shows_progress: bool,
) -> int:
    """Write what AGENT reports into the plan of each source SRC: only what is the agent's to write.

    Exit codes: 0 good, 1 refused, 2 written, but the agent before has not left its marker.
    """
    from runcard.cli.plan.many import Many  # noqa: PLC0415
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.operations.plans.handing import mark  # noqa: PLC0415
    from runcard.plans.agents import agent_named  # noqa: PLC0415
    from runcard.plans.marks import Mark  # noqa: PLC0415
    from runcard.plans.places import Asked  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    agent_named(agent)
    said = Mark(
        completed=completed or None,
        version=version,
        skipped=skipped,
        warnings=warnings,
        errors=errors,
        values=dict(map(_pair, values)),
    )
    asked = Asked(class_name, method, method_type)
    limits = read_settings().limits
    many = Many("plans", "source", as_json=as_json, shows_progress=shows_progress)
    many.each(
        sources,
        lambda source: mark(source, agent, said, root=root, asked=asked, limits=limits),
        lambda source, marked: say(f"{source}: {agent} marked in {marked.plan.path}"),
    )
    return many.finish()


def _pair(text: str) -> tuple[str, Any]:
    from runcard.encoding import decode_json  # noqa: PLC0415
    from runcard.errors import EncodingError, UsageError  # noqa: PLC0415

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--set takes K=V, not {text}", hint="for example --set linter=rubocop")
    try:
        return key, decode_json(value.encode("utf-8", "surrogateescape"))
    except EncodingError:
        return key, value
