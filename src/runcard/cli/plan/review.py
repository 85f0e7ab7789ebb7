"""runcard plan review"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import json_option
from runcard.cli.plan.options import root_option, target_options

if TYPE_CHECKING:
    from runcard.operations.plans.reviewing import Reviewed


@click.command("review", short_help="Compare a spec with its plan.")
@click.argument("path", metavar="PLAN|SRC", type=click.Path())
@click.argument("spec", required=False, metavar="[SPEC]", type=click.Path())
@click.option("--write-report", is_flag=True, help="Write the report beside the plan, too, as Markdown.")
@target_options
@root_option
@json_option
def command(
    path: str,
    spec: str | None,
    write_report: bool,
    class_name: str | None,
    method: str | None,
    method_type: str | None,
    root: str | None,
    as_json: bool,
) -> int:
    """Compare the SPEC, by default the one of the plan, with the plan of a source SRC, or with the PLAN itself.

    The report says which states have a context and which have none, which contexts the plan does not know, and which
    placeholders are left. Nothing is written into the plan.

    Exit codes: 0 the spec covers the plan, 1 error, 2 something is missing or left over.
    """
    from runcard.cli.plan.many import Many  # noqa: PLC0415
    from runcard.operations.plans.reviewing import review_spec  # noqa: PLC0415
    from runcard.plans.places import Asked  # noqa: PLC0415

    asked = Asked(class_name, method, method_type)
    many = Many("plans", "path", as_json=as_json)
    many.each(
        [path],
        lambda _: review_spec(path, spec, root=root, asked=asked, write_report=write_report),
        lambda _, reviewed: _show(reviewed),
    )
    return many.finish()


def _show(reviewed: "Reviewed") -> None:
    from runcard.cli.printing import say  # noqa: PLC0415

    for line in reviewed.page.splitlines():
        say(line)
