"""runcard plan pipeline"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import json_option
from runcard.cli.plan.options import progress_option, root_option

if TYPE_CHECKING:
    from runcard.operations.plans.pipeline import Piped


@click.command("pipeline", short_help="Go from a source to the skeleton of its spec.")
@click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=click.Path())
@click.option("--method", required=True, metavar="NAME", help="The method.")
@click.option("--class", "class_name", metavar="NAME", help="Its class, where several have such a method.")
@click.option(
    "--type", "method_type", type=click.Choice(("instance", "class")), help="Its type, where both have one."
)
@click.option(
    "--output", metavar="FILE", type=click.Path(), help="Write the spec there; for one source only."
)
@click.option("--force", is_flag=True, help="Write the skeleton again, over a spec that is there.")
@root_option
@json_option
@progress_option
def command(  # noqa: PLR0913, PLR0917 - an option is an argument
    sources: tuple[str, ...],
    method: str,
    class_name: str | None,
    method_type: str | None,
    output: str | None,
    force: bool,
    root: str | None,
    as_json: bool,
    shows_progress: bool,
) -> int:
    """Analyze a method of each source SRC, validate its plan, write the skeleton of its spec, and say who is next.

    What is done already and still holds is not done again: the analysis of a source that did not change, and a
    skeleton that the plan says is there.

    Exit codes: 0 good, 1 a step failed, 2 good with warnings.
    """
    from runcard.cli.plan.many import Many  # noqa: PLC0415
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.operations.plans.pipeline import run_pipeline  # noqa: PLC0415
    from runcard.plans.places import Asked  # noqa: PLC0415

    if output is not None and len(sources) > 1:
        raise UsageError("--output is one file, and there are several sources", hint="name one source")
    asked = Asked(class_name, method, method_type)
    many = Many("sources", "source", as_json=as_json, shows_progress=shows_progress)
    many.each(
        sources, lambda source: run_pipeline(source, asked, root=root, output=output, force=force), _show
    )
    return many.finish()


def _show(source: str, piped: "Piped") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    for step in piped.steps:
        say(f"{source}: {step.agent} {step.outcome}: {step.detail}")
    say(f"{source}: next is the {piped.next}")
