"""runcard plan pipeline"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import output_option
from runcard.cli.plans.options import many_options, root_option, sources_argument, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.errors import RuncardError
    from runcard.operations.plans.pipeline import PipelineResult, PipelineStep
    from runcard.plans.plan_files import MethodRef

_MAX_METHODS = 30  # in a hint


@click.command("pipeline", short_help="Run analyze, validate and skeleton for a source.")
@sources_argument
@target_options(
    method_about="The method; required without --all-methods.",
    class_about="Its class, if the name is ambiguous.",
    type_about="Its type, if the name is ambiguous.",
)
@click.option("--all-methods", is_flag=True, help="Every method that has a body.")
@output_option("FILE", "Write the spec to FILE; for one source only.")
@click.option("--force", is_flag=True, help="Write the skeleton again, replacing an existing spec.")
@root_option
@many_options("sources", "source")
def command(
    sources: tuple[str, ...],
    all_methods: bool,
    output: str | None,
    force: bool,
    method_ref: "MethodRef",
    root: str | None,
    batch: "Batch",
) -> int:
    """Analyze a method of each source SRC, validate its plan, write the skeleton of its spec, and print the next agent.

    Work that is done and still valid is not repeated: the analysis of an unchanged source, and a skeleton that the
    plan records. A spec that exists already is extended: only the missing groups are inserted.

    Exit codes: 0 success, 1 a step failed, 2 warnings.
    """
    from runcard.errors import RuncardError, UsageError  # noqa: PLC0415
    from runcard.operations.plans.pipeline import run_pipeline  # noqa: PLC0415

    if all_methods and (method_ref.method is not None or output is not None or force):
        raise UsageError("--all-methods excludes --method, --output and --force", hint="drop one of them")
    if all_methods:
        return _all_methods(sources, root, batch)
    if method_ref.method is None:
        raise UsageError("Missing option '--method'.", hint=_methods_hint(sources[0], root))
    if output is not None and len(sources) > 1:
        raise UsageError("--output names one file, but several sources were given", hint="pass one source")

    def work(source: str) -> "PipelineResult":
        finished: list[PipelineStep] = []
        try:
            return run_pipeline(
                source, method_ref, root=root, output=output, force=force, on_step=finished.append
            )
        except RuncardError:
            for step in finished:
                batch.done(_step_line(source, step))
            raise

    batch.each(sources, work, _show)
    return batch.finish()


def _all_methods(sources: tuple[str, ...], root: str | None, batch: "Batch") -> int:
    from functools import partial  # noqa: PLC0415

    from runcard.operations.plans.pipeline import run_all_methods  # noqa: PLC0415

    for source in sources:
        with batch.catching(source):
            for result in run_all_methods(source, root=root):
                batch.each([source], partial(_result_of, result), _show)
    return batch.finish()


def _result_of(result: "PipelineResult | RuncardError", _: str) -> "PipelineResult":
    if isinstance(result, Exception):
        raise result
    return result


def _methods_hint(source: str, root: str | None) -> str:
    """The methods of a source, for a call without --method."""
    from runcard.errors import RuncardError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.plans.targets import list_targets  # noqa: PLC0415

    try:
        methods = [str(target) for target in list_targets(source, root=root).targets.all()]
    except RuncardError:
        methods = []
    if not methods:
        return "see `runcard plan pipeline --help`"
    more = f" and {len(methods) - _MAX_METHODS:,} more" if len(methods) > _MAX_METHODS else ""
    return printable(f"its methods: {', '.join(methods[:_MAX_METHODS])}{more}")


def _step_line(source: str, step: "PipelineStep") -> str:
    return f"{source}: {step.agent} {step.outcome}: {step.detail}"


def _show(source: str, result: "PipelineResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    for step in result.steps:
        say(_step_line(source, step))
    say(f"{source}: next is the {result.next}")
