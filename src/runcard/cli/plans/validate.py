"""runcard plan validate"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import many_options, plans_argument, root_option, target_options

if TYPE_CHECKING:
    from runcard.cli.many import Many
    from runcard.operations.plans.validate import PlanValidation
    from runcard.plans.plan_files import MethodRef


@click.command("validate", short_help="Check plans by every rule, and write down what was found.")
@plans_argument
@click.option("--no-write", is_flag=True, help="Leave the section validation as it is.")
@target_options()
@root_option
@many_options("plans", "path")
def command(
    paths: tuple[str, ...], no_write: bool, method_ref: "MethodRef", root: str | None, many: "Many"
) -> int:
    """Check the plan of each source SRC, or the PLAN itself (a path that ends in .yml), by every rule.

    The target is looked for in the project. What was found is written into the plan's section validation, which was
    not looked at; nothing else changes.

    Exit codes: 0 all good, 1 something is wrong, 2 good with warnings.
    """
    from runcard.cli.printing import finding_line  # noqa: PLC0415
    from runcard.operations.plans.validate import validate_plan  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    limits = read_settings().limits

    def work(path: str) -> "PlanValidation":
        validated = validate_plan(path, root=root, method_ref=method_ref, write=not no_write, limits=limits)
        plan = validated.plan.path
        for found in validated.report.errors:
            many.complain(finding_line(found, plan), found.hint)
        for found in validated.report.warnings:
            many.warn(finding_line(found, plan), found.hint)
        return validated

    many.each(paths, work, lambda _, validated: _show(validated))
    return many.finish()


def _show(validated: "PlanValidation") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    if validated.report.valid:
        say(f"{validated.plan.path}: valid testplan {validated.report.version}")
