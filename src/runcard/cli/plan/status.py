"""runcard plan status"""

import click

from runcard.cli.options import json_option
from runcard.cli.plan.options import progress_option, root_option, target_options


@click.command("status", short_help="Say whether the plan of a source can still be used.")
@click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=click.Path())
@target_options
@root_option
@json_option
@progress_option
def command(
    sources: tuple[str, ...],
    class_name: str | None,
    method: str | None,
    method_type: str | None,
    root: str | None,
    as_json: bool,
    shows_progress: bool,
) -> int:
    """Say whether the plan of each source SRC is there, complete, and of the source as it is now.

    A plan that cannot be used is no error: the answer is a new analysis.

    Exit codes: 0 good, 1 error, 2 good with warnings.
    """
    from runcard.cli.plan.many import Many  # noqa: PLC0415
    from runcard.cli.printing import say  # noqa: PLC0415
    from runcard.operations.plans.status import status  # noqa: PLC0415
    from runcard.plans.places import Asked  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    asked = Asked(class_name, method, method_type)
    limits = read_settings().limits
    many = Many("sources", "source", as_json=as_json, shows_progress=shows_progress)
    many.each(
        sources,
        lambda source: status(source, root=root, asked=asked, limits=limits),
        lambda source, told: say(f"{source}: {told.in_words}"),
    )
    return many.finish()
