"""runcard plan path"""

from typing import TYPE_CHECKING

import click

from runcard.cli.plans.options import many_options, root_option, sources_argument, target_options

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.plans.plan_files import MethodRef


@click.command("path", short_help="Print the path of the plan of a source.")
@sources_argument
@target_options()
@root_option
@many_options("sources", "source")
def command(sources: tuple[str, ...], method_ref: "MethodRef", root: str | None, batch: "Batch") -> int:
    """Print the path of the plan of each source SRC, whether it exists or not.

    The path does not depend on the current directory.

    Exit codes: 0 success, 1 error, 2 not the documented path.
    """
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.operations.plans.locate import locate  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    limits = read_settings().limits
    batch.each(
        sources,
        lambda source: locate(source, root=root, method_ref=method_ref, limits=limits),
        lambda _, located: say(located.location.path),
    )
    return batch.finish()
