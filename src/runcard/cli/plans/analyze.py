"""runcard plan analyze"""

from functools import partial
from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import many_options, root_option, sources_argument, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.errors import RuncardError
    from runcard.operations.plans.analyze import AnalysisResult
    from runcard.plans.analysis import AnalysisOptions, ProjectFiles
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
@root_option
@many_options("sources", "source")
def command(
    sources: tuple[str, ...],
    all_methods: bool,
    deep: bool,
    all_factories: bool,
    writes: bool,
    method_ref: "MethodRef",
    root: str | None,
    batch: "Batch",
) -> int:
    """Find the conditions of a method in the Ruby file SRC, and print its plan.

    The file is parsed, not run. The same source always gives the same plan.

    Exit codes: 0 success, 1 no such method or file unreadable, 2 warnings: no branches, more than six levels, or a
    part that could not be read.
    """
    from runcard.cli.exit_codes import ExitCode  # noqa: PLC0415
    from runcard.operations.plans.analyze import analyze_source  # noqa: PLC0415
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
                source, method_ref, root=root, write=writes, files=files, options=options
            ),
            _show,
        )
        is_named = method_ref.method is not None
        return batch.finish(wrong_usage=ExitCode.FAILED if is_named else ExitCode.USAGE)
    plan_writes = PlanWrites() if writes else None
    for source in sources:
        with batch.catching(source):
            for result in _all_methods(source, root, files, options, plan_writes):
                batch.each([source], partial(_result_of, result), _show_one_of_many)
    return batch.finish()


def _all_methods(
    source: str,
    root: str | None,
    files: "ProjectFiles",
    options: "AnalysisOptions",
    writes: "PlanWrites | None",
) -> "list[AnalysisResult | RuncardError]":
    """The analyses of all methods of a source, after their plans are written."""
    from runcard.operations.plans.analyze import (  # noqa: PLC0415
        AnalysisResult,
        analyze_methods,
        write_analyses,
    )

    analyses = analyze_methods(source, root=root, files=files, options=options)
    if writes is None:
        return [AnalysisResult(analysis) for analysis in analyses]
    return write_analyses(source, analyses, writes, root=root)


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
