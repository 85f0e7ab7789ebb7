"""runcard plan analyze"""

from functools import partial
from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import many_options, root_option, sources_argument, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.errors import RuncardError
    from runcard.operations.plans.analyze import AnalysisResult
    from runcard.plans.analysis import Analysis
    from runcard.plans.plan_files import MethodRef
    from runcard.plans.plan_writes import PlanWrites


@click.command("analyze", short_help="Analyze a Ruby method and make its test plan.")
@sources_argument
@target_options(
    method_about="The method to analyze.",
    class_about="Its class, if the name is ambiguous.",
    type_about="Its type, if the name is ambiguous.",
)
@click.option("--all-methods", is_flag=True, help="Analyze every method that has a body.")
@click.option("--deep", is_flag=True, help="Include the conditions of the private methods that it calls.")
@click.option(
    "--all-factories", is_flag=True, help="List all factories, not only those that belong to the method."
)
@click.option("--write", "writes", is_flag=True, help="Write the plan, and print its path.")
@click.option(
    "--format",
    "version",
    type=click.Choice(("1.3", "2.0")),
    help="The version of the format (default: 1.3, or the setting plans.format; with --write, that of an existing plan).",
)
@root_option
@many_options("sources", "source")
def command(  # noqa: PLR0913, PLR0917 - one for each option
    sources: tuple[str, ...],
    all_methods: bool,
    deep: bool,
    all_factories: bool,
    writes: bool,
    version: str | None,
    method_ref: "MethodRef",
    root: str | None,
    batch: "Batch",
) -> int:
    """Find the conditions of a method in the Ruby file SRC, and print its plan.

    The file is parsed, not run. The same source always gives the same plan, except for the time of the analysis. A
    written plan that says the same already is not changed.

    Exit codes: 0 success, 1 no such method or file unreadable, 2 warnings: no branches, more than six levels, or a
    part that could not be read.
    """
    from runcard.cli.exit_codes import ExitCode  # noqa: PLC0415
    from runcard.operations.plans.analyze import analyze_methods, analyze_source  # noqa: PLC0415
    from runcard.plans.analysis import AnalysisOptions, ProjectFiles  # noqa: PLC0415
    from runcard.plans.plan_writes import PlanWrites  # noqa: PLC0415

    if all_methods and method_ref.method is not None:
        raise click.UsageError("Pass either --method or --all-methods.")
    files = ProjectFiles()  # of all sources
    options = AnalysisOptions(is_deep=deep, all_factories=all_factories)
    if not all_methods:
        batch.each(
            sources,
            lambda source: analyze_source(
                source, method_ref, root=root, write=writes, files=files, options=options, version=version
            ),
            _show,
        )
        is_named = method_ref.method is not None
        return batch.finish(wrong_usage=ExitCode.FAILED if is_named else ExitCode.USAGE)
    plan_writes = PlanWrites() if writes else None
    for source in sources:
        with batch.catching(source):
            analyses = analyze_methods(source, root=root, files=files, options=options)
            for result in _results(source, analyses, root, plan_writes, version):
                batch.each([source], partial(_result_of, result), _show_one_of_many)
    return batch.finish()


def _results(
    source: str,
    analyses: "list[Analysis]",
    root: str | None,
    writes: "PlanWrites | None",
    version: str | None,
) -> "list[AnalysisResult | RuncardError]":
    """The plans of all methods of a source, after they are written."""
    from runcard.errors import RuncardError  # noqa: PLC0415
    from runcard.operations.plans.analyze import unwritten, write_analyses  # noqa: PLC0415

    if writes is not None:
        return write_analyses(source, analyses, writes, root=root, version=version)
    results: list[AnalysisResult | RuncardError] = []
    for analysis in analyses:
        try:
            results.append(unwritten(analysis, version))
        except RuncardError as error:  # one method must not cost the others
            results.append(error)
    return results


def _result_of(result: "AnalysisResult | RuncardError", _: str) -> "AnalysisResult":
    if isinstance(result, Exception):
        raise result
    return result


def _show_one_of_many(source: str, analyzed: "AnalysisResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    if analyzed.plan is None:
        say("---")
    _show(source, analyzed)


def _show(_: str, analyzed: "AnalysisResult") -> None:
    from runcard.cli.printing import say, say_text  # noqa: PLC0415

    if analyzed.plan is not None:
        say(analyzed.plan.path)
        return
    say_text(analyzed.text)
