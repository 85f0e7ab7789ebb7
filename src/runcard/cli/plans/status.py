"""runcard plan status"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import many_options, root_option, sources_argument, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.plans.plan_files import MethodRef


@click.command("status", short_help="Check whether the plan of a source is fresh.")
@sources_argument
@target_options()
@root_option
@many_options("sources", "source")
def command(sources: tuple[str, ...], method_ref: "MethodRef", root: str | None, batch: "Batch") -> int:
    """Check whether the plan of each source SRC exists, is complete, and is up to date with the source.

    A source with plans for several methods has a line for each, unless you pass --method.

    A plan that is not fresh is not an error: it needs a new analysis.

    Exit codes: 0 success, 1 error, 2 warnings.
    """
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.operations.plans.status import status_of_all  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    limits = read_settings().limits
    for source in batch.over(sources):
        with batch.catching(source):
            for result in status_of_all(source, root=root, method_ref=method_ref, limits=limits):
                batch.add(source, result, lambda item, each: say(f"{item}: {each.text}"))
    return batch.finish()
