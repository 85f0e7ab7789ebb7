"""runcard plan list"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import PATH
from runcard.cli.plans.options import many_options, root_option

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.plans.list import PlanList


@click.command("list", short_help="List the plans of a project and the next agent of each.")
@click.argument("directories", nargs=-1, metavar="[DIR]...", type=PATH)
@root_option
@many_options("projects", "path")
def command(directories: tuple[str, ...], root: str | None, batch: "Batch") -> int:
    """List all plans of the project that contains each DIR: fresh, stale or invalid, and the next agent.

    Without DIR: the current directory, or --root.

    Exit codes: 0 success, 1 error, 2 warnings.
    """
    from runcard.operations.plans.list import list_plans  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    limits = read_settings().limits
    batch.each(
        directories or (root or ".",),
        lambda path: list_plans(path, root=root, limits=limits),
        lambda _, plans: _show(plans),
    )
    return batch.finish()


def _show(plans: "PlanList") -> None:
    from runcard.cli.printing import say, say_note  # noqa: PLC0415

    if not plans.plans:
        say_note("no plans yet; how to make one: runcard plan pipeline --help")
    rows = [(plan.state, plan.next, plan.target, plan.file, plan.reason or "") for plan in plans.plans]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for *cells, reason in rows:
        columns = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        say(f"{columns}  {reason}".rstrip())
