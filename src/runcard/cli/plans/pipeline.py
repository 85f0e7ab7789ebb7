"""runcard plan pipeline"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import output_option
from runcard.cli.plans.options import many_options, root_option, sources_argument, target_options

if TYPE_CHECKING:
    from runcard.cli.many import Many
    from runcard.operations.plans.pipeline import PipelineResult
    from runcard.plans.plan_files import MethodRef


@click.command("pipeline", short_help="Go from a source to the skeleton of its spec.")
@sources_argument
@target_options(
    method_about="The method.",
    class_about="Its class, where several have such a method.",
    type_about="Its type, where both have one.",
    needs_method=True,
)
@output_option("FILE", "Write the spec there; for one source only.")
@click.option("--force", is_flag=True, help="Write the skeleton again, over a spec that is there.")
@root_option
@many_options("sources", "source")
def command(
    sources: tuple[str, ...],
    output: str | None,
    force: bool,
    method_ref: "MethodRef",
    root: str | None,
    many: "Many",
) -> int:
    """Analyze a method of each source SRC, validate its plan, write the skeleton of its spec, and say who is next.

    What is done already and still holds is not done again: the analysis of a source that did not change, and a
    skeleton that the plan says is there.

    Exit codes: 0 good, 1 a step failed, 2 good with warnings.
    """
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.operations.plans.pipeline import run_pipeline  # noqa: PLC0415

    if output is not None and len(sources) > 1:
        raise UsageError("--output is one file, and there are several sources", hint="name one source")
    many.each(
        sources, lambda source: run_pipeline(source, method_ref, root=root, output=output, force=force), _show
    )
    return many.finish()


def _show(source: str, piped: "PipelineResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    for step in piped.steps:
        say(f"{source}: {step.agent} {step.outcome}: {step.detail}")
    say(f"{source}: next is the {piped.next}")
