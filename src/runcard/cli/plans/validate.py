"""runcard plan validate"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import many_options, plans_argument, root_option, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.validate import PlanValidation
    from runcard.plans.plan_files import MethodRef


@click.command("validate", short_help="Check plans and write the findings into them.")
@plans_argument
@click.option("--no-write", is_flag=True, help="Do not change the section validation.")
@target_options()
@root_option
@many_options("plans", "path")
def command(
    paths: tuple[str, ...], no_write: bool, method_ref: "MethodRef", root: str | None, batch: "Batch"
) -> int:
    """Check all plans of each source SRC, or the PLAN itself (a path that ends in .yml), by every rule.

    The target must exist in the project. The findings are written into the plan's section validation, whose previous
    contents are ignored; nothing else changes.

    Exit codes: 0 valid, 1 errors, 2 warnings.
    """
    from runcard.cli.printing import finding_line  # noqa: PLC0415
    from runcard.operations.plans.validate import plans_to_validate, validate_plan  # noqa: PLC0415
    from runcard.plans.plan_writes import PlanWrites  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    limits, writes = read_settings().limits, PlanWrites()

    def validate(path: str) -> "PlanValidation":
        result = validate_plan(
            path, root=root, method_ref=method_ref, write=not no_write, limits=limits, writes=writes
        )
        plan = result.plan.path
        for error in result.report.errors:
            batch.complain(finding_line(error, plan), error.hint)
        for warning in result.report.warnings:
            batch.warn(finding_line(warning, plan), warning.hint)
        return result

    plans: list[str] = []
    for path in paths:
        with batch.catching(path):
            plans += plans_to_validate(path, root=root, method_ref=method_ref, limits=limits)
    batch.each(plans, validate, lambda _, result: _show(result))
    return batch.finish()


def _show(result: "PlanValidation") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    if result.report.valid:
        say(f"{result.plan.path}: valid testplan {result.report.version}")
