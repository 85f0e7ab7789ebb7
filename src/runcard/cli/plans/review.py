"""runcard plan review"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH
from runcard.cli.plans.options import many_options, root_option, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.review import ReviewResult
    from runcard.plans.plan_files import MethodRef


@click.command("review", short_help="Compare a spec with its plan.")
@click.argument("path", metavar="PLAN|SRC", type=PATH)
@click.argument("spec", required=False, metavar="[SPEC]", type=PATH)
@click.option("--write-report", is_flag=True, help="Also write the report beside the plan, as Markdown.")
@target_options()
@root_option
@many_options("plans", "path", with_progress=False)
def command(
    path: str, spec: str | None, write_report: bool, method_ref: "MethodRef", root: str | None, batch: "Batch"
) -> int:
    """Compare SPEC with the plan of a source SRC, or with the PLAN itself. The default SPEC is the one of the plan.

    The report lists states with and without a context, contexts that are not in the plan, and placeholders that are
    left. The plan is not changed.

    Exit codes: 0 the spec covers the plan, 1 error, 2 something is missing or left over.
    """
    from runcard.operations.plans.review import review_spec  # noqa: PLC0415

    batch.each(
        [path],
        lambda _: review_spec(path, spec, root=root, method_ref=method_ref, write_report=write_report),
        lambda _, result: _show(result),
    )
    return batch.finish()


def _show(result: "ReviewResult") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    for line in result.page.splitlines():
        say(line)
