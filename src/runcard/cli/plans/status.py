"""runcard plan status"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import many_options, root_option, sources_argument, target_options

if TYPE_CHECKING:
    from runcard.cli.many import Many
    from runcard.plans.plan_files import MethodRef


@click.command("status", short_help="Say whether the plan of a source can still be used.")
@sources_argument
@target_options()
@root_option
@many_options("sources", "source")
def command(sources: tuple[str, ...], method_ref: "MethodRef", root: str | None, many: "Many") -> int:
    """Say whether the plan of each source SRC is there, complete, and of the source as it is now.

    A plan that cannot be used is no error: the answer is a new analysis.

    Exit codes: 0 good, 1 error, 2 good with warnings.
    """
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.operations.plans.status import status  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    limits = read_settings().limits
    many.each(
        sources,
        lambda source: status(source, root=root, method_ref=method_ref, limits=limits),
        lambda source, told: say(f"{source}: {told.in_words}"),
    )
    return many.finish()
