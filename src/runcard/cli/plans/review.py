"""runcard plan review"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH
from runcard.cli.plans.options import (
    annotations_option,
    coverage_option,
    many_options,
    root_option,
    target_options,
)

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.review import ReviewResult
    from runcard.plans.plan_files import MethodRef


@click.command("review", short_help="Compare specs with a plan.")
@click.argument("path", metavar="PLAN|SRC", type=PATH)
@click.argument("specs", nargs=-1, metavar="[SPEC...]", type=PATH)
@coverage_option
@annotations_option
@click.option("--write-report", is_flag=True, help="Also write the report beside the plan, as Markdown.")
@target_options()
@root_option
@many_options("plans", "path", with_progress=False)
def command(
    path: str,
    specs: tuple[str, ...],
    coverage: str | None,
    annotations: str | None,
    write_report: bool,
    method_ref: "MethodRef",
    root: str | None,
    batch: "Batch",
) -> int:
    """Compare each SPEC with the plan of a source SRC, or with the PLAN itself. The default SPEC is the one of the plan.

    The report lists the states: covered, with how it is known, not covered, or unknown; contexts that are not in the
    plan; and placeholders that are left. The plan is not changed.

    Exit codes: 0 the specs cover the plan, 1 error, 2 something is missing, unknown or left over.
    """
    from runcard.operations.plans.review import review_spec  # noqa: PLC0415
    from runcard.plans.ruby.coverage import CoverageReport  # noqa: PLC0415

    def work(_: str) -> "ReviewResult":
        report = None if coverage is None else CoverageReport(coverage)
        return review_spec(
            path, specs, root=root, method_ref=method_ref, coverage=report, write_report=write_report
        )

    batch.each([path], work, lambda _, result: _annotate(result) if annotations else _show(result))
    return batch.finish()


def _show(result: "ReviewResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    for line in result.page.splitlines():
        say(line)


def _annotate(result: "ReviewResult") -> None:
    from runcard.cli.plans.annotations import annotate  # noqa: PLC0415

    annotate(result)
